//===- Compare.h - sluice-plan compare ------------------------------------------------------------===//
//
// Compares the measured times of a trace (sluice-train --trace) with predicted ones. The time of an instruction is the
// mean over steps, of a launch also over ranks; that of a collective is the shortest of its ranks, because the others
// wait for the last one in it. The first step of a trace with more than one is left out.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_PLAN_COMPARE_H
#define SLUICE_TOOLS_PLAN_COMPARE_H

#include "runtime/plan/ChromeTrace.h"
#include "runtime/report/commands/PlanCommand.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace sluice {

struct CompareCommand {
  std::string plan, trace;
  /// Empty: only the measured times.
  std::string machine;
  std::string entry = "train_step";
  bool json = false;
};

PlanCommandResult runCompare(const CompareCommand &command);

/// Measured seconds of an entry point.
struct MeasuredStep {
  /// Steps that count, and the mean time from the first begin to the last end of one.
  std::uint64_t steps = 0;
  double seconds = 0;
  /// By instruction: the sum over its repetitions in a step.
  std::map<std::uint32_t, double> instructions;
};

/// An input error if the trace is of another plan, or has no step of the entry point.
Result<MeasuredStep> measuredStep(const plan::PlanT &plan, std::uint32_t entry, const std::vector<Span> &spans,
                                  const std::string &path);

} // namespace sluice

#endif // SLUICE_TOOLS_PLAN_COMPARE_H
