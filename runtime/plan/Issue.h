//===- Issue.h - number and order of issues, from predicates -----------------------===//
//
// A section may repeat a million times. These functions count from predicates, without a loop over repetitions.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_ISSUE_H
#define SLUICE_RUNTIME_PLAN_ISSUE_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

namespace sluice {

/// Number of the first `repetitions` of a section with `repeat` repetitions that issue the instruction.
std::uint64_t timesIssued(const plan::InstructionT &instruction, std::uint32_t repeat, std::uint32_t repetitions);

/// Over all repetitions.
inline std::uint64_t timesIssued(const plan::InstructionT &instruction, std::uint32_t repeat) {
  return timesIssued(instruction, repeat, repeat);
}

/// Position of the last issue of an instruction in the issue order of a step.
std::uint64_t lastPosition(const plan::EntryT &entry, std::uint32_t index);

/// Refuses to list each issue of the instructions for which `isListed` is true if there are too many; `what` is their
/// name in the message.
Status checkListable(const plan::PlanT &plan, std::string_view what,
                     bool (*isListed)(const plan::PlanT &, const plan::InstructionT &));

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_ISSUE_H
