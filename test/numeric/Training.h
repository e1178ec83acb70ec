//===- Training.h - training runs by the tools, with a user's commands ---------------===//
#ifndef SLUICE_TEST_NUMERIC_TRAINING_H
#define SLUICE_TEST_NUMERIC_TRAINING_H

#include "test/numeric/Program.h"

#include <nlohmann/json.hpp>

namespace sluice::numeric {

/// test/reference, or the folder that SLUICE_REFERENCE names.
std::string referenceFolder();

/// A run: a model (config.json or a hand-written .mlir), a recipe, training options.
struct TrainingRun {
  /// Unique among the runs of a test program: names files.
  std::string label;
  /// config.json of a Hugging Face model; empty if `module` is given.
  std::string config;
  int batch = 4;
  int sequence = 64;
  /// Further options of sluice-import.
  std::string importOptions;
  /// Arguments of sluice-import zoo: a name and settings; empty for other sources.
  std::string zoo;
  /// Text of a module in the model dialect.
  std::string module;
  /// The recipe's TOML.
  std::string recipe;
  /// Further options of sluice-train.
  std::string options;
  int steps = 20;
};

struct Training {
  std::vector<double> loss;
  std::vector<double> gradientNorm;
  nlohmann::json summary;
  /// Weights after the last step; empty unless the run saved them.
  TensorMap weights;
  std::string planPath;
};

/// Imports, compiles, checks and trains; any failure fails the running test and gives an empty result.
Training train(const TrainingRun &run, bool save);

/// The logits of these rows by the plan's entry point, divided between its ranks, with the weights of a checkpoint.
std::vector<double> logitsOf(const std::string &plan, const std::string &weights,
                             const std::vector<std::int32_t> &tokens);

/// The reference folder's model of that name on its tokens, `rows` of 16 tokens on a rank, seed 3.
TrainingRun familyRun(const std::string &family, const std::string &label, int rows, int steps,
                      const std::string &recipe);

/// That of GPT-2 tiny, with AdamW at 1e-3.
TrainingRun tinyRun(const std::string &label, int rows, int steps, const std::string &recipe);

/// Losses within `tolerance`; norms of gradients within `normTolerance` times their size and one.
void expectNearRuns(const Training &a, const Training &b, double tolerance, double normTolerance);

} // namespace sluice::numeric

#endif // SLUICE_TEST_NUMERIC_TRAINING_H
