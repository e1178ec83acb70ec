//===- Trainer.h - the loop over steps --------------------------------------------===//
//
// Feeds batches and scalars to the ranks, runs the entry points, reads losses, writes run.jsonl, saves weights. It uses
// ports by their names and does not depend on the model: inputs "lr", "loss_scale", "step" (from 1), "seed", "row",
// all others filled from the data; outputs "loss", "grad_norm", "guard".
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_TRAINER_H
#define SLUICE_RUNTIME_TRAIN_TRAINER_H

#include "runtime/train/Checkpointer.h"
#include "runtime/train/EntrySchedule.h"
#include "runtime/train/Evaluation.h"
#include "runtime/train/Ranks.h"
#include "runtime/train/Report.h"
#include "runtime/train/Weights.h"

#include <atomic>
#include <string>
#include <vector>

namespace sluice {

struct TrainOptions : FeederOptions, EntryScheduleOptions {
  std::uint64_t steps = 100;
  /// If not 0, determines the number of steps.
  double epochs = 0;
  EvaluationOptions evaluation;
  /// Safetensors file or folder; empty: the plan's initializers.
  std::string init;
  /// run.jsonl; empty: none.
  std::string log;
  /// run.jsonl has the loss of each rank.
  bool logRanks = false;
  /// contentDigest() of each element of `data`, and the digest of the tokenizer that read them; empty: unknown.
  std::vector<std::string> dataContents;
  std::string tokenizerDigest;
  /// Folder for model.safetensors, config.json and run.toml; empty: none.
  std::string save;
  SaveOptions saving;
  /// Files that are copied to the same folder: those of the tokenizer, and generation_config.json.
  std::vector<std::string> copied;
  /// The text of run.toml.
  std::string config;
  /// RunSummary::now.
  std::string now;
  /// Folder for an event file of TensorBoard; empty: none.
  std::string tensorboard;
  /// Ends before the first step, and writes nothing.
  bool dryRun = false;
  /// A step that ends the run because a value is not finite is repeated, to name the first such value.
  bool findNonFinite = false;
  /// Training checkpoints; null: none. Not owned.
  Checkpointer *checkpoints = nullptr;
  /// restartProcessHighWater() before the plan was read.
  std::uint64_t processBefore = 0;
  /// Set from outside (a signal): the current step is finished, weights are saved, the run ends.
  const std::atomic<bool> *stop = nullptr;
};

/// Observes the run; called by the training thread.
class TrainObserver {
public:
  virtual ~TrainObserver() = default;
  /// Parameters are initialized and outputs opened: the first step comes next.
  virtual void onBegin() {}
  /// On the root: the data were opened, if there are any with an end. Called before onBegin().
  virtual void onData(const DataReport &report) {}
  /// On the root: the evaluations leave out rows. Called before onBegin().
  virtual void onRowsLeftOut(const EvaluationRows &rows) {}
  virtual void onStep(const StepReport &report) = 0;
  /// After evaluate().
  virtual void onEvaluation(const EvaluationReport &report) {}
  virtual void onSummary(const RunSummary &summary) {}
  /// The run ends after this step because of an interrupt.
  virtual void onStopped(std::uint64_t step) {}
  /// The run continues.
  virtual void onWarning(const Status &warning) {}
};

/// Trains. Errors in data and outputs are reported before the first step. A step whose guard is 0 left the
/// weights as they were: the weights are saved, and the run ends with StatusCode::failed naming step and loss, unless a
/// smaller loss scale may help. An evaluation without a target that counts ends the run as a signal does, with an
/// error. If the log can no longer be written, the run continues without it, after a warning.
Status train(Ranks &ranks, const TrainOptions &options, TrainObserver &observer);

/// Initializes the weights and evaluates them, if there are data for it; nothing is trained. Outputs as of train().
Status evaluate(Ranks &ranks, const TrainOptions &options, TrainObserver &observer);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_TRAINER_H
