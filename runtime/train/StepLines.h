//===- StepLines.h - the steps of a run that have a line -------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_STEPLINES_H
#define SLUICE_RUNTIME_TRAIN_STEPLINES_H

#include "runtime/train/Report.h"

#include <cstdint>
#include <optional>

namespace sluice {

/// Where the output is no terminal, not every step has a line: a log of a long run stays short.
class StepLines {
public:
  /// Lines before the interval counts, and the interval of the step times.
  static constexpr std::uint64_t atFirst = 10;
  static constexpr double intervalMilliseconds = 5000;

  /// `every`: steps between two lines; 0: `atFirst` lines, then one after each interval.
  explicit StepLines(std::uint64_t every) : every(every) {}

  struct Line {
    /// With the tokens and the time since the line before it.
    StepReport report;
    /// The number of these steps.
    std::uint64_t steps = 0;
  };
  /// The line of a step, if it has one. The last step has one, and so have an evaluated step and one with a value that
  /// is not finite.
  std::optional<Line> add(const StepReport &report);

private:
  const std::uint64_t every;
  std::uint64_t printed = 0;
  /// Since the last line.
  std::uint64_t tokens = 0;
  std::uint64_t steps = 0;
  double milliseconds = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_STEPLINES_H
