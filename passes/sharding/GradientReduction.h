//===- GradientReduction.h - reductions of gradients over the data axes -------------===//
#ifndef SLUICE_PASSES_SHARDING_GRADIENTREDUCTION_H
#define SLUICE_PASSES_SHARDING_GRADIENTREDUCTION_H

#include "passes/sharding/Placement.h"

namespace sluice {

/// Replaces the values of a reshard of a unit's gradients, which has no users after that. Sharded results are those of
/// a reduce_scatter that an all_reduce over replicas completes, others those of an all_reduce. They are divided as the
/// unit states, else averaged over the ranks of data; f16 and `forceSum` divide outside of the collectives.
void lowerReduction(spmd::ReshardOp reshard, const Placement &placement, bool forceSum);

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_GRADIENTREDUCTION_H
