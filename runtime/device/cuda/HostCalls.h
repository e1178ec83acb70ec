//===- HostCalls.h - commands that the host runs in the order of a GPU's stream -----------------===//
//
// A host stream is also a stream of the device, so that events order it with the others: its work are host functions of
// the driver, which run CPU commands on host memory. Such a function may not call CUDA. If its command fails, it
// reports the failure and returns, so that no stream blocks; the rank's thread finds the failure at its next call.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_DEVICE_CUDA_HOSTCALLS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_HOSTCALLS_H

#include "runtime/device/Device.h"
#include "runtime/device/cpu/FirstFailure.h"

#include <map>
#include <omp.h>
#include <utility>

namespace sluice {

class HostCalls {
public:
  /// The argument of a host function; it does not change, so several runs may be in flight.
  struct Call {
    FirstFailure *failure;
    Command *command;
    std::uint32_t repetition;
    int threads;
  };

  HostCalls(FirstFailure &failure, int threads) : failure(failure), threads(threads) {}

  /// Created at the first issue of that command in that repetition.
  Call &of(Command &command, std::uint32_t repetition) {
    return calls.try_emplace({&command, repetition}, Call{&failure, &command, repetition, threads}).first->second;
  }

  static void run(void *data) {
    const Call &call = *static_cast<const Call *>(data);
    if (call.failure->known())
      return;
    omp_set_num_threads(call.threads);
    if (Status status = call.command->execute(nullptr, call.repetition); !status.isOk())
      call.failure->report(std::move(status));
  }

private:
  FirstFailure &failure;
  const int threads;
  std::map<std::pair<Command *, std::uint32_t>, Call> calls;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_DEVICE_CUDA_HOSTCALLS_H
