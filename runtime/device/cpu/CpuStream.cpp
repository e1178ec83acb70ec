//===- CpuStream.cpp - one stream: a thread and a ring of commands -------------===//
#include "runtime/device/cpu/CpuStream.h"
#include "runtime/base/Thread.h"

#include <omp.h>

namespace sluice {

CpuStream::CpuStream(std::string name, const CpuDeviceOptions &options, CpuEvents &events, FirstFailure &failure)
    : name(std::move(name)), options(options), events(events), failure(failure), ring(ringCapacity) {}

CpuStream::~CpuStream() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    stopping = true;
    pushed.notify_one();
  }
  thread.join();
}

Status CpuStream::start() {
  return startThread(thread, "stream '" + name + "'", [this] { work(); });
}

void CpuStream::push(const CpuStreamItem &item) {
  std::unique_lock lock(mutex);
  if (pushedCount - doneCount == ring.size()) {
    hostSleeps = true;
    popped.wait(lock, [&] { return pushedCount - doneCount < ring.size(); });
    hostSleeps = false;
  }
  ring[pushedCount % ring.size()] = item;
  ++pushedCount;
  if (workerSleeps)
    pushed.notify_one();
}

void CpuStream::drain() {
  std::unique_lock lock(mutex);
  hostSleeps = true;
  popped.wait(lock, [&] { return pushedCount == doneCount; });
  hostSleeps = false;
}

void CpuStream::work() {
  omp_set_num_threads(options.threads);
  std::unique_lock lock(mutex);
  while (true) {
    workerSleeps = true;
    pushed.wait(lock, [&] { return stopping || pushedCount != doneCount; });
    workerSleeps = false;
    if (pushedCount == doneCount)
      return;
    const CpuStreamItem item = ring[doneCount % ring.size()];
    lock.unlock();
    run(item);
    lock.lock();
    ++doneCount;
    // A host that waits for room is woken when half the ring is free, so that it does not wake for every item.
    if (hostSleeps && (pushedCount == doneCount || pushedCount - doneCount == ring.size() / 2))
      popped.notify_one();
  }
}

void CpuStream::run(const CpuStreamItem &item) {
  switch (item.kind) {
  case CpuStreamItem::Kind::record:
    events.complete(item.event, item.generation);
    return;
  case CpuStreamItem::Kind::wait:
    events.await(item.event, item.generation);
    return;
  case CpuStreamItem::Kind::run:
    break;
  }
  if (failure.known())
    return;
  if (options.delays)
    options.delays->before(name, item.command->instruction(), item.repetition);
  if (Status status = item.command->execute(nullptr, item.repetition); !status.isOk())
    failure.report(std::move(status));
}

} // namespace sluice
