//===- Traffic.h - counts of the memory accesses of emulated kernels --------------------===//
//
// The kernels' source is compiled for the host with the compiler's hook before each load and store that its scalar
// optimizations leave (GCC and Clang: -fsanitize=thread, with AccessHooks.cpp in place of the sanitizer's runtime).
// Traffic counts the accesses to tracked device memory and to shared memory:
//
// - A *request* is one load or store of a warp: the n-th execution of one instruction by each of its threads in a
//   block.
// - A request of global memory moves the 32-byte *sectors* that it touches, each once. No cache is assumed: a second
//   request of the same sector counts again.
// - A request of shared memory takes as many cycles (*wavefronts*) as the bank with the most words has words; there are
//   32 banks of 4 bytes, and 8 and 16 bytes a thread are accessed by halves and quarters of a warp. What exceeds the
//   least number of cycles is *conflicts*.
//
// Sources: CUDA C++ Programming Guide (shared memory of compute capability 5.x and later), CUDA C++ Best Practices
// Guide (coalesced access). Arithmetic instructions are not visible to a hook of the host's compiler, and nvcc may keep
// more values in registers, or fewer.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_CUDA_TRAFFIC_H
#define SLUICE_TEST_CUDA_TRAFFIC_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace sluice::test {

inline constexpr std::uint64_t sectorBytes = 32;

/// Loads or stores of global memory.
struct GlobalTraffic {
  std::uint64_t requests = 0, sectors = 0;
  /// Sectors of requests of 1, 2, 4, 8 and 16 bytes a thread.
  std::array<std::uint64_t, 5> byWidth{};
};

/// Counts of one launch.
struct LaunchTraffic {
  std::string kernel;
  std::uint64_t blocks = 0;
  int threads = 0;
  GlobalTraffic loads, stores;
  std::uint64_t sharedRequests = 0, conflicts = 0;
  /// By each warp.
  std::uint64_t blockBarriers = 0, warpBarriers = 0;

  std::uint64_t movedBytes() const { return (loads.sectors + stores.sectors) * sectorBytes; }
  /// Bytes moved by requests of 8 or 16 bytes a thread.
  std::uint64_t wideBytes() const {
    return (loads.byWidth[3] + loads.byWidth[4] + stores.byWidth[3] + stores.byWidth[4]) * sectorBytes;
  }
  /// All counted instructions of warps.
  std::uint64_t instructions() const {
    return loads.requests + stores.requests + sharedRequests + blockBarriers + warpBarriers;
  }
};

/// Counts the launches of one stream while it is set (setTraffic in Emulator.h).
class Traffic {
public:
  /// False in a build whose kernels have no hooks (with a sanitizer).
  static bool isAvailable();

  /// Accesses to these bytes are counted.
  void track(const void *begin, std::size_t bytes);
  const std::vector<LaunchTraffic> &launches() const { return counted; }

  /// Called by the emulator.
  void beginLaunch(const std::string &kernel, std::uint64_t blocks, int threads);
  void beginBlock(const void *shared, std::size_t bytes);
  void access(const void *instruction, const void *address, std::size_t bytes, bool writes, int thread);
  void barrier(bool ofBlock, int thread);
  void endBlock();

private:
  struct Range {
    std::uintptr_t begin, end;
  };
  /// One instruction of one warp, executed for the n-th time in the block: the lanes' addresses.
  struct Request {
    std::size_t bytes = 0;
    bool writes = false, isShared = false;
    std::vector<std::uintptr_t> addresses;
  };
  void count(Request &request);

  std::vector<Range> ranges;
  std::uintptr_t sharedBegin = 0, sharedEnd = 0;
  /// Numbers of instructions; then by thread, and by warp, of each instruction.
  std::unordered_map<const void *, std::size_t> numbers;
  std::vector<std::vector<std::size_t>> executions;
  std::vector<std::vector<std::vector<Request>>> requests;
  std::vector<LaunchTraffic> counted;
};

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_TRAFFIC_H
