//===- AuthorReductions.h - reductions over ranks that the model contains -------------------===//
#ifndef SLUICE_PASSES_SHARDING_AUTHORREDUCTIONS_H
#define SLUICE_PASSES_SHARDING_AUTHORREDUCTIONS_H

#include "passes/sharding/Placement.h"

namespace sluice {

/// Replaces each model.all_reduce by a collective over the data-parallel ranks, whose wait is before the first reader
/// of its value. `spmd.unshard` names the blocks that are gathered meanwhile.
void lowerAllReduces(mlir::Block &block, const Placement &placement);

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_AUTHORREDUCTIONS_H
