//===- FeederTest.cpp - weights, epochs and the description of the data ---------------===//
#include "runtime/train/Feeder.h"
#include "runtime/train/Safetensors.h"
#include "test/unit/train/TrainerFixture.h"

#include <numeric>

using namespace sluice;
using namespace sluice::test;

namespace {

class FeederTest : public ::testing::Test {
protected:
  TemporaryFolder folder;

  /// Rows of one token, so that a source's rows are its bytes. The token after the last row is not one.
  static FakeRanks ranks(std::uint32_t ranks, std::int64_t rows, std::uint32_t microbatches) {
    PlanBuilder builder({{"replicate", 1}, {"shard", ranks}});
    builder.trainStep(rows, 1, microbatches, 256);
    return FakeRanks(std::move(builder.plan));
  }
  FeederOptions options(const std::vector<std::string> &texts, std::vector<double> weights = {}) {
    FeederOptions given;
    for (const std::string &text : texts)
      given.data.push_back(folder.write("data" + std::to_string(given.data.size()), text));
    given.weights = std::move(weights);
    return given;
  }
  /// The input tokens of some steps in the order of positions: by micro-batch, rank and row.
  std::string read(FakeRanks fake, const FeederOptions &given, std::uint64_t steps) {
    Result<Feeder> feeder = Feeder::make(fake, *fake.plan().entries[0], given);
    EXPECT_TRUE(feeder.isOk()) << feeder.status().message();
    std::string text;
    for (std::uint64_t step = 0; feeder.isOk() && step < steps; ++step) {
      EXPECT_TRUE(feeder->feed(fake, step, {}).isOk());
      const plan::PortT &port = *fake.plan().entries[0]->inputs[0];
      const auto rows = static_cast<std::size_t>(port.view->shape[0]);
      for (std::size_t repetition = 0; repetition < fake.plan().entries[0]->sections[0]->repeat; ++repetition)
        for (int rank = 0; rank < fake.size(); ++rank)
          for (std::size_t row = 0; row < rows; ++row)
            text += static_cast<char>(fake.values<std::int32_t>(rank, port.view->buffer)[repetition * rows + row]);
    }
    return text;
  }
};

std::string only(const std::string &text, const std::string &letters) {
  std::string kept;
  for (char c : text)
    if (letters.find(c) != std::string::npos)
      kept += c;
  return kept;
}

// Each source is read in its own order and repeats by itself.
TEST_F(FeederTest, SourcesWrapByThemselves) {
  const std::string text = read(ranks(2, 3, 2), options({"abcdefghij.", "xyz."}, {3, 1}), 10);
  ASSERT_EQ(text.size(), 120u);
  EXPECT_NEAR(static_cast<double>(only(text, "xyz").size()), 30, 2);
  std::string first, second;
  for (std::size_t i = 0; i < text.size(); ++i) {
    first += static_cast<char>('a' + i % 10);
    second += static_cast<char>('x' + i % 3);
  }
  const std::string letters = only(text, "abcdefghij");
  EXPECT_EQ(letters, first.substr(0, letters.size()));
  EXPECT_EQ(only(text, "xyz"), second.substr(0, 120 - letters.size()));
}

// The order depends on the number of ranks, rows and micro-batches through their product only.
TEST_F(FeederTest, SplitsOfOneBatchReadTheSameRows) {
  for (bool shuffled : {false, true}) {
    FeederOptions given = options({"abcdefghijklmnopqrstuvw.", "0123456789."}, {0.7, 0.3});
    given.shuffled = shuffled;
    const std::string expected = read(ranks(1, 12, 1), given, 5);
    EXPECT_EQ(read(ranks(4, 3, 1), given, 5), expected);
    EXPECT_EQ(read(ranks(2, 2, 3), given, 5), expected);
    given.seed = 1;
    EXPECT_NE(read(ranks(1, 12, 1), given, 5), expected);
  }
}

// In shuffled order an epoch of a source has each of its rows once.
TEST_F(FeederTest, ShuffledSourcesHaveTheirOwnEpochs) {
  FeederOptions given = options({"abcdefgh.", "0123."}, {2, 1});
  given.shuffled = true;
  const std::string text = read(ranks(1, 12, 1), given, 8);
  for (const std::string letters : {"abcdefgh", "0123"}) {
    const std::string kept = only(text, letters);
    ASSERT_GE(kept.size(), 3 * letters.size());
    for (std::size_t epoch = 0; epoch < 3; ++epoch) {
      std::string rows = kept.substr(epoch * letters.size(), letters.size());
      std::ranges::sort(rows);
      EXPECT_EQ(rows, letters) << epoch;
    }
  }
}

TEST_F(FeederTest, WeightsNeedOneSourceEach) {
  FakeRanks fake = ranks(1, 2, 1);
  const Result<Feeder> feeder = Feeder::make(fake, *fake.plan().entries[0], options({"abcdef", "123456"}, {1, 2, 3}));
  ASSERT_FALSE(feeder.isOk());
  expectError(feeder.status(), StatusCode::usage,
              "--data-weights, expected 2 weights, one per argument of --data, but got 3");
  EXPECT_EQ(feeder.status().notes(), std::vector<std::string>{"a glob in quotes is one argument"});
}

TEST_F(FeederTest, GlobIsOneSource) {
  FeederOptions given = options({"abcde", "fghi.", "123456."}, {1, 1});
  given.data = {folder.path("data[01]"), folder.path("data2")};
  const std::string text = read(ranks(1, 10, 1), given, 2);
  EXPECT_EQ(only(text, "abcdefghi"), std::string("abcdefghiabcdefghi").substr(0, only(text, "abcdefghi").size()));
  EXPECT_NEAR(static_cast<double>(only(text, "123456").size()), 10, 2);
}

// 20 rows in steps of 2 x 3 x 2 = 12.
TEST_F(FeederTest, Epochs) {
  FakeRanks fake = ranks(2, 3, 2);
  const plan::EntryT &entry = *fake.plan().entries[0];
  FeederOptions given = options({"abcdefghijklmnopqrst."});
  Result<Feeder> feeder = Feeder::make(fake, entry, given);
  ASSERT_TRUE(feeder.isOk());
  // The last step is complete: some rows of it are of the next epoch.
  EXPECT_EQ(*feeder->stepsOfEpochs(1), 2u);
  EXPECT_EQ(*feeder->stepsOfEpochs(3), 5u);
  EXPECT_EQ(*feeder->stepsOfEpochs(0.5), 1u);
  EXPECT_EQ(*feeder->stepsOfEpochs(0.61), 2u);
  EXPECT_EQ(*feeder->stepsOfEpochs(1e300), std::uint64_t(1) << 53);
  EXPECT_EQ(feeder->epoch(1), 0.6);
  EXPECT_EQ(feeder->epoch(5), 3.0);
  EXPECT_TRUE(feeder->sourceEpochs(5).empty());
  given.overfit = true;
  feeder = Feeder::make(fake, entry, given);
  EXPECT_EQ(feeder->epoch(1), std::nullopt);
  given.data = {"random:1"};
  feeder = Feeder::make(fake, entry, given);
  EXPECT_EQ(feeder->epoch(1), std::nullopt);
  expectError(feeder->stepsOfEpochs(1).status(), StatusCode::usage, "--epochs needs data with an end");
}

TEST_F(FeederTest, EpochsOfSources) {
  FakeRanks fake = ranks(1, 10, 1);
  Result<Feeder> feeder =
      Feeder::make(fake, *fake.plan().entries[0], options({"abcdefghijklmnopqrst.", "01234."}, {1, 1}));
  ASSERT_TRUE(feeder.isOk());
  // 25 rows are an epoch: 1000 of 2500 in 100 steps.
  EXPECT_EQ(*feeder->stepsOfEpochs(2), 5u);
  EXPECT_EQ(feeder->epoch(100), 40.0);
  const std::vector<double> epochs = feeder->sourceEpochs(100);
  ASSERT_EQ(epochs.size(), 2u);
  EXPECT_NEAR(epochs[0], 25, 0.2);
  EXPECT_NEAR(epochs[1], 100, 0.8);
  EXPECT_EQ(epochs[0] * 20 + epochs[1] * 5, 1000);
}

TEST_F(FeederTest, DescribesTheFirstStep) {
  FakeRanks fake = ranks(2, 2, 1);
  Result<Feeder> feeder = Feeder::make(fake, *fake.plan().entries[0], options({"abcazz", "\1\2\3"}));
  ASSERT_TRUE(feeder.isOk());
  Result<std::optional<DataReport>> report = feeder->describe();
  ASSERT_TRUE(report.isOk() && *report);
  EXPECT_EQ((*report)->sources.size(), 1u);
  EXPECT_EQ((*report)->sources[0].formats, "text, bytes");
  EXPECT_EQ((*report)->sources[0].rows, 8u);
  EXPECT_EQ((*report)->rowTokens, 1u);
  EXPECT_EQ((*report)->tokens, 4u);
  EXPECT_EQ((*report)->distinct, 3u);
  EXPECT_EQ((*report)->largest, 'c');
  EXPECT_EQ((*report)->stepRows, 4u);
  // Rows of other inputs are counted only.
  PlanBuilder builder({{"shard", 1}});
  plan::EntryT &images = builder.entry("images");
  images.inputs.push_back(builder.port("image", plan::DType::f32, {2, 3}));
  FakeRanks other(std::move(builder.plan));
  const std::vector<float> values(12);
  ASSERT_TRUE(writeSafetensors(
                  folder.path("x.safetensors"),
                  {{"image", "F32", {4, 3}, [&](const auto &sink) { return sink(std::as_bytes(std::span(values))); }}})
                  .isOk());
  FeederOptions given;
  given.data = {folder.path("x.safetensors")};
  feeder = Feeder::make(other, *other.plan().entries[0], given);
  ASSERT_TRUE(feeder.isOk()) << feeder.status().message();
  report = feeder->describe();
  ASSERT_TRUE(report.isOk() && *report);
  EXPECT_EQ((*report)->sources[0].rows, 4u);
  EXPECT_EQ((*report)->rowTokens, 0u);
  FeederOptions random;
  random.data = {"random:1"};
  feeder = Feeder::make(fake, *fake.plan().entries[0], random);
  report = feeder->describe();
  ASSERT_TRUE(report.isOk());
  EXPECT_FALSE(*report);
}

/// Data of one row for each of these targets; a row has one token.
std::string writeTargets(const TemporaryFolder &folder, const std::vector<std::int32_t> &targets) {
  const std::vector<std::int32_t> tokens(targets.size(), 1);
  const auto tensor = [&](const char *name, const std::vector<std::int32_t> &values) {
    return SafetensorsTensor{name, "I32", {static_cast<std::int64_t>(values.size()), 1}, [&values](const auto &sink) {
                               return sink(std::as_bytes(std::span(values)));
                             }};
  };
  const std::string path = folder.path("rows.safetensors");
  EXPECT_TRUE(writeSafetensors(path, {tensor("tokens", tokens), tensor("targets", targets)}).isOk());
  return path;
}

// Two ranks with two micro-batches of two rows: a step reads eight rows.
TEST_F(FeederTest, AMicrobatchWithoutTargetsIsAnErrorIfItsLossIsAMean) {
  const auto ranksWith = [](std::int64_t reduction) {
    PlanBuilder builder({{"replicate", 1}, {"shard", 2}});
    builder.trainStep(2, 1, 2, 256);
    plan::LaunchT &loss = *builder.launch(0, "cross_entropy", {}, {}).operation.AsLaunch();
    for (const auto &[name, value] : {std::pair("ignore_index", std::int64_t(-100)), {"reduction", reduction}}) {
      auto attribute = std::make_unique<plan::AttributeT>();
      attribute->name = name;
      attribute->integer = value;
      loss.attributes.push_back(std::move(attribute));
    }
    return FakeRanks(std::move(builder.plan));
  };
  const auto errorsOf = [&](const std::vector<std::int32_t> &targets, std::int64_t reduction, bool isRequired = true,
                            bool overfit = false) {
    FakeRanks fake = ranksWith(reduction);
    FeederOptions given;
    given.data = {writeTargets(folder, targets)};
    given.overfit = overfit;
    Result<Feeder> feeder = Feeder::make(fake, *fake.plan().entries[0], given);
    EXPECT_TRUE(feeder.isOk()) << feeder.status().message();
    if (isRequired)
      feeder->requireTargets();
    Status fed;
    for (std::uint64_t step = 0; step < 2 && fed.isOk(); ++step)
      fed = feeder->feed(fake, step, {});
    return std::pair(feeder->checkTargets(0, 2).message(), fed.message());
  };
  const auto error = [](const char *where, int row) {
    const std::string text = std::string(where) +
                             " has no target, so that its loss is the mean of nothing; its first "
                             "row is sequence " +
                             std::to_string(row) + " of the data";
    return std::pair(text, text);
  };
  const std::pair<std::string, std::string> none;
  std::vector<std::int32_t> targets(16, 5);
  EXPECT_EQ(errorsOf(targets, 0), none);
  for (const std::size_t row : {1, 2, 5, 6, 9, 14})
    targets[row] = -100;
  EXPECT_EQ(errorsOf(targets, 0), none);
  targets[15] = -100;
  EXPECT_EQ(errorsOf(targets, 0), error("step 2: micro-batch 1 of data-parallel rank 1", 14));
  EXPECT_EQ(errorsOf(targets, 1), none);
  EXPECT_EQ(errorsOf(targets, 0, false), none);
  EXPECT_EQ(errorsOf(targets, 0, true, true), none);
  targets[3] = -100;
  EXPECT_EQ(errorsOf(targets, 0), error("step 1: micro-batch 0 of data-parallel rank 1", 2));
  EXPECT_EQ(errorsOf(targets, 0, true, true), error("step 1: micro-batch 0 of data-parallel rank 1", 2));
}

} // namespace
