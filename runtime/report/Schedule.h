//===- Schedule.h - the work of each stream over a step ----------------------------===//
//
// A step's instructions in issue order, one row per stream. Work that other streams wait for lasts from its issue to
// the first such wait: the time in which a gather or reduction can be hidden.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_SCHEDULE_H
#define SLUICE_RUNTIME_REPORT_SCHEDULE_H

#include "runtime/base/Json.h"
#include "runtime/plan/Plan.h"

#include <string>
#include <vector>

namespace sluice {

struct ScheduledWork {
  /// Its stream has waited only for the previous step, so it may run while that step still runs.
  bool isEarly = false;
  IssuedInstruction issued;
  /// Position in the order of all work, without events and releases.
  std::uint64_t column = 0;
  /// Column of the first work of another stream that waits for it; its own column + 1 where none does.
  std::uint64_t until = 0;
};
/// All launches, collectives, copies and fills of a step, in order of issue.
std::vector<ScheduledWork> scheduleOf(const plan::PlanT &plan, const plan::EntryT &entry);

/// True for an instruction that is drawn.
bool isScheduled(const plan::PlanT &plan, const plan::InstructionT &instruction);

Json scheduleJson(const plan::PlanT &plan);
std::string scheduleText(const plan::PlanT &plan, bool unicode);

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_SCHEDULE_H
