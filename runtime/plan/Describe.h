//===- Describe.h - the content of a plan, as JSON and as text ---------------------===//
//
// The JSON is an interface for other programs (docs/plan-format.md lists its keys). Every number is computed from the
// plan's instructions and buffers, not from the recipe. Both take a plan that checkPlan accepts.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_DESCRIBE_H
#define SLUICE_RUNTIME_PLAN_DESCRIBE_H

#include "runtime/base/Json.h"
#include "runtime/plan/Profile.h"

#include <string>

namespace sluice {

Json describePlan(const plan::PlanT &plan);

/// Space and sizes of an arena; bytes by buffer class.
Json arenaJson(const plan::ArenaT &arena);
Json byClassJson(const BytesByClass &bytes);

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

#endif // SLUICE_RUNTIME_PLAN_DESCRIBE_H
