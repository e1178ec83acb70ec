//===- Load.cpp - a checkpoint into the ranks of a plan ----------------------------------===//
#include "runtime/checkpoint/Load.h"

#include "runtime/checkpoint/PlanTensors.h"
#include "runtime/checkpoint/Shards.h"
#include "runtime/plan/CheckpointMemory.h"
#include "runtime/train/Variables.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
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

namespace {

/// Writes the elements of a part of a file that a rank has to its buffer, in the order of the file.
class PartWriter {
public:
  PartWriter(Ranks &ranks, int rank, const PlanTensor &tensor, const Box &box)
      : ranks(ranks), rank(rank), buffer(tensor.buffer), element(dtypeBytes(tensor.dtype)),
        ranges(rangesOf(box, tensor.shape)), runs(runsOf(ranks.plan(), tensor, rank)) {
    findCommon();
  }

  /// The next element of the part that the rank has; nullopt: it has no more.
  std::optional<std::uint64_t> next() const { return common ? std::optional(common->inPart) : std::nullopt; }
  std::uint64_t elementBytes() const { return element; }

  /// Writes those of the part's elements from `begin` on; earlier ones that the rank has were written.
  Status write(std::uint64_t begin, std::span<const std::byte> bytes) {
    const std::uint64_t end = begin + bytes.size() / element;
    while (common && common->inPart < end) {
      const std::uint64_t count = std::min(common->count, end - common->inPart);
      SLUICE_RETURN_IF_ERROR(ranks.write(rank, buffer, common->inBuffer * element,
                                         bytes.subspan((common->inPart - begin) * element, count * element)));
      common->inPart += count;
      common->inBuffer += count;
      common->count -= count;
      if (common->count == 0)
        findCommon();
    }
    return Status::ok();
  }

private:
  /// Elements that are contiguous in the part and in the rank's buffer.
  struct Common {
    std::uint64_t inPart = 0, inBuffer = 0, count = 0;
  };

  /// Finds the next elements that a range of the part and a run of the rank have in common. Both are ascending.
  void findCommon() {
    common.reset();
    while (!common && range < ranges.size() && run < runs.size()) {
      const ElementRange &inTensor = ranges[range];
      const ShardRun &held = runs[run];
      const std::uint64_t rangeEnd = inTensor.begin + inTensor.count, runEnd = held.begin + held.count;
      const std::uint64_t begin = std::max(inTensor.begin, held.begin), end = std::min(rangeEnd, runEnd);
      if (begin < end)
        common = {rangeBegin + begin - inTensor.begin, held.offset + begin - held.begin, end - begin};
      if (rangeEnd <= runEnd) {
        rangeBegin += inTensor.count;
        ++range;
      } else {
        ++run;
      }
    }
  }

  Ranks &ranks;
  const int rank;
  const std::uint32_t buffer;
  const std::uint64_t element;
  const std::vector<ElementRange> ranges;
  const std::vector<ShardRun> runs;
  std::size_t range = 0, run = 0;
  /// Elements of the part before the range.
  std::uint64_t rangeBegin = 0;
  std::optional<Common> common;
};

/// Loads one rank.
class RankLoader {
public:
  RankLoader(Ranks &ranks, int rank, const CheckpointReader &reader, bool verifiesAll)
      : ranks(ranks), rank(rank), reader(reader), verifiesAll(verifiesAll), block(checkpointBlock) {
    for (const PlanTensor &tensor : planTensors(ranks.plan()))
      if (tensor.rank < 0 || tensor.rank == rank)
        tensors.emplace(nameIn(reader, tensor), tensor);
  }

  Status load() {
    for (const auto &[name, tensor] : tensors)
      SLUICE_RETURN_IF_ERROR(clearPadding(tensor));
    for (const IndexFile &file : reader.index().files)
      if (isVerified(file))
        SLUICE_RETURN_IF_ERROR(loadVerified(file));
    for (const auto &[name, tensor] : tensors)
      for (const CheckpointReader::Place &place : reader.places(name))
        if (!isVerified(*place.file))
          SLUICE_RETURN_IF_ERROR(loadPart(place, tensor));
    return Status::ok();
  }

private:
  /// True for a file that this rank verifies. If the ranks continue as many, it is the one that each has written.
  bool isVerified(const IndexFile &file) const {
    const std::uint64_t shard = std::max<std::uint64_t>(shardOf(file.name), 1);
    return verifiesAll || (shard - 1) % static_cast<std::uint64_t>(ranks.size()) == static_cast<std::uint64_t>(rank);
  }

  /// Writes zeros to a buffer that has more than the elements of the tensor.
  Status clearPadding(const PlanTensor &tensor) {
    std::uint64_t elements = 0;
    for (const ShardRun &run : runsOf(ranks.plan(), tensor, rank))
      elements += run.count;
    const std::uint64_t bytes = ranks.plan().buffers[tensor.buffer]->bytes;
    if (elements * dtypeBytes(tensor.dtype) == bytes)
      return Status::ok();
    std::ranges::fill(block, std::byte{});
    for (std::uint64_t at = 0; at < bytes; at += block.size())
      SLUICE_RETURN_IF_ERROR(ranks.write(rank, tensor.buffer, at,
                                         std::span(block).first(std::min<std::uint64_t>(block.size(), bytes - at))));
    return Status::ok();
  }

  Status loadVerified(const IndexFile &file) {
    std::optional<PartWriter> writer;
    const auto visit = [&](const IndexPart *part, std::uint64_t offset, std::span<const std::byte> bytes) -> Status {
      SLUICE_RETURN_IF_ERROR(ranks.noteWork());
      if (!part)
        return Status::ok();
      if (offset == 0) {
        const auto tensor = tensors.find(part->tensor);
        writer.reset();
        if (tensor != tensors.end())
          writer.emplace(ranks, rank, tensor->second, part->box);
      }
      return writer ? writer->write(offset / writer->elementBytes(), bytes) : Status::ok();
    };
    return reader.verify(file, visit);
  }

  /// Reads the elements of a part that the rank has, with those between them.
  Status loadPart(const CheckpointReader::Place &place, const PlanTensor &tensor) {
    PartWriter writer(ranks, rank, tensor, place.part->box);
    if (!writer.next())
      return Status::ok();
    SLUICE_ASSIGN_OR_RETURN(const InputFile file, reader.openFile(*place.file));
    while (const std::optional<std::uint64_t> next = writer.next()) {
      const std::uint64_t begin = place.part->begin + *next * writer.elementBytes();
      const std::span<std::byte> bytes =
          std::span(block).first(std::min<std::uint64_t>(block.size(), place.part->end - begin));
      SLUICE_RETURN_IF_ERROR(ranks.noteWork());
      SLUICE_RETURN_IF_ERROR(file.readAt(begin, bytes));
      SLUICE_RETURN_IF_ERROR(writer.write(*next, bytes));
    }
    return Status::ok();
  }

  Ranks &ranks;
  const int rank;
  const CheckpointReader &reader;
  const bool verifiesAll;
  std::vector<std::byte> block;
  /// The tensors of this rank, by their names in the checkpoint.
  std::map<std::string, PlanTensor, std::less<>> tensors;
};

} // namespace

Status loadTensors(Ranks &ranks, const CheckpointReader &reader, bool isCopied) {
  std::vector<Status> results(static_cast<std::size_t>(ranks.size()));
  // A damaged file is no failure of a rank, which may load an earlier checkpoint.
  SLUICE_RETURN_IF_ERROR(ranks.forEachRank(
      [&](int rank) { results[static_cast<std::size_t>(rank)] = RankLoader(ranks, rank, reader, isCopied).load(); }));
  const auto failed = std::ranges::find_if(results, [](const Status &status) { return !status.isOk(); });
  return failed == results.end() ? Status::ok() : std::move(*failed);
}

} // namespace sluice
