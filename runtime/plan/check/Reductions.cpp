//===- Reductions.cpp - P13: every reduction has a stated order ------------------------------===//
//
// For each launch and each collective: its declared class is the class that the kernel's record, or the rule of the
// collective, states. No record and no rule states `none` (Catalogue.cpp).
//
// A launch has the class of its record in the kernel catalogue (ordered, fixed, not_a_reduction). A reduce_scatter or
// an all_reduce is ordered on the CPU, whose communicators add in order of rank, and fixed on other devices, where the
// library chooses the order by its version and the architecture. Other collectives add nothing.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Check.h"

#include "runtime/base/Text.h"
#include "runtime/kernel/catalogue/Catalogue.h"

namespace sluice::check {
namespace {

using plan::ReductionClass;

static_assert(static_cast<int>(KernelReduction::not_a_reduction) == static_cast<int>(ReductionClass::not_a_reduction) &&
              static_cast<int>(KernelReduction::ordered) == static_cast<int>(ReductionClass::ordered) &&
              static_cast<int>(KernelReduction::fixed) == static_cast<int>(ReductionClass::fixed) &&
              static_cast<int>(KernelReduction::none) == static_cast<int>(ReductionClass::none));

std::string nameOf(ReductionClass reduction) {
  return reduction > ReductionClass::MAX ? concat(int(reduction)) : plan::EnumNameReductionClass(reduction);
}

ReductionClass classOf(const plan::PlanT &plan, const plan::CollectiveT &collective) {
  const bool reduces =
      collective.kind == plan::CollectiveKind::reduce_scatter || collective.kind == plan::CollectiveKind::all_reduce;
  if (!reduces)
    return ReductionClass::not_a_reduction;
  return plan.target->device == "cpu" ? ReductionClass::ordered : ReductionClass::fixed;
}

} // namespace

Verdict reductionsAreOrdered(const plan::PlanT &plan, Findings &findings) {
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e) {
    Verdict verdict;
    forEachInstruction(*plan.entries[e], [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t) {
      const plan::LaunchT *launch = instruction.operation.AsLaunch();
      const plan::CollectiveT *collective = instruction.operation.AsCollective();
      if (verdict || (!launch && !collective))
        return;
      const auto stated = launch ? ReductionClass(findKernelRecord(plan.kernels[launch->kernel])->reduction)
                                 : classOf(plan, *collective);
      const ReductionClass declared = launch ? launch->reduction : collective->reduction;
      findings[13].facts += stated != ReductionClass::not_a_reduction;
      if (declared != stated)
        verdict = refuse(13, concat(place(plan, e, i), ", expected reduction class '", nameOf(stated), "' but got '",
                                    nameOf(declared), "'"));
    });
    if (verdict)
      return verdict;
  }
  return {};
}

} // namespace sluice::check
