//===- StepInputs.h - the inputs of an entry point that the host computes ---------------===//
#ifndef SLUICE_RUNTIME_TRAIN_STEPINPUTS_H
#define SLUICE_RUNTIME_TRAIN_STEPINPUTS_H

#include "runtime/train/DataOrder.h"
#include "runtime/train/Ranks.h"

#include <vector>

namespace sluice {

/// Scalars of a step in addition to its data.
struct StepScalars {
  double learningRate = 0;
  double lossScale = 1;
  /// The number of the current update, from 1.
  std::uint64_t update = 1;
};

/// "lr", "loss_scale", "step" (from 1) and "seed" as they are, and "row": the number, within the step, of the first row
/// of a rank's micro-batch.
class StepInputs {
public:
  /// An error if another input has the name of one of these.
  static Result<StepInputs> make(const Ranks &ranks, const plan::EntryT &entry, std::uint64_t seed);

  Status write(Ranks &ranks, const StepScalars &scalars) const;

  /// The inputs that the data fill, in the order of the plan.
  const std::vector<const plan::PortT *> &dataPorts() const { return ports; }
  /// Micro-batches, data-parallel ranks, and rows of a micro-batch: those of the first input of the data.
  const DataOrder &order() const { return dataOrder; }
  /// The coordinate of a rank along the data-parallel axes.
  std::uint64_t place(int rank) const { return places[static_cast<std::size_t>(rank)]; }

private:
  Status writeRowNumbers(Ranks &ranks) const;

  const plan::EntryT *entry = nullptr;
  std::uint64_t seed = 0;
  DataOrder dataOrder;
  std::vector<std::uint64_t> places;
  std::vector<const plan::PortT *> ports;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_STEPINPUTS_H
