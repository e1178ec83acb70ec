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
#include <vector>

namespace sluice::fuzz {

/// A value of a plan that can be changed: a field of an object, or an element of a list in a field.
struct FieldSlot {
  /// The names of the table and of the field in plan.fbs.
  const char *table = "", *field = "";
  void *at = nullptr;
  /// Gives the value at `at` a new value; `from` is a value of the same type in the plan, perhaps the same one.
  void (*change)(void *at, const void *from, std::minstd_rand &random) = nullptr;
};

/// All values of the plan. A change may remove others.
std::vector<FieldSlot> fieldSlots(plan::PlanT &plan);

/// Gives some values of the plan, 1 to 4 of them, new values. The same seed gives the same changes.
void mutatePlan(plan::PlanT &plan, std::minstd_rand &random);

} // namespace sluice::fuzz

#endif // SLUICE_TEST_FUZZ_PLANMUTATION_H
