//===- FieldMutants.h - mutants by the fields of the schema -----------------------------===//
//
// A mutant of a field is a copy of a plan in which one value of the field has a new value: of one object, or one
// element of a list. Unlike the kinds of Mutant.h it has no idea of a bug: the fields are those of
// runtime/plan/plan.fbs.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_MUTANTS_MUTATE_FIELDMUTANTS_H
#define SLUICE_TEST_MUTANTS_MUTATE_FIELDMUTANTS_H

#include "runtime/plan/Plan.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// The fields of the objects of a plan, as `Table.field`, in alphabetical order. Without the digest, which each mutant
/// has for its bytes.
std::vector<std::string> planFields(const plan::PlanT &plan);

/// A mutant of the field, as it is after it was written to a file and read: a function of plan, field and seed. nullopt
/// if no value of the field was found that changes the file.
std::optional<plan::PlanT> makeFieldMutant(const plan::PlanT &plan, const std::string &field, std::uint64_t seed);

} // namespace sluice

#endif // SLUICE_TEST_MUTANTS_MUTATE_FIELDMUTANTS_H
