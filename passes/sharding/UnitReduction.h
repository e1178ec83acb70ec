//===- UnitReduction.h - how the gradients of one unit cross ranks ------------------------===//
#ifndef SLUICE_PASSES_SHARDING_UNITREDUCTION_H
#define SLUICE_PASSES_SHARDING_UNITREDUCTION_H

#include "passes/sharding/Placement.h"

namespace sluice {

/// A gradient on its way: the op, the value to reduce, and the type of what the update reads.
struct UnitGradient {
  model::GradientOp op;
  mlir::Value local;
  mlir::RankedTensorType shard;
};

/// Replaces gradients of one unit by one reduction where the builder stands: those of sharded parameters by a
/// reduce_scatter that an all_reduce over replicas completes, the others by an all_reduce over all data-parallel ranks;
/// added up over repetitions, scaled and issued as the unit's knobs say. They cross ranks in their own element type. The
/// gradients go into `done`, to be erased when nothing more is placed before one of them.
void reduceUnit(spmd::UnitOp unit, spmd::SectionOp section, const Placement &placement, bool forceSum,
                llvm::ArrayRef<UnitGradient> gradients, mlir::OpBuilder &builder,
                llvm::SmallVectorImpl<mlir::Operation *> &done);

/// The sum over repetitions of a value of a section that is repeated; the value itself where it is not. `starts`: the
/// repetitions in which it begins anew, the first for none.
mlir::Value addedUp(mlir::Value local, spmd::SectionOp section, std::optional<When> starts = std::nullopt);

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_UNITREDUCTION_H
