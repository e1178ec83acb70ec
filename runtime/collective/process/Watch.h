//===- Watch.h - processes that are alive, and the progress of each ----------------===//
//
// Every process sends every other one a heartbeat with the number of instructions that it has run and the last one. A
// process that sends nothing counts as dead; one that sends heartbeats but runs no instruction while others wait for it
// counts as stuck. Errors name its last instruction. Guarded by the world's mutex.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_PROCESS_WATCH_H
#define SLUICE_RUNTIME_COLLECTIVE_PROCESS_WATCH_H

#include "runtime/base/Descriptor.h"
#include "runtime/collective/process/Channel.h"

#include <functional>

namespace sluice::process {

/// The payload of a heartbeat.
struct Heartbeat {
  /// Instructions run and collectives done so far.
  std::uint64_t count = 0;
  /// All ones: its last work was no instruction of an entry point, but reading or writing files.
  std::uint32_t entry = ~std::uint32_t(0);
  std::uint32_t instruction = 0;
  /// Nonzero while some stream of the process waits in a collective.
  std::uint64_t waits = 0;
};
static_assert(sizeof(Heartbeat) == 24);

/// The payload of a hello.
struct Hello {
  /// Identifies the machine and its process ids; equal if ids mean the same.
  std::uint64_t machine = 0;
  std::uint64_t process = 0;
};

/// The hello of this process.
Hello ownHello();

/// Watches a process of this machine.
class ProcessWatch {
public:
  ProcessWatch() = default;
  explicit ProcessWatch(std::uint64_t process);
  bool hasEnded() const;

private:
  Descriptor descriptor;
};

struct Peer {
  /// When its last frame was received.
  Clock::time_point lastReceived;
  /// When `heartbeat.count` last changed.
  Clock::time_point lastProgress;
  Heartbeat heartbeat;
  std::uint64_t process = 0;
  ProcessWatch watch;
  /// Its hello was received.
  bool hasGreeted = false;
  bool saidGoodbye = false;
  /// It has ended the world and sent the reason.
  bool aborted = false;
  bool lost = false;
  /// It is the reason of the failure: silent, or stuck.
  bool accused = false;

  bool hasLeft() const { return saidGoodbye || lost; }
};

/// Seconds since a fixed time; they pass while the process is stopped or the machine is suspended.
double secondsSinceBoot();

/// The name of an instruction of an entry point; empty: its number is printed.
using ProgressNames = std::function<std::string(std::uint32_t entry, std::uint32_t instruction)>;

/// "its last instruction was train_step, instruction 12 (launch matmul)".
std::string describeProgress(const Heartbeat &heartbeat, const ProgressNames &names);

} // namespace sluice::process

#endif // SLUICE_RUNTIME_COLLECTIVE_PROCESS_WATCH_H
