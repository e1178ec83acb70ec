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

namespace sluice {

inline constexpr int propertyCount = 17;

/// Title of P1 to P17: "well-formed", "no race", ...
std::string_view propertyTitle(int number);

struct CheckReport {
  enum class Outcome : std::uint8_t {
    proved,
    /// The checker proved the part of the property that it checks.
    provedInPart,
    refused,
    /// The plan has nothing that the property is about.
    notApplicable,
    /// The checker does not check the property.
    notChecked,
    /// A different property was refused first.
    notReached,
  };
  /// That of P1 first.
  std::array<Outcome, propertyCount> outcomes;

  Outcome &operator[](int number) { return outcomes[number - 1]; }
};

/// "proved", "proved in part", "refused", "not applicable", "not checked", "not reached".
std::string_view outcomeName(CheckReport::Outcome outcome);

/// Ok if P1 to P6, a part of P7, P8, P10 to P12 and P17 hold. Otherwise StatusCode::refused: the message begins with
/// the property ("P3 no race: ..."), the notes are the counterexample. `report` may be null. Accepts every plan that
/// parsePlan returns.
Status checkPlan(const plan::PlanT &plan, CheckReport *report = nullptr);

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_CHECKER_H
