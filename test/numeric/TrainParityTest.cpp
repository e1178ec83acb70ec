//===- TrainParityTest.cpp - the models of FSDP's training tests against PyTorch ----------===//
//
// test/reference/train-parity has, for each training test of PyTorch FSDP whose model is in the zoo, the data, the
// initial weights, the gradients of the first step and the losses of all steps that PyTorch computes in one process.
// Here one rank trains the same model; tests in test/pipeline compare sharded plans with one rank.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/Training.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>

namespace sluice::numeric {
namespace {

const std::string &folder() {
  static const std::string path = referenceFolder() + "/train-parity/";
  return path;
}

nlohmann::json readCases() {
  std::ifstream file(folder() + "index.json");
  nlohmann::json index = nlohmann::json::parse(file, nullptr, false);
  return index.is_object() ? index["cases"] : nlohmann::json::object();
}

std::vector<std::string> caseNames() {
  std::vector<std::string> names;
  const nlohmann::json cases = readCases();
  for (const auto &[name, item] : cases.items())
    names.push_back(name);
  return names;
}

class TrainParity : public testing::TestWithParam<std::string> {
protected:
  nlohmann::json item = readCases()[GetParam()];

  TrainingRun run(const std::string &label, const std::string &recipe) const {
    TrainingRun training;
    training.label = "parity-" + GetParam() + "-" + label;
    training.zoo = item["zoo"].get<std::string>();
    training.recipe = "gradient.microbatches = " + item["microbatches"].dump() + "\n" + recipe;
    training.options = "--data " + folder() + item["data"].get<std::string>() + " --order sequential --init " +
                       folder() + item["init"].get<std::string>();
    return training;
  }
};

// The change of a parameter in one step of SGD with a learning rate of 1 is its gradient. The relative tolerance is
// that of PyTorch's tests. The absolute one is theirs for gradients up to 1, and at most 1e-5 of the parameter's
// largest.
TEST_P(TrainParity, Gradients) {
  TrainingRun step = run("gradients", "optimizer.name = \"sgd\"\noptimizer.lr = 1.0\n");
  step.steps = 1;
  const TensorMap after = train(step, /*save=*/true).weights;
  const TensorMap before = readSafetensors(folder() + item["init"].get<std::string>()),
                  gradients = readSafetensors(folder() + item["grad"].get<std::string>());
  ASSERT_EQ(after.size(), before.size());
  for (const auto &[name, tensor] : before) {
    ASSERT_TRUE(after.count(name)) << name;
    ASSERT_EQ(after.at(name).shape, tensor.shape) << name;
    // An unused parameter has no gradient and does not change.
    const auto gradient = gradients.find(name);
    double largest = 0;
    if (gradient != gradients.end())
      for (double value : gradient->second.values)
        largest = std::max(largest, std::abs(value));
    const double absolute = std::min(item["gradient_tolerance"].get<double>(), 1e-5 * largest);
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      const double want = tensor.values[i] - (gradient == gradients.end() ? 0 : gradient->second.values[i]);
      ASSERT_NEAR(after.at(name).values[i], want, absolute + 1.3e-6 * std::abs(want)) << name << " element " << i;
    }
  }
}

// In f32 the tolerance is four times the error of PyTorch's losses in f32; in f64 it is 1e-12 of the largest loss,
// about ten thousand roundings. Where the losses become zero, the parameters after the last step are compared; in f64
// their tolerance is a rounding of the stored ones to f32.
TEST_P(TrainParity, Losses) {
  std::string recipe = "optimizer.name = " + item["optimizer"].dump() + "\noptimizer.lr = 1e-2\n", entries;
  if (item["optimizer"] == "sgd")
    recipe += "optimizer.momentum = 0.9\n";
  for (const auto &entry : item["entries"])
    entries += (entries.empty() ? " --entries " : ",") + entry.get<std::string>();
  const auto want = item["loss"].get<std::vector<double>>();
  double largest = 0;
  for (double loss : want)
    largest = std::max(largest, std::abs(loss));
  const TensorMap final =
      item.contains("final") ? readSafetensors(folder() + item["final"].get<std::string>()) : TensorMap();
  EXPECT_EQ(final.empty(), std::ranges::find(want, 0.0) == want.end());
  const std::pair<std::string, double> types[] = {{"f32", item["loss_tolerance"].get<double>()},
                                                  {"f64", 1e-12 * largest}};
  for (const auto &[type, tolerance] : types) {
    SCOPED_TRACE(type);
    TrainingRun steps =
        run(type, recipe + "precision.parameter = \"" + type + "\"\nprecision.compute = \"" + type + "\"\n");
    steps.options += entries;
    steps.steps = item["steps"];
    const Training training = train(steps, /*save=*/!final.empty());
    ASSERT_EQ(training.loss.size(), want.size());
    for (std::size_t step = 0; step < want.size(); ++step)
      EXPECT_NEAR(training.loss[step], want[step], tolerance) << "step " << step + 1;
    const double absolute = type == "f32" ? item.value("final_tolerance", 0.0) : 1e-12, relative = 0x1p-24;
    for (const auto &[name, tensor] : final) {
      ASSERT_TRUE(training.weights.contains(name)) << name;
      ASSERT_EQ(training.weights.at(name).shape, tensor.shape) << name;
      for (std::size_t i = 0; i < tensor.size(); ++i)
        ASSERT_NEAR(training.weights.at(name).values[i], tensor.values[i],
                    absolute + relative * std::abs(tensor.values[i]))
            << name << " element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TrainParity, testing::ValuesIn(caseNames()), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(TrainParityIndex, HasTheCasesOfTheReferenceTests) { EXPECT_GE(caseNames().size(), 29u); }

} // namespace
} // namespace sluice::numeric
