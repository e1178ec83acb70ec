//===- Console.h - the progress of a run on standard output ---------------------------===//
#ifndef SLUICE_TOOLS_TRAIN_CONSOLE_H
#define SLUICE_TOOLS_TRAIN_CONSOLE_H

#include "runtime/train/Trainer.h"

#include <string>
#include <vector>

namespace sluice {

/// Prints a progress bar on a terminal, a line per step elsewhere; nothing if `quiet`.
class Console : public TrainObserver {
public:
  Console(Ranks &ranks, bool quiet, bool trace);

  void onData(const DataReport &report) override;
  void onBegin() override;
  void onStep(const StepReport &report) override;
  void onStopped(std::uint64_t step) override;
  void onSummary(const RunSummary &summary) override;

  /// Prints the last line of a run, after the generated text.
  void close();

  /// Spans of all steps, if `trace`.
  std::vector<Span> spans;

private:
  Ranks &ranks;
  bool quiet;
  bool trace;
  bool bar = false;
  double elapsed = 0;
  std::string closing;
};

} // namespace sluice

#endif // SLUICE_TOOLS_TRAIN_CONSOLE_H
