//===- PlanMutation.h - changes values of a plan in memory ------------------------------===//
//
// Random bytes rarely pass a plan's digest and structure. This changes the unpacked plan: any number, enum, text, list
// or table of it, so that the file that is written from it reaches the checker.
//
//===----------------------------------------------------------------------------------===//
#ifndef SLUICE_TEST_FUZZ_PLANMUTATION_H
#define SLUICE_TEST_FUZZ_PLANMUTATION_H

#include "runtime/plan/Plan.h"

#include <cstdint>
#include <random>

namespace sluice::fuzz {

/// Gives some values of the plan, 1 to 4 of them, new values. The same seed gives the same changes.
void mutatePlan(plan::PlanT &plan, std::minstd_rand &random);

} // namespace sluice::fuzz

#endif // SLUICE_TEST_FUZZ_PLANMUTATION_H
