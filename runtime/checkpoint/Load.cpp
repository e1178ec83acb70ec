//===- Load.cpp - a checkpoint into the ranks of a plan ----------------------------------===//
#include "runtime/checkpoint/Load.h"

#include "runtime/checkpoint/PlanTensors.h"
#include "runtime/checkpoint/Shards.h"
#include "runtime/train/Variables.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace sluice {

/// The name of the plan's tensor in a checkpoint.
static std::string nameIn(const CheckpointReader &reader, const PlanTensor &tensor) {
  if (tensor.rank < 0)
    return tensor.name;
  const std::string own = fmt::format("rank{}", tensor.rank);
  return fmt::format("rank{}{}", static_cast<std::uint64_t>(tensor.rank) % reader.state().world,
                     tensor.name.substr(own.size()));
}

Status checkModel(const CheckpointReader &reader, const plan::PlanT &plan) {
  const auto difference = [&](const std::string &text) {
    return refusedError(fmt::format("'{}': {}", reader.path(), text))
        .withNote("a checkpoint continues in plans of the same model, optimizer and precision.parameter");
  };
  const auto typeOf = [](std::string_view dtype, const Extents &shape) {
    return fmt::format("{} {}", dtype, shapeText(shape));
  };
  std::set<std::string> known;
  const auto &tensors = reader.index().tensors;
  for (const PlanTensor &tensor : planTensors(plan)) {
    const std::string name = nameIn(reader, tensor), expected = typeOf(safetensorsName(tensor.dtype), tensor.shape);
    const auto found = tensors.find(name);
    known.insert(name);
    if (found == tensors.end())
      return difference(fmt::format("tensor '{}' of the plan ({}) is missing in the checkpoint", name, expected));
    if (const std::string got = typeOf(found->second.dtype, found->second.shape); got != expected)
      return difference(fmt::format("tensor '{}', expected {} as in the plan but got {}", name, expected, got));
  }
  for (const auto &[name, tensor] : tensors)
    if (!known.contains(name) && !isVariable(plan, name))
      return difference(fmt::format("tensor '{}' ({}) is in the checkpoint but not in the plan", name,
                                    typeOf(tensor.dtype, tensor.shape)));
  return Status::ok();
}

/// Writes zeros to the buffer of a rank.
static Status clear(Ranks &ranks, int rank, std::uint32_t buffer, std::span<std::byte> block) {
  std::ranges::fill(block, std::byte{});
  const std::uint64_t bytes = ranks.plan().buffers[buffer]->bytes;
  for (std::uint64_t at = 0; at < bytes; at += block.size())
    SLUICE_RETURN_IF_ERROR(
        ranks.write(rank, buffer, at, block.first(std::min<std::uint64_t>(block.size(), bytes - at))));
  return Status::ok();
}

static Status loadPart(Ranks &ranks, const CheckpointReader &reader, const PlanTensor &tensor, const TensorPart &part,
                       std::span<std::byte> block) {
  const std::uint64_t element = dtypeBytes(tensor.dtype);
  const std::string name = nameIn(reader, tensor);
  std::uint64_t elements = 0;
  for (const ShardRun &run : part.runs)
    elements += run.count;
  for (int rank : part.ranks)
    if (ranks.holds(rank) && elements * element != ranks.plan().buffers[tensor.buffer]->bytes)
      SLUICE_RETURN_IF_ERROR(clear(ranks, rank, tensor.buffer, block));
  for (const ShardRun &run : part.runs)
    for (std::uint64_t at = 0; at < run.count;) {
      const std::uint64_t count = std::min(run.count - at, block.size() / element);
      const std::span<std::byte> bytes = block.first(count * element);
      ranks.noteWork();
      SLUICE_RETURN_IF_ERROR(reader.read(name, run.begin + at, bytes));
      for (int rank : part.ranks)
        if (ranks.holds(rank))
          SLUICE_RETURN_IF_ERROR(ranks.write(rank, tensor.buffer, (run.offset + at) * element, bytes));
      at += count;
    }
  return Status::ok();
}

Status loadTensors(Ranks &ranks, const CheckpointReader &reader) {
  std::vector<std::byte> block(checkpointBlock);
  for (const PlanTensor &tensor : planTensors(ranks.plan()))
    for (const TensorPart &part : partsOf(ranks.plan(), tensor))
      if (std::ranges::any_of(part.ranks, [&](int rank) { return ranks.holds(rank); }))
        SLUICE_RETURN_IF_ERROR(loadPart(ranks, reader, tensor, part, block));
  return Status::ok();
}

} // namespace sluice
