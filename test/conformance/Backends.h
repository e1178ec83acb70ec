//===- Backends.h - the backends that the conformance suites test ------------------===//
//
// A suite is written once; each backend creates its device, world and memory, or gives the reason of its absence. A new
// backend is an entry in the lists in Backends.cpp and changes no test.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_CONFORMANCE_BACKENDS_H
#define SLUICE_TEST_CONFORMANCE_BACKENDS_H

#include "runtime/collective/Communicator.h"
#include "runtime/device/Device.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

namespace sluice::test {

/// A gate at which streams and the test wait until the test or a command opens it.
class Gate {
public:
  void open() {
    std::lock_guard lock(mutex);
    isOpen = true;
    changed.notify_all();
    if (word)
      std::atomic_ref(*word).store(1);
  }
  /// False after a minute: a deadlock is a failure, not a hang.
  bool pass() {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::minutes(1), [&] { return isOpen; });
  }
  /// open() also sets `to` to 1, for a stream that waits for memory.
  void set(std::uint32_t &to) {
    std::lock_guard lock(mutex);
    word = &to;
    if (isOpen)
      std::atomic_ref(to).store(1);
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool isOpen = false;
  std::uint32_t *word = nullptr;
};

class DeviceBackend {
public:
  virtual ~DeviceBackend() = default;
  virtual std::string name() const = 0;
  virtual Result<std::unique_ptr<Device>> create(DelayInjector *delays) const = 0;
  /// A command that runs `body` on the stream.
  virtual std::unique_ptr<Command> command(std::uint32_t instruction,
                                           std::function<Status(std::uint32_t repetition)> body) const = 0;
  /// A command at which the stream waits for a gate, while commands of other streams run.
  virtual std::unique_ptr<Command> wait(std::uint32_t instruction, Gate &gate) const = 0;
  /// True if the host can read and write the memory of the device.
  virtual bool sharesMemory() const = 0;
};

class CommunicatorBackend {
public:
  virtual ~CommunicatorBackend() = default;
  virtual std::string name() const = 0;
  /// Most ranks that this machine can run; the suite skips a case that needs more.
  virtual int maxRanks() const = 0;
  /// Null if this process has no rank of it.
  virtual std::shared_ptr<World> create(int size) const = 0;
  /// True if that rank runs in this process. A suite runs and checks those.
  virtual bool isLocal(int rank) const { return true; }
  /// Memory of one rank for collectives.
  virtual void *allocate(std::size_t bytes) const = 0;
  virtual void release(void *memory) const = 0;
  virtual void write(void *to, const void *from, std::size_t bytes) const = 0;
  virtual void read(void *to, const void *from, std::size_t bytes) const = 0;
  /// True if reductions are ordered: ((x0 + x1) + x2) + ..., to the bit.
  virtual bool isOrdered() const = 0;
  /// Waits until all calls are done.
  virtual Status synchronize() const = 0;
};

/// A backend that cannot be tested here, and the reason.
struct AbsentBackend {
  std::string name;
  std::string reason;
};

/// The available backends; the suites run against each.
std::vector<const DeviceBackend *> deviceBackends();
std::vector<const CommunicatorBackend *> communicatorBackends();
/// The unavailable backends; each is reported as one skip with its reason.
std::vector<AbsentBackend> absentBackends();

} // namespace sluice::test

#endif // SLUICE_TEST_CONFORMANCE_BACKENDS_H
