//===- ChunkedLossTest.cpp - training without full logits -----------------------------------===//
//
// `loss.chunk_rows` makes one op of the output projection and its cross entropy. The results are those of two ops, up
// to the order in which chunks are added; the peak is lower by the logits, which is checked to the byte.
//
//===----------------------------------------------------------------------===//

#include "test/numeric/Training.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace sluice::numeric {
namespace {

TrainingRun chunkedRun(const std::string &family, const std::string &label, int parts, const std::string &recipe) {
  return familyRun(family, "chunk-" + family + "-" + label, 4 / parts, 4,
                   "optimizer.name = \"sgd\"\noptimizer.lr = 0.1\n" + recipe);
}

void expectNearRun(const Training &a, const Training &b, double tolerance) {
  ASSERT_EQ(a.loss.size(), 4u);
  expectNearRuns(a, b, tolerance, tolerance);
}

class ChunkedLoss : public testing::TestWithParam<std::string> {};

TEST_P(ChunkedLoss, MatchesSeparateOps) {
  const std::string &family = GetParam();
  struct Case {
    const char *label;
    int parts;
    const char *recipe;
    double tolerance;
  };
  const Case cases[] = {{"one", 1, "", 1e-5},
                        {"sharded", 4, "mesh.shard = 2\ngradient.microbatches = 2\n", 1e-5},
                        {"tokens", 2, "mesh.shard = 2\nloss.mean = \"tokens\"\n", 1e-5},
                        {"recompute", 1, "recompute.policy = \"block\"\n", 1e-5},
                        {"f64", 1, "precision.compute = \"f64\"\nprecision.parameter = \"f64\"\n", 1e-12},
                        {"bf16", 1, "precision.compute = \"bf16\"\n", 2e-2},
                        {"sums", 2, "precision.compute = \"bf16\"\ngradient.microbatches = 2\n", 2e-2}};
  for (const Case &c : cases) {
    SCOPED_TRACE(c.label);
    Training separate = train(chunkedRun(family, std::string(c.label) + "-separate", c.parts, c.recipe), true);
    // Chunks of 7 rows: the last one is short.
    Training chunked =
        train(chunkedRun(family, c.label, c.parts, std::string(c.recipe) + "loss.chunk_rows = 7\n"), true);
    expectNearRun(chunked, separate, c.tolerance);
    ASSERT_EQ(chunked.weights.size(), separate.weights.size());
    for (const auto &[name, tensor] : separate.weights)
      EXPECT_LE(compare(chunked.weights.at(name), tensor).largest, c.tolerance) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, ChunkedLoss, testing::Values("gpt2-tiny", "llama-tiny"),
                         [](const auto &info) { return info.param.substr(0, info.param.find('-')); });

/// The peak of live bytes without workspace, and the workspace.
std::pair<std::int64_t, std::int64_t> peakOf(const std::string &base, const std::string &setting) {
  CommandResult compiled = runCommand("sluice-compile " + base + ".mlir" + setting + " -o " + base + ".plan");
  EXPECT_EQ(compiled.code, 0) << compiled.err;
  CommandResult described = runCommand("sluice-plan describe --json " + base + ".plan");
  nlohmann::json plan = nlohmann::json::parse(described.out);
  for (const auto &arena : plan["arenas"])
    if (arena["space"] == "device")
      return {arena["peak_live"], arena["workspace"]};
  return {0, 0};
}

// 512 rows of 4096 classes: the loss has most of the step's memory.
TEST(ChunkedLossMemory, PeakIsLowerByTheLogits) {
  std::string base = scratchFolder() + "/chunk-memory";
  std::string config =
      writeScratch("chunk-memory.json", R"({"model_type": "llama", "vocab_size": 4096, "hidden_size": 16,
    "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 128,
    "tie_word_embeddings": false})");
  CommandResult imported = runCommand("sluice-import hf " + config + " --batch 4 --sequence 128 -o " + base + ".mlir");
  ASSERT_EQ(imported.code, 0) << imported.err;
  // The entry point that returns logits needs them in any case.
  std::string sed = "sed -i '/func.func @logits/,/^  }/d' " + base + ".mlir";
  ASSERT_EQ(runCommand(sed).code, 0);
  auto [separate, separateWorkspace] = peakOf(base, "");
  auto [chunked, chunkedWorkspace] = peakOf(base, " --set loss.chunk_rows=16");
  // The product of the weight's gradient reads the logits' gradient. The combined op reads the values from which it
  // computes that gradient: a target and a row statistic for each row, and the loss's cotangent.
  EXPECT_EQ(separate - chunked, 512 * 4096 * 4 - 512 * (4 + 4) - 4);
  // A chunk of logits is in workspace instead.
  EXPECT_LE(chunkedWorkspace, 16 * 4096 * 4 + 64 + std::max<std::int64_t>(separateWorkspace, std::int64_t(4) << 20));
}

} // namespace
} // namespace sluice::numeric
