//===- SmallPlan.h - plans of a few instructions, for tests of the checker ---------===//
//
// A plan without parameters. Buffers are live over their entry point unless they are persistent, and do not share
// bytes.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_PLAN_SMALLPLAN_H
#define SLUICE_TEST_UNIT_PLAN_SMALLPLAN_H

#include "test/unit/PlanBuilder.h"

#include "runtime/plan/Checker.h"
#include "runtime/plan/Serialize.h"

#include <gtest/gtest.h>

namespace sluice::test {

/// Streams of a SmallPlan.
inline constexpr std::uint32_t compute = 0, other = 1;

class SmallPlan : public PlanBuilder {
public:
  SmallPlan(std::initializer_list<std::pair<const char *, std::uint32_t>> mesh = {{"shard", 1}}) : PlanBuilder(mesh) {
    stream("compute");
    stream("other");
    entry("step", 0);
  }

  /// Sets lifespans, peaks, events, digest, and checks the plan.
  Status check() {
    const std::uint32_t count = instructionCount(*plan.entries[0]);
    for (const auto &arena : plan.arenas) {
      arena->peak_live = 0;
      for (const auto &buffer : plan.buffers)
        if (buffer->space == arena->space) {
          buffer->entry = 0;
          buffer->begin = 0;
          buffer->end = count;
          arena->peak_live += buffer->bytes;
        }
    }
    plan::EntryT &step = *plan.entries[0];
    step.events = 0;
    forEachInstruction(step, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
      if (const plan::RecordT *record = instruction.operation.AsRecord())
        step.events = std::max(step.events, record->event + 1);
    });
    serializePlan(plan);
    return checkPlan(plan);
  }

  /// Expects a refusal of the property with this text in its message.
  void expectRefused(int property, const std::string &text) {
    const Status status = check();
    EXPECT_EQ(status.message().find("P" + std::to_string(property) + " "), 0u) << status.message();
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }
  void expectAccepted() {
    const Status status = check();
    EXPECT_TRUE(status.isOk()) << status.message();
  }
};

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_PLAN_SMALLPLAN_H
