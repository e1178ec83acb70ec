//===- FailureTest.cpp - ranks that fail, are absent, or have a different plan -----===//
#include "test/unit/executor/ShardedPlan.h"

#include "runtime/executor/RankGroup.h"

#include <gtest/gtest.h>
#include <mutex>
#include <thread>

namespace sluice::test {
namespace {

class FailingKernel final : public BoundKernel {
public:
  Status run(std::span<void *const>, std::span<void *const> outputs, void *) override {
    // Rank 1 has the marked output.
    return *static_cast<float *>(outputs[0]) == 13 ? failedError("it broke") : Status();
  }
};

// Tests that a rank which fails in a kernel ends all of them with its message, and that the group remains ended.
TEST(Failure, FailureOfOneRankEndsAll) {
  PlanBuilder builder = sharded(4);
  ExecutorOptions options;
  options.findKernel = [](std::string_view name, KernelFlavour flavour) -> PrepareFunction {
    if (name != "subtract")
      return findCpuKernel(name, flavour);
    return [](const KernelRequest &) -> Result<std::unique_ptr<BoundKernel>> {
      return std::unique_ptr<BoundKernel>(std::make_unique<FailingKernel>());
    };
  };
  std::vector<std::string> told;
  options.onFailure = [&, mutex = std::make_shared<std::mutex>()](const Status &status) {
    std::lock_guard lock(*mutex);
    told.push_back(status.message());
  };
  auto group = RankGroup::create(builder.plan, options);
  ASSERT_TRUE(group.isOk());
  ASSERT_TRUE((*group)->runEntry("train_step").isOk());
  const float mark = 13;
  ASSERT_TRUE(
      (*group)->executor(1).write(builder.plan.parameters[0]->buffer, 0, std::as_bytes(std::span(&mark, 1))).isOk());
  Status status;
  for (int i = 0; i < 3; ++i) {
    status = (*group)->runEntry("train_step");
    EXPECT_EQ(status.code(), StatusCode::failed);
    EXPECT_EQ(status.message(), "rank 1, train_step, instruction 12 (launch subtract, unit h.0): it broke");
  }
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told[0], status.message());
}

// Tests that an executor which failed runs nothing more, and returns its failure again.
TEST(Failure, FailedExecutorStaysFailed) {
  PlanBuilder builder;
  const auto s = builder.stream("compute");
  const auto x = builder.buffer("x", {1}, f32, host);
  plan::EntryT &entry = builder.entry("step");
  builder.section();
  builder.launch(s, "broken", {}, {builder.view(x)});
  builder.port(entry.outputs, "x", builder.view(x));
  ExecutorOptions options;
  options.findKernel = [](std::string_view, KernelFlavour) -> PrepareFunction {
    return [](const KernelRequest &) -> Result<std::unique_ptr<BoundKernel>> {
      return std::unique_ptr<BoundKernel>(std::make_unique<FailingKernel>());
    };
  };
  auto executor = runAlone(builder.plan, options);
  ASSERT_TRUE(executor.isOk());
  float *value = (*executor)->output("step", "x")->as<float>();
  *value = 13;
  (void)(*executor)->runEntry("step"); // may already know the failure
  const std::string want = "rank 0, step, instruction 0 (launch broken): it broke";
  EXPECT_EQ((*executor)->synchronize().message(), want);
  *value = 0;
  EXPECT_EQ((*executor)->runEntry("step").message(), want);
  EXPECT_EQ((*executor)->synchronize().message(), want);
}

// Tests that the other ranks do not wait for a rank that never issues its step: its function fails, the world ends.
TEST(Failure, FunctionThatFailsOnOneRankEndsAll) {
  PlanBuilder builder = sharded(3);
  auto group = RankGroup::create(builder.plan);
  ASSERT_TRUE(group.isOk());
  Status status = (*group)->forEachRank([](Executor &executor) -> Status {
    if (executor.rank() == 2)
      return failedError("rank 2 stays away");
    SLUICE_RETURN_IF_ERROR(executor.runEntry("train_step"));
    return executor.synchronize();
  });
  EXPECT_EQ(status.message(), "rank 2 stays away");
}

// Tests that destroying a group whose ranks still wait for each other does not hang.
TEST(Failure, DestructionEndsWaitingRanks) {
  PlanBuilder builder = sharded(2);
  auto group = RankGroup::create(builder.plan);
  ASSERT_TRUE(group.isOk());
  Status status = (*group)->forEachRank(
      [](Executor &executor) { return executor.rank() == 0 ? executor.runEntry("train_step") : Status(); });
  EXPECT_TRUE(status.isOk());
}

// Tests that plans which differ between ranks are refused on all of them, with the ranks named.
TEST(Failure, DifferentDigestsAreRefused) {
  PlanBuilder a = sharded(3), b = sharded(3);
  b.plan.digest.assign(32, 9);
  auto world = createLocalWorld(3);
  std::vector<Status> statuses(3);
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r)
    threads.emplace_back([&, r] {
      statuses[static_cast<std::size_t>(r)] = Executor::create(r == 2 ? b.plan : a.plan, world, r).status();
    });
  for (std::thread &thread : threads)
    thread.join();
  std::string seven, nine;
  for (int i = 0; i < 32; ++i) {
    seven += "07";
    nine += "09";
  }
  for (const Status &status : statuses) {
    EXPECT_EQ(status.code(), StatusCode::refused);
    EXPECT_EQ(status.message(), "digest of the plan, expected " + seven + " as on rank 0 but rank 2 has " + nine);
  }
}

// Tests that a plan that cannot be loaded is an error and not a hang.
TEST(Failure, RefusalOfLoadIsReturned) {
  PlanBuilder builder = sharded(4);
  builder.plan.kernels.push_back("warp_drive");
  EXPECT_EQ(RankGroup::create(builder.plan).status().message(),
            "kernel of the plan, expected one that the cpu device has but got 'warp_drive'");
  PlanBuilder large({100, 100});
  EXPECT_EQ(RankGroup::create(large.plan).status().message(), "ranks in one process, expected 1 to 4096 but got 10000");
}

} // namespace
} // namespace sluice::test
