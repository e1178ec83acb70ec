//===- Feeder.h - fills an entry point's inputs, step by step ---------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_FEEDER_H
#define SLUICE_RUNTIME_TRAIN_FEEDER_H

#include "runtime/train/DataMixture.h"
#include "runtime/train/InputData.h"
#include "runtime/train/Report.h"
#include "runtime/train/StepInputs.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

struct FeederOptions {
  /// Paths, globs, or random:SEED. Without weights their rows follow one another.
  std::vector<std::string> data;
  DataFiles files;
  /// Empty, or one positive weight per element of `data`: its share of the rows is its share of the sum of weights.
  std::vector<double> weights;
  /// Key of dropout and of the order of the data.
  std::uint64_t seed = 0;
  bool shuffled = false;
  /// Every step uses the rows of the first.
  bool overfit = false;
};

/// Writes the StepInputs, and every other input from the rank's rows of the data.
class Feeder {
public:
  /// Opens the data and reports all errors in them.
  static Result<Feeder> make(const Ranks &ranks, const plan::EntryT &entry, const FeederOptions &options);

  /// The step, from 0, that reads the row at position `row` (DataOrder.h): later steps follow it. Without a call it is
  /// step 0, and row 0.
  void beginAt(std::uint64_t step, std::uint64_t row);

  /// Makes a micro-batch without a counted target an error of feed(), if the entry point's loss is the mean over the
  /// targets of a rank's micro-batch.
  void requireTargets();
  /// This error for the steps from `first` to before `last`, as far as a bounded part of the data shows it.
  Status checkTargets(std::uint64_t first, std::uint64_t last);

  /// Steps count from 0.
  Status feed(Ranks &ranks, std::uint64_t step, const StepScalars &scalars);
  /// Elements of the first data input in one step, over all ranks: tokens, for a language model.
  std::uint64_t tokensPerStep() const { return tokens; }
  /// The position of the first row that a step reads.
  std::uint64_t positionOf(std::uint64_t step) const { return order.position(step, 0, 0, 0); }
  /// Elements of a row of the first data input; 0 without data.
  std::uint64_t rowTokens() const { return ports.empty() ? 0 : rowElements(*ports[0]); }
  std::uint64_t rowsPerStep() const { return order.microbatches * order.ranks * order.rows; }
  /// All rows of all sources; nullopt if they are unbounded or there are no data.
  std::optional<std::uint64_t> totalRows() const;
  /// Number of steps without a repeated row, unless there are weights; nullopt if the data are unbounded or empty.
  std::optional<std::uint64_t> completeSteps() const;
  /// The first step before which at least `epochs` times all rows are read; a usage error if the data are unbounded or
  /// empty.
  Result<std::uint64_t> stepsOfEpochs(double epochs) const;
  /// Rows of the first `steps` steps, in units of all rows; nullopt if the data are unbounded or empty, or each step
  /// reads the same rows.
  std::optional<double> epoch(std::uint64_t steps) const;
  /// The same for each source; empty without weights.
  std::vector<double> sourceEpochs(std::uint64_t steps) const;
  /// The documents in all rows of a step, counted from 0; nullopt if rows are not packed.
  std::optional<PackedContent> packed(std::uint64_t step) const;
  /// The documents of all rows; zeros if rows are not packed.
  PackedContent content() const;
  /// Reads the rows of the first step, also of ranks of other processes; nullopt if the data are unbounded or empty.
  Result<std::optional<DataReport>> describe();

private:
  Status open();
  /// The source and the row that are read at a position.
  std::pair<InputData *, std::uint64_t> rowAt(std::uint64_t position) const;
  /// Reads the row at a position into `windows`.
  Status read(std::uint64_t position);
  /// True if a row that was read has a counted target.
  bool hasTarget() const;
  Status noTarget(std::uint64_t step, std::uint64_t place, std::uint64_t repetition) const;
  Status feedRow(Ranks &ranks, int rank, std::uint64_t step, std::uint64_t place, std::uint64_t repetition,
                 std::uint64_t row);

  const plan::EntryT *entry = nullptr;
  FeederOptions options;
  StepInputs inputs;
  DataOrder order;
  std::uint64_t tokens = 0;
  /// By source: one per element of FeederOptions::data with weights, otherwise one; empty if there are no data.
  std::vector<std::unique_ptr<InputData>> data;
  DataMixture mixture{std::array{1.0}, 0};
  /// Of the data.
  std::vector<const plan::PortT *> ports;
  /// The port of required targets, and the number of an ignored target.
  std::optional<std::size_t> targets;
  std::int64_t ignored = 0;
  /// One row of each port, and views of them: members, so that a step does not allocate.
  std::vector<std::vector<std::byte>> rows;
  std::vector<std::span<std::byte>> windows;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_FEEDER_H
