//===- DiffSummary.h - what differs between two plans, in a few lines -------------------===//
//
// The first part of `sluice-plan diff`: settings of the recipe, memory by class, collectives, order of instructions.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_DIFFSUMMARY_H
#define SLUICE_RUNTIME_REPORT_DIFFSUMMARY_H

#include "runtime/plan/Plan.h"

#include <string>
#include <vector>

namespace sluice {

/// Lines "name: first -> second"; "none" for a plan that has no such thing.
struct DiffSummary {
  std::vector<std::string> settings;
  /// Bytes of one rank at the peak of the device, in total and by class, and the arenas of other spaces.
  std::vector<std::string> memory;
  /// By entry point and kind: how many are issued in a run, and the bytes that one rank sends to them.
  std::vector<std::string> collectives;
  /// By entry point: instructions that were removed and added. diffPlans() fills it.
  std::vector<std::string> order;

  std::string toText() const;
};

/// The summary without `order`.
DiffSummary summarizeDiff(const plan::PlanT &first, const plan::PlanT &second);

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_DIFFSUMMARY_H
