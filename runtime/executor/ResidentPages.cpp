//===- ResidentPages.cpp - measures which pages of the arenas are resident -----------===//
#include "runtime/executor/ResidentPages.h"

#include "runtime/executor/LifespanEnds.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace sluice {
namespace {

constexpr std::uint64_t pageBytes = 4096;

class ResidentPages final : public InstructionObserver {
public:
  ResidentPages(const plan::PlanT &plan, RankMemory memory, std::shared_ptr<PageReport> report)
      : plan(plan), memory(std::move(memory)), report(std::move(report)), isPort(portBuffers(plan)) {}

  Status afterInstruction(const ObservedInstruction &instruction) override {
    for (const auto &arena : plan.arenas)
      SLUICE_RETURN_IF_ERROR(measure(arena->space, instruction));
    return {};
  }

private:
  /// The pages of an arena with a byte of a buffer that is live during an instruction; with `after`, also after it.
  std::vector<bool> livePages(plan::Space space, const ObservedInstruction &instruction, bool after) const {
    const std::uint64_t bytes = memory.arenas[static_cast<std::size_t>(space)].size();
    std::vector<bool> pages((bytes + pageBytes - 1) / pageBytes, false);
    for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
      const plan::BufferT &buffer = *plan.buffers[b];
      if (buffer.space != space || buffer.bytes == 0)
        continue;
      const bool isLive =
          buffer.entry == static_cast<int>(instruction.entry) && buffer.begin <= instruction.index &&
          instruction.index < buffer.end &&
          (!after || isLiveAfter(buffer, instruction.index, instruction.section, instruction.isLastRepetition));
      if (buffer.entry == -1 || isPort[b] || isLive)
        std::fill(pages.begin() + static_cast<std::ptrdiff_t>(buffer.offset / pageBytes),
                  pages.begin() + static_cast<std::ptrdiff_t>((buffer.offset + buffer.bytes - 1) / pageBytes) + 1,
                  true);
    }
    return pages;
  }

  Status measure(plan::Space space, const ObservedInstruction &instruction) {
    const std::span<std::byte> arena = memory.arenas[static_cast<std::size_t>(space)];
    if (arena.empty())
      return {};
    const std::vector<bool> live = livePages(space, instruction, /*after=*/false);
    resident.resize(live.size());
    if (mincore(arena.data(), arena.size(), resident.data()) != 0)
      return failedError(std::string("cannot read which pages are resident: ") + std::strerror(errno));
    PageBytes bytes;
    for (std::size_t page = 0; page < live.size(); ++page) {
      const bool isResident = resident[page] & 1;
      if (isResident && !live[page])
        return failedError("page at offset " + std::to_string(page * pageBytes) + " of the " +
                           plan::EnumNameSpace(space) + " arena is resident after instruction " +
                           std::to_string(instruction.index) + " of '" + plan.entries[instruction.entry]->name +
                           "', but none of its bytes is live there");
      bytes.resident += isResident * pageBytes;
      bytes.live += live[page] * pageBytes;
    }
    report->add(space, bytes);
    return release(arena, livePages(space, instruction, /*after=*/true));
  }

  /// Returns the resident pages that are not kept.
  Status release(std::span<std::byte> arena, const std::vector<bool> &kept) {
    for (std::size_t page = 0; page < kept.size(); ++page) {
      const std::size_t first = page;
      while (page < kept.size() && !kept[page] && (resident[page] & 1))
        ++page;
      if (page != first && madvise(arena.data() + first * pageBytes, (page - first) * pageBytes, MADV_DONTNEED) != 0)
        return failedError(std::string("cannot return pages to the operating system: ") + std::strerror(errno));
    }
    return {};
  }

  const plan::PlanT &plan;
  const RankMemory memory;
  const std::shared_ptr<PageReport> report;
  const std::vector<bool> isPort;
  std::vector<unsigned char> resident;
};

} // namespace

ObserverFactory pageObserver(std::shared_ptr<PageReport> report) {
  return [report = std::move(report)](const plan::PlanT &plan, int,
                                      RankMemory memory) -> std::unique_ptr<InstructionObserver> {
    return std::make_unique<ResidentPages>(plan, std::move(memory), report);
  };
}

} // namespace sluice
