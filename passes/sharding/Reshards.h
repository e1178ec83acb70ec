//===- Reshards.h - reads of parameters and gradients as reshards -------------------------===//
//
// From spmd-insert-data-reshards to spmd-lower-reshards, the forward and backward read a parameter through a
// `spmd.reshard` of its argument, and a gradient is a `spmd.reshard` of a value that is partial over the data axes.
// Both name their unit. A reshard that spmd-group-reshards has not merged yet also names its parameter.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_RESHARDS_H
#define SLUICE_PASSES_SHARDING_RESHARDS_H

#include "passes/sharding/Placement.h"

namespace sluice {

/// The sharding of value `index` before and after the reshard.
spmd::ShardingAttr sourceOf(spmd::ReshardOp reshard, std::size_t index = 0);
spmd::ShardingAttr destinationOf(spmd::ReshardOp reshard, std::size_t index = 0);

/// True for a reshard that completes partial results: gradients or a scalar.
bool isReduction(spmd::ReshardOp reshard);
/// True for gradients that are terms of a sum along an axis of their destination's shards; else the ranks along it have
/// equal gradients.
bool sumsAlongShards(spmd::ReshardOp reshard);
/// True for a reshard of a unit's parameters for the forward or backward.
bool isParameterRead(spmd::ReshardOp reshard);
/// True where the source differs from the destination; else at most the memory space changes.
bool changesSharding(spmd::ReshardOp reshard);
/// True for a reshard of spmd-group-reshards, and for one without a unit.
bool isGrouped(spmd::ReshardOp reshard);
/// The parameter of a read or gradient that is not grouped.
llvm::StringRef parameterOf(spmd::ReshardOp reshard);

/// True for an op that only prepares the operand of a parameter read: its cast.
bool preparesRead(mlir::Operation *op);

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_RESHARDS_H
