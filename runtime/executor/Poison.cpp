//===- Poison.cpp - overwrites bytes whose lifespan has ended ------------------------===//
#include "runtime/executor/Poison.h"

#include "runtime/executor/LifespanEnds.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>

namespace sluice {
namespace {

class Poison final : public InstructionObserver {
public:
  Poison(const plan::PlanT &plan, RankMemory memory) : plan(plan), memory(std::move(memory)) {
    std::mt19937_64 bits;
    for (std::uint64_t &word : noise)
      word = bits();
  }

  Status beforeEntry(std::uint32_t entry) override {
    ++runs;
    if (entry == current)
      return {};
    current = entry;
    fillTransient();
    for (std::size_t space = 0; space < ends.size(); ++space)
      ends[space] = lifespanEnds(plan, entry, static_cast<plan::Space>(space));
    instructions.clear();
    forEachInstruction(*plan.entries[entry], [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
      instructions.push_back(&instruction);
    });
    return {};
  }

  Status afterInstruction(const ObservedInstruction &instruction) override {
    for (std::size_t space = 0; space < ends.size(); ++space)
      for (const auto &[range, isInLast, isInOthers] : ends[space][instruction.index])
        if (instruction.isLastRepetition ? isInLast : isInOthers)
          fill(memory.arenas[space].subspan(range.begin, range.end - range.begin));
    const plan::InstructionT &issued = *instructions[instruction.index];
    if (const plan::LaunchT *launch = issued.operation.AsLaunch())
      fill(memory.workspaces[issued.stream].first(launch->workspace));
    return {};
  }

private:
  void fill(std::span<std::byte> bytes) {
    if (runs % 2 != 0) {
      // All bits set is a NaN in every float type.
      std::ranges::fill(bytes, std::byte{0xff});
      return;
    }
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), sizeof noise)))
      std::memcpy(bytes.data(), noise.data(), std::min(bytes.size(), sizeof noise));
  }

  /// All bytes that are neither persistent nor of a port.
  void fillTransient() {
    const std::vector<bool> isPort = portBuffers(plan);
    for (const auto &arena : plan.arenas) {
      const auto space = static_cast<std::size_t>(arena->space);
      std::vector<ByteRange> kept;
      for (std::uint32_t b = 0; b < plan.buffers.size(); ++b)
        if (plan.buffers[b]->space == arena->space && isPort[b])
          kept.push_back({plan.buffers[b]->offset, plan.buffers[b]->offset + plan.buffers[b]->bytes});
      std::ranges::sort(kept, {}, &ByteRange::begin);
      std::uint64_t from = arena->persistent;
      kept.push_back({arena->bytes, arena->bytes});
      for (const ByteRange &range : kept) {
        if (from < range.begin)
          fill(memory.arenas[space].subspan(from, range.begin - from));
        from = std::max(from, range.end);
      }
    }
  }

  const plan::PlanT &plan;
  const RankMemory memory;
  std::array<std::uint64_t, 512> noise;
  std::uint64_t runs = 0;
  /// The entry point that ran last, with its instructions and, by plan::Space, the ends of its lifespans.
  std::optional<std::uint32_t> current;
  std::vector<const plan::InstructionT *> instructions;
  std::array<std::vector<std::vector<LifespanEnd>>, 2> ends;
};

} // namespace

ObserverFactory poisonObserver() {
  return [](const plan::PlanT &plan, int, RankMemory memory) -> std::unique_ptr<InstructionObserver> {
    return std::make_unique<Poison>(plan, std::move(memory));
  };
}

} // namespace sluice
