//===- Proof.cpp - P9, and the rest of P7: the plan computes the unsharded program ----------===//
//
// See Proof.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/Proof.h"

#include "runtime/plan/check/Roles.h"
#include "runtime/plan/check/proof/EntryProof.h"

#include <algorithm>

namespace sluice::check {

Verdict computesProgram(const plan::PlanT &plan, Findings &findings) {
  Finding &finding = findings[9];
  if (!plan.program || plan.program->functions.empty()) {
    finding.notProved = "the plan has no unsharded program";
    return {};
  }
  proof::Numbering numbering(plan);
  if (!numbering.problem().empty()) {
    finding.notProved = numbering.problem();
    return {};
  }
  if (!numbering.contradiction().empty())
    return refuse(9, numbering.contradiction());
  const auto hasInitialValues = [](const auto &tensor) { return tensor->initializer != nullptr; };
  if (findEntry(plan, initName) < 0 &&
      (std::ranges::any_of(plan.parameters, hasInitialValues) || std::ranges::any_of(plan.variables, hasInitialValues)))
    return refuse(9, "missing entry point 'init', which computes the initial values");
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e) {
    proof::Result own = proof::EntryProof(plan, numbering, e).run();
    finding.facts += own.facts;
    if (finding.notProved.empty())
      finding.notProved = own.notProved;
    if (own.refusal)
      return std::move(own.refusal);
  }
  return {};
}

} // namespace sluice::check
