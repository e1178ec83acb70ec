//===- RunCheckpoints.h - the checkpoints of a run ---------------------------------------===//
#ifndef SLUICE_RUNTIME_CHECKPOINT_RUNCHECKPOINTS_H
#define SLUICE_RUNTIME_CHECKPOINT_RUNCHECKPOINTS_H

#include "runtime/base/Descriptor.h"
#include "runtime/checkpoint/Reader.h"
#include "runtime/train/Trainer.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

struct CheckpointOptions {
  /// Folder of the run's checkpoints; empty: none is written.
  std::string folder;
  /// Steps between checkpoints; 0: only at the end of the run.
  std::uint64_t every = 500;
  /// Number of the latest checkpoints that are kept; 0: all.
  std::uint64_t keep = 0;
  /// Also keeps the one with the lowest evaluation loss.
  bool keepBest = false;
  /// "auto": the newest checkpoint of the folder, or an earlier one if it is damaged; "none"; or a checkpoint, or a
  /// folder of them.
  std::string resume = "auto";
  /// Continues with data whose content is not that of the checkpoint's run.
  bool allowChangedData = false;
  /// Failed saves in a row after which the run ends.
  std::uint64_t maxFailedSaves = 3;
  /// Receives notes for the user.
  std::function<void(const std::string &)> note = {};
};

/// The ranks outlive it.
class RunCheckpoints final : public Checkpointer {
public:
  /// `train` is what identifies the run; it is copied.
  RunCheckpoints(CheckpointOptions given, const TrainOptions &train);
  /// Ends a write that was not waited for, and waits for its last system call; its checkpoint remains partial.
  ~RunCheckpoints() override { cancelled = true; }

  /// Reads index and state, not the tensors. A folder with the checkpoints of another run, or a checkpoint of another
  /// model, is StatusCode::refused. So are processes that see different checkpoints.
  Result<bool> open(const Ranks &ranks) override;
  /// Verifies every byte. After a damaged checkpoint `auto` loads the one before it.
  Result<TrainProgress> load(Ranks &ranks) override;
  bool isDue(std::uint64_t step) const override {
    return !options.folder.empty() && options.every != 0 && step % options.every == 0;
  }
  Status save(const Ranks &ranks, const TrainProgress &progress, bool isFinal) override;
  Status finish(const Ranks &ranks) override { return collect(ranks, endSilence, /*isFinal=*/false); }
  /// The same where no later checkpoint can replace it: a failed write is an error.
  Status finishLast(const Ranks &ranks) { return collect(ranks, endSilence, /*isFinal=*/true); }

private:
  struct Written {
    Status saved;
    /// Of the removal of earlier checkpoints.
    Status pruned;
  };
  /// Without memory it fails if all ranks are in this process, and throws std::bad_alloc otherwise.
  Written write(const Ranks &ranks, const TrainingState &state) const;
  /// The end of a run waits for its checkpoint, which is reported only if it takes longer.
  static constexpr std::chrono::milliseconds endSilence{1000};
  Status collect(const Ranks &ranks, std::chrono::milliseconds silence, bool isFinal);
  void note(const std::string &text) const;
  Result<std::vector<std::string>> candidates();
  Status checkSteps(const Ranks &ranks) const;
  Status checkRun(const Ranks &ranks, bool isOwnFolder);
  Status checkData() const;
  Status openCandidate(const Ranks &ranks, const std::string &path, bool &isSame);
  /// Opens the first of `untried` that can be opened, and checks it; false: there was none.
  Result<bool> choose(const Ranks &ranks);
  void passOver(const std::string &path, Status why);
  Status prune(bool damagedToo) const;
  /// Removes what a killed run has left.
  void cleanUp(const Ranks &ranks) const;

  CheckpointOptions options;
  /// Of the folder, on the root.
  Descriptor lock;
  /// All but the progress and what the plan has.
  TrainingState run;
  /// The checkpoint that the run continues from, until it is loaded.
  std::unique_ptr<CheckpointReader> reader;
  /// Processes have separate copies of it.
  bool isCopied = false;
  /// Paths of the checkpoints to try after it, the last one first.
  std::vector<std::string> untried;
  /// Those that could not be read, and the reason of the latest.
  std::vector<std::string> damaged;
  Status damage;
  std::uint64_t failed = 0;
  /// The step of the latest checkpoint that was read or written.
  std::uint64_t lastStep = 0;
  std::atomic<bool> cancelled = false;
  /// The write in a second thread, and its step; valid until collect().
  std::future<Written> writing;
  std::uint64_t writtenStep = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CHECKPOINT_RUNCHECKPOINTS_H
