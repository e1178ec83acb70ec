//===- PlanTensors.cpp - the state of a training, as named tensors ------------------===//
#include "runtime/checkpoint/PlanTensors.h"

#include "runtime/base/DigestStream.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <fmt/format.h>

namespace sluice {

std::vector<PlanTensor> planTensors(const plan::PlanT &plan) {
  std::vector<PlanTensor> tensors;
  const auto add = [&](std::string name, const Extents &shape, std::uint32_t buffer, const plan::ParameterT *parameter,
                       int rank) {
    tensors.push_back({std::move(name), baseType(plan.buffers[buffer]->dtype), shape, buffer, parameter, rank});
  };
  for (const auto &parameter : plan.parameters) {
    add(parameter->name, parameter->shape, parameter->buffer, parameter.get(), -1);
    for (const auto &state : parameter->states)
      add(fmt::format("optimizer.state.{}.{}", parameter->name, state->name), parameter->shape, state->buffer,
          parameter.get(), -1);
  }
  for (const auto &variable : plan.variables)
    for (int rank = 0; rank < static_cast<int>(meshSize(plan)); ++rank)
      add(fmt::format("rank{}.{}", rank, variable->name), plan.buffers[variable->buffer]->shape, variable->buffer,
          nullptr, rank);
  std::sort(tensors.begin(), tensors.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
  return tensors;
}

std::string modelDigest(const plan::PlanT &plan) {
  std::string text;
  for (const PlanTensor &tensor : planTensors(plan))
    if (tensor.rank <= 0)
      text += concat(tensor.name, " ", dtypeName(tensor.dtype), "[", formatShape(tensor.shape), "]\n");
  return digestOf(text);
}

std::vector<ShardRun> runsOf(const plan::PlanT &plan, const PlanTensor &tensor, int rank) {
  std::vector<ShardRun> runs;
  if (!tensor.parameter) {
    ShardRun all;
    all.count = elementCount(tensor.shape).value_or(0);
    if (rank == tensor.rank)
      runs.push_back(all);
    return runs;
  }
  const std::uint32_t position = coordinateAlong(plan, static_cast<std::uint32_t>(rank), shardAxes(*tensor.parameter));
  // The visitor does not fail.
  (void)forEachShardRun(plan, *tensor.parameter, [&](const ShardRun &run) {
    if (run.position == position)
      runs.push_back(run);
    return Status::ok();
  });
  return runs;
}

} // namespace sluice
