//===- Checkpointer.h - the interface of the training loop to its checkpoints --------===//
//
// The loop decides at which point the ranks are idle, and the checkpointer (runtime/checkpoint) which values are loaded
// and written then. With several processes each calls the same functions in the same order.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_CHECKPOINTER_H
#define SLUICE_RUNTIME_TRAIN_CHECKPOINTER_H

#include "runtime/train/LossScale.h"
#include "runtime/train/Ranks.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice {

/// The numbers that the loop carries from step to step.
struct TrainProgress {
  /// Completed steps.
  std::uint64_t step = 0;
  /// Applied updates, the optimizers' step count.
  std::uint64_t updates = 0;
  LossScale lossScale;
  /// If an evaluation followed the step.
  std::optional<double> evaluationLoss;
  /// The position in the data (DataOrder.h) of the next row of each entry point or shape (EntrySchedule.h); empty if a
  /// caller feeds the steps, or a run of an earlier version wrote the checkpoint.
  std::vector<std::uint64_t> rowsRead;
};

class Checkpointer {
public:
  virtual ~Checkpointer() = default;
  /// Chooses the checkpoint to continue from; false: the run starts at the first step.
  virtual Result<bool> open(const Ranks &ranks) = 0;
  /// After open() returned true: verifies that checkpoint and reads it into idle ranks.
  virtual Result<TrainProgress> load(Ranks &ranks) = 0;
  /// True if a checkpoint follows this step (from 1).
  virtual bool isDue(std::uint64_t step) const = 0;
  /// Copies idle ranks, and writes the copy as a checkpoint while they run, unless this step has one. Before it, and
  /// after the final one of the run, it waits for the latest write. A failed write is an error if it is the final one
  /// or too many have failed; otherwise it is reported, and the run continues.
  virtual Status save(const Ranks &ranks, const TrainProgress &progress, bool isFinal) = 0;
  /// Waits for the latest write, at the end of a run that has no final checkpoint.
  virtual Status finish(const Ranks &ranks) = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_CHECKPOINTER_H
