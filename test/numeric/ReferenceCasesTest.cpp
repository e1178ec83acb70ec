//===- ReferenceCasesTest.cpp - ten to twenty steps against PyTorch's numbers -----------===//
//
// Every case of test/reference/gpt2-tiny and llama-tiny (or of $SLUICE_REFERENCE): losses and gradient norms of each
// step against the f64 numbers, and final weights, within the case's tolerance; on the case's mesh and,
// with the same rows in a step, on 1, 2 and 4 ranks.
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

struct Case {
  std::string model;
  std::string name;
  /// 0: the case's mesh.
  int ranks = 0;
};

nlohmann::json readJson(const std::string &path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file, nullptr, false);
}

std::vector<Case> cases(std::initializer_list<int> meshes) {
  std::vector<Case> list;
  for (const std::string model : {"gpt2-tiny", "llama-tiny"}) {
    std::error_code error;
    std::vector<std::string> names;
    for (const auto &item : std::filesystem::directory_iterator(referenceFolder() + "/" + model + "/cases", error))
      if (item.path().extension() == ".json")
        names.push_back(item.path().stem());
    std::sort(names.begin(), names.end());
    for (const std::string &name : names)
      for (int ranks : meshes)
        list.push_back({model, name, ranks});
  }
  return list;
}

std::string quoted(const nlohmann::json &value) { return "\"" + value.get<std::string>() + "\""; }

/// The case's settings as a recipe; `ranks` 0: its mesh.
TrainingRun runOf(const Case &item, const nlohmann::json &reference) {
  const nlohmann::json &recipe = reference["recipe"], &optimizer = recipe["optimizer"];
  int microbatches = recipe["microbatches"], world = recipe["world"], rows = recipe["rows_per_rank"];
  int replicate = recipe["mesh"]["replicate"], shard = recipe["mesh"]["shard"];
  std::string strategy = recipe["strategy"];
  if (item.ranks != 0) {
    rows = rows * world / item.ranks;
    replicate = 1;
    shard = item.ranks;
    strategy = "full_shard";
  }
  TrainingRun run;
  run.label = item.model + "-" + item.name + "-" + std::to_string(item.ranks);
  run.config = referenceFolder() + "/" + item.model + "/config.json";
  run.batch = rows;
  run.sequence = recipe["sequence"];
  run.steps = recipe["steps"];
  run.options = "--data " + referenceFolder() + "/tokens.bin --order sequential --init " + referenceFolder() + "/" +
                item.model + "/init.safetensors";
  std::string &toml = run.recipe;
  toml = "mesh.shard = " + std::to_string(shard) + "\nmesh.replicate = " + std::to_string(replicate) +
         "\nsharding.strategy = \"" + strategy + "\"\ngradient.microbatches = " + std::to_string(microbatches) +
         "\nprecision.compute = " + quoted(recipe["precision"]["compute"]) +
         "\nprecision.reduce = " + quoted(recipe["precision"]["reduce"]) +
         "\nrecompute.policy = " + quoted(recipe["recompute"]) + "\noptimizer.name = " + quoted(optimizer["name"]) +
         "\n";
  for (const char *key : {"lr", "betas", "eps", "weight_decay", "momentum"})
    if (optimizer.contains(key))
      toml += std::string("optimizer.") + key + " = " + optimizer[key].dump() + "\n";
  if (!recipe["clip_norm"].is_null()) {
    const nlohmann::json &type = recipe["clip_type"];
    toml += "gradient.clip_norm = " + recipe["clip_norm"].dump() +
            "\ngradient.clip_type = " + (type.is_string() ? quoted(type) : type.dump()) + "\n";
  }
  return run;
}

/// The keys' third of c_attn.bias has a true gradient of zero: any program computes noise there.
bool leftOut(const std::string &name, std::size_t index, std::size_t size) {
  const std::string suffix = "attn.c_attn.bias";
  bool bias = name.size() >= suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
  return bias && index >= size / 3 && index < 2 * size / 3;
}

void compareWeights(const TensorMap &actual, const TensorMap &expected, const TensorMap &initial,
                    const nlohmann::json &tolerance) {
  double largest = 0, error = 0, way = 0;
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto &[name, tensor] : expected) {
    ASSERT_TRUE(actual.count(name)) << name;
    const Tensor &ours = actual.at(name);
    ASSERT_EQ(ours.shape, tensor.shape) << name;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      if (leftOut(name, i, tensor.size()))
        continue;
      double difference = ours.values[i] - tensor.values[i], moved = tensor.values[i] - initial.at(name).values[i];
      largest = std::max(largest, std::isnan(difference) ? INFINITY : std::abs(difference));
      error += difference * difference;
      way += moved * moved;
    }
  }
  EXPECT_LE(largest, tolerance["final_abs"].get<double>());
  EXPECT_LE(std::sqrt(error / way), tolerance["final_rel"].get<double>());
}

class ReferenceCases : public testing::TestWithParam<Case> {};

TEST_P(ReferenceCases, Match) {
  const Case &item = GetParam();
  std::string folder = referenceFolder() + "/" + item.model;
  nlohmann::json reference = readJson(folder + "/cases/" + item.name + ".json");
  ASSERT_TRUE(reference.is_object());
  std::string final = folder + "/cases/" + item.name + ".final.safetensors";
  bool weights = std::filesystem::exists(final);
  Training training = train(runOf(item, reference), weights);
  const nlohmann::json &losses = reference["loss_f64"], &tolerance = reference["tolerance"];
  const char *normKey = reference.contains("grad_norm_inf") ? "grad_norm_inf" : "grad_norm_f64";
  const nlohmann::json &norms = reference[normKey];
  ASSERT_EQ(training.loss.size(), losses.size());
  for (std::size_t step = 0; step < losses.size(); ++step) {
    EXPECT_NEAR(training.loss[step], losses[step].get<double>(), tolerance["loss_abs"].get<double>())
        << "step " << step + 1;
    double norm = norms[step];
    EXPECT_NEAR(training.gradientNorm[step], norm, norm * tolerance["grad_norm_rel"].get<double>())
        << "step " << step + 1;
  }
  if (weights)
    compareWeights(training.weights, readSafetensors(final), readSafetensors(folder + "/init.safetensors"), tolerance);
}

class PoisonedCases : public testing::TestWithParam<Case> {};

TEST_P(PoisonedCases, GiveTheSameBits) {
  const Case &item = GetParam();
  const nlohmann::json reference = readJson(referenceFolder() + "/" + item.model + "/cases/" + item.name + ".json");
  ASSERT_TRUE(reference.is_object());
  TrainingRun run = runOf(item, reference);
  run.steps = 3;
  run.label += "-plain";
  const Training plain = train(run, true);
  run.label += "-poison";
  run.options += " --poison";
  const Training poisoned = train(run, true);
  EXPECT_EQ(poisoned.loss, plain.loss);
  EXPECT_EQ(poisoned.gradientNorm, plain.gradientNorm);
  EXPECT_TRUE(poisoned.weights == plain.weights);
}

std::string caseName(const testing::TestParamInfo<Case> &info) {
  std::string name = info.param.model + "_" + info.param.name +
                     (info.param.ranks ? "_on_" + std::to_string(info.param.ranks) : "_as_given");
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, ReferenceCases, testing::ValuesIn(cases({0, 1, 2, 4})), caseName);
INSTANTIATE_TEST_SUITE_P(Models, PoisonedCases, testing::ValuesIn(cases({0})), caseName);

} // namespace
} // namespace sluice::numeric
