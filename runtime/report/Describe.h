//===- Describe.h - the content of a plan, as JSON and as text ---------------------===//
//
// The JSON is an interface for other programs (docs/plan-format.md lists its keys). Every number is computed from the
// plan's instructions and buffers, not from the recipe. Both take a plan that checkPlan accepts.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_DESCRIBE_H
#define SLUICE_RUNTIME_REPORT_DESCRIBE_H

#include "runtime/base/Json.h"
#include "runtime/plan/Profile.h"

#include <string>

namespace sluice {

Json describePlan(const plan::PlanT &plan);

/// Space and sizes of an arena.
Json arenaJson(const plan::ArenaT &arena);
/// `head` with the keys `bytes`, `by_class` and `by_unit`; in `by_unit` the key of bytes of no unit is empty.
Json liveJson(const plan::PlanT &plan, Json head, const LiveBytes &live);
/// The key `points` with the device bytes at the six points of each entry point.
Json pointsJson(const plan::PlanT &plan);
/// Entry point, instruction and live device bytes of a peak.
Json peakJson(const plan::PlanT &plan, const PeakPlace &peak);

/// True for an instruction that describePlan lists once for each time that it is issued.
bool isListed(const plan::PlanT &plan, const plan::InstructionT &instruction);

/// The same for people: a page.
std::string describePlanText(const plan::PlanT &plan);

/// The effect of an issued instruction on a unit: "unshard", "reshard", "reduce", "all_reduce", "offload", "fetch";
/// empty: none. ("recompute" is the first of a unit's recomputed instructions, see describePlan.)
std::string unitEvent(const plan::PlanT &plan, const plan::InstructionT &instruction);

/// The unit of an instruction; -1: none. The unit of a release is that of its buffers.
int unitOf(const plan::PlanT &plan, const plan::InstructionT &instruction);

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_DESCRIBE_H
