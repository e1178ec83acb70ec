//===- Races.cpp - unordered accesses of the threads of an emulated launch --------------------===//
#include "test/cuda/Races.h"

#include "runtime/base/cuda/Lane.h"

namespace sluice::test {

using cuda::warpSize;

void Races::track(const void *begin, std::size_t bytes) {
  ranges.push_back({reinterpret_cast<std::uintptr_t>(begin), std::vector<Byte>(bytes)});
}

void Races::beginLaunch(const std::string &name, int threads) {
  kernel = name;
  ++launch;
  clocks.assign(static_cast<std::size_t>(threads), {});
}

void Races::beginBlock(std::int64_t index, const void *memory, std::size_t bytes) {
  block = index;
  shared.begin = reinterpret_cast<std::uintptr_t>(memory);
  shared.bytes.assign(bytes, {});
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    const auto thread = static_cast<std::int32_t>(i);
    clocks[i] = {static_cast<std::int32_t>(index), thread / warpSize, thread, 0, 0};
  }
}

void Races::barrier(bool ofBlock, int thread) {
  Clock &clock = clocks[static_cast<std::size_t>(thread)];
  ++(ofBlock ? clock.blockBarriers : clock.warpBarriers);
}

Races::Byte *Races::byteAt(std::uintptr_t address) {
  if (address >= shared.begin && address - shared.begin < shared.bytes.size())
    return &shared.bytes[address - shared.begin];
  for (Range &range : ranges)
    if (address >= range.begin && address - range.begin < range.bytes.size())
      return &range.bytes[address - range.begin];
  return nullptr;
}

bool Races::isBefore(const Clock &earlier, const Clock &now) {
  if (earlier.block == none || (earlier.block == now.block && earlier.thread == now.thread))
    return true;
  if (earlier.block != now.block)
    return false;
  return earlier.blockBarriers != now.blockBarriers ||
         (earlier.warp == now.warp && earlier.warpBarriers != now.warpBarriers);
}

void Races::addRead(Clock &reads, const Clock &now) {
  // A read after all earlier ones replaces them: a write that it happens before is after them, too.
  if (reads.block == none ||
      (reads.block == now.block &&
       isBefore({reads.block, reads.warp, several, reads.blockBarriers, reads.warpBarriers}, now))) {
    reads = now;
    return;
  }
  if (reads.block != now.block) {
    reads.block = several;
    return;
  }
  if (reads.warp != now.warp)
    reads.warp = several;
  if (reads.thread != now.thread)
    reads.thread = several;
}

void Races::access(const void *address, std::size_t bytes, bool writes, int thread) {
  if (!text.empty())
    return;
  const Clock &now = clocks[static_cast<std::size_t>(thread)];
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  for (std::uintptr_t at = begin; at < begin + bytes; ++at) {
    Byte *byte = byteAt(at);
    if (!byte)
      return;
    if (byte->launch != launch)
      *byte = {launch, {}, {}};
    const bool afterWrite = isBefore(byte->write, now);
    if (!afterWrite || (writes && !isBefore(byte->read, now))) {
      const Clock &other = afterWrite ? byte->read : byte->write;
      const bool inShared = at >= shared.begin && at - shared.begin < shared.bytes.size();
      text = kernel + ": thread " + std::to_string(thread) + " of block " + std::to_string(block) +
             (writes ? " writes " : " reads ") + (inShared ? "shared" : "global") + " memory that " +
             (other.thread == several ? "other threads" : "thread " + std::to_string(other.thread)) +
             (other.block == several ? " of other blocks" : " of block " + std::to_string(other.block)) +
             (afterWrite ? " read" : " wrote") + ", with no barrier between";
      return;
    }
    if (writes) {
      byte->write = now;
      byte->read = {};
    } else {
      addRead(byte->read, now);
    }
  }
}

} // namespace sluice::test
