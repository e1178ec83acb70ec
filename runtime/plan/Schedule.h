//===- Schedule.h - what each stream does when -------------------------------------------===//
//
// A step's instructions in order of issue, one row a stream. What a stream does for others lasts from its issue to the
// first wait of another stream that needs it: the room that a gather or reduction has to hide in.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_SCHEDULE_H
#define SLUICE_RUNTIME_PLAN_SCHEDULE_H

#include "runtime/base/Json.h"
#include "runtime/plan/Plan.h"

#include <string>
#include <vector>

namespace sluice {

struct ScheduledWork {
  /// Its stream has waited for the step before alone: it may run while that one still does.
  bool ahead = false;
  IssuedInstruction issued;
  /// Place in the order of all work (events and releases left out).
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

#endif // SLUICE_RUNTIME_PLAN_SCHEDULE_H
