//===- HalfTest.cpp - training in f16, with a static and a dynamic scale of the loss ---------===//

#include "test/numeric/Training.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>

namespace sluice::numeric {
namespace {

TrainingRun halfRun(const std::string &family, const std::string &label, int parts, const std::string &recipe) {
  return familyRun(family, "half-" + family + "-" + label, 4 / parts, 4, "optimizer.lr = 1e-3\n" + recipe);
}

constexpr const char *staticScale = "precision.compute = \"f16\"\nprecision.loss_scale = 1024.0\n";
constexpr const char *dynamicScale = "precision.compute = \"f16\"\nprecision.loss_scale = \"dynamic\"\n";

class Half : public testing::TestWithParam<std::string> {};

// f16 has 11 bits: a loss near 5 is off by a few thousandths at most.
TEST_P(Half, MatchesSinglePrecision) {
  Training single = train(halfRun(GetParam(), "f32", 1, ""), false);
  ASSERT_EQ(single.loss.size(), 4u);
  auto expectNear = [&](const std::string &label, int parts, const std::string &recipe) {
    SCOPED_TRACE(label);
    Training half = train(halfRun(GetParam(), label, parts, recipe), false);
    ASSERT_EQ(half.loss.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(half.loss[i], single.loss[i], 4e-3) << "step " << i + 1;
      EXPECT_NEAR(half.gradientNorm[i], single.gradientNorm[i], 1e-2 * single.gradientNorm[i]) << "step " << i + 1;
    }
    EXPECT_NE(half.loss[0], single.loss[0]);
  };
  expectNear("static", 1, staticScale);
  // Llama's first steps overflow with 65536.
  if (GetParam() == "gpt2-tiny")
    expectNear("dynamic", 1, dynamicScale);
  expectNear("sharded", 4, std::string(staticScale) + "mesh.shard = 2\ngradient.microbatches = 2\n");
  expectNear("reduced", 2, std::string(staticScale) + "mesh.shard = 2\nprecision.reduce = \"f16\"\n");
}

INSTANTIATE_TEST_SUITE_P(Families, Half, testing::Values("gpt2-tiny", "llama-tiny"),
                         [](const auto &info) { return info.param.substr(0, info.param.find('-')); });

/// The zoo's transformer with the sum of all outputs, whose gradients overflow with a large scale. True if it
/// compiles.
bool compileSum(const std::string &base, const std::string &scale) {
  std::string recipe =
      writeScratch("half-sum.toml", "precision.compute = \"f16\"\nprecision.loss_scale = " + scale + "\n");
  return runCommand("sluice-import zoo transformer --set dropout=0 -o " + base + ".mlir").code == 0 &&
         runCommand("sluice-compile " + base + ".mlir --recipe " + recipe + " -o " + base + ".plan").code == 0;
}

TensorMap weightsAfter(const std::string &plan, int steps) {
  std::string out = scratchFolder() + "/half-sum-after" + std::to_string(steps);
  CommandResult result = runCommand("sluice-train " + plan + " --data random:3 --seed 3 --steps " +
                                    std::to_string(steps) + " --save " + out);
  EXPECT_EQ(result.code, 0) << result.err;
  return readSafetensors(out + "/model.safetensors");
}

// A step whose gradients overflow changes nothing and halves the scale until gradients are finite; then training
// continues.
TEST(HalfOverflow, SkipsTheStepAndHalvesTheScale) {
  std::string base = scratchFolder() + "/half-sum";
  ASSERT_TRUE(compileSum(base, "\"dynamic\""));
  CommandResult result =
      runCommand("sluice-train " + base + ".plan --data random:3 --seed 3 --steps 16 --log " + base + ".jsonl");
  ASSERT_EQ(result.code, 0) << result.err;
  std::vector<nlohmann::json> lines;
  std::ifstream log(base + ".jsonl");
  for (std::string line; std::getline(log, line);)
    if (nlohmann::json object = nlohmann::json::parse(line); !object.contains("summary"))
      lines.push_back(object);
  ASSERT_EQ(lines.size(), 16u);
  int skipped = 0;
  for (; skipped < 16 && lines[skipped]["grad_norm"].is_null(); ++skipped)
    EXPECT_EQ(lines[skipped]["loss_scale"].get<double>(), std::ldexp(65536, -skipped));
  ASSERT_GE(skipped, 2);
  ASSERT_LT(skipped, 12);
  for (int step = skipped; step < 16; ++step)
    EXPECT_EQ(lines[step]["loss_scale"], lines[skipped]["loss_scale"]) << step;
  EXPECT_LT(lines[15]["loss"].get<double>(), lines[skipped]["loss"].get<double>());
  TensorMap first = weightsAfter(base + ".plan", 0), last = weightsAfter(base + ".plan", skipped),
            updated = weightsAfter(base + ".plan", skipped + 1);
  bool differs = false;
  for (const auto &[name, tensor] : first) {
    EXPECT_EQ(tensor.values, last.at(name).values) << name;
    differs |= tensor.values != updated.at(name).values;
  }
  EXPECT_TRUE(differs);
}

// A static scale that is too large is an error that names the step.
TEST(HalfOverflow, IsAnErrorWithAStaticScale) {
  std::string base = scratchFolder() + "/half-static";
  ASSERT_TRUE(compileSum(base, "65536.0"));
  CommandResult result = runCommand("sluice-train " + base + ".plan --data random:3 --seed 3 --steps 2");
  EXPECT_EQ(result.code, 5);
  EXPECT_NE(result.err.find("error: step 1, expected a finite loss and gradient norm"), std::string::npos)
      << result.err;
}

} // namespace
} // namespace sluice::numeric
