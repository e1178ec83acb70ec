//===- Accesses.h - memory accesses of instructions ---------------------------------===//
//
// The memory that each instruction reads and writes, from its attributes. Instructions of an
// entry point are numbered in order of issue, sections one after another, not expanded.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_PLAN_ACCESSES_H
#define SLUICE_DIALECT_PLAN_ACCESSES_H

#include "dialect/plan/Plan.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

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

/// The streams of a module, which instructions name by symbols.
class Streams {
public:
  explicit Streams(mlir::ModuleOp module);
  /// The kind of a stream, and of an instruction's stream; nothing for an unknown one, or without one.
  std::optional<StreamKind> kindOf(llvm::StringRef stream) const;
  std::optional<StreamKind> kindOf(mlir::Operation *instruction) const;
  /// The first stream of the kind; null if the module has none.
  mlir::FlatSymbolRefAttr find(StreamKind kind) const { return byKind.lookup(kind); }
  /// Its name; empty if the module has none.
  llvm::StringRef nameOf(StreamKind kind) const {
    const mlir::FlatSymbolRefAttr stream = find(kind);
    return stream ? stream.getValue() : llvm::StringRef();
  }

private:
  llvm::StringMap<StreamKind> kinds;
  llvm::DenseMap<StreamKind, mlir::FlatSymbolRefAttr> byKind;
};

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
