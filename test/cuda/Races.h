//===- Races.h - unordered accesses of the threads of an emulated launch --------------------===//
//
// Two accesses of one byte, at least one of them a write, by different threads are a race unless a barrier orders them.
// The threads of a block have only barriers of the block and of a warp, so the vector clock of an access is its thread
// and two numbers: the barriers of its block, and of its warp, that the thread has passed. An access happens before
// another of the same block if its thread has passed fewer barriers of the block, or if both are of one warp and its
// thread has passed fewer barriers of the warp. Nothing orders the blocks of a launch.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_CUDA_RACES_H
#define SLUICE_TEST_CUDA_RACES_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::test {

/// Finds races in the launches of one stream while it is set (setRaces in Emulator.h). Needs the hooks of Traffic.h.
class Races {
public:
  /// Accesses to these bytes are checked, and those to shared memory.
  void track(const void *begin, std::size_t bytes);
  /// The first race; empty without a race.
  const std::string &found() const { return text; }

  /// Called by the emulator.
  void beginLaunch(const std::string &kernel, int threads);
  void beginBlock(std::int64_t block, const void *shared, std::size_t bytes);
  void access(const void *address, std::size_t bytes, bool writes, int thread);
  void barrier(bool ofBlock, int thread);

private:
  /// `none` where nothing has accessed a byte, `several` where more than one has.
  static constexpr std::int32_t none = -1, several = -2;
  /// Of one access or of several reads that are unordered among themselves.
  struct Clock {
    std::int32_t block = none, warp = none, thread = none;
    std::uint32_t blockBarriers = 0, warpBarriers = 0;
  };
  struct Byte {
    /// The launch of the accesses: a launch begins after the earlier one has ended.
    std::uint32_t launch = 0;
    Clock write, read;
  };
  struct Range {
    std::uintptr_t begin = 0;
    std::vector<Byte> bytes;
  };

  Byte *byteAt(std::uintptr_t address);
  /// True if `earlier` happens before `now`, or there is no earlier access.
  static bool isBefore(const Clock &earlier, const Clock &now);
  static void addRead(Clock &reads, const Clock &now);

  std::string kernel, text;
  std::uint32_t launch = 0;
  std::int64_t block = 0;
  std::vector<Clock> clocks;
  std::vector<Range> ranges;
  Range shared;
};

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_RACES_H
