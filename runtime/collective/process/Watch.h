//===- Watch.h - processes that are alive, and the progress of each ----------------===//
//
// Every process sends a heartbeat to every other, with the number of instructions that it has run and the last one. A
// process that falls silent is taken for dead; one that lives but runs no instruction while others wait for it is taken
// to be stuck. Both are named with the last thing that they did. Guarded by the world's mutex.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_PROCESS_WATCH_H
#define SLUICE_RUNTIME_COLLECTIVE_PROCESS_WATCH_H

#include "runtime/collective/process/Channel.h"

#include <functional>

namespace sluice::process {

/// The payload of a heartbeat.
struct Heartbeat {
  /// Instructions run and collectives done so far.
  std::uint64_t count = 0;
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

/// The data that a process sends about itself.
Hello ownHello();

/// Watches that a process of this machine lives.
class ProcessWatch {
public:
  ProcessWatch() = default;
  explicit ProcessWatch(std::uint64_t process);
  ProcessWatch(ProcessWatch &&other) noexcept;
  ProcessWatch &operator=(ProcessWatch &&other) noexcept;
  ~ProcessWatch();
  bool hasEnded() const;

private:
  int descriptor = -1;
};

struct Peer {
  Clock::time_point heard;
  /// When `heartbeat.count` last changed.
  Clock::time_point moved;
  Heartbeat heartbeat;
  std::uint64_t process = 0;
  ProcessWatch watch;
  bool saidGoodbye = false;
  /// It has ended the world and sent the reason.
  bool aborted = false;
  bool lost = false;

  bool isGone() const { return saidGoodbye || lost; }
};

/// Words for an instruction of an entry point; empty: numbers.
using ProgressNames = std::function<std::string(std::uint32_t entry, std::uint32_t instruction)>;

/// "its last instruction was train_step, instruction 12 (launch matmul)".
std::string describeProgress(const Heartbeat &heartbeat, const ProgressNames &names);

} // namespace sluice::process

#endif // SLUICE_RUNTIME_COLLECTIVE_PROCESS_WATCH_H
