//===- FaultTest.cpp - each system call of a save and a load fails -----------------------===//
//
// As SQLite's tests do: the same work again and again, with a fault at the first call, the second, and so on, until the
// work has no call that the fault reaches.
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/RunCheckpoints.h"
#include "test/unit/checkpoint/Faults.h"
#include "test/unit/checkpoint/Fixture.h"

#include <cerrno>
#include <sys/wait.h>

using namespace sluice;
using namespace sluice::test;
namespace fs = std::filesystem;

namespace {

class Faults : public ::testing::Test {
protected:
  TemporaryFolder folder;
  std::string run = folder.path("run");
  /// Filled once: the tests have thousands of rounds.
  const FakeRanks first = filledRanks(Layout::columns, 1), second = filledRanks(Layout::columns, 2);

  /// A run that reads only does not wait for the lock of a run that writes.
  RunCheckpoints checkpoints(bool writes = true, std::function<void(const std::string &)> note = {},
                             std::uint64_t maxFailedSaves = 3) const {
    CheckpointOptions options;
    options.note = std::move(note);
    options.maxFailedSaves = maxFailedSaves;
    if (writes)
      options.folder = run;
    else
      options.resume = run;
    options.every = 1;
    TrainOptions train;
    train.data = {"data"};
    return RunCheckpoints(options, train);
  }
  static TrainProgress progress(std::uint64_t step) {
    TrainProgress progress;
    progress.step = progress.updates = step;
    return progress;
  }
  /// A folder with the checkpoint of step 1.
  void begin() {
    fs::remove_all(run);
    RunCheckpoints writer = checkpoints();
    ASSERT_TRUE(writer.open(first).isOk());
    ASSERT_TRUE(writer.save(first, progress(1), true).isOk());
  }
  Status saveSecond() const {
    RunCheckpoints writer = checkpoints();
    Result<bool> opened = writer.open(second);
    return opened.isOk() ? writer.save(second, progress(2), true) : opened.takeStatus();
  }
  /// A save between two steps.
  Status saveDue(RunCheckpoints &writer, std::uint64_t step) const {
    SLUICE_RETURN_IF_ERROR(writer.save(second, progress(step), false));
    return writer.finish(second);
  }
  /// The step that a new run continues from; its tensors are exactly those of that step.
  std::uint64_t resumedStep() const {
    FakeRanks ranks(modelPlan(Layout::columns).plan);
    RunCheckpoints reader = checkpoints(/*writes=*/false);
    Result<bool> opened = reader.open(ranks);
    EXPECT_TRUE(opened.isOk()) << opened.status().message();
    if (!opened.isOk() || !*opened)
      return 0;
    Result<TrainProgress> loaded = reader.load(ranks);
    EXPECT_TRUE(loaded.isOk());
    EXPECT_TRUE(isSame(ranks, loaded->step == 1 ? first : second)) << "step " << loaded->step;
    return loaded->step;
  }
  /// A later save without a fault leaves only complete checkpoints.
  void expectSaves() const {
    const Status status = saveSecond();
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(resumedStep(), 2u);
    for (const auto &each : fs::directory_iterator(run))
      EXPECT_TRUE(each.path().filename() == ".lock" || stepOf(each.path().string())) << each.path();
  }
  /// Runs saveSecond() in a separate process, which the fault may end; its exit code.
  int forkSave(const Fault &fault, bool &fired) const {
    const pid_t child = ::fork();
    if (child == 0) {
      int code = 0;
      {
        ArmedFault armed(fault);
        code = saveSecond().isOk() ? 0 : 1;
        // A save that has returned survives it.
        armed.losePower();
      }
      ::_exit(code);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    fired = WEXITSTATUS(status) == faultExit;
    return WEXITSTATUS(status);
  }
};

constexpr Fault savingFaults[] = {{FaultKind::error, EIO, 0, false},    {FaultKind::error, EIO, 0, true},
                                  {FaultKind::error, ENOSPC, 0, false}, {FaultKind::error, ENOSPC, 0, true},
                                  {FaultKind::error, EINTR, 0, false},  {FaultKind::shortTransfer, 0, 0, false}};

// Tests that after a failed save the earlier checkpoint is complete and the next save works; a save that reports
// success is complete.
TEST_F(Faults, OfSavesLeaveTheEarlierCheckpoint) {
  for (Fault fault : savingFaults) {
    int failures = 0;
    for (bool fired = true; fired; ++fault.call) {
      begin();
      Status status;
      {
        ArmedFault armed(fault);
        status = saveSecond();
        fired = armed.hasFired();
      }
      failures += !status.isOk();
      EXPECT_TRUE(fired || status.isOk()) << status.message();
      const std::uint64_t step = resumedStep();
      EXPECT_EQ(step, status.isOk() ? 2u : step) << "call " << fault.call << " of error " << fault.error;
      EXPECT_GE(step, 1u) << "call " << fault.call << " of error " << fault.error;
      expectSaves();
      if (HasFailure())
        return;
    }
    EXPECT_GT(fault.call, 50);
    EXPECT_GT(failures, fault.kind == FaultKind::shortTransfer ? 0 : 20);
  }
}

// Tests that a run continues after a failed save, whose step has no checkpoint then, and its next save works.
TEST_F(Faults, OfSavesDoNotEndTheRun) {
  for (Fault fault : savingFaults) {
    int failures = 0;
    for (bool fired = true; fired; ++fault.call) {
      begin();
      std::vector<std::string> notes;
      RunCheckpoints writer = checkpoints(true, [&](const std::string &text) { notes.push_back(text); });
      ASSERT_TRUE(writer.open(second).isOk());
      {
        ArmedFault armed(fault);
        const Status status = saveDue(writer, 2);
        EXPECT_TRUE(status.isOk()) << status.message();
        fired = armed.hasFired();
      }
      const bool failed = std::ranges::any_of(notes, [](const std::string &note) {
        return note.starts_with("the checkpoint of step 2 could not be written: ");
      });
      failures += failed;
      // An error in the last call, the fsync of the folder, leaves a complete checkpoint.
      EXPECT_TRUE(failed || resumedStep() == 2u) << "call " << fault.call << " of error " << fault.error;
      const Status status = writer.save(second, progress(3), true);
      EXPECT_TRUE(status.isOk()) << status.message();
      EXPECT_EQ(resumedStep(), 3u);
      if (HasFailure())
        return;
    }
    EXPECT_GT(failures, fault.kind == FaultKind::shortTransfer ? 0 : 10);
  }
}

// Tests that a run ends after --max-failed-saves, whichever call of both saves fails.
TEST_F(Faults, ThatStayEndTheRunAfterSeveralSaves) {
  int ended = 0;
  Fault fault{FaultKind::error, ENOSPC, 0, true};
  for (bool fired = true; fired; ++fault.call) {
    begin();
    std::vector<std::string> notes;
    const auto hasFailed = [&](const std::string &step) {
      return std::ranges::any_of(notes, [&](const std::string &note) {
        return note.starts_with("the checkpoint of step " + step + " could not be written: ");
      });
    };
    RunCheckpoints writer = checkpoints(true, [&](const std::string &text) { notes.push_back(text); }, 2);
    ASSERT_TRUE(writer.open(second).isOk());
    ArmedFault armed(fault);
    EXPECT_TRUE(saveDue(writer, 2).isOk());
    const bool firstFailed = hasFailed("2");
    const Status status = saveDue(writer, 3);
    EXPECT_FALSE(firstFailed && hasFailed("3")) << "call " << fault.call;
    if (!status.isOk()) {
      EXPECT_TRUE(firstFailed) << "call " << fault.call;
      EXPECT_EQ(status.notes().back(), "the checkpoint of step 3 could not be written, and 1 before it");
      ++ended;
    }
    fired = armed.hasFired();
    if (HasFailure())
      return;
  }
  EXPECT_GT(fault.call, 100);
  EXPECT_GT(ended, 20);
}

// Tests that a process or a machine that ends in any call of a save leaves a checkpoint to continue from.
TEST_F(Faults, ThatEndTheProcessLeaveACheckpoint) {
  for (FaultKind kind : {FaultKind::kill, FaultKind::powerLoss, FaultKind::powerLossWithRenames}) {
    Fault fault{kind};
    int ended = 0;
    for (bool fired = true; fired; ++fault.call) {
      begin();
      const int code = forkSave(fault, fired);
      ended += fired;
      EXPECT_TRUE(fired || code == 0);
      const std::uint64_t step = resumedStep();
      EXPECT_EQ(step, fired ? step : 2u);
      EXPECT_GE(step, 1u) << "call " << fault.call;
      expectSaves();
      if (HasFailure())
        return;
    }
    EXPECT_GT(ended, 50);
  }
}

// Tests that a load fails or has the right values: a checkpoint that cannot be read is not damaged, and stays.
TEST_F(Faults, OfLoadsGiveNoWrongValue) {
  const Fault kinds[] = {{FaultKind::error, EIO, 0, false},
                         {FaultKind::error, EINTR, 0, false},
                         {FaultKind::shortTransfer, 0, 0, false},
                         {FaultKind::error, EIO, 0, true}};
  begin();
  ASSERT_TRUE(saveSecond().isOk());
  for (Fault fault : kinds) {
    int failures = 0;
    for (bool fired = true; fired; ++fault.call) {
      FakeRanks ranks(modelPlan(Layout::columns).plan);
      {
        ArmedFault armed(fault);
        RunCheckpoints reader = checkpoints();
        Result<bool> opened = reader.open(ranks);
        if (opened.isOk() && *opened) {
          Result<TrainProgress> loaded = reader.load(ranks);
          EXPECT_TRUE(!loaded.isOk() || isSame(ranks, second)) << "step " << loaded->step;
          failures += !loaded.isOk();
        } else {
          EXPECT_FALSE(opened.isOk()) << "call " << fault.call << ": started again";
          ++failures;
        }
        fired = armed.hasFired();
      }
      EXPECT_EQ(resumedStep(), 2u);
      if (HasFailure())
        return;
    }
    EXPECT_GT(fault.call, 20);
    EXPECT_TRUE(failures > 0 || fault.kind == FaultKind::shortTransfer);
  }
}

} // namespace
