//===- PlanEdits.h - finds and changes instructions of a plan of any size -----------===//
#ifndef SLUICE_TEST_UNIT_PLAN_COMPILED_PLANEDITS_H
#define SLUICE_TEST_UNIT_PLAN_COMPILED_PLANEDITS_H

#include "runtime/plan/Plan.h"

#include <functional>
#include <vector>

namespace sluice::test {

/// An instruction of an entry point.
struct Located {
  plan::InstructionT *instruction = nullptr;
  std::uint32_t entry = 0, section = 0, issue = 0;

  plan::LaunchT *launch() const { return instruction->operation.AsLaunch(); }
  plan::CollectiveT *collective() const { return instruction->operation.AsCollective(); }
  /// The collective if it is of that kind, else null.
  plan::CollectiveT *collective(plan::CollectiveKind kind) const {
    return collective() && collective()->kind == kind ? collective() : nullptr;
  }
};

/// The instructions of the entry point 'train_step', in issue order.
std::vector<Located> trainStep(const plan::PlanT &plan);
/// The first one for which `wanted` is true; its instruction is null if no instruction is wanted.
Located findInstruction(const plan::PlanT &plan, const std::function<bool(const Located &)> &wanted);

std::vector<plan::ViewT *> readsOf(const plan::InstructionT &instruction);
std::vector<plan::ViewT *> writesOf(const plan::InstructionT &instruction);
bool accesses(const std::vector<plan::ViewT *> &views, std::uint32_t buffer);

/// Replaces the instruction by one without effect: a record of an event without a wait.
void drop(plan::PlanT &plan, const Located &at);

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_PLAN_COMPILED_PLANEDITS_H
