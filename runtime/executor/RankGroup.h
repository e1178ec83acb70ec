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

#include <condition_variable>
#include <mutex>
#include <thread>

namespace sluice {

class RankGroup {
public:
  /// One rank for each point of the plan's mesh. `plan` outlives the group.
  static Result<std::unique_ptr<RankGroup>> create(const plan::PlanT &plan, const ExecutorOptions &options = {});
  ~RankGroup();

  int size() const { return world->size(); }
  /// For reading its state between calls; run it only by forEachRank().
  Executor &executor(int rank) { return *executors[static_cast<std::size_t>(rank)]; }

  using RankFunction = std::function<Status(Executor &)>;
  /// Runs the function for every rank on that rank's thread; returns when all have returned.
  Status forEachRank(const RankFunction &function);

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

private:
  RankGroup(const plan::PlanT &plan, const ExecutorOptions &options);
  Status start();
  void work(int rank);
  void keepFirst(const Status &status);

  const plan::PlanT &plan;
  ExecutorOptions options;
  const std::shared_ptr<World> world;
  std::vector<std::unique_ptr<Executor>> executors;
  std::vector<std::thread> threads;

  std::mutex mutex;
  std::condition_variable begun;
  std::condition_variable ended;
  Status firstFailure;
  /// Empty in the first round, which creates the executors.
  RankFunction task;
  int remaining = 0;
  std::uint64_t round = 0;
  bool stopping = false;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_EXECUTOR_RANKGROUP_H
