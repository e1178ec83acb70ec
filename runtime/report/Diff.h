//===- Diff.h - the differences between two plans ----------------------------------===//
//
// By meaning, not by bytes: mesh, memory, units, buffers' sizes, instructions. Names of plans, recipes and digests are
// not compared, so two recipes that give one plan are the same; the summary shows the settings that differ.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_DIFF_H
#define SLUICE_RUNTIME_REPORT_DIFF_H

#include "runtime/base/Json.h"
#include "runtime/plan/Plan.h"
#include "runtime/report/DiffSummary.h"

#include <string>
#include <vector>

namespace sluice {

struct PlanDifference {
  DiffSummary summary;
  /// "arena device bytes: 4096 -> 8192".
  std::vector<std::string> facts;
  struct Entry {
    std::string name;
    std::uint64_t removed = 0;
    std::uint64_t added = 0;
    /// The first instruction that differs.
    std::uint64_t first = 0;
    /// Lines that begin with "- " or "+ ", the first few.
    std::vector<std::string> lines;
  };
  std::vector<Entry> entries;

  bool same() const { return facts.empty() && entries.empty(); }
  std::string toText() const;
  Json toJson() const;
};

PlanDifference diffPlans(const plan::PlanT &first, const plan::PlanT &second);

/// The first difference of two plans whose bytes differ, as a part of a sentence: in the model, a setting of the
/// recipe, the version of the plan, a table, or an instruction.
std::string firstDifference(const plan::PlanT &first, const plan::PlanT &second);

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_DIFF_H
