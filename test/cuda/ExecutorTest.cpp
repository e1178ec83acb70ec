//===- ExecutorTest.cpp - plans for a GPU that cannot run, and a GPU that fails ------------------------------------===//
#include "runtime/executor/RankGroup.h"
#include "test/cuda/Fake.h"
#include "test/unit/executor/ShardedPlan.h"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

plan::PlanT onCuda(std::uint32_t ranks) {
  plan::PlanT plan = std::move(sharded(ranks).plan);
  plan.target->device = "cuda";
  return plan;
}

Status statusOf(const plan::PlanT &plan) {
  auto group = RankGroup::create(plan);
  return group.isOk() ? (*group)->runEntry("train_step") : group.takeStatus();
}

// Tests that the sharded step of the executor's own tests runs on the device, on one rank and on several.
TEST(CudaExecutor, RunsTheShardedStep) {
  for (std::uint32_t ranks : {1u, 2u, 4u}) {
    FakeCuda fake;
    const plan::PlanT plan = onCuda(ranks);
    const Status status = statusOf(plan);
    EXPECT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(fake.complaint(), "");
    EXPECT_EQ(fake.liveObjects(), 0);
  }
}

TEST(CudaExecutor, RefusesAPlanForALaterGpu) {
  FakeCuda fake;
  plan::PlanT plan = onCuda(1);
  plan.target->arch = "sm_100";
  const Status status = statusOf(plan);
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_EQ(status.message(), "architecture of the device, expected sm_100 as the plan's target.arch but got sm_90");
  EXPECT_EQ(fake.liveObjects(), 0);
}

// Tests that too little memory is told before the first launch, with what takes most.
TEST(CudaExecutor, TooLittleMemoryNamesTheLargestBuffers) {
  FakeOptions options;
  options.memory = 100;
  FakeCuda fake(options);
  const Status status = statusOf(onCuda(1));
  EXPECT_EQ(status.code(), StatusCode::failed);
  EXPECT_NE(status.message().find("memory for the arena of rank 0: the device has 100 of 100 bytes free"), std::string::npos)
      << status.message();
  ASSERT_EQ(status.notes().size(), 3u);
  EXPECT_EQ(status.notes()[0], "buffer 'shard' takes 120 bytes");
  for (const FakeCall &call : FakeCuda::takeCalls())
    EXPECT_NE(call.kind, FakeCall::Kind::launch);
}

// Tests that a launch that fails is named, and that nothing is left behind.
TEST(CudaExecutor, AFailedLaunchIsNamed) {
  FakeOptions options;
  options.failingLaunch = 0;
  FakeCuda fake(options);
  const Status status = statusOf(onCuda(1));
  EXPECT_EQ(status.code(), StatusCode::failed);
  EXPECT_TRUE(status.message().starts_with("rank 0, train_step, instruction ")) << status.message();
  EXPECT_NE(status.message().find("cuLaunchKernel: unspecified launch failure (CUDA_ERROR_LAUNCH_FAILED)"), std::string::npos)
      << status.message();
}

} // namespace
} // namespace sluice::test
