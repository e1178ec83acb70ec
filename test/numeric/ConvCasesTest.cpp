//===- ConvCasesTest.cpp - the convolutional model against PyTorch's numbers ---------------===//
//
// Every case of test/reference/conv-tiny: losses and gradient norms of each step against the f64 numbers, final weights
// and each rank's running statistics, within the case's tolerance; with and without recompute.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/Training.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace sluice::numeric {
namespace {

std::vector<std::string> convolutionCases() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto &item : std::filesystem::directory_iterator(referenceFolder() + "/conv-tiny/cases", error))
    if (item.path().extension() == ".json")
      names.push_back(item.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

TrainingRun runOf(const std::string &name, const nlohmann::json &recipe, const std::string &policy) {
  const nlohmann::json &sizes = recipe["sizes"], &optimizer = recipe["optimizer"];
  std::string folder = referenceFolder() + "/conv-tiny/";
  TrainingRun run;
  run.label = "conv-" + name + "-" + policy;
  run.zoo = "conv --set height=" + recipe["image"][1].dump() + " --set width=" + recipe["image"][2].dump() +
            " --set batch=" + recipe["rows_per_rank"].dump();
  for (const char *size : {"stem", "hidden", "classes"})
    run.zoo += std::string(" --set ") + size + "=" + sizes[size].dump();
  run.steps = recipe["steps"];
  run.options = "--data " + folder + "inputs.safetensors --order sequential --init " + folder + "init.safetensors";
  run.recipe = "mesh.shard = " + recipe["mesh"]["shard"].dump() +
               "\nmesh.replicate = " + recipe["mesh"]["replicate"].dump() + "\nrecompute.policy = \"" + policy +
               "\"\noptimizer.name = \"sgd\"\n" + "optimizer.lr = " + optimizer["lr"].dump() +
               "\noptimizer.momentum = " + optimizer["momentum"].dump() + "\n";
  return run;
}

void compareFinal(const TensorMap &actual, const TensorMap &expected, const TensorMap &initial,
                  const nlohmann::json &tolerance) {
  double largest = 0, error = 0, way = 0;
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto &[name, tensor] : expected) {
    ASSERT_TRUE(actual.count(name)) << name;
    ASSERT_EQ(actual.at(name).shape, tensor.shape) << name;
    bool isStatistic = name.rfind("rank", 0) == 0;
    std::string plain = isStatistic ? name.substr(name.find('.') + 1) : name;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      double difference = actual.at(name).values[i] - tensor.values[i];
      largest = std::max(largest, std::isnan(difference) ? INFINITY : std::abs(difference));
      double moved = tensor.values[i] - initial.at(plain).values[i];
      error += difference * difference;
      way += moved * moved;
    }
  }
  EXPECT_LE(largest, tolerance["final_abs"].get<double>());
  EXPECT_LE(std::sqrt(error / way), tolerance["final_rel"].get<double>());
}

class ConvCases : public testing::TestWithParam<std::string> {};

TEST_P(ConvCases, Match) {
  std::string folder = referenceFolder() + "/conv-tiny/";
  std::ifstream file(folder + "cases/" + GetParam() + ".json");
  nlohmann::json reference = nlohmann::json::parse(file, nullptr, false);
  ASSERT_TRUE(reference.is_object());
  const nlohmann::json &losses = reference["loss_f64"], &norms = reference["grad_norm_f64"],
                       &tolerance = reference["tolerance"];
  for (const char *policy : {"none", "marked"}) {
    SCOPED_TRACE(policy);
    Training training = train(runOf(GetParam(), reference["recipe"], policy), true);
    ASSERT_EQ(training.loss.size(), losses.size());
    for (std::size_t step = 0; step < losses.size(); ++step) {
      EXPECT_NEAR(training.loss[step], losses[step].get<double>(), tolerance["loss_abs"].get<double>()) << step;
      double norm = norms[step];
      EXPECT_NEAR(training.gradientNorm[step], norm, norm * tolerance["grad_norm_rel"].get<double>()) << step;
    }
    compareFinal(training.weights, readSafetensors(folder + "cases/" + GetParam() + ".final.safetensors"),
                 readSafetensors(folder + "init.safetensors"), tolerance);
  }
}

// At a learning rate of 0 a step of three micro-batches has the same inputs as three steps of one.
TEST(RunningStatistics, AreUpdatedOncePerMicrobatchOnEachRank) {
  auto run = [](int microbatches, int steps, const std::string &recipe) {
    TrainingRun training;
    training.label = "running-" + std::to_string(microbatches) + "-" + std::to_string(recipe.size());
    training.zoo = "conv --set stem=4 --set hidden=6 --set height=12 --set width=12";
    training.steps = steps;
    training.options = "--data random:5";
    training.recipe =
        "optimizer.name = \"sgd\"\noptimizer.lr = 0.0\ngradient.microbatches = " + std::to_string(microbatches) + "\n" +
        recipe;
    return train(training, true).weights;
  };
  TensorMap one = run(3, 1, ""), three = run(1, 3, "");
  std::size_t states = 0;
  for (const auto &[name, tensor] : three) {
    ASSERT_TRUE(one.count(name)) << name;
    EXPECT_EQ(one.at(name).values, tensor.values) << name;
    if (name.ends_with("num_batches_tracked")) {
      EXPECT_EQ(tensor.values, std::vector<double>{3}) << name;
      ++states;
    }
  }
  EXPECT_EQ(states, 4u);
  // A recompute does not count as a batch.
  for (const auto &[name, tensor] : run(3, 1, "recompute.policy = \"marked\"\n"))
    EXPECT_EQ(one.at(name).values, tensor.values) << name;
  // Ranks have different rows.
  TensorMap ranks = run(1, 1, "mesh.shard = 2\n");
  std::size_t compared = 0;
  for (const auto &[name, tensor] : ranks)
    if (name.starts_with("rank0.") && name.ends_with("running_mean")) {
      EXPECT_NE(tensor.values, ranks.at("rank1" + name.substr(5)).values) << name;
      ++compared;
    }
  EXPECT_EQ(compared, 4u);
}

INSTANTIATE_TEST_SUITE_P(Cases, ConvCases, testing::ValuesIn(convolutionCases()), [](const auto &info) {
  std::string name = info.param;
  for (char &c : name)
    if (c == '-')
      c = '_';
  return name;
});

} // namespace
} // namespace sluice::numeric
