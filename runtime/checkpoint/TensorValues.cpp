//===- TensorValues.cpp - the unsharded values of a plan's tensor ------------------------===//
#include "runtime/checkpoint/TensorValues.h"

namespace sluice {

Status readTensor(const Ranks &ranks, const PlanTensor &tensor, std::span<std::byte> out) {
  const plan::PlanT &plan = ranks.plan();
  const std::uint64_t element = dtypeBytes(tensor.dtype);
  // The ranks at coordinate 0 of the axes along which the tensor is not divided.
  const std::vector<int> holders =
      tensor.parameter ? groupMembers(plan, 0, shardAxes(*tensor.parameter)) : std::vector<int>{tensor.rank};
  for (const int rank : holders)
    for (const ShardRun &run : runsOf(plan, tensor, rank))
      SLUICE_RETURN_IF_ERROR(
          ranks.read(rank, tensor.buffer, run.offset * element, out.subspan(run.begin * element, run.count * element)));
  return Status::ok();
}

Status writeTensor(Ranks &ranks, const PlanTensor &tensor, std::span<const std::byte> values) {
  const std::uint64_t element = dtypeBytes(tensor.dtype);
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks.holds(rank))
      continue;
    for (const ShardRun &run : runsOf(ranks.plan(), tensor, rank))
      SLUICE_RETURN_IF_ERROR(ranks.write(rank, tensor.buffer, run.offset * element,
                                         values.subspan(run.begin * element, run.count * element)));
  }
  return Status::ok();
}

} // namespace sluice
