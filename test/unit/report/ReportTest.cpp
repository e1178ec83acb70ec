//===- ReportTest.cpp - reports of the hand-written plan ---------------------------===//
//
// describe's JSON by its contract, the printed form against a golden file, memory, schedule, diff, and the commands.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/HandPlan.h"

#include "runtime/base/Text.h"
#include "runtime/plan/Issue.h"
#include "runtime/plan/ProcessMemory.h"
#include "runtime/plan/Profile.h"
#include "runtime/plan/Serialize.h"
#include "runtime/report/Describe.h"
#include "runtime/report/Diff.h"
#include "runtime/report/Memory.h"
#include "runtime/report/Printer.h"
#include "runtime/report/Schedule.h"
#include "runtime/report/commands/PlanCommand.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace sluice::test {
namespace {

/// The rows of the printed text.
Json read(const Json &json) { return Json::parse(dumpJson(json)); }

std::string eventsOf(const Json &json, int microbatch, const std::string &phase) {
  std::string text;
  for (const Json &event : json["events"])
    if (event["microbatch"] == microbatch && event["phase"] == phase)
      text +=
          (text.empty() ? "" : " ") + event["what"].get<std::string>() + "(" + event["unit"].get<std::string>() + ")";
  return text;
}

TEST(Describe, Head) {
  HandPlan hand;
  const Json json = read(describePlan(hand.plan));
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["digest"], digestText(hand.plan));
  EXPECT_EQ(json["name"], "hand");
  EXPECT_EQ(json["target"], "cpu");
  EXPECT_EQ(json["world"], 2);
  EXPECT_EQ(json["mesh"], Json::parse(R"([{"axis": "replicate", "size": 1}, {"axis": "shard", "size": 2}])"));
  EXPECT_EQ(json["arenas"][0], Json::parse(R"({"space": "device", "bytes": 1152, "persistent": 256, "peak_live": )" +
                                           std::to_string(hand.plan.arenas[0]->peak_live) + R"(, "workspace": 128})"));
}

TEST(Describe, Units) {
  HandPlan hand;
  const Json json = read(describePlan(hand.plan));
  ASSERT_EQ(json["units"].size(), 2u);
  EXPECT_EQ(json["units"][0]["name"], "a");
  EXPECT_EQ(json["units"][0]["bytes"], 48);
  const Json &parameter = json["units"][0]["parameters"][0];
  EXPECT_EQ(parameter["name"], "a.weight");
  EXPECT_EQ(parameter["shape"], Json({3, 4}));
  EXPECT_EQ(parameter["dim"], 0);
  EXPECT_EQ(parameter["local"], Json({2, 4}));
  EXPECT_EQ(parameter["padding"], 4);
}

TEST(Describe, EventsOfEachMicrobatch) {
  HandPlan hand;
  hand.at("grad b").recompute = true;
  hand.at("grad a").recompute = true;
  const Json json = read(describePlan(hand.plan));
  EXPECT_EQ(eventsOf(json, 0, "forward"), "unshard(a) unshard(b)");
  EXPECT_EQ(eventsOf(json, 1, "forward"), "unshard(a) unshard(b)");
  EXPECT_EQ(eventsOf(json, 0, "backward"), "recompute(b) reshard(b) recompute(a) reshard(a)");
  EXPECT_EQ(eventsOf(json, 1, "backward"), "recompute(b) reshard(b) reduce(b) recompute(a) reshard(a) reduce(a)");
  // Strictly in issue order over the step.
  std::int64_t last = -1;
  for (const Json &event : json["events"]) {
    EXPECT_GT(event["i"].get<std::int64_t>(), last);
    last = event["i"];
  }
}

TEST(Describe, AllReduceOfAReplicatedUnitIsItsReduction) {
  HandPlan hand;
  plan::CollectiveT &collective = hand.collective("reduce b");
  collective.kind = plan::CollectiveKind::all_reduce;
  EXPECT_EQ(unitEvent(hand.plan, hand.at("reduce b")), "all_reduce");
  hand.parameter("b.weight").dim = -1;
  EXPECT_EQ(unitEvent(hand.plan, hand.at("reduce b")), "reduce");
}

TEST(Describe, Collectives) {
  HandPlan hand;
  const Json json = read(describePlan(hand.plan));
  // Two gathers in each micro-batch, two reductions in the last.
  ASSERT_EQ(json["collectives"].size(), 6u);
  const Json &first = json["collectives"][0];
  EXPECT_EQ(first["kind"], "all_gather");
  EXPECT_EQ(first["axis"], "shard");
  EXPECT_EQ(first["unit"], "a");
  EXPECT_EQ(first["dtype"], "f32");
  EXPECT_FALSE(first.contains("op"));
  EXPECT_EQ(first["group"], 2);
  EXPECT_EQ(first["bytes_in"], 32);
  EXPECT_EQ(first["bytes_out"], 64);
  EXPECT_EQ(first["stream"], "gather");
  const Json &last = json["collectives"][5];
  EXPECT_EQ(last["kind"], "reduce_scatter");
  EXPECT_EQ(last["op"], "mean");
  EXPECT_EQ(last["microbatch"], 1);
  EXPECT_EQ(last["phase"], "backward");
  hand.at("reduce b").unit = -1;
  EXPECT_TRUE(read(describePlan(hand.plan))["collectives"][4]["unit"].is_null());
}

TEST(Describe, Memory) {
  HandPlan hand;
  const Json memory = read(describePlan(hand.plan))["memory"];
  std::string names;
  for (const Json &point : memory["points"])
    names += point["name"].get<std::string>() + " ";
  EXPECT_EQ(names, "start after_forward after_loss after_backward after_update end ");
  EXPECT_EQ(memory["points"][0]["bytes"], 128) << "four shards of 32 bytes persist";
  EXPECT_EQ(memory["peak"]["bytes"], hand.plan.arenas[0]->peak_live + 128);
  std::uint64_t sum = 0;
  for (const auto &[name, bytes] : memory["peak"]["by_class"].items())
    sum += bytes.get<std::uint64_t>();
  EXPECT_EQ(memory["peak"]["by_class"].size(), 11u);
  EXPECT_EQ(sum, memory["peak"]["bytes"]);
  EXPECT_EQ(memory["peak"]["by_class"]["workspace"], 128);
  EXPECT_EQ(memory["peak"]["by_class"]["parameter"], 64);
  EXPECT_EQ(memory["predicted_process"], predictedProcess(hand.plan));
}

TEST(Describe, Text) {
  const std::string text = describePlanText(HandPlan().plan);
  EXPECT_NE(text.find("plan 'hand' for 2 ranks (replicate 1, shard 2) on cpu"), std::string::npos) << text;
  EXPECT_NE(text.find("micro-batches 2 of 2 rows of 4 tokens"), std::string::npos) << text;
  EXPECT_NE(text.find("6 collectives"), std::string::npos) << text;
}

TEST(Printer, MatchesTheGoldenFile) {
  std::ifstream file(std::string(SLUICE_PLAN_TEST_FOLDER) + "/hand.txt");
  std::ostringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(printPlan(HandPlan().plan), golden.str());
}

TEST(Profile, CountsReplacedBytesOnce) {
  HandPlan hand;
  const EntryProfile profile = profileEntry(hand.plan, 0, plan::Space::device);
  EXPECT_EQ(profile.peakBytes, hand.plan.arenas[0]->peak_live);
  EXPECT_EQ(profile.live[hand.index("grad b")], profile.live[hand.index("loss")]);
}

TEST(Memory, TextHasClassesTensorsAndADiagram) {
  HandPlan hand;
  const std::string plain = memoryText(hand.plan, false);
  EXPECT_NE(plain.find("gathered"), std::string::npos);
  EXPECT_NE(plain.find("a.weight.momentum_buffer f32[2x4]"), std::string::npos) << plain;
  EXPECT_NE(plain.find("#"), std::string::npos);
  for (char c : plain)
    EXPECT_LT(static_cast<unsigned char>(c), 0x80);
  EXPECT_NE(memoryText(hand.plan, true).find("█"), std::string::npos);
  const Json json = read(memoryJson(hand.plan));
  std::uint64_t sum = 0;
  for (const auto &[name, bytes] : json["process"].items())
    sum += bytes.get<std::uint64_t>();
  EXPECT_EQ(json["predicted_process"], sum);
  // Two ranks, each with a page of device arena, one of host arena and one of workspace.
  EXPECT_EQ(json["process"]["arenas"], 2 * 3 * 4096);
  for (const char *term : {"commands", "threads", "plan", "runtime"})
    EXPECT_GT(json["process"][term], 0) << term;
  EXPECT_NE(plain.find("  runtime "), std::string::npos) << plain;
  EXPECT_EQ(json["spaces"][0]["peak"]["tensors"][0]["bytes"], 64);
}

TEST(Memory, Bars) {
  const std::uint64_t values[] = {0, 4, 8};
  EXPECT_EQ(drawBars(values, 3, 2, false, ""), "        8 B |  #\n        0 B | ##\n");
}

TEST(Schedule, WorkLastsUntilAnotherStreamWaits) {
  HandPlan hand;
  const std::vector<ScheduledWork> work = scheduleOf(hand.plan, hand.entry());
  // gather a, copy x, h: h waits for the gather.
  EXPECT_EQ(work[0].until, 2u);
  EXPECT_EQ(work[1].until, 3u) << "the gather of b waits for h, and with it for what comes before";
  const std::string plain = scheduleText(hand.plan, false);
  EXPECT_NE(plain.find("units: 0=a 1=b"), std::string::npos) << plain;
  for (const char *row : {"phase   |", "compute |", "gather  |", "reduce  |"})
    EXPECT_NE(plain.find(row), std::string::npos) << plain;
  for (char c : plain)
    EXPECT_LT(static_cast<unsigned char>(c), 0x80);
  EXPECT_EQ(read(scheduleJson(hand.plan))["entries"][0]["streams"][1]["work"].size(), 4u);
}

TEST(Diff, OfAPlanWithItself) {
  HandPlan first, second;
  second.plan.name = "other";
  second.plan.recipe.clear();
  EXPECT_TRUE(diffPlans(first.plan, second.plan).same());
}

TEST(Diff, ShowsRoles) {
  HandPlan first, second;
  second.plan.mesh[0]->role = plan::AxisRole::expert;
  second.plan.streams[0]->kind = plan::StreamKind::fetch;
  second.plan.entries[0]->sections[0]->kind = plan::SectionKind::forward;
  second.plan.entries[0]->inputs[0]->role = plan::PortRole::seed;
  const PlanDifference difference = diffPlans(first.plan, second.plan);
  for (const char *changed : {"replicate -> 1 expert", "-> fetch workspace", "-> forward repeat", "-> (seed) "})
    EXPECT_NE(difference.toText().find(changed), std::string::npos) << changed << "\n" << difference.toText();
  EXPECT_EQ(difference.facts.size(), 4u);
}

TEST(Diff, ShowsFactsAndInstructions) {
  HandPlan first, second;
  second.plan.arenas[0]->bytes = 2048;
  second.drop("reduce waits: step done");
  second.plan.mesh[0]->size = 3;
  const PlanDifference difference = diffPlans(first.plan, second.plan);
  EXPECT_EQ(difference.facts, (std::vector<std::string>{"! arena device bytes: 1152 -> 2048",
                                                        "! mesh replicate: 1 replicate -> 3 replicate"}));
  ASSERT_EQ(difference.entries.size(), 1u);
  EXPECT_EQ(difference.entries[0].removed, 1u);
  EXPECT_EQ(difference.entries[0].added, 1u);
  EXPECT_NE(difference.toText().find("+ 41 reduce all update: record 9"), std::string::npos) << difference.toText();
}

TEST(Diff, BeginsWithASummary) {
  HandPlan first, second;
  first.plan.recipe = {"mesh.shard = 2", "optimizer.lr = 0.001"};
  second.plan.recipe = {"mesh.shard = 4", "optimizer.lr = 0.001", "schedule.reduce_buffers = 2"};
  const PeakPlace peak = findPeak(first.plan, plan::Space::device);
  second.plan.arenas[0]->workspace += 64;
  second.drop("reduce waits: step done");
  std::uint64_t gathers = 0;
  for (auto &section : second.plan.entries[findEntry(second.plan, "train_step")]->sections)
    std::erase_if(section->instructions, [&](const auto &instruction) {
      const plan::CollectiveT *collective = instruction->operation.AsCollective();
      const bool isGather = collective && collective->kind == plan::CollectiveKind::all_gather;
      gathers += isGather;
      return isGather;
    });
  ASSERT_GT(gathers, 0U);
  const PlanDifference difference = diffPlans(first.plan, second.plan);
  EXPECT_EQ(difference.summary.settings,
            (std::vector<std::string>{"mesh.shard: 2 -> 4", "schedule.reduce_buffers: none -> 2"}));
  ASSERT_FALSE(difference.summary.memory.empty());
  EXPECT_EQ(difference.summary.memory[0].rfind("peak: " + formatBytesExact(peak.bytes) + " -> ", 0), 0U)
      << difference.summary.memory[0];
  ASSERT_EQ(difference.summary.collectives.size(), 1U);
  EXPECT_TRUE(difference.summary.collectives[0].starts_with("train_step all_gather: ") &&
              difference.summary.collectives[0].ends_with(" -> none"))
      << difference.summary.collectives[0];
  ASSERT_EQ(difference.summary.order.size(), 1U);
  EXPECT_EQ(difference.summary.order[0],
            concat("train_step: ", difference.entries[0].removed, " removed, ", difference.entries[0].added,
                   " added, the first at instruction ", difference.entries[0].first));
  const std::string text = difference.toText();
  EXPECT_TRUE(text.starts_with("settings\n  mesh.shard: 2 -> 4\n")) << text;
  EXPECT_EQ(read(difference.toJson())["summary"]["settings"][0], "mesh.shard: 2 -> 4");
}

class Commands : public testing::Test {
protected:
  std::string write(HandPlan &hand, const std::string &name) {
    const std::string path = testing::TempDir() + "sluice-command-" + name;
    const std::vector<std::uint8_t> bytes = serializePlan(hand.plan);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), std::streamsize(bytes.size()));
    written.push_back(path);
    return path;
  }
  void TearDown() override {
    for (const std::string &path : written)
      std::filesystem::remove(path);
  }
  std::vector<std::string> written;
};

TEST_F(Commands, GoodPlan) {
  HandPlan hand;
  const std::string path = write(hand, "good.plan");
  for (const char *name : {"describe", "print", "check", "memory", "schedule"})
    for (bool json : {false, true}) {
      const PlanCommandResult result = runPlanCommand({name, {path}, json, false});
      EXPECT_TRUE(result.status.isOk()) << name << " " << result.status.message();
      EXPECT_FALSE(result.text.empty());
      EXPECT_EQ(Json::accept(result.text), json) << name;
    }
  EXPECT_NE(runPlanCommand({"check", {path}, false, false}).text.find("proved"), std::string::npos);
}

/// A million repetitions.
void repeatWithoutEnd(HandPlan &hand) {
  constexpr std::uint32_t repeat = 1 << 20;
  hand.section(0).repeat = hand.plan.microbatches = repeat;
  plan::BufferT &rows = hand.buffer("host.x");
  rows.shape[0] = repeat;
  hand.plan.arenas[1]->peak_live -= rows.bytes;
  rows.bytes = 32ull * repeat;
  hand.plan.arenas[1]->peak_live += rows.bytes;
  hand.plan.arenas[1]->bytes += rows.bytes;
  for (const char *name : {"host.lr", "host.loss", "host.step"})
    hand.buffer(name).offset += rows.bytes;
  hand.seal();
}

TEST_F(Commands, TooManyRepetitions) {
  // An untrusted file of a few kilobytes must not produce gigabytes.
  HandPlan hand;
  repeatWithoutEnd(hand);
  const std::string path = write(hand, "endless.plan");
  ASSERT_TRUE(runPlanCommand({"check", {path}, false, false}).status.isOk())
      << runPlanCommand({"check", {path}, false, false}).status.message();
  for (auto [name, json, what] :
       {std::tuple("describe", true, "events and collectives"), std::tuple("schedule", true, "instructions of work"),
        std::tuple("schedule", false, "instructions of work")}) {
    const PlanCommandResult result = runPlanCommand({name, {path}, json, false});
    EXPECT_EQ(result.status.code(), StatusCode::refused) << name;
    EXPECT_TRUE(result.text.empty());
    EXPECT_NE(result.status.message().find("report on plan 'hand', expected steps of at most 1048576 " +
                                           std::string(what) + " but got "),
              std::string::npos)
        << result.status.message();
    ASSERT_EQ(result.status.notes().size(), 1u);
    EXPECT_NE(result.status.notes()[0].find("'sluice-plan print' has each instruction once"), std::string::npos);
  }
  // Counted, not followed: two gathers in each micro-batch, two reductions in the last.
  const PlanCommandResult page = runPlanCommand({"describe", {path}, false, false});
  EXPECT_TRUE(page.status.isOk());
  EXPECT_NE(page.text.find(std::to_string(2 * (1 << 20) + 2) + " collectives"), std::string::npos) << page.text;
  EXPECT_TRUE(runPlanCommand({"print", {path}, false, false}).status.isOk());
  EXPECT_TRUE(runPlanCommand({"memory", {path}, false, false}).status.isOk());
}

TEST_F(Commands, ManyInstructionsAndFewEvents) {
  HandPlan hand;
  repeatWithoutEnd(hand);
  while (hand.section(0).instructions.size() <= 64) {
    hand.section(0).instructions.push_back(std::make_unique<plan::InstructionT>());
    hand.section(0).instructions.back()->operation.Set(plan::RecordT());
  }
  const Status status =
      checkListable(hand.plan, "events", [](const plan::PlanT &, const plan::InstructionT &) { return false; });
  EXPECT_EQ(
      status.message().find("report on plan 'hand', expected steps of at most 67108864 repeated instructions but got "),
      0u)
      << status.message();
}

TEST(Issue, CountsIssuedInstructions) {
  HandPlan hand;
  hand.section(0).repeat = 5;
  const auto kinds = {plan::When::all,  plan::When::first,    plan::When::not_first,
                      plan::When::last, plan::When::not_last, plan::When::listed};
  std::uint32_t k = 0;
  for (auto &instruction : hand.section(0).instructions) {
    instruction->when = *(kinds.begin() + k++ % kinds.size());
    if (instruction->when == plan::When::listed)
      instruction->repetitions = {3, 1, 3};
  }
  std::vector<std::uint64_t> last(instructionCount(hand.entry())), times(last.size());
  forEachIssued(hand.entry(), [&](const IssuedInstruction &issued) {
    last[issued.index] = issued.position;
    ++times[issued.index];
  });
  forEachInstruction(hand.entry(), [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t s) {
    EXPECT_EQ(timesIssued(instruction, hand.section(s).repeat), times[i]) << i;
    EXPECT_EQ(lastPosition(hand.entry(), i), last[i]) << i;
    std::uint64_t before = 0;
    for (std::uint32_t r = 0; r <= hand.section(s).repeat; ++r) {
      EXPECT_EQ(timesIssued(instruction, hand.section(s).repeat, r), before) << i << " " << r;
      before += r < hand.section(s).repeat && isIssued(instruction, r, hand.section(s).repeat);
    }
  });
}

TEST(Describe, States) {
  HandPlan hand;
  std::string found;
  const Json json = read(describePlan(hand.plan));
  for (const Json &state : json["states"])
    if (state["entry"] == "train_step" && state["unit"] == "a" && state["microbatch"] == 0)
      found += state["state"].get<std::string>() + "/" + std::to_string(state["over"].get<int>()) + " ";
  EXPECT_EQ(found, "sharded/2 gathered/1 sharded/2 ");
  hand.parameter("b.weight").dim = -1;
  hand.parameter("b.weight").axes.clear();
  // In the order of units.
  EXPECT_EQ(read(describePlan(hand.plan))["states"][1]["state"], "replicated");
}

TEST_F(Commands, BadPlan) {
  HandPlan hand;
  hand.drop("compute waits: b gathered");
  const std::string path = write(hand, "bad.plan");
  const PlanCommandResult check = runPlanCommand({"check", {path}, false, false});
  EXPECT_EQ(int(check.status.code()), 4);
  EXPECT_NE(check.text.find("refused"), std::string::npos);
  const PlanCommandResult json = runPlanCommand({"check", {path}, true, false});
  const Json parsed = Json::parse(json.text);
  EXPECT_FALSE(parsed["sound"].get<bool>());
  EXPECT_EQ(parsed["properties"][3]["outcome"], "refused");
  EXPECT_EQ(parsed["properties"][6]["outcome"], "not reached");
  EXPECT_FALSE(parsed["properties"][6].contains("seconds"));
  EXPECT_EQ(int(runPlanCommand({"describe", {path}, true, false}).status.code()), 4);
  EXPECT_TRUE(runPlanCommand({"describe", {path}, true, false}).text.empty());
  // A refused plan can be printed.
  const PlanCommandResult print = runPlanCommand({"print", {path}, false, false});
  EXPECT_EQ(int(print.status.code()), 4);
  EXPECT_NE(print.text.find("all_gather"), std::string::npos);
}

TEST_F(Commands, Diff) {
  HandPlan first, second;
  second.plan.sequence = 5;
  second.drop("reduce waits: step done");
  const std::string a = write(first, "a.plan"), b = write(second, "b.plan");
  EXPECT_EQ(runPlanCommand({"diff", {a, a}, false, false}).exitCode, 0);
  EXPECT_EQ(runPlanCommand({"diff", {a, b}, false, false}).exitCode, 1);
  EXPECT_FALSE(Json::parse(runPlanCommand({"diff", {a, b}, true, false}).text)["same"].get<bool>());
  EXPECT_EQ(int(runPlanCommand({"diff", {a, "/nowhere.plan"}, false, false}).status.code()), 1);
}

} // namespace
} // namespace sluice::test
