//===- Proof.cpp - P9, and the rest of P7: the plan computes the unsharded program ----------===//
//
// See Proof.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/Proof.h"

#include "runtime/plan/check/proof/EntryProof.h"

#include <algorithm>

namespace sluice::check::proof {

/// Why the rules are not complete for the plan, so that a contradiction may be a missing rule; empty if they are.
static std::string missingRules(const plan::PlanT &plan) {
  for (std::uint32_t axis = 0; axis < plan.mesh.size(); ++axis)
    if (plan.mesh[axis]->size > 1 && std::ranges::find(plan.data_axes, axis) == plan.data_axes.end())
      return "ranks along '" + plan.mesh[axis]->name + "' divide tensors";
  return {};
}

} // namespace sluice::check::proof

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
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e) {
    const bool isRecorded = numbering.function(plan.entries[e]->name) != nullptr;
    proof::Result own =
        isRecorded ? proof::EntryProof(plan, numbering, e).run() : proof::initializes(plan, numbering, e);
    if (own.refusal && isRecorded)
      if (const std::string missing = proof::missingRules(plan); !missing.empty()) {
        own.notProved = missing + ": " + own.refusal->message;
        own.refusal.reset();
      }
    finding.facts += own.facts;
    if (finding.notProved.empty())
      finding.notProved = own.notProved;
    if (own.refusal)
      return std::move(own.refusal);
  }
  return {};
}

} // namespace sluice::check
