//===- CarriedTest.cpp - a step that overlaps with the previous one--------------------===//
//
// The hand-written plan whose first gather waits for the update of its parameter in the previous step; and wrong
// variants of it.
//
//===----------------------------------------------------------------------===//
#include "BadPlan.h"

#include "runtime/plan/Checker.h"
#include "runtime/plan/Profile.h"
#include "runtime/report/Printer.h"
#include "runtime/report/Schedule.h"

#include <numeric>

namespace sluice::test {
namespace {

TEST(Carried, IsAccepted) {
  HandPlan hand(/*carries=*/true);
  const Status status = checkPlan(hand.plan);
  EXPECT_TRUE(status.isOk()) << status.message() << (status.notes().empty() ? "" : status.notes()[0]);
  // Only this orders the gather after the update.
  hand.drop("gather waits: a updated");
  hand.buffer("gathered.a").reserved_from = 0;
  hand.seal();
  EXPECT_FALSE(checkPlan(hand.plan).isOk());
}

TEST(Carried, IsShown) {
  HandPlan hand(/*carries=*/true);
  const std::string text = printPlan(hand.plan);
  EXPECT_NE(text.find("wait 0 carried"), std::string::npos) << text;
  EXPECT_NE(text.find(" reserved_from " + std::to_string(hand.index("a updated") + 1)), std::string::npos) << text;
  EXPECT_NE(text.find("version 3.1"), std::string::npos) << text;
  std::vector<std::string> early;
  for (const ScheduledWork &work : scheduleOf(hand.plan, hand.entry()))
    if (work.isEarly)
      early.push_back(std::to_string(work.issued.index) + "." + std::to_string(work.issued.repetition));
  EXPECT_EQ(early, std::vector<std::string>{std::to_string(hand.index("gather a")) + ".0"});
}

TEST(Carried, CountsAtThePeak) {
  HandPlan hand(/*carries=*/true);
  const EntryProfile profile = profileEntry(hand.plan, 0, plan::Space::device);
  EXPECT_EQ(profile.peakBytes, hand.plan.arenas[0]->peak_live);
  HandPlan without(/*carries=*/true);
  without.buffer("gathered.a").reserved_from = 0;
  const std::vector<std::uint64_t> own = profileEntry(without.plan, 0, plan::Space::device).live;
  const std::uint64_t bytes = hand.buffer("gathered.a").bytes;
  for (std::uint32_t i = 0; i < own.size(); ++i) {
    const bool isKept = i < hand.index("gather a") || i > hand.index("a updated");
    EXPECT_EQ(profile.live[i], own[i] + (isKept ? bytes : 0)) << i;
    const LiveBytes live = liveAt(hand.plan, 0, i, plan::Space::device);
    EXPECT_EQ(live.bytes, profile.live[i] + hand.plan.arenas[0]->workspace) << i;
    EXPECT_EQ(std::reduce(live.byClass.begin(), live.byClass.end()), live.bytes) << i;
    EXPECT_EQ(std::reduce(live.byUnit.begin(), live.byUnit.end()), live.bytes) << i;
  }
  // The last step ends with its last instruction.
  EXPECT_EQ(memoryPoints(hand.plan, 0, plan::Space::device).back().live.bytes,
            memoryPoints(without.plan, 0, plan::Space::device).back().live.bytes);
}

class BadCarried : public testing::TestWithParam<Bad> {};

TEST_P(BadCarried, IsRefused) {
  HandPlan hand(/*carries=*/true);
  GetParam().spoil(hand);
  hand.seal();
  CheckReport report;
  const Status status = checkPlan(hand.plan, &report);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(report[GetParam().property], CheckReport::Outcome::refused) << status.message();
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

const Bad carried[] = {
    {"RecordedBeforeTheUpdate", 12, "reads buffer 'a.weight' without waiting for instruction",
     [](HandPlan &h) {
       h.exchange("update a", "a updated");
       h.buffer("shard.a").end = h.index("update a") + 1;
       h.buffer("gathered.a").reserved_from = h.index("a updated") + 1;
     }},
    {"NoWait", 12, "of the step before", [](HandPlan &h) { h.drop("gather waits: a updated"); }},
    {"NeverRecorded", 11, "which no step records", [](HandPlan &h) { h.drop("a updated"); }},
    {"RecordedAgain", 11, "but this step recorded it again before",
     [](HandPlan &h) {
       h.at("gather waits: a updated").when = plan::When::all;
       const std::uint32_t event = h.at("a updated").operation.AsRecord()->event;
       h.at("micro done").operation.AsRecord()->event = event;
       h.at("gather waits: micro done").operation.AsWait()->event = event;
     }},
    {"NotReserved", 12, "but its bytes are reserved only in its step",
     [](HandPlan &h) { h.buffer("gathered.a").reserved_from = 0; }},
    {"ReservedTooLate", 12, "but its bytes are reserved only from",
     [](HandPlan &h) { h.buffer("gathered.a").reserved_from = h.index("copy loss") + 1; }},
    {"OverWhatTheStepBeforeReads", 2, "live at once and share bytes",
     [](HandPlan &h) { h.buffer("lr").offset = h.buffer("gathered.a").offset; }},
    {"ReservedFromBeyondEntry", 1, "its bytes are reserved from instruction 1000",
     [](HandPlan &h) { h.buffer("gathered.a").reserved_from = 1000; }},
    {"PersistentReserved", 1, "a persistent buffer has no lifespan",
     [](HandPlan &h) { h.buffer("a.weight").reserved_from = 1; }},
};
INSTANTIATE_TEST_SUITE_P(P, BadCarried, testing::ValuesIn(carried), nameOf);

} // namespace
} // namespace sluice::test
