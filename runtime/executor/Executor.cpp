//===- Executor.cpp - creation and destruction of executors ------------------------===//
#include "runtime/executor/PlanExecutor.h"

#include <new>

namespace sluice {

PlanExecutor::~PlanExecutor() {
  context.world->nameProgress({});
  if (!backend || backend->isHost())
    return;
  // After a failure of a different rank this does not wait, and the world and the device keep the objects that streams
  // may still use. Kernels and communicators of a GPU have resources of its context, which is current after this.
  (void)backend->device().synchronize();
  // NCCL keeps a communicator until no graph holds its collectives.
  backend->destroyRecordings();
  entries.clear();
  commands.clear();
  channels.clear();
}

Result<std::unique_ptr<Executor>> Executor::create(const plan::PlanT &plan, std::shared_ptr<World> world, int rank,
                                                   const ExecutorOptions &options) {
  auto executor = std::make_unique<PlanExecutor>(plan, std::move(world), rank, options);
  Status status;
  try {
    status = executor->load();
  } catch (const std::bad_alloc &) {
    status = failedError("not enough memory to prepare the plan on rank " + std::to_string(rank));
  }
  if (!status.isOk()) {
    executor->rankContext().fail(status);
    return status;
  }
  return std::unique_ptr<Executor>(std::move(executor));
}

Status PlanExecutor::copyState() {
  for (const CopiedRange &range : copied)
    SLUICE_RETURN_IF_ERROR(backend->device().read(
        checkpoint.data() + range.copy, binder.arenas[static_cast<std::size_t>(range.space)].data() + range.begin,
        range.end - range.begin));
  return {};
}

} // namespace sluice
