//===- AuthorReductions.h - reductions over ranks that the model asks for -------------------===//
#ifndef SLUICE_PASSES_SHARDING_AUTHORREDUCTIONS_H
#define SLUICE_PASSES_SHARDING_AUTHORREDUCTIONS_H

#include "passes/sharding/Placement.h"

namespace sluice {

/// Puts a collective over the data-parallel ranks in the place of each model.all_reduce, waited for where its value is
/// first read. It carries the blocks that are gathered meanwhile (spmd::unshardName).
void lowerAllReduces(mlir::Block &block, const Placement &placement);

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_AUTHORREDUCTIONS_H
