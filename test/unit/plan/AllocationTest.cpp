//===- AllocationTest.cpp - numbers of a file allocate nothing before they are checked -------===//
//
// Every word of a correct plan is replaced by a large number, with a matching digest. Reading and checking such a plan
// never request more memory than a plan of that size needs.
//
//===----------------------------------------------------------------------===//
#include "HandPlan.h"
#include "LargestRequest.h"

#include "runtime/base/Sha256.h"
#include "runtime/plan/Checker.h"
#include "runtime/plan/Reader.h"
#include "runtime/plan/Serialize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace sluice::test {
namespace {

TEST(Allocation, LargeCountsAllocateNothing) {
  if (!countsRequests())
    GTEST_SKIP() << "sanitizers have their own allocator";
  HandPlan hand;
  const std::vector<std::uint8_t> good = serializePlan(hand.plan);
  const std::size_t digestAt = std::size_t(plan::GetPlan(good.data())->digest()->data() - good.data());
  std::size_t accepted = 0;
  for (const std::uint32_t number : {0x7fffffffu, 0x00ffffffu, 0x000fffffu})
    for (std::size_t at = 0; at + 4 <= good.size(); at += 4) {
      if (at + 4 > digestAt && at < digestAt + digestBytes)
        continue;
      std::vector<std::uint8_t> bytes = good;
      std::memcpy(bytes.data() + at, &number, sizeof number);
      std::fill_n(bytes.begin() + std::ptrdiff_t(digestAt), digestBytes, 0);
      const Digest digest = sha256(bytes);
      std::copy(digest.begin(), digest.end(), bytes.begin() + std::ptrdiff_t(digestAt));
      forgetRequests();
      Result<PlanFile> file = parsePlan(bytes, "test.plan");
      if (file.isOk()) {
        ++accepted;
        (void)checkPlan(file->plan);
      }
      ASSERT_LE(largestRequest(), std::size_t(16) << 20) << "word at byte " << at << " as " << number;
    }
  // The digest matches, so that numbers other than offsets and lengths reach the checker.
  EXPECT_GT(accepted, 100u);
}

} // namespace
} // namespace sluice::test
