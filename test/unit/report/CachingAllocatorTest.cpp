//===- CachingAllocatorTest.cpp - the memory that PyTorch's allocator reserves ----------===//
#include "runtime/report/accounts/CachingAllocator.h"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

constexpr std::uint64_t mib = std::uint64_t(1) << 20;

TEST(CachingAllocator, SegmentsBySize) {
  CachingAllocator allocator(false);
  allocator.allocate(0, 1);
  EXPECT_EQ(allocator.reserved(), 2 * mib);
  allocator.allocate(0, mib); // Fits the rest of the small segment.
  EXPECT_EQ(allocator.reserved(), 2 * mib);
  allocator.allocate(0, mib + 1);
  EXPECT_EQ(allocator.reserved(), 22 * mib);
  allocator.allocate(0, 10 * mib); // The rest of the large segment.
  EXPECT_EQ(allocator.reserved(), 22 * mib);
  allocator.allocate(0, 11 * mib + 1);
  EXPECT_EQ(allocator.reserved(), 34 * mib);
  EXPECT_EQ(allocator.allocate(0, 0), 0u);
}

TEST(CachingAllocator, FreeBlocksAreTakenBySizeAndStream) {
  CachingAllocator allocator(false);
  const std::uint64_t large = allocator.allocate(0, 40 * mib), small = allocator.allocate(0, 30 * mib);
  allocator.free(large);
  allocator.free(small);
  EXPECT_EQ(allocator.allocate(0, 29 * mib), small);
  EXPECT_EQ(allocator.allocate(0, 40 * mib), large);
  EXPECT_EQ(allocator.reserved(), 70 * mib);
  // Another stream has separate pools.
  allocator.free(large);
  allocator.allocate(1, 40 * mib);
  EXPECT_EQ(allocator.reserved(), 110 * mib);
}

TEST(CachingAllocator, NeighboursMerge) {
  CachingAllocator allocator(false);
  const std::uint64_t all = allocator.allocate(0, 60 * mib);
  allocator.free(all);
  const std::uint64_t first = allocator.allocate(0, 20 * mib), second = allocator.allocate(0, 20 * mib);
  EXPECT_EQ(second, first + 20 * mib);
  allocator.free(second);
  allocator.free(first);
  EXPECT_EQ(allocator.allocate(0, 60 * mib), all);
  EXPECT_EQ(allocator.reserved(), 60 * mib);
}

/// A block that is too small for the next tensor is lost, except with expandable segments, which grow.
TEST(CachingAllocator, ExpandableSegmentsGrow) {
  for (const bool isExpandable : {false, true}) {
    CachingAllocator allocator(isExpandable);
    allocator.free(allocator.allocate(0, 40 * mib));
    allocator.allocate(0, 60 * mib);
    EXPECT_EQ(allocator.reserved(), isExpandable ? 60 * mib : 100 * mib);
  }
}

} // namespace
} // namespace sluice::test
