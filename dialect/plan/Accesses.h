//===- Accesses.h - memory accesses of instructions ---------------------------------===//
//
// The memory that each instruction reads and writes, from its attributes. Instructions of an
// entry point are numbered in order of issue, sections one after another, not expanded.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_PLAN_ACCESSES_H
#define SLUICE_DIALECT_PLAN_ACCESSES_H

#include "dialect/plan/Plan.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace sluice::plan_ir {

struct Access {
  ViewAttr view;
  bool writes = false;
};

/// Reads before writes, in order of operands.
llvm::SmallVector<Access> accessesOf(mlir::Operation *instruction);

/// Calls `visit(instruction, i, section)` in order of issue.
void forEachInstruction(EntryOp entry, llvm::function_ref<void(mlir::Operation *, int64_t, SectionOp)> visit);

/// Replaces each view of an instruction by the result of `change`.
void replaceViews(mlir::Operation *instruction, llvm::function_ref<ViewAttr(ViewAttr)> change);

/// The stream of an instruction; empty without one.
llvm::StringRef streamOf(mlir::Operation *instruction);
Phase phaseOf(mlir::Operation *instruction);
/// The repetitions in which an instruction is issued.
When whenOf(mlir::Operation *instruction);

/// True if the windows, of one buffer, share no byte: exact for windows with the same strides, by their hulls
/// otherwise.
bool windowsDisjoint(ViewAttr a, ViewAttr b);

/// A repetition of each kind that differs: the first, the second and the last, and those that instructions list, with
/// their neighbours.
struct Repetition {
  int64_t index = 0, repeat = 1;
};
llvm::SmallVector<Repetition> repetitionsOf(SectionOp section);
bool isIssued(mlir::Operation *instruction, Repetition repetition);

} // namespace sluice::plan_ir

#endif // SLUICE_DIALECT_PLAN_ACCESSES_H
