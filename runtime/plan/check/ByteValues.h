//===- ByteValues.h - values and padding of bytes ------------------------------------------===//
//
// P2: a read finds bytes that were written through its buffer. P8: padding is read only through a valid extent. Of a
// view that moves with the repetition, a read needs the range of all repetitions, and a write gives a value only to its
// own slice, until the last repetition completes the range.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_BYTEVALUES_H
#define SLUICE_RUNTIME_PLAN_CHECK_BYTEVALUES_H

#include "runtime/plan/check/SimulationState.h"

#include <utility>

namespace sluice::check {

class ByteValues {
public:
  /// Keeps a reference to the state.
  explicit ByteValues(SimulationState &state) : state(state) {}

  /// The host wrote [begin, end) of a buffer before the first instruction.
  void hold(std::uint32_t buffer, std::uint64_t begin, std::uint64_t end);
  /// Before the accesses of an instruction.
  void beginInstruction() { found.clear(); }
  /// Before the runs of its next read.
  void beginRead() { found.push_back(clean); }
  /// Bytes of a run that begins at `from`.
  Verdict checkRead(const Access &access, const Run &run, std::uint64_t from);
  /// Gives bytes their value, their padding and the current instruction as writer.
  void write(const Action &action, const Access &access);
  /// P12: at the end of a step, a value that was written through this buffer.
  bool isOutput(std::uint32_t buffer, const Run &run, std::uint64_t from) const;

private:
  Verdict checkWritten(const Access &access, const Run &run, std::uint64_t from) const;
  /// The windows of a strided access in repetition 0; null for a dense one, and where they are not listed.
  const std::vector<Window> *windowsOf(const Access &access) const;
  /// False for bytes between the elements of a strided view.
  bool isRead(const Access &access, std::uint64_t from, std::uint64_t end) const;
  /// True if the accessed bytes of a run of the same buffer were written.
  bool holdsValues(const Access &access, const Run &run, std::uint64_t from) const;
  /// The bytes between the elements keep their values, and their padding.
  void writeWindows(const Access &access, std::uint64_t begin, std::uint64_t end);
  /// The bytes to which a write gives values. The rest of the range of a view that moves has only the writer.
  std::pair<std::uint64_t, std::uint64_t> writtenRange(const Action &action, const Access &access);

  SimulationState &state;
  /// Padding found by each read of the current instruction.
  std::vector<Padding> found;
};

} // namespace sluice::check

#endif // SLUICE_RUNTIME_PLAN_CHECK_BYTEVALUES_H
