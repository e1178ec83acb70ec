//===- TrainSession.h - the steps of a training ------------------------------------------===//
//
// Initializes open ranks or continues from a checkpoint, and runs steps: scalars of the step, the learning rate, the
// loss scale, the guard, the progress, and checkpoints. train() feeds it from files of data, the C interface from
// tensors of the caller.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_TRAINSESSION_H
#define SLUICE_RUNTIME_TRAIN_TRAINSESSION_H

#include "runtime/train/Checkpointer.h"
#include "runtime/train/LearningRate.h"
#include "runtime/train/Report.h"
#include "runtime/train/StepInputs.h"

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// Initial weights: entry "init" with the seed, then the weights file if there is one. The result: the dtypes of the
/// parameters in the file (loadWeights()); empty without a file.
Result<std::vector<DType>> initialize(Ranks &ranks, std::uint64_t seed, const std::string &init);

struct SessionOptions {
  std::uint64_t seed = 0;
  /// Safetensors file or folder; empty: the plan's initializers.
  std::string init;
  /// Steps of the run, for a learning-rate schedule without a length.
  std::uint64_t steps = 0;
  /// Null: none. Not owned.
  Checkpointer *checkpoints = nullptr;
};

/// An entry point that a step runs.
struct StepEntry {
  /// `feed` writes the inputs, before the run.
  StepEntry(const plan::EntryT &entry, std::function<Status(const StepScalars &)> feed);

  const plan::EntryT *entry;
  std::function<Status(const StepScalars &)> feed;
  /// The loss is scaled.
  bool isScaled = false;
  /// An update that is not finite is suppressed, if there is an update.
  bool isGuarded = true;
};

struct StepRequest {
  /// One after another; the loss and norm of the step are those of the first one.
  std::span<const StepEntry> entries;
  double learningRate = 0;
  /// False: the next step, or finish(), follows before any read or other run. Then a step of one entry point may begin
  /// while this one still updates.
  bool isComplete = true;
  /// A step that fails is repeated, to name the first value that is not finite.
  bool findNonFinite = false;
  /// StepReport::rankLosses.
  bool readsRankLosses = false;
};

struct StepOutcome {
  /// StatusCode::failed after a step whose loss or gradients are not finite, unless a smaller loss scale may help.
  Status status;
  /// The first such value of the repeated step.
  std::string nonFinite;
};

/// The ranks outlive it. Used by one thread.
class TrainSession {
public:
  TrainSession(Ranks &ranks, SessionOptions options);

  /// Initializes the parameters and states, or reads them from the checkpoint to continue from. Called once, first.
  Status open();
  /// The dtypes of the parameters in SessionOptions::init.
  const std::vector<DType> &loaded() const { return loadedTypes; }
  const TrainProgress &progress() const { return done; }
  /// The schedule's learning rate of the next step.
  double learningRate() const { return rate.at(done.step); }
  /// True if a checkpoint follows the step, counted from 1.
  bool isCheckpointDue(std::uint64_t step) const;

  /// Runs the next step, and fills in what the ranks know of it: all but the epochs and tokens. An error is that of
  /// ranks or inputs: no further step can run. After a failed outcome the step is not counted.
  Result<StepOutcome> step(const StepRequest &request, StepReport &report);
  /// Waits for the update of the last step.
  Status finish() { return ranks.finish(); }

  /// After a step: the loss of its evaluation, or none.
  void setEvaluationLoss(std::optional<double> loss) { done.evaluationLoss = loss; }
  /// TrainProgress::rowsRead, before save().
  void setRowsRead(std::vector<std::uint64_t> rows) { done.rowsRead = std::move(rows); }
  /// Begins to write a checkpoint; the final one is complete on return.
  Status save(bool isFinal);
  /// Waits for the checkpoint that is being written.
  Status finishCheckpoint();

private:
  Ranks &ranks;
  const SessionOptions options;
  const LearningRate rate;
  TrainProgress done;
  std::vector<DType> loadedTypes;
  /// When the result of the previous step was known, if the next step follows it.
  std::optional<std::chrono::steady_clock::time_point> known;
};

/// The output with the loss of a rank's rows. In a plan of one rank it is the loss.
plan::PortRole rankLossRole(const Ranks &ranks);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_TRAINSESSION_H
