//===- SimulationState.h - the state that the parts of the simulation share ----------------===//
//
// The accesses of one entry point, the order of the instructions issued so far, and the history of every byte.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_SIMULATIONSTATE_H
#define SLUICE_RUNTIME_PLAN_CHECK_SIMULATIONSTATE_H

#include "runtime/plan/check/ByteMap.h"
#include "runtime/plan/check/Witness.h"

namespace sluice::check {

struct SimulationState {
  /// Keeps references to the plan and the findings. No byte of the arenas holds a value.
  SimulationState(const plan::PlanT &plan, std::uint32_t e, PaddingIds &paddings, Findings &findings)
      : plan(plan), findings(findings), e(e), entry(*plan.entries[e]), actions(resolveActions(plan, entry, paddings)),
        order(plan.streams.size()), witness(plan, e, actions, order) {
    for (plan::Space space : {plan::Space::device, plan::Space::host}) {
      const plan::ArenaT *arena = arenaOf(plan, space);
      spaces.emplace_back(arena ? arena->bytes : 0);
    }
  }
  SimulationState(const SimulationState &) = delete;
  SimulationState &operator=(const SimulationState &) = delete;

  const plan::BufferT &bufferOf(const Access &access) const { return *plan.buffers[access.buffer]; }
  ByteMap &spaceOf(std::uint32_t buffer) { return spaces[std::size_t(plan.buffers[buffer]->space)]; }

  const plan::PlanT &plan;
  Findings &findings;
  const std::uint32_t e;
  const plan::EntryT &entry;
  const Actions actions;
  StreamOrder order;
  const Witness witness;
  /// By space.
  std::vector<ByteMap> spaces;
  std::uint32_t step = 0;
  /// The current instruction.
  Instance now = before;
  /// Instructions of the current section.
  std::uint32_t sectionBegin = 0, sectionEnd = 0;
};

} // namespace sluice::check

#endif // SLUICE_RUNTIME_PLAN_CHECK_SIMULATIONSTATE_H
