//===- Report.h - JSON lines, console lines and the progress bar of a run ----------===//
//
// Pure functions from numbers to text; the tool prints. Reading a float back gives the same value.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_REPORT_H
#define SLUICE_RUNTIME_TRAIN_REPORT_H

#include "runtime/base/DType.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// What packed rows contain.
struct PackedContent {
  /// Documents and parts of documents.
  std::uint64_t documents = 0;
  /// Their tokens; the rest of the rows is padding.
  std::uint64_t tokens = 0;
};

/// The training data, before the first step.
struct DataReport {
  struct Source {
    /// As InputData::formats().
    std::string formats;
    /// Number of rows.
    std::uint64_t rows = 0;
  };
  std::vector<Source> sources;
  /// Of the rows that are packed, and their number of positions.
  PackedContent packed;
  std::uint64_t packedPositions = 0;
  /// Tokens of a row; 0 if the model has no input "tokens".
  std::uint64_t rowTokens = 0;
  /// Tokens of the first step over all ranks, how many different ids they have, and the largest id.
  std::uint64_t tokens = 0;
  std::uint64_t distinct = 0;
  std::int64_t largest = 0;
  /// Rows of a step over all ranks; 0: they differ between steps.
  std::uint64_t stepRows = 0;
  struct Shape {
    std::string entry;
    /// Of a row, and of a step over all ranks.
    std::uint64_t rowTokens = 0, tokens = 0;
    /// Documents of a bucket, or the steps before the first one.
    std::uint64_t number = 0;
  };
  /// If steps run different entry points: those of a schedule, or of buckets of lengths.
  std::vector<Shape> shapes;
  bool isByLength = false;
  /// Epochs and their number of steps, if the run has a number of epochs.
  double epochs = 0;
  std::uint64_t steps = 0;
};

struct StepReport {
  /// Counted from 1, and how many the run has.
  std::uint64_t step = 0;
  std::uint64_t steps = 0;
  double loss = 0;
  double gradientNorm = 0;
  double learningRate = 0;
  /// Tokens of this step over all ranks.
  std::uint64_t tokens = 0;
  double milliseconds = 0;
  /// The dtype of the plan's loss, which determines the number of digits.
  DType dtype = DType::f32;
  /// False if the loss or the norm is not finite: the guard, if there is one, suppressed the update.
  bool guard = true;
  /// Rows read so far, in units of all rows of the data; if these have an end.
  std::optional<double> epoch;
  /// The same for each source of a weighted mixture; empty without weights.
  std::vector<double> sourceEpochs;
  /// Documents and their tokens in the rows of the step, if these are packed.
  std::optional<PackedContent> packed;
  /// If the step was evaluated.
  std::optional<double> evaluationLoss;
  /// The scale of this step, if it is dynamic.
  std::optional<double> lossScale;
  /// The mean over the rows of each rank, by rank; empty unless TrainOptions::logRanks.
  std::vector<double> rankLosses;
  /// The entry point, if they differ between steps.
  std::string entry;
  /// Of each entry point, if a step runs several.
  std::vector<std::pair<std::string, double>> losses;

  double tokensPerSecond() const { return milliseconds > 0 ? static_cast<double>(tokens) * 1000 / milliseconds : 0; }
};

/// The rows of an evaluation that leaves out the last incomplete batch.
struct EvaluationRows {
  std::uint64_t covered = 0;
  std::uint64_t total = 0;
  /// Of a batch over all ranks.
  std::uint64_t batch = 0;
};

/// An evaluation without training.
struct EvaluationReport {
  double loss = 0;
  DType dtype = DType::f32;
  /// exp(loss), if the loss is a cross entropy of tokens.
  std::optional<double> perplexity;
};

struct RunSummary {
  /// Bytes of one rank by memory space, the largest over ranks.
  std::map<std::string, std::uint64_t> predictedPeak;
  std::map<std::string, std::uint64_t> measuredPeak;
  /// Resident pages and pages with live bytes, where they were measured.
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> pages;
  /// Growth of the process in bytes; on a GPU it is not predicted.
  std::optional<std::uint64_t> predictedProcess;
  std::uint64_t measuredProcess = 0;
  /// Of the chat template's strftime_now(); empty: it is not called.
  std::string now;
};

/// One line of run.jsonl, without the line's end. A loss that is not finite is null, as JSON has no such numbers.
std::string jsonLine(const StepReport &report);
/// The same numbers by name, for TensorBoard.
std::vector<std::pair<std::string_view, double>> scalars(const StepReport &report);
std::string jsonLine(const EvaluationReport &report);
std::string jsonLine(const RunSummary &summary);

/// "data: 549 rows (text) of 64 tokens, first batch: 58 distinct ids in 1024 tokens (5.7%), largest id 121"; a line
/// about packed rows, "packed: 812 documents in 549 rows, 98.7% of their tokens are filled"; a line for each shape,
/// "from step 1: rows of 64 tokens in train_step, 1024 tokens in a step" or "bucket: 549 rows of 64 tokens in
/// train_step, 1024 tokens in a step"; a line with the number of steps of the epochs.
std::string dataLine(const DataReport &report);

/// "eval data: 16 of 23 rows, the other 7 do not fill a batch of 16 rows".
std::string dataLine(const EvaluationRows &rows);

/// "step 10/200  loss 4.09812  grad_norm 1.234  lr 0.001  tok/s 12345  epoch 0.18".
std::string consoleLine(const StepReport &report);

/// "eval_loss 4.71182  perplexity 111.25".
std::string consoleLine(const EvaluationReport &report);

/// "time 00:12  eta 01:48": `elapsed` seconds since the first step began, and the time that the remaining steps take at
/// this rate.
std::string timeText(const StepReport &report, double elapsed);

/// "mfu 41.2%": the part of the device's floating-point operations per second that these take in `seconds`.
std::string utilizationText(double flops, double seconds, double flopsPerSecond);

/// A progress bar of at most `columns` columns; `elapsed` in seconds since the first step began.
std::string progressBar(const StepReport &report, double elapsed, int columns);

/// "predicted peak = measured peak: device 1234 (1.21 KiB) requested", or both numbers if they differ; a second line
/// with the resident memory of the process, and a third with the pages of the arenas if they were measured.
std::string summaryLine(const RunSummary &summary);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_REPORT_H
