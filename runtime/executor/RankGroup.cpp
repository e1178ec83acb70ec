//===- RankGroup.cpp - all ranks of a plan as threads of this process ------------===//
#include "runtime/executor/RankGroup.h"
#include "runtime/base/Thread.h"
#include "runtime/collective/cuda/VirtualRanks.h"
#include "runtime/executor/Backend.h"

namespace sluice {

RankGroup::RankGroup(const plan::PlanT &plan, const ExecutorOptions &options)
    : plan(plan), options(options), world(isCudaPlan(plan) ? createVirtualRanks(static_cast<int>(meshSize(plan)))
                                                           : createLocalWorld(static_cast<int>(meshSize(plan)))),
      executors(static_cast<std::size_t>(world->size())) {
  this->options.onFailure = [this, user = options.onFailure](const Status &status) {
    keepFirst(status);
    if (user)
      user(status);
  };
}

RankGroup::~RankGroup() {
  // A stream may still be in a collective that other ranks have not issued.
  world->abort(failedError("the group of ranks has ended"));
  {
    std::lock_guard lock(mutex);
    stopping = true;
    begun.notify_all();
  }
  for (std::thread &thread : threads)
    thread.join();
}

Status RankGroup::start() {
  for (int r = 0; r < size(); ++r) {
    std::thread thread;
    SLUICE_RETURN_IF_ERROR(startThread(thread, "rank " + std::to_string(r), [this, r] { work(r); }));
    threads.push_back(std::move(thread));
  }
  return forEachRank({});
}

Status RankGroup::forEachRank(const RankFunction &function) {
  std::unique_lock lock(mutex);
  if (!firstFailure.isOk())
    return firstFailure;
  task = function;
  remaining = size();
  ++round;
  begun.notify_all();
  ended.wait(lock, [&] { return remaining == 0; });
  return firstFailure;
}

void RankGroup::work(int rank) {
  std::uint64_t seen = 0;
  std::unique_ptr<Executor> &own = executors[static_cast<std::size_t>(rank)];
  const auto create = [&]() -> Status {
    SLUICE_ASSIGN_OR_RETURN(own, Executor::create(plan, world, rank, options));
    return {};
  };
  std::unique_lock lock(mutex);
  while (true) {
    begun.wait(lock, [&] { return stopping || round != seen; });
    if (stopping)
      break;
    seen = round;
    lock.unlock();
    Status status = task ? task(*own) : create();
    if (!status.isOk()) {
      keepFirst(status);
      world->abort(status);
    }
    lock.lock();
    if (--remaining == 0)
      ended.notify_one();
  }
  lock.unlock();
  own.reset();
}

void RankGroup::keepFirst(const Status &status) {
  std::lock_guard lock(mutex);
  if (firstFailure.isOk())
    firstFailure = status;
}

Result<std::unique_ptr<RankGroup>> RankGroup::create(const plan::PlanT &plan, const ExecutorOptions &options) {
  constexpr std::uint64_t maxRanks = 4096;
  if (const std::uint64_t ranks = meshSize(plan); ranks == 0 || ranks > maxRanks)
    return refusedError("ranks in one process, expected 1 to " + std::to_string(maxRanks) + " but got " +
                        std::to_string(ranks));
  std::unique_ptr<RankGroup> group(new RankGroup(plan, options));
  SLUICE_RETURN_IF_ERROR(group->start());
  return group;
}

} // namespace sluice
