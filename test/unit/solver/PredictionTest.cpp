//===- PredictionTest.cpp - predicted time of a step ------------------------------------------------===//
#include "passes/solver/simulate/Prediction.h"
#include "test/unit/PlanBuilder.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::test {
namespace {

constexpr const char *file = R"(name = "M"
device = "cpu"
arch = "avx2"
[times]
f32_flops_per_second = { value = 1000, from = "measured", note = "n" }
launch_seconds = { value = 1e-9, from = "measured", note = "n" }
wait_seconds = { value = 1e-9, from = "measured", note = "n" }
[[products]]
kernel = "matmul"
dtype = "f32"
from = "measured"
note = "n"
points = [[4, 4, 4, 100]]
[[collectives]]
kinds = ["all_gather"]
algorithm = "host"
from = "measured"
note = "n"
points = [[2, 1e-9, 16]]
)";

Machine machine(const std::string &extra = "") {
  Result<Machine> read = parseMachine(std::string(file) + extra, "m.toml");
  EXPECT_TRUE(read.isOk()) << read.status().message();
  return *read;
}

/// A product of 2 seconds, next to a gather of 4 seconds that the second product waits for.
struct GatherPlan : PlanBuilder {
  std::uint32_t compute = 0, gather = 0;
  GatherPlan() : PlanBuilder({{"shard", 2}}) {
    plan.name = "p";
    plan.batch = 3;
    plan.sequence = 5;
    compute = stream("compute");
    gather = stream("gather");
    const std::uint32_t chunk = buffer("chunk", {8}), full = buffer("full", {16}), a = buffer("a", {4, 4}),
                        c = buffer("c", {4, 4});
    plan::EntryT &step = entry("train_step");
    // The next run is issued when the last product is written.
    port(step.outputs, "c", view(c));
    section();
    collective(gather, plan::CollectiveKind::all_gather, {0}, plan::ReduceOp::none, {{view(chunk), view(full)}});
    record(gather, 0);
    product(a, c);
    wait(compute, 0);
    product(full, c);
  }
  void product(std::uint32_t from, std::uint32_t to) {
    plan::InstructionT &added = launch(compute, "matmul", {view(from), view(from)}, {view(to)});
    added.operation.AsLaunch()->flops = 200;
    added.operation.AsLaunch()->bytes = 96;
  }
};

TEST(Prediction, ExposedTimeOfACollectiveIsThatWhichKernelsWait) {
  const GatherPlan made;
  const Result<PredictedStep> step = predictStep(made.plan, machine(), 0);
  ASSERT_TRUE(step.isOk()) << step.status().message();
  EXPECT_TRUE(step->isComplete);
  EXPECT_NEAR(step->seconds, 6, 1e-6);
  EXPECT_EQ(step->mainStream, made.compute);
  EXPECT_NEAR(step->work, 4, 1e-6);
  EXPECT_NEAR(step->exposed, 2, 1e-6);
  ASSERT_EQ(step->collectives.size(), 1u);
  EXPECT_NEAR(step->collectives[0].seconds, 4, 1e-6);
  EXPECT_NEAR(step->collectives[0].exposed, 2, 1e-6);
  EXPECT_EQ(step->collectives[0].because, "launch matmul (4) waits for it; it starts with the step, and 2000.000 ms of "
                                          "its 4000.000 ms are hidden");
  // Rows of both ranks.
  EXPECT_EQ(step->tokens, 30u);
  EXPECT_NEAR(*step->tokensPerSecond(), 5, 1e-6);
  EXPECT_NEAR(*step->mfu(), 400. / 6 / (1000 / 2.), 1e-6);
}

TEST(Prediction, UnknownRatesAreNamed) {
  const GatherPlan made;
  Machine partial = machine();
  partial.times.collectives.clear();
  partial.times.constants.fill(std::nullopt);
  const Result<PredictedStep> step = predictStep(made.plan, partial, 0);
  ASSERT_TRUE(step.isOk());
  EXPECT_FALSE(step->isComplete);
  EXPECT_FALSE(step->tokensPerSecond().has_value());
  EXPECT_FALSE(step->mfu().has_value());
  EXPECT_EQ(step->unknown.at("rate of all_gather within a host"), 1u);
  EXPECT_EQ(step->unknown.at("launch_seconds"), 3u);
  // What is known bounds it.
  EXPECT_NEAR(step->seconds, 4, 1e-6);
}

TEST(Prediction, RanksShareTheCores) {
  const GatherPlan made;
  Machine shared = machine();
  const auto cores = std::ranges::find(machineConstants, "cores", &MachineConstant::name);
  shared.times.constants[static_cast<std::size_t>(cores - machineConstants.begin())] = 1;
  const Result<PredictedStep> step = predictStep(made.plan, shared, 0);
  ASSERT_TRUE(step.isOk());
  // Two ranks with 4 seconds of products and 4 of copies each, on one core.
  EXPECT_NEAR(step->seconds, 16, 1e-6);
}

TEST(Prediction, RepetitionsTakeTheirTime) {
  GatherPlan made;
  made.plan.entries[0]->sections[0]->repeat = 5;
  made.plan.microbatches = 5;
  const Result<PredictedStep> step = predictStep(made.plan, machine(), 0);
  ASSERT_TRUE(step.isOk());
  // The gather of the next repetition overlaps.
  EXPECT_NEAR(step->seconds, 22, 1e-6);
  EXPECT_EQ(step->collectives.size(), 5u);
  EXPECT_EQ(step->tokens, 150u);
}

/// A product of 2 seconds, then an update of 2 seconds on another stream, which the next step waits for.
struct UpdatePlan : PlanBuilder {
  explicit UpdatePlan(bool waits) {
    const std::uint32_t compute = stream("compute"), updates = stream("updates");
    const std::uint32_t a = buffer("a", {4, 4}), b = buffer("b", {4, 4}), c = buffer("c", {4, 4});
    port(entry("train_step").outputs, "c", view(c));
    section();
    record(updates, 0);
    if (waits)
      wait(compute, 0);
    product(compute, a, c);
    record(compute, 1);
    wait(updates, 1);
    product(updates, b, a);
  }
  void product(std::uint32_t stream, std::uint32_t from, std::uint32_t to) {
    launch(stream, "matmul", {view(from), view(from)}, {view(to)}).operation.AsLaunch()->flops = 200;
  }
};

TEST(Prediction, ARecordBeforeAllWorkFollowsThePreviousRun) {
  for (const auto &[waits, seconds] : {std::pair(false, 2.), std::pair(true, 4.)}) {
    const UpdatePlan made(waits);
    const Result<PredictedStep> step = predictStep(made.plan, machine(), 0);
    ASSERT_TRUE(step.isOk()) << step.status().message();
    EXPECT_NEAR(step->seconds, seconds, 1e-6);
  }
}

TEST(Prediction, Refusals) {
  GatherPlan made;
  Machine gpu = machine();
  gpu.device = "cuda";
  EXPECT_EQ(predictStep(made.plan, gpu, 0).status().message(),
            "machine 'M' is for 'cuda', but the plan's target.device is 'cpu'");
  const Result<PredictedStep> few = predictStep(made.plan, machine("[hosts]\ndevices = 1\ncount = 1\n"), 0);
  EXPECT_EQ(few.status().message(), "plan 'p' has 2 ranks, but machine 'M' has 1 devices: 1 hosts of 1");
  for (const auto &instruction : made.plan.entries[0]->sections[0]->instructions)
    if (plan::LaunchT *launch = instruction->operation.AsLaunch())
      launch->flops = launch->bytes = 0;
  const Status status = predictStep(made.plan, machine(), 0).status();
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_EQ(status.message(),
            "entry point 'train_step' of plan 'p' has no cost data: its launches have neither FLOPs nor bytes");
}

} // namespace
} // namespace sluice::test
