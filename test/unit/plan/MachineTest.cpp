//===- MachineTest.cpp - descriptions of hardware, and what a rank takes of one ---------===//
#include "runtime/plan/MachineFile.h"
#include "test/unit/plan/HandPlan.h"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

/// A file with all figures; `change` replaces one piece of text by another.
std::string text(const std::string &from = "", const std::string &to = "") {
  std::string made = R"({"name": "M", "device": "cuda", "arch": "sm_90", "figures": {
    "memory_bytes": {"value": 1000000, "from": "datasheet"},
    "memory_bytes_per_second": null, "link_bytes_per_second": null, "bf16_flops_per_second": null,
    "context_bytes": {"value": 500, "from": "measured", "note": "driver 580"},
    "library_bytes": {"value": 40, "from": "measured", "note": "driver 580"},
    "communicator_bytes": {"value": 7, "from": "measured", "note": "nccl 2.28"}}})";
  if (!from.empty()) {
    const std::size_t at = made.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    made.replace(at, from.size(), to);
  }
  return made;
}

std::string errorOf(const std::string &from, const std::string &to) {
  Result<Machine> machine = parseMachine(text(from, to), "m.json");
  EXPECT_FALSE(machine.isOk()) << to;
  EXPECT_EQ(machine.status().code(), StatusCode::input);
  return machine.status().message();
}

TEST(Machine, FiguresKnowWhereTheyComeFrom) {
  Result<Machine> machine = parseMachine(text(), "m.json");
  ASSERT_TRUE(machine.isOk()) << machine.status().message();
  EXPECT_EQ(machine->figure("memory_bytes")->value, 1000000u);
  EXPECT_EQ(machine->figure("memory_bytes")->from, "datasheet");
  EXPECT_EQ(machine->figure("communicator_bytes")->note, "nccl 2.28");
  EXPECT_FALSE(machine->figure("link_bytes_per_second").has_value());
}

TEST(Machine, BadFilesAreRefusedByTheirPlace) {
  EXPECT_EQ(parseMachine("{", "m.json").status().message(), "m.json: machine file, expected a JSON object but got something else");
  EXPECT_EQ(parseMachine("[1]", "m.json").status().message(), "m.json: machine file, expected a JSON object but got something else");
  EXPECT_EQ(errorOf("\"arch\": \"sm_90\", ", ""), "m.json: keys of the file, expected 'arch' among them");
  EXPECT_EQ(errorOf("{\"name\"", "{\"extra\": 1, \"name\""), "m.json: key 'extra' in the file, expected one of a machine file's");
  EXPECT_EQ(errorOf("\"M\"", "3"), "m.json: 'name' of a machine file, expected a word but got 3");
  EXPECT_EQ(errorOf("\"cuda\"", "\"rocm\""), "m.json: 'device' of a machine file, expected 'cuda' but got 'rocm'");
  EXPECT_EQ(errorOf("sm_90", "hopper"), "m.json: 'arch' of a machine file, expected one as 'sm_90' but got 'hopper'");
  EXPECT_EQ(parseMachine(R"({"name": "M", "device": "cuda", "arch": "sm_90", "figures": 4})", "m.json").status().message(),
            "m.json: 'figures' of a machine file, expected an object but got 4");
  EXPECT_EQ(errorOf("\"link_bytes_per_second\": null, ", ""), "m.json: keys of its figures, expected 'link_bytes_per_second' among them");
  EXPECT_EQ(errorOf("\"link_bytes_per_second\": null", "\"link_bytes_per_second\": 3"),
            "m.json: figure 'link_bytes_per_second', expected null or an object with 'value' and 'from' but got 3");
  EXPECT_EQ(errorOf("\"value\": 1000000", "\"value\": -1"),
            "m.json: figure 'memory_bytes', expected a whole number from 1 to 1152921504606846976 but got -1");
  EXPECT_EQ(errorOf("\"value\": 1000000", "\"value\": 0"),
            "m.json: figure 'memory_bytes', expected a whole number from 1 to 1152921504606846976 but got 0");
  EXPECT_EQ(errorOf("\"from\": \"datasheet\"", "\"from\": \"datasheet\", \"why\": 1"),
            "m.json: figure 'memory_bytes', expected 'value', 'from' and 'note' but got 'why'");
  EXPECT_EQ(errorOf("\"datasheet\"", "\"hearsay\""),
            "m.json: figure 'memory_bytes', expected from 'datasheet' or 'measured' but got 'hearsay'");
  // What no data sheet has may not pretend to be from one.
  EXPECT_EQ(errorOf("\"measured\", \"note\": \"driver 580\"", "\"datasheet\""),
            "m.json: figure 'context_bytes', expected from 'measured' but got 'datasheet'");
  EXPECT_EQ(errorOf(", \"note\": \"nccl 2.28\"", ""),
            "m.json: figure 'communicator_bytes', expected a 'note' that says when and with what it was measured");
  EXPECT_EQ(readMachine("/there/is/none.json").status().message(), "cannot read the machine file '/there/is/none.json'");
}

plan::PlanT onCuda() {
  plan::PlanT plan = std::move(HandPlan().plan);
  plan.target->device = "cuda";
  return plan;
}

std::uint64_t termOf(const DeviceShare &share, std::string_view name) {
  for (const DeviceShare::Term &term : share.terms)
    if (term.name == name)
      return term.bytes.value_or(12345);
  return 54321;
}

// Tests that the total is the sum of what is known only where all of it is, and that one figure that is not known takes it away.
TEST(Machine, TheTotalIsKnownOrSaidNotToBe) {
  const plan::PlanT plan = onCuda();
  std::uint64_t ours = 0;
  for (const auto &arena : plan.arenas)
    if (arena->space == plan::Space::device)
      ours = arena->bytes + arena->workspace;
  Result<DeviceShare> share = deviceShare(plan, *parseMachine(text(), "m.json"));
  ASSERT_TRUE(share.isOk()) << share.status().message();
  const std::uint64_t communicators = termOf(*share, "communicators");
  // Two, by group and stream, and the one that they are split off.
  EXPECT_EQ(communicators, 7u * 3);
  ASSERT_TRUE(share->total.has_value());
  EXPECT_EQ(*share->total, ours + 500 + 40 + communicators);
  const Machine all = *parseMachine(text(), "m.json");
  EXPECT_NE(machineText(all, *share).find("enough\n"), std::string::npos);
  EXPECT_EQ(machineJson(all, *share)["process"]["total"], *share->total);

  const Machine unknown = *parseMachine(text(R"({"value": 500, "from": "measured", "note": "driver 580"})", "null"), "m.json");
  share = deviceShare(plan, unknown);
  ASSERT_TRUE(share.isOk());
  EXPECT_FALSE(share->total.has_value());
  EXPECT_EQ(share->known, ours + 40 + communicators);
  const std::string said = machineText(unknown, *share);
  EXPECT_NE(said.find("context           not known: nobody has measured it\n"), std::string::npos) << said;
  EXPECT_NE(said.find("process           not known, more than "), std::string::npos) << said;
  EXPECT_NE(said.find("enough for what is known\n"), std::string::npos) << said;
  EXPECT_TRUE(machineJson(unknown, *share)["process"]["total"].is_null());

  const Machine small = *parseMachine(text("1000000", "100"), "m.json");
  EXPECT_NE(machineText(small, *deviceShare(plan, small)).find("too little\n"), std::string::npos);
}

TEST(Machine, IsForThePlansDevice) {
  plan::PlanT plan = onCuda();
  plan.target->device = "cpu";
  EXPECT_EQ(deviceShare(plan, *parseMachine(text(), "m.json")).status().message(),
            "machine 'M', expected one for the plan's target.device 'cpu' but got one for 'cuda'");
  plan.target->device = "cuda";
  plan.target->arch = "sm_100";
  EXPECT_EQ(deviceShare(plan, *parseMachine(text(), "m.json")).status().message(),
            "machine 'M', expected at least the plan's target.arch sm_100 but got sm_90");
}

} // namespace
} // namespace sluice::test
