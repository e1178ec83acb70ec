//===- ZooTest.cpp - every model of the zoo, sharded and not -------------------------------===//
//
// Each model that `sluice-import zoo --list` names trains on 1, 2 and 3 ranks. The same rows as micro-batches of one
// rank give the same numbers, within the tolerance of a different order of addition; prefetch, resharding and
// recompute change no bit.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/Training.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <sstream>

namespace sluice::numeric {
namespace {

/// Settings that make a model small enough for a test.
std::string settingsOf(const std::string &name) {
  if (name == "conv")
    return " --set stem=6 --set hidden=9 --set height=12 --set width=13";
  if (name == "vision")
    return " --set batch=1";
  return "";
}

std::vector<std::string> names() {
  std::vector<std::string> list;
  std::istringstream lines(runCommand("sluice-import zoo --list").out);
  for (std::string line; std::getline(lines, line);)
    if (std::size_t colon = line.find(':'); colon != std::string::npos && line[0] != ' ')
      list.push_back(line.substr(0, colon));
  return list;
}

/// A model of 21 million weights, for the tests of memory: fewer runs of it.
bool isLarge(const std::string &name) { return name == "memory-transformer"; }

TrainingRun runOf(const std::string &name, const std::string &label, const std::string &recipe) {
  TrainingRun run;
  run.label = "zoo-" + name + "-" + label;
  run.zoo = name + settingsOf(name);
  run.steps = 3;
  run.recipe = "optimizer.name = \"sgd\"\noptimizer.lr = 1e-4\noptimizer.momentum = 0.9\n" + recipe;
  run.options = "--data random:5 --seed 2";
  return run;
}

/// The same rows without shards: as micro-batches of one rank, or on as many ranks if the model sums over ranks.
std::string withoutShards(const std::string &name, const std::string &ranks) {
  return name == "reduce-model" ? "mesh.shard = " + ranks + "\nsharding.strategy = \"no_shard\"\n"
                                : "gradient.microbatches = " + ranks + "\n";
}

class Zoo : public testing::TestWithParam<std::string> {};

TEST_P(Zoo, MatchesOnAnyNumberOfRanks) {
  for (int ranks : isLarge(GetParam()) ? std::vector<int>{2} : std::vector<int>{1, 2, 3}) {
    SCOPED_TRACE(ranks);
    std::string number = std::to_string(ranks);
    Training sharded = train(runOf(GetParam(), "ranks" + number, "mesh.shard = " + number + "\n"), true);
    ASSERT_EQ(sharded.loss.size(), 3u);
    for (double loss : sharded.loss)
      EXPECT_TRUE(std::isfinite(loss));
    EXPECT_NE(sharded.loss.front(), sharded.loss.back());
    if (ranks == 1)
      continue;
    Training whole = train(runOf(GetParam(), "parts" + number, withoutShards(GetParam(), number)), true);
    ASSERT_EQ(whole.loss.size(), sharded.loss.size());
    for (std::size_t step = 0; step < whole.loss.size(); ++step) {
      EXPECT_NEAR(sharded.loss[step], whole.loss[step], 2e-5 * (1 + std::abs(whole.loss[step]))) << step;
      EXPECT_NEAR(sharded.gradientNorm[step], whole.gradientNorm[step], 2e-5 * (1 + whole.gradientNorm[step])) << step;
    }
    for (const auto &[name, tensor] : whole.weights)
      if (name.rfind("rank", 0) != 0) {
        ASSERT_TRUE(sharded.weights.count(name)) << name;
        EXPECT_LE(compare(sharded.weights.at(name), tensor).largest, 1e-4) << name;
      }
  }
}

TEST_P(Zoo, SettingsChangeNoBit) {
  const std::string mesh = "mesh.shard = 3\n";
  Training base = train(runOf(GetParam(), "base", mesh), true);
  ASSERT_FALSE(base.weights.empty());
  int number = 0;
  std::vector<const char *> knobs = {
      "recompute.policy = \"marked\"\nsharding.reshard_after_forward = true\n",
      "schedule.forward_prefetch = 3\nschedule.backward_prefetch = 2\n",
      "schedule.forward_prefetch = 0\nschedule.backward_prefetch = 0\n",
      "sharding.reshard_after_forward = false\n",
      "recompute.policy = \"block\"\n",
  };
  if (isLarge(GetParam()))
    knobs.resize(2);
  for (const char *knob : knobs) {
    SCOPED_TRACE(knob);
    Training other = train(runOf(GetParam(), "knob" + std::to_string(number++), mesh + knob), true);
    EXPECT_EQ(base.loss, other.loss);
    EXPECT_EQ(base.gradientNorm, other.gradientNorm);
    ASSERT_EQ(base.weights.size(), other.weights.size());
    for (const auto &[name, tensor] : base.weights)
      EXPECT_EQ(tensor.values, other.weights.at(name).values) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Zoo, testing::ValuesIn(names()), [](const auto &info) {
  std::string name = info.param;
  for (char &c : name)
    if (c == '-')
      c = '_';
  return name;
});

TEST(ZooList, HasTheModelsOfTheReferenceTests) {
  std::vector<std::string> expected = {
      "conv",        "double-linear", "encoder-decoder", "linear-mlps",   "linear-relu-linear", "memory-transformer",
      "mlp",         "mlp-sequence",  "mlp-stack",       "moe",           "multi-forward",      "nested-recompute",
      "norm-linear", "norm-mlps",     "reduce-model",    "shared-linear", "transformer",        "two-forwards",
      "two-losses",  "unused-linear", "vision"};
  std::vector<std::string> listed = names();
  std::sort(listed.begin(), listed.end());
  EXPECT_EQ(listed, expected);
}

} // namespace
} // namespace sluice::numeric
