//===- EvaluationTest.cpp - evaluation in the training loop ---===//
#include "test/unit/train/TrainerFixture.h"

using namespace sluice;
using namespace sluice::test;

namespace {

class EvaluationTest : public TrainerTest {
protected:
  /// Buffers of the evaluation's ports come after the training's.
  enum { evalTokens = 8, evalTargets, evalLoss, evalCounted };

  FakeRanks evaluating() {
    PlanBuilder builder({{"replicate", 1}, {"shard", 2}});
    builder.parameter("w", {4}, 0, {1});
    builder.trainStep(2, 4, 2, 256);
    plan::EntryT &eval = builder.entry("eval_step");
    eval.inputs.push_back(builder.port("tokens", plan::DType::i32, {2, 4}, 0, 256));
    eval.inputs.push_back(builder.port("targets", plan::DType::i32, {2, 4}, 0, 256));
    eval.outputs.push_back(builder.port("loss", plan::DType::f32, {}));
    eval.outputs.push_back(builder.port("counted", plan::DType::f32, {}));
    FakeRanks fake(std::move(builder.plan));
    fake.onRun = [this](FakeRanks &self, std::string_view entry) {
      if (entry == "eval_step") {
        seen.push_back(self.values<std::int32_t>(1, evalTokens)[0]);
        const float counted = counts.empty() ? 1.0f : counts[(seen.size() - 1) % counts.size()];
        self.set(evalLoss, counted == 0 ? NAN : static_cast<float>(seen.size()));
        self.set(evalCounted, counted);
        return Status::ok();
      }
      self.set(loss, 1.0f);
      self.set(norm, 1.0f);
      self.set(guard, std::uint8_t(1));
      return Status::ok();
    };
    return fake;
  }
  TrainOptions evaluatingOptions(std::uint64_t steps) {
    TrainOptions given = options(steps);
    // 49 tokens are 12 sequences of 4: three batches of two ranks and two rows.
    given.evaluation.data = {folder.write("eval", std::string(49, 'a'))};
    std::string text;
    for (int i = 0; i < 49; ++i)
      text += static_cast<char>(i);
    folder.write("eval", text);
    return given;
  }

  std::vector<std::int32_t> seen;
  /// Counted targets of each batch of an evaluation; empty: equal numbers.
  std::vector<float> counts;
};

TEST_F(EvaluationTest, RunsOnAllDataAtItsStepsAndTheEnd) {
  FakeRanks fake = evaluating();
  TrainOptions given = evaluatingOptions(5);
  given.evaluation.every = 2;
  given.log = folder.path("run.jsonl");
  ASSERT_TRUE(train(fake, given, observer).isOk());
  std::vector<nlohmann::json> log = lines(given.log);
  EXPECT_FALSE(log[0].contains("eval_loss"));
  EXPECT_EQ(log[1]["eval_loss"], 2.0);
  EXPECT_FALSE(log[2].contains("eval_loss"));
  EXPECT_EQ(log[3]["eval_loss"], 5.0);
  EXPECT_EQ(log[4]["eval_loss"], 8.0);
  // Rank 1 takes rows 2 and 3 of each batch of four; every evaluation starts at the first row.
  EXPECT_EQ(seen, (std::vector<std::int32_t>{8, 24, 40, 8, 24, 40, 8, 24, 40}));
}

TEST_F(EvaluationTest, RunsTheGivenNumberOfBatches) {
  FakeRanks fake = evaluating();
  TrainOptions given = evaluatingOptions(1);
  given.evaluation.batches = 1;
  ASSERT_TRUE(train(fake, given, observer).isOk());
  EXPECT_EQ(seen.size(), 1u);
  given.evaluation.batches = 0;
  given.evaluation.data = {"random:1"};
  ASSERT_TRUE(train(fake, given, observer).isOk());
  EXPECT_EQ(seen.size(), 21u);
}

// Tests that batches are weighted by their counted targets, and that one without any has no influence.
TEST_F(EvaluationTest, IsTheMeanOverCountedTargets) {
  FakeRanks fake = evaluating();
  counts = {0.5f, 0.0f, 1.5f};
  TrainOptions given = evaluatingOptions(0);
  ASSERT_TRUE(evaluate(fake, given, observer).isOk());
  ASSERT_EQ(observer.evaluations.size(), 1u);
  EXPECT_EQ(observer.evaluations[0].loss, (1 * 0.5 + 3 * 1.5) / 2);
}

TEST_F(EvaluationTest, RefusesRowsWithoutCountedTargets) {
  FakeRanks fake = evaluating();
  counts = {0.0f};
  expectError(evaluate(fake, evaluatingOptions(0), observer), StatusCode::input,
              "the evaluated rows of --eval-data have no target that counts");
  TrainOptions given = evaluatingOptions(5);
  given.evaluation.every = 2;
  given.log = folder.path("run.jsonl");
  expectError(train(fake, given, observer), StatusCode::input,
              "the evaluated rows of --eval-data have no target that counts");
  const std::vector<nlohmann::json> log = lines(given.log);
  ASSERT_EQ(log.size(), 3u) << "two steps and the summary";
  EXPECT_FALSE(log[1].contains("eval_loss"));
}

// Tests that incomplete batches are left out and reported, and that no row is read twice.
TEST_F(EvaluationTest, LeavesOutAnIncompleteBatch) {
  FakeRanks fake = evaluating();
  TrainOptions given = evaluatingOptions(0);
  ASSERT_TRUE(evaluate(fake, given, observer).isOk());
  EXPECT_TRUE(observer.leftOut.empty());
  std::string text(57, 'a');
  given.evaluation.data = {folder.write("more", text)};
  for (std::uint64_t batches : {0u, 3u, 9u}) {
    observer.leftOut.clear();
    seen.clear();
    given.evaluation.batches = batches;
    ASSERT_TRUE(evaluate(fake, given, observer).isOk());
    EXPECT_EQ(seen.size(), 3u);
    ASSERT_EQ(observer.leftOut.size(), 1u) << batches;
    EXPECT_EQ(dataLine(observer.leftOut[0]), "eval data: 12 of 14 rows, the other 2 do not fill a batch of 4 rows");
  }
  given.evaluation.batches = 1;
  observer.leftOut.clear();
  ASSERT_TRUE(evaluate(fake, given, observer).isOk());
  EXPECT_TRUE(observer.leftOut.empty());
  given.evaluation.data = {folder.write("few", text.substr(0, 13))};
  expectError(evaluate(fake, given, observer), StatusCode::input,
              "--eval-data, expected at least the 4 rows of one batch of all ranks but got 3");
}

TEST_F(EvaluationTest, NeedsTheEntryPointAndGoodData) {
  FakeRanks without = ranks();
  expectError(train(without, evaluatingOptions(1), observer), StatusCode::input,
              "the plan has no entry point 'eval_step' with a loss");
  FakeRanks fake = evaluating();
  TrainOptions given = evaluatingOptions(1);
  given.evaluation.data = {folder.path("none")};
  expectError(train(fake, given, observer), StatusCode::input, "cannot read");
  EXPECT_TRUE(fake.runs.empty());
}

// Tests that an evaluation refuses an input that only a training step has.
TEST_F(EvaluationTest, RefusesScalarsOfTheStep) {
  for (const char *name : {"lr", "loss_scale"}) {
    FakeRanks fake = evaluating();
    fake.change().entries[1]->inputs[0]->name = name;
    fake.change().entries[1]->inputs[0]->role = impliedPortRole(name);
    const Status status = train(fake, evaluatingOptions(1), observer);
    expectError(status, StatusCode::refused, "of entry point 'eval_step', which is a scalar of the training step");
    EXPECT_EQ(status.notes().at(0), "rename the input of the model");
  }
}

// Tests the loss of the initial weights without a step.
TEST_F(EvaluationTest, WithoutTraining) {
  FakeRanks fake = evaluating();
  TrainOptions given = evaluatingOptions(0);
  given.data.clear();
  given.log = folder.path("run.jsonl");
  ASSERT_TRUE(evaluate(fake, given, observer).isOk());
  EXPECT_EQ(fake.runs, (std::vector<std::string>{"eval_step", "eval_step", "eval_step"}));
  ASSERT_EQ(observer.evaluations.size(), 1u);
  EXPECT_EQ(observer.evaluations[0].loss, 2.0) << "the mean of 1, 2 and 3";
  EXPECT_EQ(observer.evaluations[0].perplexity, std::exp(2.0));
  EXPECT_EQ(lines(given.log)[0]["eval_loss"], 2.0);
  EXPECT_TRUE(lines(given.log)[1].contains("summary"));
}

// Tests that a dry run opens everything and runs nothing.
TEST_F(EvaluationTest, DryRun) {
  FakeRanks fake = evaluating();
  TrainOptions given = evaluatingOptions(3);
  given.log = folder.path("run.jsonl");
  given.save = folder.path("out");
  given.dryRun = true;
  ASSERT_TRUE(train(fake, given, observer).isOk());
  EXPECT_TRUE(fake.runs.empty());
  EXPECT_FALSE(std::filesystem::exists(given.log));
  EXPECT_FALSE(std::filesystem::exists(given.save));
  EXPECT_EQ(observer.summaries.size(), 1u);
}

} // namespace
