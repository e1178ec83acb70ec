//===- RankGroup.h - all ranks of a plan as threads of this process --------------===//
//
// Creates a local world and, for each rank, a host thread and an Executor, and runs functions on all of them at once.
// The first failure of any rank ends the world, so that no rank waits forever; every later call returns it. The methods
// are called by one thread.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_EXECUTOR_RANKGROUP_H
#define SLUICE_RUNTIME_EXECUTOR_RANKGROUP_H

#include "runtime/executor/Executor.h"

#include <type_traits>

namespace sluice {

class RankGroup {
public:
  virtual ~RankGroup() = default;

  /// One rank for each point of the plan's mesh. `plan` outlives the group.
  static Result<std::unique_ptr<RankGroup>> create(const plan::PlanT &plan, const ExecutorOptions &options = {});

  virtual int size() const = 0;
  /// For reading its state between calls; run it only by forEachRank().
  virtual Executor &executor(int rank) = 0;

  /// Runs `Status function(Executor &)` for every rank on that rank's thread; returns when all have returned.
  /// Allocates nothing.
  template <typename Function> Status forEachRank(Function &&function) {
    return runOnAll(
        [](void *context, Executor &executor) -> Status {
          return (*static_cast<std::remove_reference_t<Function> *>(context))(executor);
        },
        const_cast<void *>(static_cast<const void *>(&function)));
  }

  /// Runs an entry point on all ranks and waits for it.
  Status runEntry(std::string_view name) {
    return forEachRank([name](Executor &executor) { return executor.finishEntry(name); });
  }
  /// Issues an entry point on all ranks and waits only for its ports (Executor::awaitPorts). finish() waits for the
  /// rest.
  Status startEntry(std::string_view name) {
    return forEachRank([name](Executor &executor) { return executor.startEntry(name); });
  }
  Status finish() {
    return forEachRank([](Executor &executor) { return executor.synchronize(); });
  }

protected:
  virtual Status runOnAll(Status (*function)(void *context, Executor &executor), void *context) = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_EXECUTOR_RANKGROUP_H
