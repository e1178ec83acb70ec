//===- Console.h - the progress of a run on standard output ---------------------------===//
#ifndef SLUICE_TOOLS_TRAIN_CONSOLE_H
#define SLUICE_TOOLS_TRAIN_CONSOLE_H

#include "runtime/base/Descriptor.h"
#include "runtime/train/LossCurve.h"
#include "runtime/train/StepLines.h"
#include "runtime/train/Trainer.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct ConsoleOptions {
  /// Prints warnings only.
  bool quiet = false;
  /// Only one rank prints.
  bool isRoot = true;
  /// Steps between two lines, which then have the time and the memory too; 0: as StepLines decides.
  std::uint64_t logEvery = 0;
  /// Of one rank in a step, and of its device per second, for the utilization in these lines; 0: unknown.
  std::uint64_t flops = 0;
  std::uint64_t flopsPerSecond = 0;
  /// Standard output is a terminal that mpirun made, and mpirun copies it to its own output.
  bool isCopiedByMpirun = false;
  /// close() prints the memory of the run.
  bool showsSummary = true;
  /// Keeps the spans of all steps.
  bool trace = false;
};

/// Prints a progress bar and a curve of the losses on a terminal, lines elsewhere.
class Console : public TrainObserver {
public:
  Console(Ranks &ranks, const ConsoleOptions &options);

  void onData(const DataReport &report) override;
  void onRowsLeftOut(const EvaluationRows &rows) override;
  void onBegin() override;
  void onStep(const StepReport &report) override;
  void onEvaluation(const EvaluationReport &report) override;
  void onStopped(std::uint64_t step) override;
  void onWarning(const Status &warning) override;
  void onSummary(const RunSummary &summary) override;

  /// Prints the next part of a generated text: to a terminal printable(), with an incomplete character after the part
  /// that completes it; elsewhere its bytes.
  void printText(std::string_view text);
  /// Prints the last line of a run, after the generated text.
  void close();

  /// Ends the line of the progress bar, if it is drawn, so that a message starts on a new line.
  static void endLine();

  /// Spans of all steps, if ConsoleOptions::trace.
  std::vector<Span> spans;

private:
  /// Prints a line of the data, unless options say otherwise.
  void printData(const std::string &line) const;
  void printLine(const StepReport &report);

  Ranks &ranks;
  const ConsoleOptions options;
  StepLines lines;
  /// Open if the output is shown on a terminal.
  const Descriptor terminal;
  /// The terminal can draw the progress bar.
  const bool hasBar;
  double elapsed = 0;
  LossCurve curve;
  std::string closing;
  /// Bytes of an incomplete character.
  std::string held;
};

} // namespace sluice

#endif // SLUICE_TOOLS_TRAIN_CONSOLE_H
