//===- RanksTest.cpp - equal results of all ranks; idle ranks --------------------------===//

#include "test/numeric/Steps.h"

#include "runtime/plan/Reader.h"

#include <chrono>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <thread>

namespace sluice::numeric {
namespace {

/// Clipping and the guard are computed on every rank, so all must have the same norm, to the bit.
TEST(Ranks, AllHaveTheSameLossAndNorm) {
  int number = 0;
  for (const char *mesh : {"mesh.shard = 4\n", "mesh.replicate = 2\nmesh.shard = 2\n", "mesh.replicate = 3\n",
                           "mesh.shard = 2\nmesh.tensor = 2\nsharding.tensor = {\"*.in_proj.*\" = \"column\", "
                           "\"*.out_proj.*\" = \"row\"}\n"})
    for (const char *type : {"1", "2", "3", "inf"}) {
      SCOPED_TRACE(std::string(mesh) + type);
      auto file = readCheckedPlan(
          compilePlan("ranks-" + std::to_string(number++), "zoo mlp-stack --set dim=8",
                      std::string(mesh) + "gradient.clip_norm = 0.01\ngradient.clip_type = " + type + "\n"));
      ASSERT_TRUE(file.isOk()) << file.status().message();
      Outcome outcome = runSteps(file->plan, nullptr);
      ASSERT_TRUE(outcome.status.isOk()) << outcome.status.message();
      ASSERT_EQ(outcome.norms.size(), meshSize(file->plan));
      EXPECT_GT(outcome.norms[0], 0.01f);
      for (float norm : outcome.norms)
        EXPECT_EQ(norm, outcome.norms[0]);
      for (float loss : outcome.losses)
        EXPECT_EQ(loss, outcome.losses[0]);
    }
}

/// Processor seconds that this process has used.
double processorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval &time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// One of eight ranks sleeps, a different one each time, while seven wait without processor time.
TEST(Ranks, IdleRanksSleep) {
  auto file = readCheckedPlan(compilePlan("idle", "zoo linear-mlps --set count=3 --set dim=8", "mesh.shard = 8\n"));
  ASSERT_TRUE(file.isOk()) << file.status().message();
  Places places(file->plan);
  std::atomic<int> reached{0};
  class LateOne : public StepInjector {
  public:
    LateOne(const Places &places, std::atomic<int> &reached) : places(places), reached(reached) {}
    void beforeInStep(std::uint32_t i) override {
      // One rank in eight is late at each collective.
      if (i < places.instructions.size() && places.instructions[i]->operation.AsCollective() && ++reached % 8 == 3)
        std::this_thread::sleep_for(std::chrono::milliseconds(40));
    }
    const Places &places;
    std::atomic<int> &reached;
  } late(places, reached);
  StepsOptions options;
  double begin = processorSeconds();
  ASSERT_TRUE(runSteps(file->plan, nullptr, options).status.isOk());
  double busy = processorSeconds() - begin;
  auto clock = std::chrono::steady_clock::now();
  begin = processorSeconds();
  ASSERT_TRUE(runSteps(file->plan, &late, options).status.isOk());
  double waiting = processorSeconds() - begin;
  double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - clock).count();
  EXPECT_GT(wall, 0.4) << "of delays";
  // Seven ranks with three spinning streams each would use all processors all the time.
  EXPECT_LT(waiting, busy + 0.15 * wall) << "busy " << busy << ", wall " << wall;
}

} // namespace
} // namespace sluice::numeric
