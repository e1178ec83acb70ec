//===- SettingsTest.cpp - schedule settings change no number ------------------------------===//
//
// Plans of one mesh and one split of the batch have bitwise equal losses, gradient norms and weights for every prefetch
// depth, recompute policy, reshard_after_forward and strategy. A run with 1 rank on the same rows agrees within the
// tolerance of a different order of addition.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/Training.h"

#include <cmath>
#include <gtest/gtest.h>

namespace sluice::numeric {
namespace {

TrainingRun baseRun(const std::string &label, int batch, const std::string &recipe) {
  TrainingRun run;
  run.label = label;
  run.config = referenceFolder() + "/gpt2-tiny/config.json";
  run.batch = batch;
  run.sequence = 32;
  run.steps = 4;
  run.options = "--data " + referenceFolder() + "/tokens.bin --seed 3";
  run.recipe = "optimizer.lr = 1e-3\n" + recipe;
  return run;
}

void expectSameBits(const Training &a, const Training &b) {
  ASSERT_FALSE(a.loss.empty());
  EXPECT_EQ(a.loss, b.loss);
  EXPECT_EQ(a.gradientNorm, b.gradientNorm);
  ASSERT_FALSE(a.weights.empty());
  ASSERT_EQ(a.weights.size(), b.weights.size());
  for (const auto &[name, tensor] : a.weights)
    EXPECT_EQ(tensor.values, b.weights.at(name).values) << name;
}

struct Mesh {
  const char *label;
  const char *recipe;
};

class Settings : public testing::TestWithParam<Mesh> {};

TEST_P(Settings, ChangeNoBit) {
  std::string label = std::string("knobs-") + GetParam().label, mesh = GetParam().recipe;
  Training base = train(baseRun(label, 2, mesh), true);
  const char *variants[] = {
      "schedule.forward_prefetch = 0\nschedule.backward_prefetch = 0\n",
      "schedule.forward_prefetch = 3\nschedule.backward_prefetch = 2\n",
      "recompute.policy = \"block\"\n",
      "recompute.policy = \"block\"\nsharding.reshard_after_forward = false\n",
      "sharding.reshard_after_forward = true\nschedule.backward_prefetch = 0\n",
      "sharding.strategy = \"shard_grad_op\"\n",
      "schedule.reduce_buffers = 2\n",
  };
  int number = 0;
  for (const char *variant : variants) {
    SCOPED_TRACE(variant);
    expectSameBits(base, train(baseRun(label + "-" + std::to_string(number++), 2, mesh + variant), true));
  }
}

INSTANTIATE_TEST_SUITE_P(Meshes, Settings,
                         testing::Values(Mesh{"shard3", "mesh.shard = 3\n"},
                                         Mesh{"hybrid", "mesh.shard = 2\nmesh.replicate = 2\n"},
                                         Mesh{"accumulate", "mesh.shard = 2\ngradient.microbatches = 3\n"},
                                         Mesh{"bf16", "mesh.shard = 2\nprecision.compute = \"bf16\"\n"}),
                         [](const auto &info) { return info.param.label; });

TEST(Sharded, AgreesWithUnsharded) {
  Training unsharded = train(baseRun("unsharded", 12, "mesh.shard = 1\n"), true);
  // Ranks times micro-batches, which share the twelve rows of a step.
  const struct {
    int parts;
    const char *recipe;
  } splits[] = {{3, "mesh.shard = 3\n"},
                {4, "mesh.shard = 2\nmesh.replicate = 2\n"},
                {12, "mesh.shard = 12\n"},
                {4, "mesh.shard = 4\nsharding.strategy = \"no_shard\"\n"},
                {6, "mesh.shard = 2\ngradient.microbatches = 3\n"}};
  int number = 0;
  for (const auto &[parts, recipe] : splits) {
    SCOPED_TRACE(recipe);
    Training sharded = train(baseRun("sharded-" + std::to_string(number++), 12 / parts, recipe), false);
    ASSERT_EQ(sharded.loss.size(), unsharded.loss.size());
    for (std::size_t step = 0; step < unsharded.loss.size(); ++step) {
      EXPECT_NEAR(sharded.loss[step], unsharded.loss[step], 1e-5) << step;
      EXPECT_NEAR(sharded.gradientNorm[step], unsharded.gradientNorm[step], 1e-5 * unsharded.gradientNorm[step])
          << step;
    }
  }
}

} // namespace
} // namespace sluice::numeric
