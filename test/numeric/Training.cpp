//===- Training.cpp - import, compile, check, train, read back ------------------------===//

#include "test/numeric/Training.h"

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
  if (!must("sluice-compile " + model + " --recipe " + recipe + " -o " + training.planPath) ||
      !must("sluice-plan check " + training.planPath))
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

} // namespace sluice::numeric
