//===- TrainerTest.cpp - the training loop: inputs, logs, saved files -----------------===//
#include "runtime/train/LossScale.h"
#include "runtime/train/MachineMemory.h"
#include "runtime/train/Safetensors.h"
#include "runtime/train/TrainSession.h"
#include "test/unit/train/TrainerFixture.h"

using namespace sluice;
using namespace sluice::test;

namespace {

TEST_F(TrainerTest, UsesTheRowsOfTheFormula) {
  FakeRanks fake = ranks();
  Status status = train(fake, options(), observer);
  ASSERT_TRUE(status.isOk()) << status.message();
  ASSERT_EQ(fed.size(), 3u);
  // 2 micro-batches, 2 ranks, 2 rows of 4 tokens: token j of sequence i is 4 i + j.
  for (int s = 0; s < 3; ++s)
    for (int rank = 0; rank < 2; ++rank)
      for (int m = 0; m < 2; ++m)
        for (int row = 0; row < 2; ++row)
          for (int j = 0; j < 4; ++j)
            EXPECT_EQ(fed[s][rank][(m * 2 + row) * 4 + j], 4 * (((s * 2 + m) * 2 + rank) * 2 + row) + j);
  EXPECT_EQ(fake.values<std::int32_t>(0, targets)[0], fed[2][0][0] + 1);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_FLOAT_EQ(rates[0], 1e-3f);
}

// Steps of one entry point overlap with the updates before them; a run after the last step finds it complete.
TEST_F(TrainerTest, StepsOverlap) {
  FakeRanks fake = ranks();
  TrainOptions given = options(3);
  given.save = folder.path("weights");
  Status status = train(fake, given, observer);
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(fake.starts, 3);
  EXPECT_EQ(fake.followed, 2);
  EXPECT_EQ(fake.finished, 1);
  for (const StepReport &report : observer.steps)
    EXPECT_GT(report.milliseconds, 0);
}

TEST_F(TrainerTest, FailureAfterTheLossEndsTheRun) {
  FakeRanks fake = ranks();
  fake.onFinish = [] { return failedError("rank 1, train_step, instruction 9 (launch adamw): it broke"); };
  TrainOptions given = options(2);
  given.save = folder.path("weights");
  EXPECT_EQ(train(fake, given, observer).message(), "rank 1, train_step, instruction 9 (launch adamw): it broke");
  EXPECT_EQ(observer.steps.size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(given.save + "/model.safetensors"));
}

// A step that ends the run because of its loss is complete before the weights are saved.
TEST_F(TrainerTest, LastStepIsCompleteAtAStop) {
  FakeRanks fake = ranks();
  nextLoss = std::numeric_limits<float>::quiet_NaN();
  TrainOptions given = options(3);
  given.save = folder.path("weights");
  EXPECT_EQ(train(fake, given, observer).code(), StatusCode::failed);
  EXPECT_EQ(fake.starts, 1);
  EXPECT_EQ(fake.finished, 1);
  EXPECT_TRUE(std::filesystem::exists(given.save + "/model.safetensors"));
}

TEST_F(TrainerTest, RanksThatSplitOneRowReadTheSameRows) {
  PlanBuilder builder({{"shard", 1}, {"tensor", 2}});
  builder.trainStep(2, 4, 1, 256);
  FakeRanks fake(std::move(builder.plan));
  fake.onRun = [](FakeRanks &self, std::string_view) {
    EXPECT_EQ(self.values<std::int32_t>(0, 0), self.values<std::int32_t>(1, 0));
    self.set(4, 1.0f);
    self.set(6, std::uint8_t(1));
    return Status::ok();
  };
  EXPECT_TRUE(train(fake, options(1), observer).isOk());
  EXPECT_EQ(observer.steps[0].tokens, 8u);
}

TEST_F(TrainerTest, WritesTheLog) {
  FakeRanks fake = ranks();
  TrainOptions given = options(2);
  given.log = folder.path("run.jsonl");
  ASSERT_TRUE(train(fake, given, observer).isOk());
  std::vector<nlohmann::json> log = lines(given.log);
  ASSERT_EQ(log.size(), 3u);
  EXPECT_EQ(log[1]["step"], 2);
  EXPECT_EQ(static_cast<float>(log[0]["loss"].get<double>()), 1.1f);
  EXPECT_NE(contentOf(given.log).find("\"loss\": 1.10000002,"), std::string::npos);
  EXPECT_EQ(log[0]["grad_norm"], 2.5);
  EXPECT_EQ(log[0]["tokens"], 32);
  EXPECT_GT(log[0]["step_ms"].get<double>(), 0);
  EXPECT_GT(log[0]["tokens_per_s"].get<double>(), 0);
  EXPECT_EQ(log[2]["summary"]["predicted_peak"]["device"], 4160);
  EXPECT_EQ(log[2]["summary"]["measured_peak"]["device"], 0);
  EXPECT_GE(log[2]["summary"]["predicted_process"], 2 * 4160) << "both ranks' arenas, and the process's own part";
  EXPECT_TRUE(log[2]["summary"].contains("measured_process"));
}

TEST_F(TrainerTest, SecondRunOfAProcessIsMeasuredFromZero) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the sanitizer needs several bytes for each byte of the process";
#endif
  constexpr std::size_t earlier = std::size_t{128} << 20;
  {
    std::vector<std::byte> firstRun(earlier, std::byte{1});
  }
  ASSERT_GT(processHighWater(), earlier);
  FakeRanks fake = ranks();
  TrainOptions given = options(1);
  given.log = folder.path("run.jsonl");
  given.processBefore = restartProcessHighWater();
  std::vector<std::byte> secondRun(earlier / 2, std::byte{1});
  ASSERT_TRUE(train(fake, given, observer).isOk());
  const std::uint64_t measured = lines(given.log)[1]["summary"]["measured_process"];
  EXPECT_GE(measured, earlier / 2);
  EXPECT_LT(measured, earlier);
}

TEST_F(TrainerTest, NonFiniteLossEndsTheRunAndSavesTheWeights) {
  FakeRanks fake = ranks();
  TrainOptions given = options(5);
  given.log = folder.path("run.jsonl");
  given.save = folder.path("out");
  auto run = fake.onRun;
  fake.onRun = [&](FakeRanks &self, std::string_view entry) {
    nextLoss = fed.size() == 2 ? -NAN : 1.0f;
    return run(self, entry);
  };
  Status status = train(fake, given, observer);
  expectError(status, StatusCode::failed, "step 3, expected a finite loss and gradient norm but got loss nan ");
  EXPECT_EQ(status.notes(), (std::vector<std::string>{"the weights are those after step 2",
                                                      "--find-nonfinite names the first value that is not finite"}));
  EXPECT_EQ(fake.runs.size(), 3u);
  EXPECT_TRUE(fake.searched.empty());
  EXPECT_TRUE(lines(given.log)[2]["loss"].is_null());
  EXPECT_TRUE(std::filesystem::exists(folder.path("out/model.safetensors")));
}

/// Counts what the loop saves.
struct CountingCheckpointer : Checkpointer {
  std::vector<std::uint64_t> saved;
  Result<bool> open(const Ranks &) override { return false; }
  Result<TrainProgress> load(Ranks &) override { return internalError("there is nothing to load"); }
  bool isDue(std::uint64_t) const override { return true; }
  Status save(const Ranks &, const TrainProgress &progress, bool) override {
    saved.push_back(progress.step);
    return {};
  }
  Status finish(const Ranks &) override { return {}; }
};

TEST_F(TrainerTest, FindsTheFirstNonFiniteValue) {
  FakeRanks fake = ranks();
  CountingCheckpointer checkpoints;
  TrainOptions given = options(5);
  given.findNonFinite = true;
  given.checkpoints = &checkpoints;
  auto run = fake.onRun;
  fake.onRun = [&](FakeRanks &self, std::string_view entry) {
    nextLoss = fed.size() == 2 ? INFINITY : 1.0f;
    return run(self, entry);
  };
  fake.nonFinite = "rank 1, instruction 3";
  Status status = train(fake, given, observer);
  expectError(status, StatusCode::failed, "step 3, expected a finite loss and gradient norm but got loss inf ");
  EXPECT_EQ(status.notes(), (std::vector<std::string>{"the weights are those after step 2",
                                                      "the first value that is not finite: rank 1, instruction 3"}));
  EXPECT_EQ(fake.searched, std::vector<std::string>{"train_step"});
  // The step that failed has no checkpoint.
  EXPECT_EQ(checkpoints.saved, (std::vector<std::uint64_t>{1, 2}));

  fed.clear();
  fake.nonFinite.clear();
  EXPECT_EQ(train(fake, given, observer).notes()[1],
            "the repeated step has no value that is not finite: the fault is not in its arithmetic");
  fed.clear();
  fake.onRun = [&](FakeRanks &self, std::string_view entry) {
    SLUICE_RETURN_IF_ERROR(run(self, entry));
    self.set(guard, std::uint8_t(0));
    return Status::ok();
  };
  nextLoss = 1.5f;
  expectError(train(fake, given, observer), StatusCode::failed,
              "step 1, expected a finite clip coefficient and learning rate in the step with loss 1.5 and gradient "
              "norm 2.5");
}

TEST_F(TrainerTest, RefusesToSearchWithoutAGuardOrOnAGpu) {
  FakeRanks fake = ranks();
  TrainOptions given = options();
  given.findNonFinite = true;
  fake.change().target = std::make_unique<plan::TargetT>();
  fake.change().target->device = "cuda";
  expectError(train(fake, given, observer), StatusCode::usage,
              "'--find-nonfinite' requires a plan for cpu, but this plan is for cuda");
  fake.change().target->device = "cpu";
  fake.change().entries[0]->outputs.pop_back();
  Status status = train(fake, given, observer);
  expectError(status, StatusCode::usage,
              "'--find-nonfinite' repeats a step whose update a guard suppressed, and entry point 'train_step' has no "
              "guard");
  EXPECT_EQ(status.notes()[0],
            "compile the plan with --set optimizer.in_backward=false, which gives the same losses and weights");
  EXPECT_TRUE(fake.runs.empty());
}

// A run that continues does not compute initial values, which the checkpoint would replace.
TEST_F(TrainerTest, ContinuesWithoutInitialValues) {
  struct Second final : Checkpointer {
    Result<bool> open(const Ranks &) override { return true; }
    Result<TrainProgress> load(Ranks &) override {
      TrainProgress progress;
      progress.step = 1;
      return progress;
    }
    bool isDue(std::uint64_t) const override { return false; }
    Status save(const Ranks &, const TrainProgress &, bool) override { return Status::ok(); }
    Status finish(const Ranks &) override { return Status::ok(); }
  } checkpoints;
  FakeRanks fake = ranks();
  auto init = std::make_unique<plan::EntryT>(*fake.change().entries[0]);
  init->name = "init";
  init->inputs.clear();
  fake.change().entries.push_back(std::move(init));
  TrainOptions given = options(2);
  ASSERT_TRUE(train(fake, given, observer).isOk());
  EXPECT_EQ(fake.runs, (std::vector<std::string>{"init", "train_step", "train_step"}));
  fake.runs.clear();
  given.checkpoints = &checkpoints;
  ASSERT_TRUE(train(fake, given, observer).isOk());
  EXPECT_EQ(fake.runs, std::vector<std::string>{"train_step"});
}

// A run that ends by its loss has no final checkpoint, and waits for the latest.
TEST_F(TrainerTest, NonFiniteLossFinishesTheLatestCheckpoint) {
  struct Calls final : Checkpointer {
    std::vector<std::string> names;
    Result<bool> open(const Ranks &) override { return false; }
    Result<TrainProgress> load(Ranks &) override { return TrainProgress(); }
    bool isDue(std::uint64_t step) const override { return step == 1; }
    Status save(const Ranks &, const TrainProgress &progress, bool isFinal) override {
      names.push_back((isFinal ? "final " : "save ") + std::to_string(progress.step));
      return Status::ok();
    }
    Status finish(const Ranks &) override {
      names.emplace_back("finish");
      return inputError("a write failed");
    }
  } checkpoints;
  FakeRanks fake = ranks();
  TrainOptions given = options(2);
  given.checkpoints = &checkpoints;
  EXPECT_TRUE(train(fake, given, observer).isOk());
  EXPECT_EQ(checkpoints.names, (std::vector<std::string>{"save 1", "final 2"}));
  checkpoints.names.clear();
  nextLoss = std::numeric_limits<float>::quiet_NaN();
  expectError(train(fake, given, observer), StatusCode::failed, "step 1, expected a finite loss");
  EXPECT_EQ(checkpoints.names, std::vector<std::string>{"finish"});
}

TEST_F(TrainerTest, StopFinishesTheStepAndSaves) {
  FakeRanks fake = ranks();
  std::atomic<bool> stop = false;
  TrainOptions given = options(5);
  given.stop = &stop;
  given.save = folder.path("out");
  auto run = fake.onRun;
  fake.onRun = [&](FakeRanks &self, std::string_view entry) {
    stop = fed.size() == 1;
    return run(self, entry);
  };
  EXPECT_TRUE(train(fake, given, observer).isOk());
  EXPECT_EQ(observer.stopped, 2u);
  EXPECT_EQ(fake.runs.size(), 2u);
  EXPECT_TRUE(std::filesystem::exists(folder.path("out/model.safetensors")));
}

TEST_F(TrainerTest, FaultsAreFoundBeforeTheFirstStep) {
  auto fails = [&](auto change, StatusCode code, const std::string &text) {
    FakeRanks fake = ranks();
    TrainOptions given = options();
    change(given);
    expectError(train(fake, given, observer), code, text);
    EXPECT_TRUE(fake.runs.empty()) << text;
  };
  fails([&](TrainOptions &o) { o.data = {folder.path("none")}; }, StatusCode::input, "cannot read");
  fails([&](TrainOptions &o) { o.save = "/proc/out"; }, StatusCode::input, "cannot write '/proc/out'");
  fails([&](TrainOptions &o) { o.log = folder.path("no/folder/log"); }, StatusCode::input, "cannot write");
  fails([&](TrainOptions &o) { o.log = folder.path(""); }, StatusCode::input, "cannot write");
  fails([&](TrainOptions &o) { o.entries = {"eval_step"}; }, StatusCode::usage,
        "entry point 'eval_step' is unknown, expected one of train_step");
  fails([&](TrainOptions &o) { o.init = folder.path("none.safetensors"); }, StatusCode::input, "cannot read");
}

// A plan may have any port; the trainer's value must fit it.
TEST_F(TrainerTest, PortOfADifferentType) {
  FakeRanks fake = ranks();
  const_cast<plan::PlanT &>(fake.plan()).entries[0]->inputs[2]->view->dtype = plan::DType::bf16;
  expectError(train(fake, options(), observer), StatusCode::refused,
              "port 'lr' of entry point 'train_step', expected f32, f64, i32 or i64 but got bf16");
  EXPECT_TRUE(fake.runs.empty());
}

TEST_F(TrainerTest, FullDiskEndsTheLogOnly) {
  if (!std::filesystem::exists("/dev/full"))
    GTEST_SKIP() << "this system has no /dev/full";
  FakeRanks fake = ranks();
  TrainOptions given = options();
  given.log = "/dev/full";
  given.save = folder.path("out");
  ASSERT_TRUE(train(fake, given, observer).isOk());
  ASSERT_EQ(observer.warnings.size(), 1u) << "one for all lines";
  expectError(observer.warnings[0], StatusCode::input, "cannot write '/dev/full': No space left on device");
  ASSERT_EQ(observer.warnings[0].notes().size(), 1u);
  EXPECT_EQ(observer.warnings[0].notes()[0], "the log ends before step 1; the run continues");
  EXPECT_EQ(fake.runs.size(), 3u);
  EXPECT_TRUE(std::filesystem::exists(folder.path("out/model.safetensors")));
}

// Tests that an input of the model is not filled with a scalar of its name.
TEST_F(TrainerTest, RefusesAnInputWithTheNameOfAScalar) {
  FakeRanks fake = ranks();
  plan::PortT &port = *fake.change().entries[0]->inputs[1];
  port.name = "lr";
  port.role = plan::PortRole::learning_rate;
  const Status status = train(fake, options(), observer);
  expectError(status, StatusCode::refused,
              "input 'lr' of entry point 'train_step', expected a scalar of the step but got shape 2x4");
  EXPECT_EQ(status.notes().at(0), "rename the input of the model");
}

TEST_F(TrainerTest, RefusesOtherInputsOfInit) {
  FakeRanks fake = ranks();
  auto init = std::make_unique<plan::EntryT>(*fake.change().entries[0]);
  init->name = "init";
  fake.change().entries.push_back(std::move(init));
  expectError(train(fake, options(), observer), StatusCode::refused,
              "input 'tokens' of entry point 'init', expected only 'seed'");
}

// Tests the warning for steps after the end of the learning-rate schedule.
TEST_F(TrainerTest, StepsBeyondTheSchedule) {
  FakeRanks fake = ranks();
  plan::LearningRateT rate;
  rate.shape = plan::RateShape::linear;
  rate.peak = 1;
  rate.minimum = 0.25;
  rate.total = 3;
  fake.change().learning_rate = std::make_unique<plan::LearningRateT>(rate);
  ASSERT_TRUE(train(fake, options(3), observer).isOk());
  EXPECT_TRUE(observer.warnings.empty());
  ASSERT_TRUE(train(fake, options(4), observer).isOk());
  ASSERT_EQ(observer.warnings.size(), 1u);
  EXPECT_EQ(observer.warnings[0].message(),
            "--steps, expected at most 3 (the plan's lr_schedule.total_steps) but got 4");
  EXPECT_EQ(observer.warnings[0].notes()[0], "the learning rate stays at 0.25 after step 3");
}

TEST_F(TrainerTest, OverfitRepeatsTheFirstBatch) {
  FakeRanks fake = ranks();
  TrainOptions given = options(3);
  given.overfit = true;
  ASSERT_TRUE(train(fake, given, observer).isOk());
  EXPECT_EQ(fed[1], fed[0]);
  EXPECT_EQ(fed[2], fed[0]);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{1, 2, 3}));
}

TEST_F(TrainerTest, InitialWeightsReplaceThoseOfTheSeed) {
  PlanBuilder builder({{"shard", 2}});
  builder.parameter("w", {2}, 0, {0});
  plan::EntryT &init = builder.entry("init");
  init.inputs.push_back(builder.port("seed", plan::DType::i64, {}));
  FakeRanks fake(std::move(builder.plan));
  std::int64_t seen = 0;
  fake.onRun = [&](FakeRanks &self, std::string_view entry) {
    EXPECT_EQ(entry, "init");
    seen = self.values<std::int64_t>(1, 1)[0];
    self.set(0, 9.0f);
    return Status::ok();
  };
  ASSERT_TRUE(initialize(fake, 1234, "").isOk());
  EXPECT_EQ(seen, 1234);
  EXPECT_EQ(fake.values<float>(0, 0)[0], 9.0f);
  std::vector<float> values{3, 4};
  std::vector<SafetensorsTensor> tensors;
  tensors.push_back(
      {"w", "F32", {2}, [&](const SafetensorsTensor::Sink &sink) { return sink(std::as_bytes(std::span(values))); }});
  ASSERT_TRUE(writeSafetensors(folder.path("w"), tensors).isOk());
  ASSERT_TRUE(initialize(fake, 1234, folder.path("w")).isOk());
  EXPECT_EQ(fake.values<float>(1, 0)[0], 4.0f);
}

TEST_F(TrainerTest, EntriesAlternate) {
  PlanBuilder builder({{"shard", 1}});
  for (const char *name : {"a", "b"})
    builder.entry(name).outputs.push_back(builder.port("loss", plan::DType::f32, {}));
  FakeRanks fake(std::move(builder.plan));
  fake.onRun = [](FakeRanks &self, std::string_view) {
    self.set(0, 1.0f);
    self.set(1, 2.0f);
    return Status::ok();
  };
  TrainOptions given = options(2);
  given.entries = {"a", "b"};
  ASSERT_TRUE(train(fake, given, observer).isOk());
  EXPECT_EQ(fake.runs, (std::vector<std::string>{"a", "b", "a", "b"}));
  EXPECT_EQ(observer.steps[1].loss, 1.0);
  EXPECT_EQ(observer.steps[1].losses, (std::vector<std::pair<std::string, double>>{{"a", 1.0}, {"b", 2.0}}));
}

// Two ranks, two micro-batches, two rows: the number of a micro-batch's first row within the step.
TEST_F(TrainerTest, RowsAreNumberedWithinTheStep) {
  PlanBuilder builder({{"replicate", 1}, {"shard", 2}});
  plan::EntryT &entry = builder.trainStep(2, 4, 2, 256);
  std::uint32_t row = static_cast<std::uint32_t>(builder.plan.buffers.size());
  entry.inputs.push_back(builder.port("row", plan::DType::i64, {}, 2));
  entry.inputs.push_back(builder.port("seed", plan::DType::i64, {}));
  FakeRanks fake(std::move(builder.plan));
  int runs = 0;
  fake.onRun = [&](FakeRanks &self, std::string_view) {
    EXPECT_EQ(self.values<std::int64_t>(0, row), (std::vector<std::int64_t>{0, 4}));
    EXPECT_EQ(self.values<std::int64_t>(1, row), (std::vector<std::int64_t>{2, 6}));
    EXPECT_EQ(self.values<std::int64_t>(1, row + 1)[0], 7);
    self.set(4, 1.0f);
    self.set(6, std::uint8_t(1));
    ++runs;
    return Status::ok();
  };
  TrainOptions given = options(2);
  given.seed = 7;
  ASSERT_TRUE(train(fake, given, observer).isOk());
  EXPECT_EQ(runs, 2);
}

// The scale is halved if gradients are not finite, and the run continues; optimizers count the updates that were
// applied.
TEST_F(TrainerTest, DynamicLossScaleSkipsSteps) {
  PlanBuilder builder({{"replicate", 1}, {"shard", 2}});
  builder.parameter("w", {4}, 0, {1});
  plan::EntryT &entry = builder.trainStep(2, 4, 2, 256);
  std::uint32_t scale = static_cast<std::uint32_t>(builder.plan.buffers.size());
  entry.inputs.push_back(builder.port("loss_scale", plan::DType::f32, {}));
  FakeRanks fake(std::move(builder.plan));
  std::vector<float> scales;
  std::size_t skips = 2;
  fake.onRun = [&](FakeRanks &self, std::string_view) {
    scales.push_back(self.values<float>(0, scale)[0]);
    counts.push_back(self.values<std::int64_t>(1, step)[0]);
    self.set(loss, nextLoss);
    self.set(norm, scales.size() <= skips ? INFINITY : 1.0f);
    self.set(guard, std::uint8_t(scales.size() > skips && std::isfinite(nextLoss)));
    return Status::ok();
  };
  TrainOptions given = options(4);
  given.log = folder.path("run.jsonl");
  ASSERT_TRUE(train(fake, given, observer).isOk());
  EXPECT_EQ(scales, (std::vector<float>{65536, 32768, 16384, 16384}));
  EXPECT_EQ(counts, (std::vector<std::int64_t>{1, 1, 1, 2}));
  EXPECT_EQ(lines(given.log)[2]["loss_scale"], 16384);
  EXPECT_TRUE(lines(given.log)[0]["grad_norm"].is_null());

  // A scale below 1 does not help; no scale helps if the loss is not finite. Only then is the value searched.
  given.findNonFinite = true;
  scales.clear();
  skips = 100;
  given.steps = 50;
  expectError(train(fake, given, observer), StatusCode::failed, "step 17, expected a finite loss and gradient norm");
  EXPECT_EQ(fake.searched.size(), 1u);
  scales.clear();
  skips = 0;
  nextLoss = NAN;
  expectError(train(fake, given, observer), StatusCode::failed, "step 1, expected a finite loss and gradient norm");
}

TEST(LossScaleTest, GrowsAfterManyGoodSteps) {
  LossScale scale;
  for (std::uint64_t i = 0; i + 1 < LossScale::growthInterval; ++i)
    scale.update(true);
  EXPECT_EQ(scale.value(), 65536);
  scale.update(true);
  EXPECT_EQ(scale.value(), 131072);
  scale.update(false);
  EXPECT_EQ(scale.value(), 65536);
}

} // namespace
