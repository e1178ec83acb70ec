//===- HandWrittenTest.cpp - hand-written graphs -------------------------------------------===//
//
// The graphs in test/numeric/graphs compile and train: their loss falls, and the same rows on three ranks, where dims
// are smaller than the world and shards uneven, give the results of one rank.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/Training.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace sluice::numeric {
namespace {

std::string graph(const std::string &name, int batch) {
  std::ifstream file(SLUICE_SOURCE_DIR "/test/numeric/graphs/" + name + ".mlir.in");
  std::stringstream stream;
  stream << file.rdbuf();
  std::string text = stream.str();
  const std::string mark = "@BATCH@";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at))
    text.replace(at, mark.size(), std::to_string(batch));
  return text;
}

TrainingRun runOf(const std::string &name, int ranks, int rows, const std::string &recipe) {
  TrainingRun run;
  run.label = name + "-" + std::to_string(ranks) + "-" + std::to_string(recipe.size());
  run.module = graph(name, rows / ranks);
  run.steps = 8;
  run.recipe = "optimizer.lr = 1e-2\nmesh.shard = " + std::to_string(ranks) + "\n" + recipe;
  run.options = "--data random:5";
  return run;
}

class HandWritten : public testing::TestWithParam<const char *> {};

TEST_P(HandWritten, TrainsOnOneAndThreeRanks) {
  Training unsharded = train(runOf(GetParam(), 1, 12, ""), true);
  ASSERT_EQ(unsharded.loss.size(), 8u);
  for (const char *recipe :
       {"", "recompute.policy = \"block\"\n", "sharding.units = \"root\"\n", "sharding.strategy = \"no_shard\"\n"}) {
    SCOPED_TRACE(recipe);
    Training sharded = train(runOf(GetParam(), 3, 12, recipe), true);
    ASSERT_EQ(sharded.loss.size(), unsharded.loss.size());
    for (std::size_t step = 0; step < unsharded.loss.size(); ++step) {
      EXPECT_NEAR(sharded.loss[step], unsharded.loss[step], 1e-5) << step;
      EXPECT_NEAR(sharded.gradientNorm[step], unsharded.gradientNorm[step], 1e-5 * (1 + unsharded.gradientNorm[step]))
          << step;
    }
    ASSERT_EQ(sharded.weights.size(), unsharded.weights.size());
    for (const auto &[name, tensor] : unsharded.weights)
      EXPECT_LE(compare(sharded.weights.at(name), tensor).largest, 2e-4) << name;
  }
}

TEST_P(HandWritten, LossOfARepeatedBatchFalls) {
  TrainingRun run = runOf(GetParam(), 1, 12, "optimizer.weight_decay = 0.0\n");
  run.label += "-one-batch";
  run.steps = 60;
  run.options = "--data random:5 --overfit-one-batch";
  Training training = train(run, false);
  ASSERT_EQ(training.loss.size(), 60u);
  EXPECT_LT(training.loss.back(), 0.8 * training.loss.front());
}

INSTANTIATE_TEST_SUITE_P(Graphs, HandWritten, testing::Values("regression", "tied", "classifier"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace sluice::numeric
