//===- Issue.h - how often instructions are issued, without going through them ---------------===//
//
// A section may repeat a million times. What these count they count from predicates alone.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_ISSUE_H
#define SLUICE_RUNTIME_PLAN_ISSUE_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

namespace sluice {

/// How many of the first `repetitions` of a section that is repeated `repeat` times issue the instruction.
std::uint64_t timesIssued(const plan::InstructionT &instruction, std::uint32_t repeat, std::uint32_t repetitions);

/// Of all repetitions.
inline std::uint64_t timesIssued(const plan::InstructionT &instruction, std::uint32_t repeat) {
  return timesIssued(instruction, repeat, repeat);
}

/// Where in the order of issue of a whole step an instruction of the entry point is issued last.
std::uint64_t lastPosition(const plan::EntryT &entry, std::uint32_t index);

/// Refuses to list each time that instructions are issued where that is out of all proportion: `isListed` says which,
/// `what` calls them by name.
Status checkListable(const plan::PlanT &plan, std::string_view what,
                     bool (*isListed)(const plan::PlanT &, const plan::InstructionT &));

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_ISSUE_H
