//===- MachineTest.cpp - descriptions of devices, and the memory of a rank on one ---===//
#include "runtime/report/machine/MachineFile.h"
#include "test/unit/plan/HandPlan.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

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
  EXPECT_EQ(errorOf("\"cuda\"", "\"rocm\""), "m.toml:2: value of 'device', expected 'cpu' or 'cuda' but got 'rocm'");
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
            "cannot read '/there/is/none.toml': No such file or directory");
}

/// The message for a description of a CPU with these lines, from line 4 on.
std::string timesError(const std::string &lines) {
  Result<Machine> machine = parseMachine("name = \"M\"\ndevice = \"cpu\"\narch = \"avx2\"\n" + lines, "m.toml");
  EXPECT_FALSE(machine.isOk()) << lines;
  return machine.status().message();
}

const std::string measured = "from = \"measured\"\nnote = \"n\"\n";
const std::string rates = "[[products]]\nkernel = \"matmul\"\ndtype = \"f32\"\n" + measured;

TEST(Machine, RatesAreRead) {
  Result<Machine> machine = parseMachine(
      "name = \"M\"\ndevice = \"cpu\"\narch = \"avx2\"\n[hosts]\ndevices = 8\ncount = 4\n[times]\n"
      "launch_seconds = { value = 5e-6, from = \"published\", source = \"https://a.b\" }\n" +
          rates +
          "library = \"own\"\nranks = 2\npoints = [[1, 2, 3, 4e9]]\n[[streaming]]\nkernel = \"*\"\ndtype = \"bf16\"\n" +
          measured +
          "points = [[10, 20], [30, 40]]\n[[collectives]]\nkinds = [\"all_reduce\"]\nalgorithm = \"tree\"\n" +
          measured +
          "base_seconds = 1\nlink_seconds = 2\nnetwork_seconds = 3\nbytes_per_second = 4\n[[collectives]]\nkinds = "
          "[\"all_to_all\"]\n"
          "algorithm = \"direct\"\n" +
          measured + "base_seconds = 1\nlink_seconds = 2\nnetwork_seconds = 3\nbytes_per_second = 5\n",
      "m.toml");
  ASSERT_TRUE(machine.isOk()) << machine.status().message();
  EXPECT_EQ(machine->times.hosts, 4u);
  EXPECT_EQ(machine->times.constant("launch_seconds"), 5e-6);
  EXPECT_FALSE(machine->times.constant("wait_seconds").has_value());
  EXPECT_EQ(machine->times.products[0].ranks, 2u);
  EXPECT_EQ(machine->times.products[0].library, KernelRates::Library::own);
  EXPECT_EQ(machine->times.streaming[0].library, KernelRates::Library::any);
  EXPECT_EQ(machine->times.products[0].points[0].size[2], 3);
  EXPECT_EQ(machine->times.streaming[0].points[1].perSecond, 40);
  EXPECT_TRUE(machine->times.collectives[0].allReduce);
  EXPECT_EQ(machine->times.collectives[0].network, 3);
  EXPECT_TRUE(machine->times.collectives[1].allToAll);
  EXPECT_EQ(machine->times.collectives[1].algorithm, CollectiveRates::Algorithm::direct);
}

TEST(Machine, ErrorsOfRatesNameTheirPlace) {
  const std::string constant = "[times]\nlaunch_seconds = ";
  EXPECT_EQ(timesError(constant + "{ value = 0, " + "from = \"measured\", note = \"n\" }"),
            "m.toml:5: 'value' in constant 'launch_seconds', expected a positive number but got 0");
  EXPECT_EQ(timesError(constant + "{ value = -1.5, from = \"measured\", note = \"n\" }"),
            "m.toml:5: 'value' in constant 'launch_seconds', expected a positive number but got -1.5");
  EXPECT_EQ(timesError(constant + "{ value = inf, from = \"measured\", note = \"n\" }"),
            "m.toml:5: 'value' in constant 'launch_seconds', expected a positive number but got inf");
  EXPECT_EQ(timesError(constant + "1"),
            "m.toml:5: constant 'launch_seconds', expected a table with 'value' and 'from' but got 1");
  EXPECT_EQ(timesError(constant + "{ value = 1 }"), "m.toml: missing key 'from' in constant 'launch_seconds'");
  EXPECT_EQ(timesError(constant + "{ value = 1, from = \"measured\" }"),
            "m.toml:5: constant 'launch_seconds': a measured value requires a 'note' with date and program of the "
            "measurement");
  EXPECT_EQ(timesError(constant + "{ value = 1, from = \"published\" }"),
            "m.toml:5: constant 'launch_seconds': a value that was not measured requires its address as 'source'");
  EXPECT_EQ(timesError(constant + "{ value = 1, from = 'hearsay' }"),
            "m.toml:5: 'from' in constant 'launch_seconds', expected 'datasheet', 'measured' or 'published' but got "
            "'hearsay'");
  EXPECT_EQ(timesError("[times]\nspeed = 1"), "m.toml:5: unknown key 'speed' in [times]");
  EXPECT_EQ(timesError("times = 1"), "m.toml:4: value of 'times', expected a table but got 1");
  EXPECT_EQ(timesError("hosts = 1"), "m.toml:4: value of 'hosts', expected a table but got 1");
  EXPECT_EQ(timesError("[hosts]\ncount = 1"), "m.toml: missing key 'devices' in [hosts]");
  EXPECT_EQ(timesError("[hosts]\ndevices = 0"),
            "m.toml:5: 'devices' in [hosts], expected an integer from 1 to 1073741824 but got 0");
  EXPECT_EQ(timesError("products = 1"), "m.toml:4: value of 'products', expected tables [[products]] but got 1");
  EXPECT_EQ(timesError(rates), "m.toml: missing key 'points' in [[products]]");
  EXPECT_EQ(timesError(rates + "library = 'cublas'\npoints = [[1, 2, 3, 4]]"),
            "m.toml:9: 'library' in [[products]] of 'matmul', expected 'cudnn' or 'own' but got 'cublas'");
  EXPECT_EQ(timesError(rates + "points = 3"),
            "m.toml:9: points of [[products]] of 'matmul', expected a list of lists of numbers but got 3");
  EXPECT_EQ(timesError(rates + "points = [[1, 2, 3]]"),
            "m.toml:9: point of [[products]] of 'matmul', expected 4 positive numbers but got [ 1, 2, 3 ]");
  EXPECT_EQ(timesError(rates + "points = [[1, 2, 3, 0]]"),
            "m.toml:9: point of [[products]] of 'matmul', expected 4 positive numbers but got [ 1, 2, 3, 0 ]");
  EXPECT_EQ(timesError("[[products]]\nkernel = \"matmull\"\ndtype = \"f32\"\n" + measured + "points = [[1, 2, 3, 4]]"),
            "m.toml:5: 'kernel' in [[products]], expected a kernel of the catalogue or '*' but got 'matmull'");
  EXPECT_EQ(timesError("[[products]]\nkernel = \"matmul\"\ndtype = \"f33\"\n" + measured + "points = [[1, 2, 3, 4]]"),
            "m.toml:6: 'dtype' in [[products]] of 'matmul', expected a type as 'f32' but got 'f33'");
  EXPECT_EQ(timesError("[[streaming]]\nkernel = \"*\"\ndtype = \"f32\"\n" + measured + "points = [[3, 1], [2, 1]]"),
            "m.toml:9: point of [[streaming]] of '*', expected a first number above that of the point before but got "
            "[ 2, 1 ]");
  EXPECT_EQ(timesError("[[collectives]]\nkinds = [\"gather\"]\nalgorithm = \"ring\"\n" + measured),
            "m.toml:5: 'kinds' in [[collectives]], expected 'all_gather', 'reduce_scatter', 'all_reduce' or "
            "'all_to_all' but got 'gather'");
  EXPECT_EQ(timesError("[[collectives]]\nkinds = []\nalgorithm = \"ring\"\n" + measured),
            "m.toml:5: 'kinds' in [[collectives]], expected a list of kinds but got []");
  EXPECT_EQ(timesError("[[collectives]]\nkinds = [\"all_gather\"]\nalgorithm = \"mesh\"\n" + measured),
            "m.toml:6: 'algorithm' in [[collectives]], expected 'host', 'ring', 'tree' or 'direct' but got 'mesh'");
  for (const auto &[kinds, algorithm] : {std::pair("all_to_all", "ring"), std::pair("all_gather", "direct")})
    EXPECT_EQ(
        timesError(std::string("[[collectives]]\nkinds = [\"") + kinds + "\"]\nalgorithm = \"" + algorithm + "\"\n" +
                   measured),
        "m.toml:6: 'algorithm' in [[collectives]], expected 'direct' for 'all_to_all' over hosts, and for it alone");
  EXPECT_EQ(timesError("[[collectives]]\nkinds = [\"all_gather\"]\nalgorithm = \"ring\"\n" + measured),
            "m.toml: missing key 'base_seconds' in [[collectives]] over hosts");
  EXPECT_EQ(timesError("[[collectives]]\nkinds = [\"all_gather\"]\nalgorithm = \"host\"\n" + measured +
                       "base_seconds = 1\npoints = [[2, 1, 1]]"),
            "m.toml:9: unknown key 'base_seconds' in [[collectives]] within a host");
}

TEST(Machine, FilesAreBasedOnOthers) {
  const std::string folder = std::filesystem::path(::testing::TempDir()).parent_path().string();
  const auto write = [&](const std::string &name, const std::string &content) {
    std::ofstream(folder + "/" + name) << content;
    return folder + "/" + name;
  };
  write("base.toml", text());
  const Result<Machine> machine =
      readMachine(write("more.toml", "base = \"base.toml\"\nname = \"N\"\n[hosts]\ndevices = 8\n[figures]\n"
                                     "memory_bytes = \"unknown\"\n"));
  ASSERT_TRUE(machine.isOk()) << machine.status().message();
  EXPECT_EQ(machine->name, "N");
  EXPECT_EQ(machine->times.hostDevices, 8u);
  EXPECT_FALSE(machine->figure("memory_bytes").has_value());
  EXPECT_EQ(machine->figure("context_bytes")->value, 500u);
  // An error in the base names its file.
  write("base.toml", text("value = 500", "value = 0"));
  EXPECT_EQ(readMachine(folder + "/more.toml").status().message(),
            folder +
                "/base.toml:9: figure 'context_bytes', expected an integer from 1 to 1152921504606846976 but got 0");
  EXPECT_EQ(readMachine(write("none.toml", "base = \"missing.toml\"\n")).status().message(),
            folder + "/none.toml:1: cannot read the machine file '" + folder + "/missing.toml'");
  EXPECT_EQ(readMachine(write("three.toml", "base = 3\n")).status().message(),
            folder + "/three.toml:1: value of 'base', expected the path of a machine file but got 3");
  EXPECT_EQ(readMachine(write("self.toml", "base = \"self.toml\"\n")).status().message(),
            folder + "/self.toml:1: more than 4 files are based on each other");
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
  plan.target->device = "cpu";
  EXPECT_EQ(deviceShare(plan, *parseMachine("name = \"C\"\ndevice = \"cpu\"\narch = \"avx2\"\n", "m.toml"))
                .status()
                .message(),
            "machine 'C' is for 'cpu', whose processes have no memory of a driver");
  plan.target->device = "cuda";
  plan.target->arch = "sm_100";
  EXPECT_EQ(deviceShare(plan, *parseMachine("name = \"C\"\ndevice = \"cpu\"\narch = \"avx2\"\n", "m.toml"))
                .status()
                .message(),
            "machine 'C' is for 'cpu', but the plan's target.device is 'cuda'");
  EXPECT_EQ(deviceShare(plan, *parseMachine(text(), "m.toml")).status().message(),
            "machine 'M', expected at least the plan's target.arch sm_100 but got sm_90");
}

} // namespace
} // namespace sluice::test
