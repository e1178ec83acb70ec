//===- Simulate.cpp - P2, P3, P4, P8, P11, P12 by following a step twice --------------------===//
//
// Issues the instructions of an entry point in order, twice, and tracks the order of their accesses (AccessOrder.h),
// the values of all bytes (ByteValues.h) and the state of gathered buffers (GatheredBuffers.h). The host accesses only
// ports, where it waits for their users. A Witness (Witness.h) reports the counterexample.
//
// Repetitions of a section are simulated for a sample. A view that moves with the repetition accesses the range of all
// its repetitions in each of them, so that all repetitions between the sampled ones are like these.
//
// With carried waits three steps are simulated: a step may overlap with the previous one, and follows the one before
// that. A run that follows a run of a different entry point starts after all of it, so each entry point is
// simulated after itself only.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/AccessOrder.h"
#include "runtime/plan/check/ByteValues.h"
#include "runtime/plan/check/GatheredBuffers.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace sluice::check {
namespace {

class Simulation {
public:
  Simulation(const plan::PlanT &plan, std::uint32_t entry, PaddingIds &paddings, Findings &findings)
      : state(plan, entry, paddings, findings), accessOrder(state), values(state), gathered(state) {
    for (std::uint32_t b = 0; b < plan.buffers.size(); ++b)
      if (plan.buffers[b]->entry == -1)
        values.hold(b, plan.buffers[b]->offset, plan.buffers[b]->offset + plan.buffers[b]->bytes);
  }

  Verdict run() {
    const std::vector<Action> &actions = state.actions.actions;
    const bool carries =
        std::any_of(actions.begin(), actions.end(), [](const Action &action) { return action.carried; });
    for (state.step = 0; state.step < (carries ? 3u : 2u); ++state.step) {
      state.order.beginStep(state.step, state.entry.events);
      accessOrder.beginStep();
      writeInputs();
      std::uint32_t first = 0;
      for (const auto &section : state.entry.sections) {
        state.sectionBegin = first;
        state.sectionEnd = first + std::uint32_t(section->instructions.size());
        for (std::uint32_t r : sampleRepetitions(*section))
          for (std::uint32_t i = state.sectionBegin; i < state.sectionEnd; ++i)
            if (isIssued(*actions[i].instruction, r, section->repeat))
              SLUICE_CHECK(issue(actions[i], r));
        first = state.sectionEnd;
      }
      SLUICE_CHECK(gathered.checkReleased());
      SLUICE_CHECK(checkOutputs());
    }
    return {};
  }

private:
  //===--- The step ---===//

  Verdict issue(const Action &action, std::uint32_t repetition) {
    state.now = state.order.issue(action.issue, action.instruction->stream, repetition);
    switch (action.kind) {
    case plan::Operation::Record:
      state.order.record(action.event);
      return {};
    case plan::Operation::Wait:
      return wait(action);
    case plan::Operation::Release:
      return gathered.release(*action.instruction->operation.AsRelease());
    default:
      break;
    }
    accessOrder.beginInstruction(action);
    values.beginInstruction();
    for (const Access &access : state.actions.of(action))
      SLUICE_CHECK(access.isWrite ? write(action, access) : read(access));
    return {};
  }

  /// P11: the record is there.
  Verdict wait(const Action &action) {
    if (action.carried && state.step == 0)
      return {};
    const auto wrong = [&](const char *why) {
      return state.witness.refuse(11, concat("waits for event ", action.event, why),
                                  state.witness.recordsOf(action.event));
    };
    if (action.carried && !state.order.recordOf(action.event).empty())
      return wrong(" of the previous step, but this step recorded it again before");
    const StreamOrder::Clock &record =
        action.carried ? state.order.recordOfStepBefore(action.event) : state.order.recordOf(action.event);
    if (record.empty())
      return wrong(action.carried ? " of the previous step, which no step records"
                                  : ", which has no earlier record in the step");
    state.order.wait(record);
    ++state.findings[11].facts;
    return {};
  }

  Verdict read(const Access &access) {
    SLUICE_CHECK(gathered.checkRead(access));
    values.beginRead();
    const bool isGathered = gathered.contains(access.buffer);
    return state.spaceOf(access.buffer)
        .visit(access.begin, access.end + access.reach, [&](std::uint64_t from, Run &run) -> Verdict {
          SLUICE_CHECK(accessOrder.checkRead(access, run, from, isGathered));
          SLUICE_CHECK(values.checkRead(access, run, from));
          accessOrder.addReader(run);
          return {};
        });
  }

  Verdict write(const Action &action, const Access &access) {
    if (access.begin == access.end)
      return {};
    SLUICE_CHECK(accessOrder.checkReserved(access));
    SLUICE_CHECK(gathered.write(action, access));
    SLUICE_CHECK(accessOrder.checkWrite(access));
    values.write(action, access);
    return {};
  }

  //===--- The host ---===//

  /// The host writes inputs after all instructions that use them, so no access to these bytes is in flight.
  void writeInputs() {
    for (const auto &port : state.entry.inputs) {
      const auto [begin, end] = bytesOf(*port);
      values.hold(port->view->buffer, begin, end);
    }
  }
  /// Of all slices, which are neighbours.
  std::pair<std::uint64_t, std::uint64_t> bytesOf(const plan::PortT &port) const {
    const std::uint64_t begin = state.plan.buffers[port.view->buffer]->offset + port.view->offset;
    return {begin, begin + *viewBytes(*port.view) * (port.per_repetition ? state.entry.sections[0]->repeat : 1)};
  }

  /// P12: every output is written at the end of a step.
  Verdict checkOutputs() {
    for (const auto &port : state.entry.outputs) {
      const std::uint32_t b = port->view->buffer;
      const auto [begin, end] = bytesOf(*port);
      SLUICE_CHECK(state.spaceOf(b).visit(begin, end, [&](std::uint64_t from, const Run &run) -> Verdict {
        ++state.findings[12].facts;
        if (values.isOutput(b, run, from))
          return {};
        return refuse(12,
                      "output '" + port->name + "' of '" + state.entry.name + "' is not there at the end of the step",
                      {byteRange(state.plan.buffers[b]->space, from, run.end)});
      }));
    }
    return {};
  }

  SimulationState state;
  AccessOrder accessOrder;
  ByteValues values;
  GatheredBuffers gathered;
};

} // namespace

Verdict simulate(const plan::PlanT &plan, Findings &findings) {
  PaddingIds paddings(plan);
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e)
    SLUICE_CHECK(Simulation(plan, e, paddings, findings).run());
  return {};
}

} // namespace sluice::check
