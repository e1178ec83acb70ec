//===- PlanOps.td - all families of the plan dialect ------------------------------------===//
#ifndef SLUICE_DIALECT_PLAN_PLANOPS_TD
#define SLUICE_DIALECT_PLAN_PLANOPS_TD

include "dialect/plan/ops/Structure.td"
include "dialect/plan/ops/Instruction.td"

#endif // SLUICE_DIALECT_PLAN_PLANOPS_TD
