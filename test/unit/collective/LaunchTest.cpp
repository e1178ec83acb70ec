//===- LaunchTest.cpp - environments of launchers, and the rendezvous --------------===//
#include "runtime/collective/launch/Launch.h"
#include "runtime/collective/socket/Rendezvous.h"

#include <gtest/gtest.h>
#include <map>
#include <thread>

namespace sluice {
namespace {

using Variables = std::map<std::string, std::string>;

Result<std::optional<Launch>> read(const Variables &variables, const std::string &communicator = "auto") {
  LaunchOptions options;
  options.communicator = communicator;
  return readLaunch(
      [&](const char *name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      options);
}

const Variables torchrun = {
    {"RANK", "2"}, {"WORLD_SIZE", "4"}, {"LOCAL_WORLD_SIZE", "4"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}};

Variables with(Variables variables, const std::string &name, const std::string &value) {
  variables[name] = value;
  return variables;
}

// Tests that a process without a launcher runs all ranks, and that "local" does so under any launcher.
TEST(LaunchTest, NoLauncher) {
  EXPECT_FALSE(read({}).status().message().size());
  EXPECT_FALSE((*read({})).has_value());
  EXPECT_FALSE((*read(torchrun, "local")).has_value());
}

// Tests torchrun's variables, and a port different from that of its store.
TEST(LaunchTest, Torchrun) {
  const Launch launch = **read(torchrun);
  EXPECT_EQ(launch.rank, 2);
  EXPECT_EQ(launch.size, 4);
  EXPECT_TRUE(launch.oneMachine);
  EXPECT_EQ(launch.address, "node7");
  EXPECT_EQ(launch.port, 29500);
  EXPECT_EQ((**read(with(torchrun, "TORCHELASTIC_USE_AGENT_STORE", "True"))).port, 29501);
  EXPECT_FALSE((**read(with(torchrun, "LOCAL_WORLD_SIZE", "2"))).oneMachine);
}

// Tests mpirun's variables, which come before torchrun's.
TEST(LaunchTest, Mpirun) {
  Variables variables = with(torchrun, "OMPI_COMM_WORLD_RANK", "1");
  variables["OMPI_COMM_WORLD_SIZE"] = "3";
  EXPECT_EQ((**read(variables)).transport, Transport::mpi);
  EXPECT_EQ((**read(variables)).rank, 1);
  EXPECT_EQ((**read(variables, "socket")).rank, 2);
}

// Tests srun's variables: ports of steps differ, one task is no launch.
TEST(LaunchTest, Srun) {
  const Variables srun = {{"SLURM_PROCID", "1"},
                          {"SLURM_STEP_NUM_TASKS", "2"},
                          {"SLURM_STEP_NUM_NODES", "1"},
                          {"SLURM_JOB_ID", "4711"},
                          {"SLURM_STEP_ID", "0"}};
  const Launch launch = **read(srun);
  EXPECT_EQ(launch.address, "127.0.0.1");
  EXPECT_NE(launch.port, (**read(with(srun, "SLURM_STEP_ID", "1"))).port);
  EXPECT_FALSE((*read(with(srun, "SLURM_STEP_NUM_TASKS", "1"))).has_value());
  EXPECT_EQ(read(with(srun, "SLURM_STEP_NUM_NODES", "2")).status().message(),
            "missing MASTER_ADDR or MASTER_PORT of rank 0 in the environment of srun over several machines");
}

// Tests RANK without WORLD_SIZE, which would be a world of one rank for each process.
TEST(LaunchTest, RankWithoutSize) {
  const Status status = read({{"RANK", "1"}}).status();
  EXPECT_EQ(status.message(), "missing WORLD_SIZE in an environment that has RANK");
  ASSERT_EQ(status.notes().size(), 1u);
  EXPECT_FALSE((*read({{"RANK", "1"}}, "local")).has_value());
}

// Tests invalid numbers.
TEST(LaunchTest, BadNumbers) {
  EXPECT_EQ(read(with(torchrun, "RANK", "4")).status().message(),
            "environment variable RANK, expected a number from 0 to 3 but got '4'");
  EXPECT_EQ(read(with(torchrun, "WORLD_SIZE", "4x")).status().message(),
            "environment variable WORLD_SIZE, expected a number from 1 to 4096 but got '4x'");
  EXPECT_EQ(read(with(torchrun, "MASTER_PORT", "0")).status().message(),
            "environment variable MASTER_PORT, expected a number from 1 to 65535 but got '0'");
  EXPECT_EQ(read(with(with(torchrun, "WORLD_SIZE", "1"), "RANK", "2")).status().message(),
            "environment variable RANK, expected 0 but got '2'");
}

std::uint16_t freePort() { return socket::portOf(*socket::listenAt("127.0.0.1", 0)); }

/// Messages of a rendezvous of these ranks, each with a separate world size.
std::vector<std::string> meeting(const std::vector<std::pair<int, int>> &ranksAndSizes, double seconds) {
  std::vector<std::string> messages(ranksAndSizes.size());
  const std::uint16_t port = freePort();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranksAndSizes.size(); ++i)
    threads.emplace_back([&, i] {
      socket::RendezvousOptions options;
      options.rank = ranksAndSizes[i].first;
      options.size = ranksAndSizes[i].second;
      options.port = port;
      options.seconds = seconds;
      messages[i] = socket::connectRanks(options).status().message();
    });
  for (std::thread &thread : threads)
    thread.join();
  return messages;
}

// Tests that all ranks connect, and the errors for missing ranks and different world sizes.
TEST(LaunchTest, Rendezvous) {
  for (const std::string &message : meeting({{2, 4}, {0, 4}, {3, 4}, {1, 4}}, 20))
    EXPECT_EQ(message, "");
  for (const std::string &message : meeting({{0, 4}, {2, 4}}, 0.3))
    EXPECT_EQ(message.substr(0, 70), "ranks 1, 3 did not connect within 0.3 s, expected 4 ranks at 127.0.0.1");
  for (const std::string &message : meeting({{0, 2}, {1, 3}}, 20))
    EXPECT_EQ(message, "world size, expected 2 as on rank 0 but got 3 on rank 1");
}

} // namespace
} // namespace sluice
