//===- NcclWorld.cpp - ranks with a GPU each, connected by NCCL ------------------------------===//
#include "runtime/collective/nccl/NcclWorld.h"
#include "runtime/collective/nccl/NcclCommunicator.h"

#include <algorithm>
#include <climits>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

namespace sluice {
namespace {

using cuda::Code;
using cuda::ncclStatus;
using nccl::NcclCommunicator;
using Clock = std::chrono::steady_clock;

/// Most communicators that write the number of their current collective: one word each.
constexpr std::size_t maxMarks = 1024;

std::string uuidText(const cuda::Uuid &uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid.bytes[i]);
    text += digits;
  }
  return text;
}

/// Runs `call` on a thread with the caller's CUDA context current and returns its code; nullopt if it has not returned
/// within `seconds` (0: no limit) or `ended` has become true. A call that does not return keeps its thread: it must own
/// the data that it uses.
std::optional<Code> callWithin(const cuda::Table &table, double seconds, const std::function<bool()> &ended,
                               std::function<Code()> call) {
  cuda::Context context = nullptr;
  if (const Code code = table.driver.contextGet(&context))
    return code;
  std::promise<Code> promise;
  std::future<Code> code = promise.get_future();
  std::thread(
      [context, set = table.driver.contextSet, call = std::move(call)](std::promise<Code> returned) {
        const Code failed = set(context);
        returned.set_value(failed ? failed : call());
      },
      std::move(promise))
      .detach();
  const auto limit = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  while (seconds <= 0 || Clock::now() < limit) {
    if (code.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready)
      return code.get();
    if (ended())
      break;
  }
  return std::nullopt;
}

class NcclWorld final : public DeviceWorld {
public:
  NcclWorld(const cuda::Table &table, std::shared_ptr<World> host, int rank, const NcclOptions &options)
      : table(table), host(std::move(host)), ownRank(rank), options(options),
        group(std::make_shared<nccl::Group>(table, rank)) {}

  ~NcclWorld() override {
    const bool ends = endsOrderly();
    // The second thread limits the time of this call.
    if (root && ends)
      table.nccl.destroy(root);
    {
      std::lock_guard lock(mutex);
      stopping = true;
      changed.notify_all();
    }
    if (watch.joinable())
      watch.join();
    if (marks && ends)
      table.driver.releaseHost(marks);
  }

  int size() const override { return host->size(); }
  Result<std::unique_ptr<Communicator>> create(int rank, std::span<const int> members,
                                               std::string_view channel) override {
    return host->create(rank, members, channel);
  }
  void noteProgress(std::uint32_t entry, std::uint32_t instruction) override { host->noteProgress(entry, instruction); }
  void nameProgress(std::function<std::string(std::uint32_t, std::uint32_t)> names) override {
    host->nameProgress(std::move(names));
  }
  int reporter() override { return host->reporter(); }

  void abort(const Status &reason) override {
    group->hasFailed = true;
    host->abort(reason);
  }
  Status state() const override { return host->state(); }

  Result<std::unique_ptr<Communicator>> createForDevice(int rank, std::span<const int> members,
                                                        std::string_view channel) override {
    SLUICE_RETURN_IF_ERROR(start());
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> inner, host->create(rank, members, channel));
    // Groups along the same axes are created by one split of all ranks: a group's color is its first member.
    const auto comm = std::make_shared<cuda::nccl::Comm>(nullptr);
    SLUICE_RETURN_IF_ERROR(
        call("ncclCommSplit of channel '" + std::string(channel) + "'",
             [split = table.nccl.split, root = root, color = members.front(), rank, comm,
              config = communicatorConfig()]() mutable { return split(root, color, rank, comm.get(), &config); }));
    SLUICE_RETURN_IF_ERROR(connect(*comm, static_cast<int>(members.size()), channel));
    std::lock_guard lock(mutex);
    std::uint32_t *mark = marks && communicatorCount < maxMarks ? marks + communicatorCount : nullptr;
    ++communicatorCount;
    auto made = std::make_unique<NcclCommunicator>(group, *comm, std::move(inner), std::string(channel), mark,
                                                   [this](NcclCommunicator *gone) {
                                                     (void)endsOrderly();
                                                     std::lock_guard lock(mutex);
                                                     std::erase(communicators, gone);
                                                   });
    communicators.push_back(made.get());
    return std::unique_ptr<Communicator>(std::move(made));
  }

  Status registerMemory(void *memory, std::uint64_t bytes) override {
    if (!options.registers || bytes == 0)
      return {};
    // Where the ranks of a communicator cannot map each other's memory, NCCL registers it with the network alone.
    for (NcclCommunicator *communicator : communicators) {
      const auto window = std::make_shared<cuda::nccl::Window>(nullptr);
      SLUICE_RETURN_IF_ERROR(
          call("ncclCommWindowRegister of the arena",
               [add = table.nccl.registerWindow, comm = communicator->handle(), memory, bytes, window] {
                 return add(comm, memory, bytes, window.get(), cuda::nccl::windowSymmetric);
               }));
      communicator->keepWindow(*window);
    }
    return {};
  }

  std::uint64_t libraryBytes() const override { return freeAtStart > freeConnected ? freeAtStart - freeConnected : 0; }

  Status checkWait(Clock::time_point since) override {
    if (!endsOrderly())
      return state();
    if (options.watchdogSeconds <= 0)
      return {};
    const Clock::time_point now = Clock::now();
    std::vector<std::uint32_t> positions;
    for (const NcclCommunicator *communicator : communicators)
      positions.push_back(communicator->position());
    // The peers are alive if a collective ends or begins.
    if (since != waitBegan || positions != lastPositions) {
      waitBegan = since;
      lastPositions = std::move(positions);
      lastChange = now;
      return {};
    }
    const double seconds = std::chrono::duration<double>(now - lastChange).count();
    if (seconds < options.watchdogSeconds)
      return {};
    for (std::size_t c = 0; c < communicators.size(); ++c)
      if (lastPositions[c] != 0) {
        abort(failedError("rank " + std::to_string(ownRank) + " has waited " +
                          std::to_string(static_cast<int>(seconds)) + " s for its peers on " +
                          communicators[c]->describePosition(lastPositions[c])));
        return state();
      }
    return {};
  }

private:
  /// Can communicators be destroyed? After a failure of any rank they cannot.
  bool endsOrderly() {
    if (!group->hasFailed && !host->state().isOk())
      group->hasFailed = true;
    return !group->hasFailed;
  }

  /// A call of NCCL that waits for the other ranks. The function owns the data that it uses: it may never return.
  Status call(const std::string &what, std::function<Code()> function) {
    const std::optional<Code> code =
        callWithin(table, options.startSeconds, [this] { return !state().isOk(); }, std::move(function));
    if (code && *code == 0)
      return {};
    Status failed = code              ? ncclStatus(*code, what)
                    : !state().isOk() ? state()
                                      : failedError(what + ": nccl has not connected the ranks within " +
                                                    std::to_string(static_cast<int>(options.startSeconds)) + " s")
                                            .withNote("NCCL_DEBUG=INFO shows where it waits; NCCL_SOCKET_IFNAME names "
                                                      "the network interface of the ranks");
    std::size_t free = 0, total = 0;
    if (code && table.driver.memoryInfo(&free, &total) == 0)
      failed.addNote("the device has " + std::to_string(free) + " of " + std::to_string(total) +
                     " bytes free; nccl has " + "allocated " +
                     std::to_string(freeAtStart > free ? freeAtStart - free : 0));
    abort(failed);
    return failed;
  }

  cuda::nccl::Config communicatorConfig() const {
    cuda::nccl::Config config;
    if (options.maxCtas != 0)
      config.maxCTAs = static_cast<int>(std::min(options.maxCtas, std::uint32_t(INT_MAX)));
    if (options.copyEngines)
      config.CTAPolicy = cuda::nccl::ctaPolicyZero;
    return config;
  }

  Status check(Code code, std::string_view call) const { return driverStatus(table, code, call); }

  /// Initializes NCCL; the host's world transfers its id.
  Status start() {
    if (root)
      return {};
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> all, host->createForAll(ownRank, "nccl"));
    SLUICE_RETURN_IF_ERROR(checkDevices(*all));
    std::size_t total = 0;
    SLUICE_RETURN_IF_ERROR(check(table.driver.memoryInfo(&freeAtStart, &total), "cuMemGetInfo"));
    freeConnected = freeAtStart;
    if (options.watchdogSeconds > 0) {
      void *memory = nullptr;
      SLUICE_RETURN_IF_ERROR(
          check(table.driver.allocateHost(&memory, maxMarks * sizeof(std::uint32_t), cuda::hostAllocPortable),
                "cuMemHostAlloc"));
      marks = static_cast<std::uint32_t *>(std::memset(memory, 0, maxMarks * sizeof(std::uint32_t)));
    }
    SLUICE_RETURN_IF_ERROR(check(table.driver.contextGet(&context), "cuCtxGetCurrent"));
    watch = std::thread([this] { look(); });
    cuda::nccl::UniqueId id{};
    if (Status status = ownRank == 0 ? ncclStatus(table.nccl.uniqueId(&id), "ncclGetUniqueId") : Status();
        !status.isOk()) {
      abort(status);
      return status;
    }
    const SegmentPointers segment{&id, &id, sizeof id};
    SLUICE_RETURN_IF_ERROR(all->broadcast({&segment, 1}, DType::u8, 0, {0, "nccl's id"}, nullptr));
    const auto made = std::make_shared<cuda::nccl::Comm>(nullptr);
    SLUICE_RETURN_IF_ERROR(
        call("ncclCommInitRankConfig", [init = table.nccl.initRank, ranks = size(), id, rank = ownRank, made,
                                        config = communicatorConfig()]() mutable {
          // Communicators that are split off this one use its buffers and connections.
          config.splitShare = 1;
          return init(made.get(), ranks, id, rank, &config);
        }));
    root = *made;
    return {};
  }

  /// NCCL refuses two ranks on one GPU; this names them.
  Status checkDevices(Communicator &all) const {
    int device = 0;
    cuda::Uuid own{};
    SLUICE_RETURN_IF_ERROR(check(table.driver.contextDevice(&device), "cuCtxGetDevice"));
    SLUICE_RETURN_IF_ERROR(check(table.driver.deviceUuid(&own, device), "cuDeviceGetUuid"));
    std::vector<cuda::Uuid> uuids(static_cast<std::size_t>(size()));
    const SegmentPointers segment{&own, uuids.data(), sizeof own};
    SLUICE_RETURN_IF_ERROR(all.allGather({&segment, 1}, DType::u8, {0, "GPUs of the ranks"}, nullptr));
    for (std::size_t a = 0; a < uuids.size(); ++a)
      for (std::size_t b = a + 1; b < uuids.size(); ++b)
        if (std::memcmp(&uuids[a], &uuids[b], sizeof own) == 0)
          return refusedError("rank " + std::to_string(a) + " and rank " + std::to_string(b) + " use the same GPU (" +
                              uuidText(uuids[a]) + ")")
              .withNote(
                  "start at most one process per GPU; without a launcher all ranks run in one process on one GPU");
    return {};
  }

  /// A first collective: NCCL connects the ranks and allocates its buffers, before the arena is requested.
  Status connect(cuda::nccl::Comm comm, int members, std::string_view channel) {
    const cuda::Driver &driver = table.driver;
    const std::string what = "connecting channel '" + std::string(channel) + "'";
    cuda::Stream stream = nullptr;
    cuda::DevicePointer bytes = 0;
    SLUICE_RETURN_IF_ERROR(
        check(driver.streamCreate(&stream, cuda::streamNonBlocking, 0), "cuStreamCreateWithPriority"));
    SLUICE_RETURN_IF_ERROR(check(driver.allocate(&bytes, static_cast<std::size_t>(members) + 1), "cuMemAlloc"));
    SLUICE_RETURN_IF_ERROR(call(what, [gather = table.nccl.allGather, comm, stream, bytes, members] {
      void *const to = reinterpret_cast<void *>(bytes);
      void *const from = static_cast<char *>(to) + members;
      return gather(from, to, 1, cuda::nccl::typeU8, comm, stream);
    }));
    SLUICE_RETURN_IF_ERROR(waitFor(stream, what));
    driver.release(bytes);
    driver.streamDestroy(stream);
    std::size_t total = 0;
    return check(driver.memoryInfo(&freeConnected, &total), "cuMemGetInfo");
  }

  Status waitFor(cuda::Stream stream, const std::string &what) {
    const Clock::time_point since = Clock::now();
    Code code = cuda::notReady;
    while ((code = table.driver.streamQuery(stream)) == cuda::notReady) {
      SLUICE_RETURN_IF_ERROR(state());
      const double seconds = std::chrono::duration<double>(Clock::now() - since).count();
      if (options.startSeconds > 0 && seconds > options.startSeconds) {
        abort(
            failedError(what + ": the ranks have not met within " + std::to_string(static_cast<int>(seconds)) + " s"));
        return state();
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return check(code, what);
  }

  /// Polls NCCL for errors. After a failure the rank's thread has some time to leave.
  void look() {
    table.driver.contextSet(context);
    std::unique_lock lock(mutex);
    const auto stops = [&] { return stopping; };
    while (!changed.wait_for(lock, std::chrono::milliseconds(200), stops)) {
      Status found = host->state();
      for (const NcclCommunicator *communicator : communicators)
        if (found.isOk())
          found = communicator->asyncError();
      if (found.isOk())
        continue;
      lock.unlock();
      abort(found);
      lock.lock();
      const auto grace = std::chrono::duration<double>(options.graceSeconds);
      if (!changed.wait_for(lock, grace, stops) && options.endProcess) {
        lock.unlock();
        options.endProcess(state());
      }
      return;
    }
  }

  const cuda::Table &table;
  const std::shared_ptr<World> host;
  const int ownRank;
  const NcclOptions options;
  const std::shared_ptr<nccl::Group> group;
  cuda::nccl::Comm root = nullptr;
  cuda::Context context = nullptr;
  std::size_t freeAtStart = 0, freeConnected = 0;
  /// Pinned memory that streams write; of each communicator one word.
  std::uint32_t *marks = nullptr;
  std::size_t communicatorCount = 0;
  /// Of the wait that is under way.
  Clock::time_point waitBegan, lastChange;
  std::vector<std::uint32_t> lastPositions;

  /// Changed by the rank's thread, read by both.
  std::vector<NcclCommunicator *> communicators;
  mutable std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;
  std::thread watch;
};

} // namespace

Result<std::shared_ptr<DeviceWorld>> createNcclWorld(std::shared_ptr<World> host, int rank,
                                                     const NcclOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(const cuda::Table *table, cuda::table());
  SLUICE_RETURN_IF_ERROR(table->ncclAbsence);
  return std::shared_ptr<DeviceWorld>(std::make_shared<NcclWorld>(*table, std::move(host), rank, options));
}

} // namespace sluice
