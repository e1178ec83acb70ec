//===- Mutant.h - wrong copies of a plan ---------------------------------------------===//
//
// A mutant is a copy of a plan with one change that a wrong pass or a damaged file could make. The kinds of changes are
// listed by family, one file each: order, memory, reductions, accumulation, operands, views, updates, states,
// initialization, declarations, the recorded program. The checker must refuse a mutant, or the mutant computes the same
// numbers (docs/mutants.md).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_MUTANTS_MUTATE_MUTANT_H
#define SLUICE_TEST_MUTANTS_MUTATE_MUTANT_H

#include "runtime/plan/Plan.h"

#include <optional>
#include <string_view>
#include <vector>

namespace sluice {

class Mutation;

struct MutantKind {
  std::string_view name;
  /// The change, as a sentence: "a wait is left out".
  std::string_view summary;
  /// The numbers of the properties that the change violates, for some plan or place: a refusal names one of them.
  std::vector<int> properties;
  /// Makes the change at a place that the mutation draws; false if the plan has no such place. The plan may then have
  /// changed.
  bool (*change)(Mutation &);
};

/// All kinds, family after family. Names are unique.
const std::vector<MutantKind> &mutantKinds();

/// A mutant of the kind with a correct digest: a function of plan, kind and seed. nullopt if the plan has no place for
/// it, or the change gives the same plan. `plan` has passed the check.
std::optional<plan::PlanT> makeMutant(const plan::PlanT &plan, const MutantKind &kind, std::uint64_t seed);

} // namespace sluice

#endif // SLUICE_TEST_MUTANTS_MUTATE_MUTANT_H
