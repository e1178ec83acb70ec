//===- TensorValues.h - the unsharded values of a plan's tensor --------------------------===//
#ifndef SLUICE_RUNTIME_CHECKPOINT_TENSORVALUES_H
#define SLUICE_RUNTIME_CHECKPOINT_TENSORVALUES_H

#include "runtime/checkpoint/PlanTensors.h"
#include "runtime/train/Ranks.h"

namespace sluice {

/// Between runs: copies a tensor from its ranks, dense and row-major. `out` has room for exactly that. If ranks are
/// processes, all call it and all get the values.
Status readTensor(const Ranks &ranks, const PlanTensor &tensor, std::span<std::byte> out);

/// Between runs: writes the values into the shards of the ranks of this process. Padding stays as it is.
Status writeTensor(Ranks &ranks, const PlanTensor &tensor, std::span<const std::byte> values);

} // namespace sluice

#endif // SLUICE_RUNTIME_CHECKPOINT_TENSORVALUES_H
