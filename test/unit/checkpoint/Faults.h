//===- Faults.h - system calls that fail, of this test program ---------------------------===//
//
// The program defines the functions of the C library that work on files; they pass calls on, count them while faults
// are armed, and let one of them fail. As on a real system, a failed fsync loses what was not yet on the disk, and a
// later one succeeds; a lost machine loses the bytes that were not synchronized and, as it may, the renames in folders
// that were not.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_CHECKPOINT_FAULTS_H
#define SLUICE_TEST_UNIT_CHECKPOINT_FAULTS_H

namespace sluice::test {

enum class FaultKind {
  /// The call fails with an error.
  error,
  /// The call transfers half of the bytes; a call that transfers none is interrupted (EINTR).
  shortTransfer,
  /// The process ends before the call.
  kill,
  /// The machine ends before the call: bytes that were not synchronized are lost.
  powerLoss,
  /// The same, and renames whose folder was not synchronized are undone.
  powerLossWithRenames,
};

struct Fault {
  FaultKind kind = FaultKind::error;
  int error = 0;
  /// The call, from 0.
  int call = 0;
  /// All later calls of the same function fail too.
  bool isPermanent = false;
  /// Only calls of this function count; null: calls of all functions.
  const char *function = nullptr;
};

/// The exit code of a process that ended by a fault.
inline constexpr int faultExit = 86;

/// Arms a fault while it exists.
class ArmedFault {
public:
  explicit ArmedFault(const Fault &fault);
  ~ArmedFault();
  /// True if the call was reached.
  bool hasFired() const;
  /// What happens to files when the machine ends now, by the kind of the fault.
  void losePower() const;
};

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_CHECKPOINT_FAULTS_H
