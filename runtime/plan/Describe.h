//===- Describe.h - the content of a plan, as JSON and as text ---------------------===//
//
// The JSON is a contract with other programs (docs/plan-format.md lists its keys). Every number comes from the plan's
// instructions and buffers, none from the recipe. Both take a plan that checkPlan accepts.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_DESCRIBE_H
#define SLUICE_RUNTIME_PLAN_DESCRIBE_H

#include "runtime/base/Json.h"
#include "runtime/plan/Plan.h"

#include <string>

namespace sluice {

Json describePlan(const plan::PlanT &plan);

/// True for an instruction that describePlan lists once for each time that it is issued.
bool isListed(const plan::PlanT &plan, const plan::InstructionT &instruction);

/// The same for people: a page.
std::string describePlanText(const plan::PlanT &plan);

/// The effect of an issued instruction on a unit: "unshard", "reshard", "reduce", "all_reduce", "offload", "fetch";
/// empty: none. ("recompute" is the first of a unit's recomputed instructions, see describePlan.)
std::string unitEvent(const plan::PlanT &plan, const plan::InstructionT &instruction);

/// The unit that an instruction is about, -1: none. For a release it is that of its buffers.
int unitOf(const plan::PlanT &plan, const plan::InstructionT &instruction);

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_DESCRIBE_H
