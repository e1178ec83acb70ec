//===- MachineMemoryTest.cpp - the memory that control groups allow ------------------===//
#include "runtime/train/MachineMemory.h"
#include "runtime/base/Text.h"
#include "runtime/plan/ProcessMemory.h"
#include "test/unit/train/Fixture.h"

#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::test;

namespace {

TEST(MachineMemory, ControlGroups) {
  TemporaryFolder folder;
  const std::string mount = folder.path("cgroup");
  const auto limit = [&](const std::string &group, const std::string &text) {
    std::filesystem::create_directories(mount + std::filesystem::path(group).parent_path().string());
    std::ofstream(mount + group) << text << "\n";
  };
  EXPECT_EQ(controlGroupMemory("", mount), 0u);
  EXPECT_EQ(controlGroupMemory("0::/\n", mount), 0u);
  EXPECT_EQ(controlGroupMemory("malformed\n0:\n", mount), 0u);
  // Version 2: the smallest limit of the group and those around it.
  limit("/jobs/memory.max", "3000000");
  limit("/jobs/inner/memory.max", "max");
  limit("/jobs/inner/deep/memory.max", "5000000");
  EXPECT_EQ(controlGroupMemory("0::/jobs/inner/deep\n", mount), 3000000u);
  EXPECT_EQ(controlGroupMemory("0::/jobs/inner\n", mount), 3000000u);
  EXPECT_EQ(controlGroupMemory("0::/other\n", mount), 0u);
  // A container sees its group at the mount, and a path of the machine.
  limit("/memory.max", "4000000");
  EXPECT_EQ(controlGroupMemory("0::/machine/container\n", mount), 4000000u);
  EXPECT_EQ(controlGroupMemory("0::/jobs\n", mount), 3000000u);
  // Version 1, alone and with version 2.
  limit("/memory/jobs/memory.limit_in_bytes", "2000000");
  limit("/memory/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(controlGroupMemory("5:memory,hugetlb:/jobs/x\n4:cpu:/jobs\n", mount), 2000000u);
  EXPECT_EQ(controlGroupMemory("5:memory:/\n", mount), 0u);
  EXPECT_EQ(controlGroupMemory("5:hugetlb,memory:/jobs\n0::/jobs\n", mount), 2000000u);
  EXPECT_EQ(controlGroupMemory("5:cpu:/jobs\n", mount), 0u);
}

/// Ends the process with the result of checkAddressSpace() if it can map `bytes` more; its code, and 0 without an
/// error.
[[noreturn]] void endByAddressSpace(const plan::PlanT &plan, std::uint64_t bytes) {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t most = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit limit{most, most};
  setrlimit(RLIMIT_AS, &limit);
  const Status status = checkAddressSpace(plan, 1);
  std::fprintf(stderr, "%s\n", status.message().c_str());
  for (const std::string &note : status.notes())
    std::fprintf(stderr, "%s\n", note.c_str());
  std::_Exit(static_cast<int>(status.code()));
}

// Tests that a limit of the address space below the stacks of the threads is an error, and a larger one is not.
TEST(MachineMemoryDeathTest, AddressSpace) {
  const plan::PlanT plan = std::move(PlanBuilder({{"shard", 1}}).plan);
  std::uint64_t needed = 32 << 20;
  for (const ProcessTerm &term : processTerms(plan, 1))
    needed += term.name == "arenas" ? 0 : term.bytes;
  const std::uint64_t slack = 8 << 20;
  EXPECT_EXIT(endByAddressSpace(plan, needed - slack), testing::ExitedWithCode(5),
              concat("^address space of this process, expected at least ", needed,
                     ".* in addition to the arenas, but its limit is [0-9]+ .*\nraise the limit: ulimit -v\n$"));
  EXPECT_EXIT(endByAddressSpace(plan, needed + slack), testing::ExitedWithCode(0), "^\n$");
}

} // namespace
