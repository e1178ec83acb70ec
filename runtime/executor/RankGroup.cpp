//===- RankGroup.cpp - all ranks of a plan as threads of this process ------------===//
#include "runtime/executor/RankGroup.h"
#include "runtime/base/Thread.h"
#include "runtime/collective/cuda/VirtualRanks.h"
#include "runtime/executor/Backend.h"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

namespace sluice {
namespace {

class ThreadRankGroup final : public RankGroup {
public:
  ThreadRankGroup(const plan::PlanT &plan, const ExecutorOptions &options)
      : plan(plan), options(options), world(isCudaPlan(plan) ? createVirtualRanks(static_cast<int>(meshSize(plan)))
                                                             : createLocalWorld(static_cast<int>(meshSize(plan)))),
        executors(static_cast<std::size_t>(world->size())) {
    this->options.onFailure = [this, user = options.onFailure](const Status &status) {
      keepFirst(status);
      if (user)
        user(status);
    };
  }

  ~ThreadRankGroup() override {
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

  Status start() {
    for (int r = 0; r < size(); ++r) {
      std::thread thread;
      SLUICE_RETURN_IF_ERROR(startThread(thread, "rank " + std::to_string(r), [this, r] { work(r); }));
      threads.push_back(std::move(thread));
    }
    return runOnAll(nullptr, nullptr);
  }

  int size() const override { return world->size(); }
  Executor &executor(int rank) override { return *executors[static_cast<std::size_t>(rank)]; }

private:
  Status runOnAll(Status (*function)(void *, Executor &), void *context) override {
    std::unique_lock lock(mutex);
    if (!firstFailure.isOk())
      return firstFailure;
    task = function;
    taskContext = context;
    remaining = size();
    ++round;
    begun.notify_all();
    ended.wait(lock, [&] { return remaining == 0; });
    return firstFailure;
  }

  /// The first round creates the executor; every later one runs the task on it.
  void work(int rank) {
    std::uint64_t seen = 0;
    std::unique_ptr<Executor> &own = executors[static_cast<std::size_t>(rank)];
    std::unique_lock lock(mutex);
    while (true) {
      begun.wait(lock, [&] { return stopping || round != seen; });
      if (stopping)
        break;
      seen = round;
      lock.unlock();
      Status status = task ? task(taskContext, *own) : make(rank, own);
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

  Status make(int rank, std::unique_ptr<Executor> &own) {
    SLUICE_ASSIGN_OR_RETURN(own, Executor::create(plan, world, rank, options));
    return {};
  }

  void keepFirst(const Status &status) {
    std::lock_guard lock(mutex);
    if (firstFailure.isOk())
      firstFailure = status;
  }

  const plan::PlanT &plan;
  ExecutorOptions options;
  const std::shared_ptr<World> world;
  std::vector<std::unique_ptr<Executor>> executors;
  std::vector<std::thread> threads;

  std::mutex mutex;
  std::condition_variable begun;
  std::condition_variable ended;
  Status firstFailure;
  Status (*task)(void *, Executor &) = nullptr;
  void *taskContext = nullptr;
  int remaining = 0;
  std::uint64_t round = 0;
  bool stopping = false;
};

} // namespace

Result<std::unique_ptr<RankGroup>> RankGroup::create(const plan::PlanT &plan, const ExecutorOptions &options) {
  constexpr std::uint64_t maxRanks = 4096;
  if (const std::uint64_t ranks = meshSize(plan); ranks == 0 || ranks > maxRanks)
    return refusedError("ranks in one process, expected 1 to " + std::to_string(maxRanks) + " but got " +
                        std::to_string(ranks));
  auto group = std::make_unique<ThreadRankGroup>(plan, options);
  SLUICE_RETURN_IF_ERROR(group->start());
  return std::unique_ptr<RankGroup>(std::move(group));
}

} // namespace sluice
