//===- StepLines.cpp - the steps of a run that have a line -----------------------------===//
#include "runtime/train/StepLines.h"

#include <utility>

namespace sluice {

std::optional<StepLines::Line> StepLines::add(const StepReport &report) {
  tokens += report.tokens;
  ++steps;
  milliseconds += report.milliseconds;
  const bool isDue = every != 0 ? report.step % every == 0 : printed < atFirst || milliseconds >= intervalMilliseconds;
  if (!isDue && report.step != report.steps && report.guard && !report.evaluationLoss)
    return std::nullopt;
  ++printed;
  Line line{report, std::exchange(steps, 0)};
  line.report.tokens = std::exchange(tokens, 0);
  line.report.milliseconds = std::exchange(milliseconds, 0);
  return line;
}

} // namespace sluice
