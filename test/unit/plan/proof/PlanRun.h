//===- PlanRun.h - the numbers of a small plan, and of its program, on all ranks -----------===//
//
// The instructions run in issue order. A number that nothing wrote, and one outside of a valid extent, is unknown, and
// so is everything that is computed from it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_PLAN_PROOF_PLANRUN_H
#define SLUICE_TEST_UNIT_PLAN_PROOF_PLANRUN_H

#include "runtime/plan/Plan.h"

#include <optional>

namespace sluice::test {

/// True if the one entry point of the plan leaves in each parameter the shard of what the program writes, and in each
/// output what the program returns, on every rank. nullopt if a view is outside of its buffer, or if an instruction or
/// an op is none of those that the tests use.
std::optional<bool> computesRightNumbers(const plan::PlanT &plan);

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_PLAN_PROOF_PLANRUN_H
