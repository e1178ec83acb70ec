//===- NvtxTest.cpp - ranges for profilers, under the plan's names -----------------------------===//
#include "runtime/base/cuda/Nvtx.h"
#include "runtime/executor/RankGroup.h"
#include "test/cuda/Fake.h"
#include "test/unit/executor/RunAlone.h"

#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>

namespace sluice::test {
namespace {

plan::PlanT twoCopies() {
  PlanBuilder made;
  made.plan.target->device = "cuda";
  made.stream("compute");
  const auto x = made.buffer("x", {4}, plan::DType::f32, plan::Space::host), there = made.buffer("there", {4});
  plan::EntryT &entry = made.entry("step", 1);
  made.section();
  made.copy(0, made.view(x), made.view(there));
  made.fill(0, made.view(there), 1);
  made.port(entry.inputs, "x", made.view(x));
  return std::move(made.plan);
}

// Tests that a profiler's library is opened by NVTX's protocol and receives a range for every issued instruction,
// within that of its entry point, and for a replayed step only that of the entry point; and that streams have the
// plan's names.
TEST(Nvtx, RangesHaveThePlansNames) {
  if (!std::filesystem::exists(SLUICE_NVTX_TOOL))
    GTEST_SKIP() << "the profiler's library of the build is not on this machine";
  cuda::Nvtx tool;
  ASSERT_TRUE(cuda::openNvtx(SLUICE_NVTX_TOOL, tool));
  ASSERT_TRUE(tool.hasRanges());
  const auto take = reinterpret_cast<const char *(*)()>(dlsym(dlopen(SLUICE_NVTX_TOOL, RTLD_NOW), "takeWritten"));
  ASSERT_NE(take, nullptr);
  cuda::setNvtx(&tool);
  {
    FakeCuda fake;
    const plan::PlanT plan = twoCopies();
    auto group = RankGroup::create(plan);
    ASSERT_TRUE(group.isOk()) << group.status().message();
    EXPECT_EQ(std::string(take()), "stream compute;");
    const std::string both = "[step[step, instruction 0 (copy)][step, instruction 1 (fill)]]";
    for (const std::string &wanted : {both, both, std::string("[step]")}) {
      ASSERT_TRUE((*group)->runEntry("step").isOk());
      EXPECT_EQ(std::string(take()), wanted);
    }
  }
  cuda::setNvtx(nullptr);
}

// Tests that nothing is named without a profiler, and that a library without the protocol has no effect.
TEST(Nvtx, NoProfilerNoRanges) {
  EXPECT_EQ(cuda::nvtx(), nullptr);
  cuda::Nvtx none;
  EXPECT_FALSE(cuda::openNvtx("/there/is/none.so", none));
  EXPECT_FALSE(cuda::openNvtx("libm.so.6", none));
  EXPECT_FALSE(none.hasRanges());
}

} // namespace
} // namespace sluice::test
