//===- NcclWorld.cpp - ranks with a GPU each, joined by NCCL ------------------------------===//
#include "runtime/collective/nccl/NcclWorld.h"
#include "runtime/collective/nccl/NcclCommunicator.h"

#include <algorithm>
#include <condition_variable>
#include <numeric>
#include <thread>

namespace sluice {
namespace {

using cuda::ncclStatus;
using nccl::NcclCommunicator;

class NcclWorld final : public DeviceWorld {
public:
  NcclWorld(const cuda::Table &table, std::shared_ptr<World> host, int rank, const NcclOptions &options)
      : table(table), host(std::move(host)), ownRank(rank), options(options) {}

  ~NcclWorld() override {
    {
      std::lock_guard lock(mutex);
      stopping = true;
      changed.notify_all();
    }
    if (watch.joinable())
      watch.join();
    if (root && !aborted)
      table.nccl.destroy(root);
  }

  int size() const override { return host->size(); }
  Result<std::unique_ptr<Communicator>> create(int rank, std::span<const int> members, std::string_view channel) override {
    return host->create(rank, members, channel);
  }
  void noteProgress(std::uint32_t entry, std::uint32_t instruction) override { host->noteProgress(entry, instruction); }
  void nameProgress(std::function<std::string(std::uint32_t, std::uint32_t)> names) override { host->nameProgress(std::move(names)); }
  bool isHeard(int rank) override { return host->isHeard(rank); }

  void abort(const Status &reason) override {
    {
      std::lock_guard lock(mutex);
      if (failure.isOk())
        failure = reason;
      // Who sees the failure finds every channel closed.
      for (NcclCommunicator *communicator : communicators)
        communicator->refuse();
    }
    // The host first: who is let go by NCCL's end leaves, and the reason is to be heard before that.
    host->abort(reason);
    end();
  }

  Result<std::unique_ptr<Communicator>> createForDevice(int rank, std::span<const int> members, std::string_view channel) override {
    SLUICE_RETURN_IF_ERROR(start());
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> inner, host->create(rank, members, channel));
    // Groups along the same axes are made by one split of all ranks: a group's color is its first member.
    cuda::nccl::Config config;
    cuda::nccl::Comm comm = nullptr;
    SLUICE_RETURN_IF_ERROR(ncclStatus(table.nccl.split(root, members.front(), rank, &comm, &config),
                                      "ncclCommSplit of channel '" + std::string(channel) + "'"));
    auto made = std::make_unique<NcclCommunicator>(table, comm, std::move(inner), ownRank, std::string(channel),
                                                   [this](NcclCommunicator *gone) {
                                                     std::lock_guard lock(mutex);
                                                     std::erase(communicators, gone);
                                                   });
    std::lock_guard lock(mutex);
    communicators.push_back(made.get());
    return std::unique_ptr<Communicator>(std::move(made));
  }

  Status registerMemory(void *memory, std::uint64_t bytes) override {
    if (!options.registers || bytes == 0)
      return {};
    std::lock_guard lock(mutex);
    for (NcclCommunicator *communicator : communicators)
      SLUICE_RETURN_IF_ERROR(communicator->registerMemory(memory, bytes));
    return {};
  }

  Status health() const override {
    std::lock_guard lock(mutex);
    return failure;
  }

private:
  /// NCCL's own meeting; its id travels over the host's world.
  Status start() {
    if (root)
      return {};
    std::vector<int> everybody(static_cast<std::size_t>(size()));
    std::iota(everybody.begin(), everybody.end(), 0);
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> all, host->create(ownRank, everybody, "nccl"));
    cuda::nccl::UniqueId id{};
    Status status = ownRank == 0 ? ncclStatus(table.nccl.uniqueId(&id), "ncclGetUniqueId") : Status();
    if (!status.isOk()) {
      host->abort(status);
      return status;
    }
    const SegmentPointers segment{&id, &id, sizeof id};
    SLUICE_RETURN_IF_ERROR(all->broadcast({&segment, 1}, DType::u8, 0, {0, "nccl's id"}, nullptr));
    cuda::nccl::Config config;
    SLUICE_RETURN_IF_ERROR(ncclStatus(table.nccl.initRank(&root, size(), id, ownRank, &config), "ncclCommInitRankConfig"));
    SLUICE_RETURN_IF_ERROR(driverStatus(table, table.driver.contextGet(&context), "cuCtxGetCurrent"));
    watch = std::thread([this] { look(); });
    return {};
  }

  void look() {
    table.driver.contextSet(context);
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, std::chrono::milliseconds(200), [&] { return stopping; })) {
      Status found;
      for (NcclCommunicator *communicator : communicators)
        if (found.isOk())
          found = communicator->inspect(options.watchdogSeconds);
      if (found.isOk())
        continue;
      lock.unlock();
      abort(found);
      return;
    }
  }

  void end() {
    std::lock_guard lock(mutex);
    for (NcclCommunicator *communicator : communicators)
      communicator->end();
    if (root && !aborted)
      table.nccl.abort(root);
    aborted = true;
  }

  const cuda::Table &table;
  const std::shared_ptr<World> host;
  const int ownRank;
  const NcclOptions options;
  cuda::nccl::Comm root = nullptr;
  cuda::Context context = nullptr;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::vector<NcclCommunicator *> communicators;
  Status failure;
  bool stopping = false, aborted = false;
  std::thread watch;
};

} // namespace

Result<std::shared_ptr<DeviceWorld>> createNcclWorld(std::shared_ptr<World> host, int rank, const NcclOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(const cuda::Table *table, cuda::table());
  SLUICE_RETURN_IF_ERROR(table->ncclAbsence);
  return std::shared_ptr<DeviceWorld>(std::make_shared<NcclWorld>(*table, std::move(host), rank, options));
}

} // namespace sluice
