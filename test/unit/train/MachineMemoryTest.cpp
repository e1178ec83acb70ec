//===- MachineMemoryTest.cpp - the memory that control groups allow ------------------===//
#include "runtime/train/MachineMemory.h"
#include "test/unit/train/Fixture.h"

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

} // namespace
