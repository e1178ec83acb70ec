//===- HostCalls.h - commands that the host runs in the order of a GPU's stream -----------------===//
//
// A stream of the host is one of the device all the same, so that events order it with the others: what stands on it is
// a host function of the driver's, which runs a command of the CPU's on memory of the host. Within such a function
// nothing of CUDA may be called. What fails there is reported and nothing else: the function returns, no stream waits
// for ever, and the rank's thread finds the failure at its next call.
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
  /// What the driver gives back to the function; it never changes, so any number of runs may be under way.
  struct Call {
    FirstFailure *failure;
    Command *command;
    std::uint32_t repetition;
    int threads;
  };

  HostCalls(FirstFailure &failure, int threads) : failure(failure), threads(threads) {}

  /// Made at the first issue of that command in that repetition.
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
