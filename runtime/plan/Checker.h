//===- Checker.h - proves properties of a plan before it runs ---------------------===//
//
// The checker reads only the plan and shares no code with the passes. The compiler runs it on each plan before it
// writes the file, the runtime on each plan that it loads, `sluice-plan check` on any file. docs/what-is-proved.md
// describes the properties and lists those that are not proved. The notes of a refusal are a counterexample: two
// instructions, a byte range, the missing order.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECKER_H
#define SLUICE_RUNTIME_PLAN_CHECKER_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

inline constexpr int propertyCount = 17;

/// Title of P1 to P17: "well-formed", "no race", ...
std::string_view propertyTitle(int number);

/// The unit in which the facts of a property are counted, in the plural: "pairs of accesses"; empty for P16.
std::string_view factUnit(int number);

struct CheckReport {
  enum class Outcome : std::uint8_t {
    proved,
    /// The checker proved the part of the property that it checks.
    provedInPart,
    /// The checker has no proof, and no counterexample. The plan is accepted.
    notProved,
    refused,
    /// The plan has nothing that the property is about.
    notApplicable,
    /// P16: the checker checks no mutants of the plan; `sluice-mutants` does.
    notRun,
    /// A different property was refused first.
    notReached,
  };
  struct Property {
    Outcome outcome = Outcome::notReached;
    /// Facts that were checked, up to the first that does not hold.
    std::uint64_t facts = 0;
    /// Of the outcome notProved, lower case, no final period; empty otherwise.
    std::string reason;
  };
  /// A part of the check that decides some properties at once.
  struct Stage {
    std::vector<int> properties;
    /// Processor time.
    double seconds = 0;
  };
  /// P1 first.
  std::array<Property, propertyCount> properties;
  /// Those that ran, in order.
  std::vector<Stage> stages;

  /// The number of the refused property; 0: none.
  int refused() const;
  /// Why a property of an accepted plan is not proved, with its title; empty if all that apply are.
  std::string unproved() const;
  Outcome &operator[](int number) { return properties[std::size_t(number - 1)].outcome; }
};

/// "proved", "proved in part", "not proved", "refused", "not applicable", "not run", "not reached".
std::string_view outcomeName(CheckReport::Outcome outcome);

/// Ok if P1 to P8, P10 to P15 and P17 hold, and no counterexample to P9 and the rest of P7 and P14 is found. Otherwise
/// StatusCode::refused: the message begins with the property ("P3 no race: ..."), the notes are the counterexample.
/// `report` may be null. Accepts every plan that parsePlan returns.
Status checkPlan(const plan::PlanT &plan, CheckReport *report = nullptr);

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_CHECKER_H
