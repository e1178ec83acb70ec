//===- CpuStream.h - one stream: a thread and a ring of commands ---------------===//
//
// The ring is allocated with the stream; pushing to it and running from it allocate nothing. A full ring blocks the
// thread that pushes: this cannot deadlock, because everything that the stream's head waits for was issued before it.
// The thread sleeps while the ring is empty. After a failure commands are skipped, but records and waits are executed,
// so that no thread waits forever.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_DEVICE_CPU_CPUSTREAM_H
#define SLUICE_RUNTIME_DEVICE_CPU_CPUSTREAM_H

#include "runtime/device/cpu/CpuEvents.h"
#include "runtime/device/cpu/FirstFailure.h"

#include <string>
#include <thread>

namespace sluice {

/// One place of the ring.
struct CpuStreamItem {
  enum class Kind : std::uint8_t { run, record, wait };
  Kind kind = Kind::run;
  Command *command = nullptr;
  std::uint32_t repetition = 0;
  EventId event = 0;
  std::uint64_t generation = 0;
};

class CpuStream {
public:
  static constexpr std::size_t ringCapacity = 1024;

  CpuStream(std::string name, const CpuDeviceOptions &options, CpuEvents &events, FirstFailure &failure);
  /// Runs what is still in the ring, then ends the thread.
  ~CpuStream();
  CpuStream(const CpuStream &) = delete;
  CpuStream &operator=(const CpuStream &) = delete;

  /// Starts the thread.
  Status start();
  void push(const CpuStreamItem &item);
  /// Blocks until everything pushed is done.
  void drain();

private:
  void work();
  void run(const CpuStreamItem &item);

  const std::string name;
  const CpuDeviceOptions options;
  CpuEvents &events;
  FirstFailure &failure;

  std::mutex mutex;
  std::condition_variable pushed;
  std::condition_variable popped;
  bool workerSleeps = false;
  bool hostSleeps = false;
  bool stopping = false;
  /// Counters since the start; their difference is the number of items in the ring. An item is counted until it is
  /// done.
  std::uint64_t pushedCount = 0;
  std::uint64_t doneCount = 0;
  std::vector<CpuStreamItem> ring;
  std::thread thread;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_DEVICE_CPU_CPUSTREAM_H
