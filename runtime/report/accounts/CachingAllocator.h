//===- CachingAllocator.h - the memory that PyTorch's allocator reserves -----------------------===//
//
// A model of the caching allocator of PyTorch 2.15 for CUDA (c10/cuda/CUDACachingAllocator.cpp): sizes rounded to 512
// bytes; a pool of small and one of large blocks for each stream; the smallest free block that is large enough, split
// where enough remains; segments of 2 MiB, of 20 MiB, or of the size rounded to 2 MiB. With expandable segments each
// pool is one segment that grows. Memory is never returned to the driver: without pressure, it is not.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_ACCOUNTS_CACHINGALLOCATOR_H
#define SLUICE_RUNTIME_REPORT_ACCOUNTS_CACHINGALLOCATOR_H

#include <cstdint>
#include <map>
#include <set>
#include <tuple>

namespace sluice {

class CachingAllocator {
public:
  explicit CachingAllocator(bool hasExpandableSegments) : isExpandable(hasExpandableSegments) {}

  /// A block for `bytes` on a stream; 0 bytes are no block, of id 0.
  std::uint64_t allocate(std::uint32_t stream, std::uint64_t bytes);
  /// Frees a block; id 0 is ignored.
  void free(std::uint64_t block);

  std::uint64_t reserved() const { return reservedBytes; }

private:
  /// By address. Addresses of segments never touch, except in an expandable one.
  struct Block {
    std::uint64_t bytes = 0, segment = 0;
    std::uint32_t pool = 0;
    bool isFree = false;
  };
  using Blocks = std::map<std::uint64_t, Block>;

  Blocks::iterator grow(std::uint32_t pool, std::uint64_t bytes);
  void take(Blocks::iterator block, std::uint64_t bytes);
  void addFree(Blocks::iterator block);

  const bool isExpandable;
  Blocks blocks;
  /// Pool, bytes, address.
  std::set<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>> freeBlocks;
  /// Of an expandable pool: the address after its last block.
  std::map<std::uint32_t, std::uint64_t> ends;
  std::uint64_t reservedBytes = 0, segments = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_ACCOUNTS_CACHINGALLOCATOR_H
