//===- Training.cpp - import, compile, check, train, read back ------------------------===//

#include "test/numeric/Training.h"

#include "runtime/train/Ports.h"
#include "runtime/train/Weights.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

namespace sluice::numeric {

std::string referenceFolder() {
  const char *other = std::getenv("SLUICE_REFERENCE");
  return other ? other : SLUICE_SOURCE_DIR "/test/reference";
}

namespace {

/// Runs a command that must succeed.
bool must(const std::string &command) {
  CommandResult result = runCommand(command);
  EXPECT_EQ(result.code, 0) << command << "\n" << result.err;
  return result.code == 0;
}

} // namespace

Training train(const TrainingRun &run, bool save) {
  Training training;
  std::string base = scratchFolder() + "/" + run.label;
  std::string model = base + ".mlir";
  if (!run.module.empty())
    writeScratch(run.label + ".mlir", run.module);
  else if (!run.zoo.empty()) {
    if (!must("sluice-import zoo " + run.zoo + " -o " + model))
      return training;
  } else if (!must("sluice-import hf " + run.config + " --batch " + std::to_string(run.batch) + " --sequence " +
                   std::to_string(run.sequence) + " " + run.importOptions + " -o " + model))
    return training;
  std::string recipe = writeScratch(run.label + ".toml", run.recipe);
  training.planPath = base + ".plan";
  // sluice-train checks the plan before it runs it.
  if (!must("sluice-compile " + model + " --recipe " + recipe + " -o " + training.planPath))
    return training;
  std::string log = base + ".jsonl", out = base + ".out";
  if (!must("sluice-train " + training.planPath + " --steps " + std::to_string(run.steps) + " --log " + log + " " +
            run.options + (save ? " --save " + out : "")))
    return training;
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    if (object.contains("summary")) {
      training.summary = object["summary"];
    } else {
      training.loss.push_back(object["loss"]);
      training.gradientNorm.push_back(object["grad_norm"]);
    }
  }
  EXPECT_EQ(training.loss.size(), static_cast<std::size_t>(run.steps)) << run.label;
  EXPECT_FALSE(training.summary.is_null()) << run.label;
  if (save)
    training.weights = readSafetensors(out + "/model.safetensors");
  return training;
}

std::vector<double> logitsOf(const std::string &plan, const std::string &weights,
                             const std::vector<std::int32_t> &tokens) {
  std::vector<double> all;
  auto ranks = openRanks(plan, {});
  EXPECT_TRUE(ranks.isOk()) << ranks.status().message();
  if (!ranks.isOk())
    return all;
  Status loaded = loadWeights(**ranks, weights).takeStatus();
  EXPECT_TRUE(loaded.isOk()) << loaded.message();
  for (const auto &entry : (*ranks)->plan().entries) {
    if (entry->name != "logits")
      continue;
    const plan::PortT *in = findInput(*entry, plan::PortRole::tokens),
                      *out = findOutput(*entry, plan::PortRole::logits);
    std::size_t share = tokens.size() / static_cast<std::size_t>((*ranks)->size());
    for (int rank = 0; rank < (*ranks)->size(); ++rank) {
      auto rows = std::span(tokens).subspan(static_cast<std::size_t>(rank) * share, share);
      EXPECT_TRUE((*ranks)->write(rank, in->view->buffer, in->view->offset, std::as_bytes(rows)).isOk());
    }
    Status ran = (*ranks)->run("logits");
    EXPECT_TRUE(ran.isOk()) << ran.message();
    std::size_t size = 1;
    for (auto extent : out->view->shape)
      size *= static_cast<std::size_t>(extent);
    std::vector<float> values(size);
    for (int rank = 0; rank < (*ranks)->size(); ++rank) {
      auto bytes = std::as_writable_bytes(std::span(values));
      EXPECT_TRUE((*ranks)->read(rank, out->view->buffer, out->view->offset, bytes).isOk());
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  return all;
}

TrainingRun familyRun(const std::string &family, const std::string &label, int rows, int steps,
                      const std::string &recipe) {
  TrainingRun run;
  run.label = label;
  run.config = referenceFolder() + "/" + family + "/config.json";
  run.batch = rows;
  run.sequence = 16;
  run.steps = steps;
  run.options = "--data " + referenceFolder() + "/tokens.bin --seed 3";
  run.recipe = recipe;
  return run;
}

TrainingRun tinyRun(const std::string &label, int rows, int steps, const std::string &recipe) {
  return familyRun("gpt2-tiny", label, rows, steps, "optimizer.lr = 1e-3\n" + recipe);
}

void expectNearRuns(const Training &a, const Training &b, double tolerance, double normTolerance) {
  ASSERT_FALSE(a.loss.empty());
  ASSERT_EQ(a.loss.size(), b.loss.size());
  for (std::size_t i = 0; i < a.loss.size(); ++i) {
    EXPECT_NEAR(a.loss[i], b.loss[i], tolerance) << "step " << i + 1;
    EXPECT_NEAR(a.gradientNorm[i], b.gradientNorm[i], normTolerance * (1 + b.gradientNorm[i])) << "step " << i + 1;
  }
}

} // namespace sluice::numeric
