//===- RunFixture.h - a run that saves and continues --------------------------------===//
#ifndef SLUICE_TEST_UNIT_CHECKPOINT_RUNFIXTURE_H
#define SLUICE_TEST_UNIT_CHECKPOINT_RUNFIXTURE_H

#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/RunCheckpoints.h"
#include "test/unit/checkpoint/Fixture.h"

namespace sluice::test {

class Run : public ::testing::Test {
protected:
  TemporaryFolder folder;
  FakeRanks ranks = filledRanks(Layout::rows, 1);
  CheckpointOptions options;
  TrainOptions train;
  std::vector<std::string> notes;

  void SetUp() override {
    options.folder = folder.path("run");
    options.note = [this](const std::string &text) { notes.push_back(text); };
    train.data = {"data"};
  }
  static TrainProgress progress(std::uint64_t step, std::optional<double> loss = std::nullopt) {
    TrainProgress progress;
    progress.step = step;
    progress.evaluationLoss = loss;
    return progress;
  }
  /// Saves steps in a new run.
  void save(const std::vector<TrainProgress> &all) {
    RunCheckpoints run(options, train);
    ASSERT_TRUE(run.open(ranks).isOk());
    for (const TrainProgress &each : all)
      ASSERT_TRUE(run.save(ranks, each, false).isOk() && run.finish(ranks).isOk());
  }
  /// The step that a run continues from; 0: none.
  Result<std::uint64_t> resume() {
    RunCheckpoints run(options, train);
    SLUICE_ASSIGN_OR_RETURN(const bool resumes, run.open(ranks));
    if (!resumes)
      return std::uint64_t(0);
    SLUICE_ASSIGN_OR_RETURN(const TrainProgress loaded, run.load(ranks));
    return loaded.step;
  }
  void refuses(const std::string &text, StatusCode code = StatusCode::refused) {
    expectError(resume().status(), code, text);
  }
  std::vector<std::uint64_t> steps() const { return *listSteps(options.folder); }
  using Steps = std::vector<std::uint64_t>;
};

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_CHECKPOINT_RUNFIXTURE_H
