//===- AuthorCollectives.h - collectives that the model's author writes ----------------===//
#ifndef SLUICE_PASSES_SHARDING_AUTHORCOLLECTIVES_H
#define SLUICE_PASSES_SHARDING_AUTHORCOLLECTIVES_H

#include "passes/sharding/Placement.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice {

/// Verifies that each model.all_gather and model.reduce_scatter of the entry point is of the mesh's number of
/// data-parallel ranks; an error is at the op.
llvm::LogicalResult verifyAuthorCollectives(mlir::func::FuncOp entry, const Placement &placement);

/// Replaces each model.all_reduce, model.all_gather and model.reduce_scatter of the block, all verified, by a
/// collective over the data-parallel ranks, whose wait is before the first reader of its value.
void lowerAuthorCollectives(mlir::Block &block, const Placement &placement);

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_AUTHORCOLLECTIVES_H
