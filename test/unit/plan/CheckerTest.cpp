//===- CheckerTest.cpp - good plans pass, bad ones are refused with the reason      ---===//
//
// At least three wrong variants of the hand-written plan for each property that the checker proves: the files
// Bad*Test.cpp.
//
//===----------------------------------------------------------------------===//
#include "BadPlan.h"

#include "runtime/plan/Checker.h"
#include "runtime/plan/Issue.h"
#include "runtime/plan/Serialize.h"

namespace sluice::test {
namespace {

TEST_P(BadPlan, IsRefused) {
  HandPlan hand;
  GetParam().spoil(hand);
  if (GetParam().property != 17 && GetParam().property != 1)
    hand.seal();
  CheckReport report;
  const Status status = checkPlan(hand.plan, &report);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_EQ(report[GetParam().property], CheckReport::Outcome::refused) << status.message();
  EXPECT_EQ(status.message().find("P" + std::to_string(GetParam().property) + " "), 0u) << status.message();
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

TEST(Checker, AcceptsTheHandWrittenPlan) {
  HandPlan hand;
  CheckReport report;
  const Status status = checkPlan(hand.plan, &report);
  ASSERT_TRUE(status.isOk()) << status.message();
  for (int number : {1, 2, 3, 4, 5, 6, 8, 10, 11, 12, 13, 15, 17})
    EXPECT_EQ(report[number], CheckReport::Outcome::proved) << "P" << number;
  EXPECT_EQ(report[7], CheckReport::Outcome::provedInPart);
  EXPECT_EQ(report[14], CheckReport::Outcome::notApplicable);
  EXPECT_EQ(report[9], CheckReport::Outcome::notProved);
  EXPECT_FALSE(report.properties[8].reason.empty());
  EXPECT_EQ(report[16], CheckReport::Outcome::notRun);
}

TEST(Checker, AcceptsOneMicrobatch) {
  HandPlan hand;
  hand.section(0).repeat = hand.plan.microbatches = 1;
  hand.buffer("host.x").shape = {1, 2, 4};
  hand.buffer("host.x").bytes = 32;
  hand.plan.arenas[1]->peak_live -= 32;
  for (auto &instruction : hand.section(0).instructions) {
    // What other micro-batches add.
    if (instruction->when == plan::When::not_first) {
      plan::RecordT record;
      record.event = hand.entry().events++;
      instruction->operation.Set(std::move(record));
      instruction->unit = -1;
    }
    instruction->when = plan::When::all;
  }
  EXPECT_FALSE(checkPlan(hand.plan).isOk()) << "the digest has changed";
  hand.seal();
  EXPECT_TRUE(checkPlan(hand.plan).isOk()) << checkPlan(hand.plan).message();
}

TEST(Checker, AcceptsManyMicrobatches) {
  HandPlan hand;
  hand.section(0).repeat = hand.plan.microbatches = 1000;
  hand.plan.arenas[1]->bytes = 32192;
  hand.buffer("host.x").shape = {1000, 2, 4};
  hand.buffer("host.x").bytes = 32000;
  hand.buffer("host.lr").offset = 32000;
  hand.buffer("host.loss").offset = 32064;
  hand.buffer("host.step").offset = 32128;
  hand.plan.arenas[1]->peak_live = 32016;
  hand.seal();
  EXPECT_TRUE(checkPlan(hand.plan).isOk()) << checkPlan(hand.plan).message();
}

TEST(Checker, AcceptsAnEmptyPlan) {
  plan::PlanT plan;
  plan.target = std::make_unique<plan::TargetT>();
  plan.mesh.push_back(std::make_unique<plan::AxisT>());
  plan.mesh[0]->name = "shard";
  plan.mesh[0]->size = 1;
  serializePlan(plan);
  CheckReport report;
  EXPECT_TRUE(checkPlan(plan, &report).isOk());
  EXPECT_EQ(report[4], CheckReport::Outcome::notApplicable);
  EXPECT_EQ(report[5], CheckReport::Outcome::notApplicable);
  EXPECT_EQ(report[7], CheckReport::Outcome::notApplicable);
  EXPECT_EQ(report[8], CheckReport::Outcome::notApplicable);
}

TEST(Checker, GivesACounterexample) {
  HandPlan hand;
  hand.drop("compute waits: b gathered");
  hand.seal();
  const Status status = checkPlan(hand.plan);
  const std::vector<std::string> expected = {
      "first: instruction 7 (all_gather of unit 'b' on stream 'gather') of 'train_step', repetition 0",
      "second: instruction 10 (launch multiply of unit 'b' on stream 'compute') of 'train_step', repetition 0",
      "bytes [320, 384) of device",
      "missing order: stream 'compute' waits for no record made on stream 'gather' after the first",
  };
  EXPECT_EQ(status.notes(), expected);
}

TEST(Checker, NothingIsReachedAfterARefusal) {
  HandPlan hand;
  hand.drop("compute waits: b gathered");
  hand.seal();
  CheckReport report;
  EXPECT_FALSE(checkPlan(hand.plan, &report).isOk());
  EXPECT_EQ(report[1], CheckReport::Outcome::proved);
  EXPECT_EQ(report[12], CheckReport::Outcome::notReached);
  EXPECT_EQ(report[7], CheckReport::Outcome::notReached);
  EXPECT_EQ(report[9], CheckReport::Outcome::notReached);
  EXPECT_EQ(report[14], CheckReport::Outcome::notReached);
  EXPECT_EQ(report[16], CheckReport::Outcome::notRun);
  EXPECT_TRUE(std::ranges::count(report.stages.back().properties, 4));
}

/// Facts that can be counted in the hand-written plan.
TEST(Checker, CountsFacts) {
  HandPlan hand;
  CheckReport report;
  ASSERT_TRUE(checkPlan(hand.plan, &report).isOk());
  const auto facts = [&](int number) { return report.properties[std::size_t(number - 1)].facts; };
  std::uint64_t collectives = 0, instructions = 0, waits = 0, tensors = 0;
  for (const auto &entry : hand.plan.entries)
    forEachInstruction(*entry, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t s) {
      ++instructions;
      collectives += instruction.operation.AsCollective() != nullptr;
      // Two steps.
      if (instruction.operation.AsWait())
        waits += 2 * timesIssued(instruction, entry->sections[s]->repeat);
    });
  for (const auto &parameter : hand.plan.parameters)
    tensors += 1 + parameter->states.size();
  EXPECT_EQ(facts(5), collectives);
  EXPECT_EQ(facts(8), tensors);
  EXPECT_EQ(facts(10), tensors * hand.plan.entries.size());
  EXPECT_EQ(facts(11), waits);
  EXPECT_GT(facts(1), instructions + hand.plan.buffers.size());
  EXPECT_GT(facts(2), hand.plan.buffers.size());
  for (int number : {3, 4, 6, 7, 12, 13, 15, 17})
    EXPECT_GT(facts(number), 0u) << "P" << number;
  for (int number = 1; number <= propertyCount; ++number)
    EXPECT_EQ(factUnit(number).empty(), report[number] == CheckReport::Outcome::notRun) << "P" << number;
  for (const CheckReport::Stage &stage : report.stages)
    EXPECT_GE(stage.seconds, 0);
}

} // namespace
} // namespace sluice::test
