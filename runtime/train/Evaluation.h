//===- Evaluation.h - the loss on other data, without training on them ----------===//
#ifndef SLUICE_RUNTIME_TRAIN_EVALUATION_H
#define SLUICE_RUNTIME_TRAIN_EVALUATION_H

#include "runtime/train/Feeder.h"
#include "runtime/train/Report.h"

#include <atomic>
#include <optional>

namespace sluice {

struct EvaluationOptions {
  /// As TrainOptions::data; empty: no evaluation.
  std::vector<std::string> data;
  DataFiles files;
  /// Steps between two evaluations; the last step is followed by one in any case.
  std::uint64_t every = 0;
  /// Batches of one evaluation, at most all complete ones; 0: all, or 20 if the data are unbounded.
  std::uint64_t batches = 0;
};

/// The loss of the rows of an evaluation.
struct EvaluationSum {
  double loss = 0;
  /// The number of counted targets, or of batches if the loss counts none, in a unit that all batches have in common.
  double weight = 0;

  /// An input error if no target counts.
  Result<double> mean() const;
};

/// Runs the entry point `eval_step`, which shares the state of the other entry points and does not change it.
class Evaluation {
public:
  /// Reports all errors in the data. `seed` is that of the run.
  static Result<Evaluation> make(const Ranks &ranks, const EvaluationOptions &options, std::uint64_t seed);

  /// True if an evaluation follows step `step` of `steps`, counted from 1.
  bool isDue(std::uint64_t step, std::uint64_t steps) const {
    return entry && (step == steps || (options.every && step % options.every == 0));
  }
  bool hasData() const { return entry != nullptr; }
  /// The report of a mean loss.
  EvaluationReport report(double loss) const;
  /// The rows that it covers, and those that it leaves out; nullopt if it leaves out none, or `batches` says so.
  std::optional<EvaluationRows> leftOut() const;
  /// The sum of the loss over the batches, after `updates` updates; nullopt if `stop` ended it early. It depends on the
  /// rows that it covers, and neither on their number in a batch nor on the number of ranks.
  Result<std::optional<EvaluationSum>> run(Ranks &ranks, std::uint64_t updates, const std::atomic<bool> *stop);

private:
  EvaluationOptions options;
  const plan::EntryT *entry = nullptr;
  Feeder feeder;
  std::uint64_t batches = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_EVALUATION_H
