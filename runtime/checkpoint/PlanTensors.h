//===- PlanTensors.h - the state of a training, as named tensors --------------------===//
//
// A checkpoint has the plan's parameters by their names, a state of parameter P as `optimizer.state.P.STATE`, and a
// variable of rank R as `rankR.NAME`. Names and shapes are global: they do not depend on how the plan shards a tensor.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CHECKPOINT_PLANTENSORS_H
#define SLUICE_RUNTIME_CHECKPOINT_PLANTENSORS_H

#include "runtime/checkpoint/Box.h"
#include "runtime/train/ShardRuns.h"

#include <string>
#include <vector>

namespace sluice {

struct PlanTensor {
  std::string name;
  DType dtype = DType::f32;
  Extents shape;
  std::uint32_t buffer = 0;
  /// Null for a variable.
  const plan::ParameterT *parameter = nullptr;
  /// The rank of a variable.
  int rank = -1;
};

/// In order of name.
std::vector<PlanTensor> planTensors(const plan::PlanT &plan);

/// A digest of names, dtypes and shapes of the parameters and states: equal for plans that can continue each other's
/// training.
std::string modelDigest(const plan::PlanT &plan);

/// The elements of a tensor that a rank has; none of a variable of a different rank.
std::vector<ShardRun> runsOf(const plan::PlanT &plan, const PlanTensor &tensor, int rank);

} // namespace sluice

#endif // SLUICE_RUNTIME_CHECKPOINT_PLANTENSORS_H
