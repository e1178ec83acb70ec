//===- GatheredBuffers.h - gathers, reads and releases of gathered buffers -----------------===//
//
// P4: a gathered buffer is read between its gather and its release, and gathered again only after its release. P12: no
// buffer is still gathered at the end of a step.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_GATHEREDBUFFERS_H
#define SLUICE_RUNTIME_PLAN_CHECK_GATHEREDBUFFERS_H

#include "runtime/plan/check/SimulationState.h"

namespace sluice::check {

class GatheredBuffers {
public:
  /// Keeps a reference to the state.
  explicit GatheredBuffers(SimulationState &state) : state(state), buffers(state.plan.buffers.size()) {}

  /// Of class gathered, or of a unit.
  bool contains(std::uint32_t buffer) const;
  /// By the current instruction.
  Verdict checkRead(const Access &access) const;
  Verdict write(const Action &action, const Access &access);
  Verdict release(const plan::ReleaseT &release);
  /// At the end of a step.
  Verdict checkReleased() const;

private:
  struct Gathered {
    enum class Phase : std::uint8_t { empty, held, released } phase = Phase::empty;
    Instance filledBy = before;
    Instance releasedBy = before;
  };

  /// All gathers and reads of the buffer are done.
  Verdict checkIdle(std::uint32_t buffer);
  std::vector<std::string> historyOf(const Gathered &gathered) const {
    return state.witness.history(gathered.filledBy, gathered.releasedBy);
  }

  SimulationState &state;
  std::vector<Gathered> buffers;
};

} // namespace sluice::check

#endif // SLUICE_RUNTIME_PLAN_CHECK_GATHEREDBUFFERS_H
