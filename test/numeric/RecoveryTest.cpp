//===- RecoveryTest.cpp - training after a failure of a rank, in the same process ------------===//
//
// A rank fails in the middle of a step, the ranks are created again with the state before the step, and training
// continues with the bits of an undisturbed run.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/Steps.h"

#include "runtime/executor/RankGroup.h"
#include "runtime/plan/Reader.h"

#include <gtest/gtest.h>

namespace sluice::numeric {
namespace {

constexpr std::int64_t failingStep = 2, lastStep = 4;
constexpr int failingRank = 1;

/// The persistent buffers of the device, by rank and index in Plan.buffers.
using State = std::vector<std::vector<std::vector<std::byte>>>;

/// Fails after an instruction of train_step.
class Failing final : public InstructionObserver {
public:
  Failing(std::uint32_t entry, std::uint32_t at) : entry(entry), at(at) {}
  Status afterInstruction(const ObservedInstruction &instruction) override {
    const bool fails = instruction.entry == entry && instruction.index == at && steps++ + 1 == failingStep;
    return fails ? Status(StatusCode::failed, "injected failure") : Status::ok();
  }

private:
  const std::uint32_t entry, at;
  /// Executions of the instruction.
  std::int64_t steps = 0;
};

class Recovery : public testing::Test {
protected:
  void SetUp() override {
    auto file =
        readCheckedPlan(compilePlan("recovery", "zoo transformer", "mesh.shard = 2\ngradient.clip_norm = 1.0\n"));
    ASSERT_TRUE(file.isOk()) << file.status().message();
    plan = std::move(file->plan);
  }

  State stateOf(RankGroup &group) {
    State state(static_cast<std::size_t>(group.size()));
    for (int rank = 0; rank < group.size(); ++rank)
      for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
        const bool isKept = plan.buffers[b]->entry == -1 && plan.buffers[b]->space == plan::Space::device;
        state[static_cast<std::size_t>(rank)].emplace_back(isKept ? plan.buffers[b]->bytes : 0);
        if (isKept) {
          EXPECT_TRUE(group.executor(rank).read(b, 0, state[static_cast<std::size_t>(rank)].back()).isOk());
        }
      }
    return state;
  }

  void restore(RankGroup &group, const State &state) {
    for (int rank = 0; rank < group.size(); ++rank)
      for (std::uint32_t b = 0; b < plan.buffers.size(); ++b)
        if (const auto &bytes = state[static_cast<std::size_t>(rank)][b]; !bytes.empty()) {
          ASSERT_TRUE(group.executor(rank).write(b, 0, bytes).isOk());
        }
  }

  static Status runStep(RankGroup &group, std::int64_t step) {
    for (int rank = 0; rank < group.size(); ++rank)
      SLUICE_RETURN_IF_ERROR(writeInputs(group.executor(rank), "train_step", step));
    return group.runEntry("train_step");
  }

  plan::PlanT plan;
};

TEST_F(Recovery, ContinuesWithTheSameBits) {
  auto group = RankGroup::create(plan);
  ASSERT_TRUE(group.isOk()) << group.status().message();
  ASSERT_TRUE((*group)->runEntry("init").isOk());
  State before;
  for (std::int64_t step = 1; step <= lastStep; ++step) {
    if (step == failingStep)
      before = stateOf(**group);
    ASSERT_TRUE(runStep(**group, step).isOk());
  }
  const State undisturbed = stateOf(**group);
  group->reset();

  const auto entry = static_cast<std::uint32_t>(findEntry(plan, "train_step"));
  const std::uint32_t instructions = instructionCount(*plan.entries[entry]);
  for (std::uint32_t at = 0; at < instructions; at += std::max(1u, instructions / 16)) {
    ExecutorOptions failing;
    failing.observe = [&](const plan::PlanT &, int rank, const RankMemory &) -> std::unique_ptr<InstructionObserver> {
      return rank == failingRank ? std::make_unique<Failing>(entry, at) : nullptr;
    };
    auto first = RankGroup::create(plan, failing);
    ASSERT_TRUE(first.isOk()) << first.status().message();
    ASSERT_TRUE((*first)->runEntry("init").isOk());
    ASSERT_TRUE(runStep(**first, 1).isOk());
    const State kept = stateOf(**first);
    EXPECT_EQ(kept, before) << "instruction " << at;
    Status failure = runStep(**first, failingStep);
    EXPECT_EQ(failure.code(), StatusCode::failed) << "instruction " << at;
    EXPECT_NE(failure.message().find("injected failure"), std::string::npos) << failure.message();
    first->reset();

    auto second = RankGroup::create(plan);
    ASSERT_TRUE(second.isOk()) << second.status().message();
    ASSERT_TRUE((*second)->runEntry("init").isOk());
    restore(**second, kept);
    for (std::int64_t step = failingStep; step <= lastStep; ++step)
      ASSERT_TRUE(runStep(**second, step).isOk());
    EXPECT_EQ(stateOf(**second), undisturbed) << "instruction " << at;
  }
}

} // namespace
} // namespace sluice::numeric
