//===- TrainerFixture.h - a small plan on fake ranks, for tests of the training loop ---===//
#ifndef SLUICE_TEST_UNIT_TRAIN_TRAINERFIXTURE_H
#define SLUICE_TEST_UNIT_TRAIN_TRAINERFIXTURE_H

#include "runtime/train/Trainer.h"
#include "test/unit/train/Fixture.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace sluice::test {

struct Recorder : TrainObserver {
  std::vector<StepReport> steps;
  std::vector<RunSummary> summaries;
  std::vector<Status> warnings;
  std::vector<EvaluationReport> evaluations;
  std::vector<EvaluationRows> leftOut;
  std::uint64_t stopped = 0;
  void onStep(const StepReport &report) override { steps.push_back(report); }
  void onSummary(const RunSummary &summary) override { summaries.push_back(summary); }
  void onEvaluation(const EvaluationReport &report) override { evaluations.push_back(report); }
  void onRowsLeftOut(const EvaluationRows &rows) override { leftOut.push_back(rows); }
  void onWarning(const Status &warning) override { warnings.push_back(warning); }
  void onStopped(std::uint64_t step) override { stopped = step; }
};

/// A log, line by line.
inline std::vector<nlohmann::json> lines(const std::string &path) {
  std::vector<nlohmann::json> out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    out.push_back(nlohmann::json::parse(line));
  return out;
}

class TrainerTest : public ::testing::Test {
protected:
  TemporaryFolder folder;
  Recorder observer;
  /// Indices of the ports' buffers, in the order of PlanBuilder: one parameter, then the ports in order.
  enum { weight, tokens, targets, lr, step, loss, norm, guard };

  FakeRanks ranks(std::uint32_t microbatches = 2) {
    PlanBuilder builder({{"replicate", 1}, {"shard", 2}});
    builder.parameter("w", {4}, 0, {1});
    builder.trainStep(2, 4, microbatches, 256);
    auto arena = std::make_unique<plan::ArenaT>();
    arena->space = plan::Space::device;
    arena->bytes = 4096;
    arena->workspace = 64;
    builder.plan.arenas.push_back(std::move(arena));
    FakeRanks fake(std::move(builder.plan));
    fake.onRun = [this](FakeRanks &self, std::string_view) {
      fed.push_back({self.values<std::int32_t>(0, tokens), self.values<std::int32_t>(1, tokens)});
      rates.push_back(self.values<float>(0, lr)[0]);
      counts.push_back(self.values<std::int64_t>(1, step)[0]);
      self.set(loss, nextLoss);
      self.set(norm, 2.5f);
      self.set(guard, std::uint8_t(std::isfinite(nextLoss)));
      return Status::ok();
    };
    return fake;
  }
  TrainOptions options(std::uint64_t steps = 3) {
    TrainOptions options;
    std::string text;
    for (int i = 0; i < 200; ++i)
      text += static_cast<char>(i);
    options.data = {folder.write("data", text)};
    options.steps = steps;
    return options;
  }

  std::vector<std::array<std::vector<std::int32_t>, 2>> fed;
  std::vector<float> rates;
  std::vector<std::int64_t> counts;
  float nextLoss = 1.1f;
};

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_TRAIN_TRAINERFIXTURE_H
