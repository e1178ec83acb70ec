//===- StreamSimulatorTest.cpp - when the work of streams runs -------------------------------------===//
#include "passes/solver/simulate/StreamSimulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sluice::test {
namespace {

SimulatedTask task(std::uint32_t stream, double work, std::int64_t after = -1) {
  SimulatedTask made;
  made.stream = stream;
  made.work = work;
  made.after = after;
  return made;
}

std::vector<SimulatedRun> simulate(const SimulatedStep &step, std::uint32_t runs = 1) {
  Result<std::vector<SimulatedRun>> result = simulateRuns(step, runs);
  EXPECT_TRUE(result.isOk()) << result.status().message();
  return *result;
}

TEST(StreamSimulator, TasksOfAStreamFollowEachOther) {
  SimulatedStep step;
  step.streams = 1;
  step.tasks = {task(0, 2), task(0, 3)};
  const SimulatedRun run = simulate(step)[0];
  EXPECT_DOUBLE_EQ(run.begin[1], 2);
  EXPECT_DOUBLE_EQ(run.finish, 5);
}

// A gather of 5 seconds next to 3 seconds of work: its reader waits for 2.
TEST(StreamSimulator, ATaskStartsAfterTheOneThatItWaitsFor) {
  SimulatedStep step;
  step.streams = 2;
  step.tasks = {task(1, 5), task(0, 3), task(0, 0, 0), task(0, 1)};
  const SimulatedRun run = simulate(step)[0];
  EXPECT_DOUBLE_EQ(run.ready[2], 3);
  EXPECT_DOUBLE_EQ(run.begin[2], 5);
  EXPECT_DOUBLE_EQ(run.finish, 6);
}

TEST(StreamSimulator, WaitsThatBlockHaveALatency) {
  SimulatedStep step;
  step.streams = 2;
  step.waitLatency = 0.5;
  step.tasks = {task(1, 5), task(0, 3), task(0, 1, 0)};
  EXPECT_DOUBLE_EQ(simulate(step)[0].finish, 6.5);
  step.tasks[1].work = 7;
  EXPECT_DOUBLE_EQ(simulate(step)[0].finish, 8);
}

// Two working streams of each of two ranks on three cores take 4/3 of their time.
TEST(StreamSimulator, ThreadsShareTheCores) {
  SimulatedStep step;
  step.streams = 2;
  step.ranks = 2;
  step.cores = 3;
  step.tasks = {task(0, 3), task(1, 6)};
  const SimulatedRun run = simulate(step)[0];
  EXPECT_DOUBLE_EQ(run.end[0], 4);
  // The second has done 3 and then has its own core.
  EXPECT_DOUBLE_EQ(run.end[1], 7);
}

TEST(StreamSimulator, LatencyNeedsNoCore) {
  SimulatedStep step;
  step.streams = 2;
  step.cores = 1;
  step.tasks = {task(0, 4), task(1, 0)};
  step.tasks[1].latency = 4;
  EXPECT_DOUBLE_EQ(simulate(step)[0].finish, 4);
}

// The host issues a run when the port task of the one before has ended; the rest overlaps.
TEST(StreamSimulator, RunsOverlapAfterThePorts) {
  SimulatedStep step;
  step.streams = 2;
  step.tasks = {task(0, 2), task(1, 3, 0)};
  step.portTasks = {0};
  const std::vector<SimulatedRun> runs = simulate(step, 3);
  EXPECT_DOUBLE_EQ(runs[1].begin[0], 2);
  EXPECT_DOUBLE_EQ(runs[2].finish - runs[1].finish, 3);
  // A wait for the second task of the previous run.
  step.tasks[0].after = 1;
  step.tasks[0].carried = true;
  EXPECT_DOUBLE_EQ(simulate(step, 3)[2].finish, 15);
}

TEST(StreamSimulator, ACycleIsAnError) {
  SimulatedStep step;
  step.streams = 2;
  step.tasks = {task(0, 1, 1), task(1, 1, 0)};
  EXPECT_EQ(simulateRuns(step, 1).status().code(), StatusCode::internal);
}

// Without shared cores the times follow from the order of issue alone.
TEST(StreamSimulator, AgreesWithTheRecurrenceOnRandomSteps) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    SimulatedStep step;
    step.streams = 1 + random() % 4;
    std::vector<double> streamEnd(step.streams), end;
    for (int t = 0; t < 40; ++t) {
      SimulatedTask next = task(random() % step.streams, double(random() % 5), -1);
      next.latency = double(random() % 3);
      if (t > 0 && random() % 3 == 0)
        next.after = std::int64_t(random() % t);
      step.tasks.push_back(next);
      const double start = std::max(streamEnd[next.stream], next.after >= 0 ? end[std::size_t(next.after)] : 0);
      end.push_back(start + next.latency + next.work);
      streamEnd[next.stream] = end.back();
    }
    EXPECT_DOUBLE_EQ(simulate(step)[0].finish, *std::ranges::max_element(end)) << round;
  }
}

} // namespace
} // namespace sluice::test
