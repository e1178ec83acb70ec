//===- OverlapTest.cpp - gathers and reductions overlap compute ------------------------===//
//
// A collective and a launch of a different unit each wait until the other is reached: a plan that orders one after
// the other, or a runtime that gathers or reduces synchronously, would time out here.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/Steps.h"
#include "test/numeric/Training.h"

#include "runtime/plan/Reader.h"

#include <chrono>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>

namespace sluice::numeric {
namespace {

const int layers = 4;

/// Delays each of two instructions until the other is reached, for at most ten seconds.
class Meeting : public StepInjector {
public:
  Meeting(std::uint32_t collective, std::uint32_t launch) : collective(collective), launch(launch) {}
  void beforeInStep(std::uint32_t instruction) override {
    std::unique_lock lock(mutex);
    if (instruction != collective && instruction != launch)
      return;
    (instruction == collective ? collectiveReached : launchReached) = true;
    change.notify_all();
    if (!change.wait_for(lock, std::chrono::seconds(10),
                         [&] { return (collectiveReached && launchReached) || stalled; }))
      stalled = true;
    change.notify_all();
  }
  bool met() const { return collectiveReached && launchReached && !stalled; }

private:
  std::uint32_t collective, launch;
  bool collectiveReached = false, launchReached = false, stalled = false;
  std::mutex mutex;
  std::condition_variable change;
};

/// One micro-batch: each instruction of a step is reached once.
const std::string &overlapPlanPath() {
  static const std::string path =
      compilePlan("overlap", "hf " + referenceFolder() + "/gpt2-tiny/config.json --batch 2 --sequence 16",
                  "mesh.shard = 2\nsharding.reshard_after_forward = true\n");
  return path;
}

/// The last launch of a unit's scope in a phase.
std::uint32_t lastLaunch(const Places &places, plan::Phase phase, const std::string &unit) {
  std::uint32_t last = 0;
  bool inside = false;
  for (std::uint32_t i = 0; i < places.instructions.size(); ++i) {
    const plan::InstructionT *instruction = places.instructions[i];
    if (instruction->phase != phase)
      continue;
    if (instruction->operation.AsRelease() && places.unit(i) == unit)
      return last;
    if (instruction->operation.AsLaunch())
      last = i;
    inside = true;
  }
  EXPECT_TRUE(inside);
  return last;
}

std::uint32_t findCollective(const Places &places, plan::CollectiveKind kind, plan::Phase phase,
                             const std::string &unit) {
  for (std::uint32_t i = 0; i < places.instructions.size(); ++i)
    if (places.isCollective(i, kind) && places.instructions[i]->phase == phase && places.unit(i) == unit)
      return i;
  ADD_FAILURE() << "no collective of " << unit;
  return 0;
}

TEST(Overlap, GathersOverlapWithComputeOfThePreviousUnit) {
  auto file = readCheckedPlan(overlapPlanPath());
  ASSERT_TRUE(file.isOk()) << file.status().message();
  Places places(file->plan);
  for (int layer = 0; layer + 1 < layers; ++layer) {
    std::string next = "h." + std::to_string(layer + 1);
    Meeting meeting(findCollective(places, plan::CollectiveKind::all_gather, plan::Phase::forward, next),
                    lastLaunch(places, plan::Phase::forward, "h." + std::to_string(layer)));
    Outcome outcome = runSteps(file->plan, &meeting);
    ASSERT_TRUE(outcome.status.isOk()) << outcome.status.message();
    EXPECT_TRUE(meeting.met()) << next;
  }
}

TEST(Overlap, ReductionsOverlapWithBackwardOfThePreviousUnit) {
  auto file = readCheckedPlan(overlapPlanPath());
  ASSERT_TRUE(file.isOk()) << file.status().message();
  Places places(file->plan);
  for (int layer = layers - 1; layer > 0; --layer) {
    std::string unit = "h." + std::to_string(layer);
    Meeting meeting(findCollective(places, plan::CollectiveKind::reduce_scatter, plan::Phase::backward, unit),
                    lastLaunch(places, plan::Phase::backward, "h." + std::to_string(layer - 1)));
    Outcome outcome = runSteps(file->plan, &meeting);
    ASSERT_TRUE(outcome.status.isOk()) << outcome.status.message();
    EXPECT_TRUE(meeting.met()) << unit;
  }
}

} // namespace
} // namespace sluice::numeric
