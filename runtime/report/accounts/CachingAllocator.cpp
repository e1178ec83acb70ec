//===- CachingAllocator.cpp - the memory that PyTorch's allocator reserves ---------------------===//
#include "runtime/report/accounts/CachingAllocator.h"

#include <iterator>

namespace sluice {
namespace {

constexpr std::uint64_t mib = std::uint64_t(1) << 20;
/// kMinBlockSize, kSmallSize, kSmallBuffer, kLargeBuffer, kMinLargeAlloc, kRoundLarge.
constexpr std::uint64_t leastBlock = 512, mostSmall = mib, smallSegment = 2 * mib, largeSegment = 20 * mib,
                        leastOwnSegment = 10 * mib, segmentRounding = 2 * mib;
/// Further than any segment is long.
constexpr std::uint64_t segmentDistance = std::uint64_t(1) << 46;

std::uint64_t roundUp(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }
bool isSmall(std::uint32_t pool) { return pool % 2 == 0; }

} // namespace

void CachingAllocator::addFree(Blocks::iterator block) {
  block->second.isFree = true;
  freeBlocks.insert({block->second.pool, block->second.bytes, block->first});
}

/// A free block of at least `bytes`: a new segment, or the end of the expandable one, with the free block before it.
CachingAllocator::Blocks::iterator CachingAllocator::grow(std::uint32_t pool, std::uint64_t bytes) {
  const std::uint64_t page = isSmall(pool) ? smallSegment : largeSegment;
  if (!isExpandable) {
    const std::uint64_t segment = isSmall(pool) || bytes < leastOwnSegment ? page : roundUp(bytes, segmentRounding);
    reservedBytes += segment;
    return blocks.emplace(++segments * segmentDistance, Block{segment, segments, pool}).first;
  }
  auto [end, isNew] = ends.emplace(pool, 0);
  if (isNew)
    end->second = ++segments * segmentDistance;
  auto last = blocks.lower_bound(end->second);
  std::uint64_t available = 0;
  if (last != blocks.begin() && std::prev(last)->second.isFree && std::prev(last)->second.pool == pool) {
    last = std::prev(last);
    available = last->second.bytes;
    freeBlocks.erase({pool, available, last->first});
  } else {
    last = blocks.emplace(end->second, Block{0, end->second / segmentDistance, pool}).first;
  }
  const std::uint64_t added = roundUp(bytes - available, page);
  reservedBytes += added;
  end->second += added;
  last->second.bytes += added;
  last->second.isFree = false;
  return last;
}

/// Splits the block after its first `bytes` if enough remains.
void CachingAllocator::take(Blocks::iterator block, std::uint64_t bytes) {
  Block &taken = block->second;
  taken.isFree = false;
  const std::uint64_t remaining = taken.bytes - bytes;
  if (isSmall(taken.pool) || isExpandable ? remaining < leastBlock : remaining <= mostSmall)
    return;
  taken.bytes = bytes;
  addFree(blocks.emplace(block->first + bytes, Block{remaining, taken.segment, taken.pool}).first);
}

std::uint64_t CachingAllocator::allocate(std::uint32_t stream, std::uint64_t bytes) {
  if (bytes == 0)
    return 0;
  const std::uint64_t rounded = roundUp(bytes, leastBlock);
  const std::uint32_t pool = 2 * stream + (rounded > mostSmall ? 1 : 0);
  Blocks::iterator block;
  if (const auto found = freeBlocks.lower_bound({pool, rounded, 0});
      found != freeBlocks.end() && std::get<0>(*found) == pool) {
    block = blocks.find(std::get<2>(*found));
    freeBlocks.erase(found);
  } else {
    block = grow(pool, rounded);
  }
  take(block, rounded);
  return block->first;
}

void CachingAllocator::free(std::uint64_t address) {
  auto block = blocks.find(address);
  if (address == 0 || block == blocks.end())
    return;
  // Merged with free neighbours of its segment.
  if (const auto next = std::next(block);
      next != blocks.end() && next->second.isFree && next->second.segment == block->second.segment) {
    freeBlocks.erase({next->second.pool, next->second.bytes, next->first});
    block->second.bytes += next->second.bytes;
    blocks.erase(next);
  }
  if (block != blocks.begin())
    if (const auto before = std::prev(block);
        before->second.isFree && before->second.segment == block->second.segment) {
      freeBlocks.erase({before->second.pool, before->second.bytes, before->first});
      before->second.bytes += block->second.bytes;
      blocks.erase(block);
      block = before;
    }
  addFree(block);
}

} // namespace sluice
