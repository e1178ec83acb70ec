//===- Proof.cpp - P9, and the rest of P7: the plan computes the unsharded program ----------===//
//
// See Proof.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/Proof.h"

#include "runtime/plan/check/proof/EntryProof.h"

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
    // If no rule is missing, a tensor without a relation is not what the program computes.
    if (isRecorded && !own.refusal && !own.notProved.empty() && !own.lacksRule)
      own.refusal = refuse(9, own.notProved);
    finding.facts += own.facts;
    if (finding.notProved.empty())
      finding.notProved = own.notProved;
    if (own.refusal)
      return std::move(own.refusal);
  }
  return {};
}

} // namespace sluice::check
