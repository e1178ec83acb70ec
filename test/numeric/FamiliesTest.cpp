//===- FamiliesTest.cpp - one batch through each model family, against transformers ------===//
//
// test/reference/families: one or more cases of each family and of each scaling of rotary positions, from checkpoints
// in f32, bf16 and f16, in one file and in shards. Logits, loss, every gradient on 1 rank, 2 ranks and 2 ranks with
// tensor parallelism. A gradient is the change of a weight in one step of SGD divided by the learning rate.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/Training.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace sluice::numeric {
namespace {

struct Family {
  std::string name;
  int ranks = 1;
  /// Each rank has a part of every block, else a part of the batch.
  bool tensorParallel = false;

  std::string label() const { return name + (tensorParallel ? "-tensor-" : "-") + std::to_string(ranks); }
  std::string mesh() const {
    return "mesh." + std::string(tensorParallel ? "tensor" : "shard") + " = " + std::to_string(ranks) + "\n" +
           (tensorParallel ? "sharding.tensor = \"megatron\"\n" : "");
  }
};

/// The case of dynamic scaling has more tokens than positions.
constexpr const char *longerThanPositions = "--allow-longer";

class Families : public testing::TestWithParam<Family> {};
class FamilyLogits : public Families {};

TEST_P(Families, LossAndEveryGradient) {
  const Family &family = GetParam();
  std::string folder = referenceFolder() + "/families/" + family.name;
  std::ifstream stream(folder + "/expected.json");
  nlohmann::json expected = nlohmann::json::parse(stream, nullptr, false);
  ASSERT_TRUE(expected.is_object());
  // A power of two, large enough that rounding the new weight loses little of the change.
  const double rate = 64;
  TrainingRun run;
  run.label = family.label();
  run.config = folder + "/config.json";
  run.batch = expected["rows"].get<int>() / (family.tensorParallel ? 1 : family.ranks);
  run.sequence = expected["sequence"];
  run.importOptions = longerThanPositions;
  run.steps = 1;
  run.recipe = family.mesh() + "optimizer.name = \"sgd\"\noptimizer.lr = 64.0\noptimizer.weight_decay = 0.0\n";
  run.options = "--data " + folder + "/tokens.bin --order sequential --save-dtype f32 --init " + folder;
  Training training = train(run, /*save=*/true);
  ASSERT_EQ(training.loss.size(), 1u);
  double loss = expected["loss"], norm = expected["grad_norm"];
  EXPECT_NEAR(training.loss[0], loss, 2e-5 * loss);
  EXPECT_NEAR(training.gradientNorm[0], norm, 2e-5 * norm);
  TensorMap initial = readCheckpoint(folder);
  TensorMap reference = readSafetensors(folder + "/expected.safetensors");
  std::size_t compared = 0;
  for (const auto &[name, gradient] : reference) {
    if (name.rfind("grad.", 0) != 0)
      continue;
    std::string parameter = name.substr(5);
    // GPT-2's outer module adds a prefix to the names of parameters, in its gradients and its checkpoint.
    auto before = initial.find(parameter);
    auto after = training.weights.find(parameter);
    if (after == training.weights.end())
      after = training.weights.find(parameter.substr(parameter.find('.') + 1));
    ASSERT_TRUE(before != initial.end() && after != training.weights.end()) << parameter;
    ASSERT_EQ(after->second.size(), gradient.size()) << parameter;
    double largest = 0, error = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      double ours = (before->second.values[i] - after->second.values[i]) / rate;
      largest = std::max(largest, std::abs(gradient.values[i]));
      error = std::max(error, std::isnan(ours) ? INFINITY : std::abs(ours - gradient.values[i]));
    }
    // Noise around a true gradient of zero (the biases of keys) has no relative magnitude.
    EXPECT_LE(error, 2e-5 * std::max(largest, 1e-3 * norm)) << parameter << ", largest " << largest;
    ++compared;
  }
  EXPECT_EQ(compared, training.weights.size());
}

// With the original checkpoint, and with the checkpoint that Sluice saves.
TEST_P(FamilyLogits, OfBothCheckpoints) {
  const Family &family = GetParam();
  std::string folder = referenceFolder() + "/families/" + family.name;
  TensorMap reference = readSafetensors(folder + "/expected.safetensors");
  const Tensor &ids = reference.at("input_ids"), &logits = reference.at("logits");
  TrainingRun run;
  run.label = family.label() + "-logits";
  run.config = folder + "/config.json";
  run.batch = static_cast<int>(ids.shape[0]) / family.ranks;
  run.sequence = static_cast<int>(ids.shape[1]);
  run.importOptions = longerThanPositions;
  run.steps = 1;
  // The step has a learning rate of 0.
  run.recipe = family.mesh() + "optimizer.name = \"sgd\"\noptimizer.lr = 0.0\n";
  run.options = "--data " + folder + "/tokens.bin --save-dtype f32 --init " + folder;
  Training training = train(run, /*save=*/true);
  ASSERT_EQ(training.loss.size(), 1u);
  std::vector<std::int32_t> tokens(ids.values.begin(), ids.values.end());
  for (const std::string &weights : {folder, scratchFolder() + "/" + run.label + ".out"}) {
    SCOPED_TRACE(weights);
    std::vector<double> ours = logitsOf(training.planPath, weights, tokens);
    ASSERT_EQ(ours.size(), logits.size());
    double largest = 0, error = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      largest = std::max(largest, std::abs(logits.values[i]));
      error = std::max(error, std::isnan(ours[i]) ? INFINITY : std::abs(ours[i] - logits.values[i]));
    }
    EXPECT_LE(error, 2e-5 * largest);
  }
}

/// Each case on each mesh; none without the folder, as this runs before the tests.
std::vector<Family> families(std::initializer_list<Family> meshes) {
  std::vector<Family> list;
  std::error_code none;
  for (const auto &folder : std::filesystem::directory_iterator(referenceFolder() + "/families", none))
    for (Family family : meshes) {
      family.name = folder.path().filename();
      list.push_back(family);
    }
  std::sort(list.begin(), list.end(), [](const Family &a, const Family &b) { return a.label() < b.label(); });
  return list;
}

std::string nameOf(const testing::TestParamInfo<Family> &info) {
  std::string name = info.param.label();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, Families,
                         testing::ValuesIn(families({{"", 1}, {"", 2}, {"", 2, /*tensorParallel=*/true}})), nameOf);
INSTANTIATE_TEST_SUITE_P(Checkpoints, FamilyLogits, testing::ValuesIn(families({{"", 1}, {"", 2}})), nameOf);

} // namespace
} // namespace sluice::numeric
