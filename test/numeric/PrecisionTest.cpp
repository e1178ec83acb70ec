//===- PrecisionTest.cpp - training in f64, with a scaled loss and with narrow reductions ------------------===//

#include "test/numeric/Training.h"

#include <cmath>
#include <gtest/gtest.h>

namespace sluice::numeric {
namespace {

TrainingRun preciseRun(const std::string &label, int parts, const std::string &recipe) {
  return tinyRun("precision-" + label, 4 / parts, 5, recipe);
}

void expectNearAndNorm(const Training &a, const Training &b, double tolerance) {
  expectNearRuns(a, b, tolerance, 4 * tolerance);
}

constexpr const char *allDouble = "precision.compute = \"f64\"\nprecision.parameter = \"f64\"\n";

TEST(Precision, DoubleIsNotRounded) {
  Training unsharded = train(preciseRun("f64", 1, allDouble), true);
  Training sharded =
      train(preciseRun("f64-sharded", 4, std::string(allDouble) + "mesh.shard = 2\ngradient.microbatches = 2\n"), true);
  expectNearAndNorm(sharded, unsharded, 1e-12);
  for (const auto &[name, tensor] : unsharded.weights)
    EXPECT_LE(compare(sharded.weights.at(name), tensor).largest, 1e-9) << name;
  // It is the same model.
  expectNearAndNorm(train(preciseRun("f32", 1, ""), false), unsharded, 1e-4);
}

/// A scale changes nothing if no digits are lost.
TEST(Precision, GradientsAreUnscaled) {
  Training plain = train(preciseRun("plain", 1, "gradient.clip_norm = 0.5\n"), true);
  Training scaled = train(preciseRun("scaled", 1, "gradient.clip_norm = 0.5\nprecision.loss_scale = 256.0\n"), true);
  expectNearAndNorm(scaled, plain, 1e-6);
  for (const auto &[name, tensor] : plain.weights)
    EXPECT_LE(compare(scaled.weights.at(name), tensor).largest, 1e-5) << name;
}

TEST(Precision, NarrowReductions) {
  Training wide = train(preciseRun("wide", 4, "mesh.shard = 2\nmesh.replicate = 2\n"), false);
  for (const char *reduce : {"bf16", "f16", "f64"}) {
    SCOPED_TRACE(reduce);
    std::string recipe = std::string("mesh.shard = 2\nmesh.replicate = 2\nprecision.reduce = \"") + reduce + "\"\n";
    Training reduced = train(preciseRun(std::string("reduce-") + reduce, 4, recipe), false);
    expectNearAndNorm(reduced, wide, 2e-2);
    CommandResult described = runCommand("sluice-plan describe --json " + reduced.planPath);
    ASSERT_EQ(described.code, 0) << described.err;
    nlohmann::json plan = nlohmann::json::parse(described.out);
    int seen = 0;
    for (const auto &collective : plan["collectives"])
      if (collective["entry"] == "train_step" && collective["kind"] == "reduce_scatter") {
        EXPECT_EQ(collective["dtype"], reduce);
        ++seen;
      }
    EXPECT_GT(seen, 0);
  }
}

} // namespace
} // namespace sluice::numeric
