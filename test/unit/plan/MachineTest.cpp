//===- MachineTest.cpp - descriptions of devices, and the memory of a rank on one ---===//
#include "runtime/plan/MachineFile.h"
#include "test/unit/plan/HandPlan.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace sluice::test {
namespace {

/// A file with all figures; `change` replaces one part of the text by another.
std::string text(const std::string &from = "", const std::string &to = "") {
  std::string made = R"(name = "M"
device = "cuda"
arch = "sm_90"
[figures]
memory_bytes = { value = 1000000, from = "datasheet" }
memory_bytes_per_second = "unknown"
link_bytes_per_second = "unknown"
bf16_flops_per_second = "unknown"
context_bytes = { value = 500, from = "measured", note = "driver 580" }
library_bytes = { value = 40, from = "measured", note = "driver 580" }
communicator_bytes = { value = 7, from = "measured", note = "nccl 2.28" }
)";
  if (!from.empty()) {
    const std::size_t at = made.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    made.replace(at, from.size(), to);
  }
  return made;
}

std::string errorOf(const std::string &from, const std::string &to) {
  Result<Machine> machine = parseMachine(text(from, to), "m.toml");
  EXPECT_FALSE(machine.isOk()) << to;
  EXPECT_EQ(machine.status().code(), StatusCode::input);
  return machine.status().message();
}

TEST(Machine, FiguresHaveASource) {
  Result<Machine> machine = parseMachine(text(), "m.toml");
  ASSERT_TRUE(machine.isOk()) << machine.status().message();
  EXPECT_EQ(machine->figure("memory_bytes")->value, 1000000u);
  EXPECT_EQ(machine->figure("memory_bytes")->from, "datasheet");
  EXPECT_FALSE(machine->figure("link_bytes_per_second").has_value());
}

// Tests that each description of the repository is accepted.
TEST(Machine, CommittedFiles) {
  int files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(SLUICE_MACHINES_FOLDER)) {
    Result<Machine> machine = readMachine(entry.path().string());
    EXPECT_TRUE(machine.isOk()) << machine.status().message();
    ++files;
  }
  EXPECT_GE(files, 4);
}

TEST(Machine, ErrorsNameTheirPlaceInTheFile) {
  EXPECT_EQ(parseMachine("name = {", "m.toml").status().message().substr(0, 10), "m.toml:1: ");
  EXPECT_EQ(errorOf("arch = \"sm_90\"\n", ""), "m.toml: missing key 'arch' in the file");
  EXPECT_EQ(errorOf("[figures]", "[=]").substr(0, 34), "m.toml:4: Error while parsing key:");
  EXPECT_EQ(errorOf("arch", "\u0354").substr(0, 21), "m.toml:3: Error while");
  EXPECT_EQ(errorOf("name = ", "extra = 1\nname = "), "m.toml:1: unknown key 'extra' in the file");
  EXPECT_EQ(errorOf("\"M\"", "3"), "m.toml:1: value of 'name', expected a text but got 3");
  EXPECT_EQ(errorOf("\"cuda\"", "\"rocm\""), "m.toml:2: value of 'device', expected 'cuda' but got 'rocm'");
  EXPECT_EQ(errorOf("sm_90", "hopper"),
            "m.toml:3: value of 'arch', expected an architecture as 'sm_90' but got 'hopper'");
  EXPECT_EQ(errorOf("sm_90", "sm_90x"),
            "m.toml:3: value of 'arch', expected an architecture as 'sm_90' but got 'sm_90x'");
  EXPECT_EQ(
      parseMachine("name = \"M\"\ndevice = \"cuda\"\narch = \"sm_90\"\nfigures = 4\n", "m.toml").status().message(),
      "m.toml:4: value of 'figures', expected a table but got 4");
  EXPECT_EQ(errorOf("link_bytes_per_second = \"unknown\"\n", ""),
            "m.toml: missing key 'link_bytes_per_second' in [figures]");
  EXPECT_EQ(
      errorOf("link_bytes_per_second = \"unknown\"", "link_bytes_per_second = 3"),
      "m.toml:7: figure 'link_bytes_per_second', expected \"unknown\" or a table with 'value' and 'from' but got 3");
  EXPECT_EQ(errorOf("value = 1000000", "value = -1"),
            "m.toml:5: figure 'memory_bytes', expected an integer from 1 to 1152921504606846976 but got -1");
  EXPECT_EQ(errorOf("value = 1000000", "value = 0"),
            "m.toml:5: figure 'memory_bytes', expected an integer from 1 to 1152921504606846976 but got 0");
  EXPECT_EQ(errorOf("value = 1000000", "value = 1.5"),
            "m.toml:5: figure 'memory_bytes', expected an integer from 1 to 1152921504606846976 but got 1.5");
  EXPECT_EQ(errorOf("value = 1000000, ", ""), "m.toml:5: missing key 'value' in figure 'memory_bytes'");
  EXPECT_EQ(errorOf("from = \"datasheet\"", "from = \"datasheet\", why = 1"),
            "m.toml:5: unknown key 'why' in figure 'memory_bytes'");
  EXPECT_EQ(errorOf("\"datasheet\"", "'hearsay'"),
            "m.toml:5: figure 'memory_bytes', expected from 'datasheet' or 'measured' but got 'hearsay'");
  // A figure that no data sheet has cannot be declared as one of a data sheet.
  EXPECT_EQ(errorOf("\"measured\", note = \"driver 580\"", "\"datasheet\""),
            "m.toml:9: figure 'context_bytes', expected from 'measured' but got 'datasheet'");
  EXPECT_EQ(errorOf(", note = \"nccl 2.28\"", ""), "m.toml:11: figure 'communicator_bytes', a measured figure requires "
                                                   "a 'note' on when and with what it was measured");
  EXPECT_EQ(readMachine("/there/is/none.toml").status().message(),
            "cannot read the machine file '/there/is/none.toml'");
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

// Tests that the total is the sum of the known figures, and that there is no total if one is unknown.
TEST(Machine, TotalIsUnknownIfAFigureIs) {
  const plan::PlanT plan = onCuda();
  std::uint64_t ours = 0;
  for (const auto &arena : plan.arenas)
    if (arena->space == plan::Space::device)
      ours = arena->bytes + arena->workspace;
  Result<DeviceShare> share = deviceShare(plan, *parseMachine(text(), "m.toml"));
  ASSERT_TRUE(share.isOk()) << share.status().message();
  const std::uint64_t communicators = termOf(*share, "communicators");
  // Two, by group and stream, and the one from which they are split.
  EXPECT_EQ(communicators, 7u * 3);
  ASSERT_TRUE(share->total.has_value());
  EXPECT_EQ(*share->total, ours + 500 + 40 + communicators);
  const Machine all = *parseMachine(text(), "m.toml");
  EXPECT_NE(machineText(all, *share).find("enough\n"), std::string::npos);
  EXPECT_EQ(machineJson(all, *share)["process"]["total"], *share->total);

  const Machine unknown =
      *parseMachine(text(R"({ value = 500, from = "measured", note = "driver 580" })", "\"unknown\""), "m.toml");
  share = deviceShare(plan, unknown);
  ASSERT_TRUE(share.isOk());
  EXPECT_FALSE(share->total.has_value());
  EXPECT_EQ(share->known, ours + 40 + communicators);
  const std::string said = machineText(unknown, *share);
  EXPECT_NE(said.find("context           unknown, not measured\n"), std::string::npos) << said;
  EXPECT_NE(said.find("process           not known, more than "), std::string::npos) << said;
  EXPECT_NE(said.find("enough for what is known\n"), std::string::npos) << said;
  EXPECT_TRUE(machineJson(unknown, *share)["process"]["total"].is_null());

  const Machine small = *parseMachine(text("1000000", "100"), "m.toml");
  EXPECT_NE(machineText(small, *deviceShare(plan, small)).find("too little\n"), std::string::npos);
}

TEST(Machine, DeviceOfThePlan) {
  plan::PlanT plan = onCuda();
  plan.target->device = "cpu";
  EXPECT_EQ(deviceShare(plan, *parseMachine(text(), "m.toml")).status().message(),
            "machine 'M' is for 'cuda', but the plan's target.device is 'cpu'");
  plan.target->device = "cuda";
  plan.target->arch = "sm_100";
  EXPECT_EQ(deviceShare(plan, *parseMachine(text(), "m.toml")).status().message(),
            "machine 'M', expected at least the plan's target.arch sm_100 but got sm_90");
}

} // namespace
} // namespace sluice::test
