//===- AccessOrder.h - order of the accesses to each byte ----------------------------------===//
//
// P3, and P12 for accesses of two steps: an access to a byte follows its last writer, a write also the readers since
// then. For races, a view that moves with the repetition accesses the range of all its repetitions in each of them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_ACCESSORDER_H
#define SLUICE_RUNTIME_PLAN_CHECK_ACCESSORDER_H

#include "runtime/plan/check/SimulationState.h"

namespace sluice::check {

class AccessOrder {
public:
  /// Keeps a reference to the state.
  explicit AccessOrder(SimulationState &state);

  void beginStep();
  /// Before its accesses.
  void beginInstruction(const Action &action);

  /// The current instruction reads bytes of a run that begins at `from`. A missing order is P4 if it is between a
  /// gather and a read of the gathered buffer.
  Verdict checkRead(const Access &access, const Run &run, std::uint64_t from, bool isGathered) const;
  void addReader(Run &run) const;
  /// The current instruction writes.
  Verdict checkWrite(const Access &access);
  /// P12: while instructions of the previous step may still run, the current instruction writes only buffers that are
  /// reserved from all of these instructions on, so that their bytes count at the peak.
  Verdict checkReserved(const Access &access) const;

private:
  /// True if an earlier access to the same bytes is done before the current instruction. Counts the pair as a fact of
  /// the property that it would violate.
  bool isOrdered(Instance other, int property) const;
  /// Instructions of one stream that access one space in one step, in order.
  struct Users {
    std::vector<Instance> instances;
    /// The one with the lowest issue from each on, after the step.
    std::vector<Instance> lowest;
  };
  /// The property that two unordered accesses violate: by step, and by whether they access one buffer.
  int raceOf(Instance other, std::int32_t held, std::uint32_t buffer) const;

  SimulationState &state;
  /// By space and stream, of the current and the previous step.
  std::vector<Users> users[2], usersBefore[2];
};

} // namespace sluice::check

#endif // SLUICE_RUNTIME_PLAN_CHECK_ACCESSORDER_H
