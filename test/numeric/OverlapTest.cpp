//===- OverlapTest.cpp - gathers and reductions run beside compute ---------------------===//
//
// With a collective held open until compute has gone on, the step still completes: a runtime that gathered or reduced
// synchronously would stall here.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/Steps.h"

#include "runtime/plan/Reader.h"

#include <chrono>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>

namespace sluice::numeric {
namespace {

const int layers = 4;

/// Holds one collective back until another instruction has been reached on another stream, for at most ten seconds.
class Detention : public StepInjector {
public:
  Detention(std::uint32_t held, std::uint32_t until) : held(held), until(until) {}
  void beforeInStep(std::uint32_t instruction) override {
    std::unique_lock lock(mutex);
    if (instruction == until) {
      reached = true;
      change.notify_all();
    }
    if (instruction == held && !reached) {
      waited = true;
      if (!change.wait_for(lock, std::chrono::seconds(10), [&] { return reached; }))
        stalled = true;
    }
  }
  bool waited = false, stalled = false;

private:
  std::uint32_t held, until;
  bool reached = false;
  std::mutex mutex;
  std::condition_variable change;
};

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

TEST(Overlap, GathersRunBesideComputeOfTheUnitBefore) {
  auto file = readCheckedPlan(tinyPlanPath());
  ASSERT_TRUE(file.isOk()) << file.status().message();
  Places places(file->plan);
  for (int layer = 0; layer + 1 < layers; ++layer) {
    std::string next = "h." + std::to_string(layer + 1);
    Detention gate(findCollective(places, plan::CollectiveKind::all_gather, plan::Phase::forward, next),
              lastLaunch(places, plan::Phase::forward, "h." + std::to_string(layer)));
    Outcome outcome = runSteps(file->plan, &gate);
    ASSERT_TRUE(outcome.status.isOk()) << outcome.status.message();
    EXPECT_FALSE(gate.stalled) << next;
  }
}

TEST(Overlap, ReductionsRunBesideTheBackwardOfTheUnitBefore) {
  auto file = readCheckedPlan(tinyPlanPath());
  ASSERT_TRUE(file.isOk()) << file.status().message();
  Places places(file->plan);
  for (int layer = layers - 1; layer > 0; --layer) {
    std::string unit = "h." + std::to_string(layer);
    Detention gate(findCollective(places, plan::CollectiveKind::reduce_scatter, plan::Phase::backward, unit),
              lastLaunch(places, plan::Phase::backward, "h." + std::to_string(layer - 1)));
    Outcome outcome = runSteps(file->plan, &gate);
    ASSERT_TRUE(outcome.status.isOk()) << outcome.status.message();
    EXPECT_FALSE(gate.stalled) << unit;
  }
}

} // namespace
} // namespace sluice::numeric
