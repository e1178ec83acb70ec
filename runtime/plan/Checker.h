//===- Checker.h - what is proved of a plan before it runs ------------------------===//
//
// The checker reads the plan alone and shares no code with the passes that made it. The compiler runs it on what it
// emits, `sluice-plan check` on any file, the runtime on what it loads. docs/checker.md says what each property means
// and what is not proved. A refusal carries a counterexample in its notes: two instructions, a byte range, the
// missing order.
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

/// P1 to P17, in words: "well-formed", "no race", ...
std::string_view propertyTitle(int number);

struct CheckReport {
  enum class Outcome : std::uint8_t {
    proved,
    refused,
    /// The plan has nothing that the property speaks of.
    notApplicable,
    /// This version does not decide it.
    notChecked,
    /// Another property was refused first.
    notReached,
  };
  struct Property {
    int number = 0;
    Outcome outcome = Outcome::notReached;
  };
  std::array<Property, propertyCount> properties;

  const Property &property(int number) const { return properties[number - 1]; }
  /// Number of the refused property; 0: none.
  int refused() const;
};

/// "proved", "refused", "not applicable", "not checked", "not reached".
std::string_view outcomeName(CheckReport::Outcome outcome);

/// Ok where P1 to P6, P8, P10 to P12 and P17 hold. Otherwise StatusCode::refused: the message begins with the property
/// ("P3 no race: ..."), the notes are the counterexample. `report` may be null. Takes any plan that parsePlan gives.
Status checkPlan(const plan::PlanT &plan, CheckReport *report = nullptr);

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_CHECKER_H
