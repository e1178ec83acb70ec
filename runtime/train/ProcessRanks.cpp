//===- ProcessRanks.cpp - the trainer's ranks, each a process ---------------------===//
//
// Processes read each other's buffers over separate communicators: one of all ranks, and, for reads by rank 0, one of
// rank 0 and each other rank.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Text.h"
#include "runtime/base/cuda/Table.h"
#include "runtime/collective/BroadcastText.h"
#include "runtime/collective/nccl/NcclWorld.h"
#include "runtime/executor/NonFinite.h"
#include "runtime/train/ExecutorSettings.h"
#include "runtime/train/Trace.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <future>
#include <map>
#include <optional>

namespace sluice {
namespace {

/// A read of the root within onRoot(); rank 0: no more reads.
struct Request {
  std::int32_t rank = 0;
  std::uint32_t buffer = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// The GPU with the launcher's number of the process on its machine; the only GPU if one is visible.
int localDevice() {
  const Result<const cuda::Table *> table = cuda::table();
  int visible = 0;
  if (table.isOk() && (*table)->driver.deviceCount(&visible) == 0 && visible == 1)
    return 0;
  for (const char *name : {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"})
    if (const char *text = std::getenv(name)) {
      int number = 0;
      std::from_chars(text, text + std::strlen(text), number);
      return number;
    }
  return 0;
}

Status broadcast(Communicator &communicator, int root, std::span<std::byte> bytes) {
  const SegmentPointers segment{bytes.data(), bytes.data(), bytes.size()};
  return communicator.broadcast({&segment, 1}, DType::u8, root, {0, "host"}, nullptr);
}

Result<std::int64_t> largestOn(Communicator &communicator, std::int64_t value) {
  const SegmentPointers segment{&value, &value, 1};
  SLUICE_RETURN_IF_ERROR(communicator.allReduce({&segment, 1}, DType::i64, Reduction::max, 1, {0, "host"}, nullptr));
  return value;
}

/// An exchange on one communicator of all ranks.
class HostExchange final : public Exchange {
public:
  explicit HostExchange(Communicator &all) : all(all) {}
  int size() const override { return all.size(); }
  bool holds(int rank) const override { return rank == all.rank(); }
  Result<bool> agree(bool value) const override {
    SLUICE_ASSIGN_OR_RETURN(std::int64_t largest, largestOn(all, value));
    return largest != 0;
  }
  Status share(int rank, std::string &text) const override { return broadcastText(all, rank, text, "text"); }

private:
  Communicator &all;
};

class ProcessRanks final : public Ranks {
public:
  ProcessRanks(plan::PlanT plan, const RanksOptions &options)
      : held(std::move(plan)), world(options.world), ownRank(options.rank) {}

  Status start(const RanksOptions &options) {
    SLUICE_ASSIGN_OR_RETURN(ExecutorOptions chosen, executorOptions(held, options, world.get(), pages));
    chosen.device = localDevice();
    traces = options.trace;
    SLUICE_ASSIGN_OR_RETURN(executor, Executor::create(held, world, ownRank, chosen));
    SLUICE_RETURN_IF_ERROR(finishSettings(chosen, options));
    SLUICE_ASSIGN_OR_RETURN(all, world->createForAll(ownRank, "host"));
    SLUICE_ASSIGN_OR_RETURN(agreements, world->createForAll(ownRank, "agreement"));
    if (options.writesCheckpoints) {
      SLUICE_ASSIGN_OR_RETURN(checkpoints, world->createForAll(ownRank, "checkpoint"));
      checkpointExchange.emplace(*checkpoints);
    }
    for (int other = 1; other < size(); ++other)
      if (ownRank == 0 || ownRank == other) {
        const int members[] = {0, other};
        SLUICE_ASSIGN_OR_RETURN(pairs[other], world->create(ownRank, members, "root"));
      }
    return {};
  }

  const plan::PlanT &plan() const override { return held; }
  int size() const override { return world->size(); }
  bool holds(int rank) const override { return rank == ownRank; }

  Status run(std::string_view entry) override { return executor->finishEntry(entry); }
  // Times are read from idle streams.
  Status start(std::string_view entry) override { return traces ? run(entry) : executor->startEntry(entry); }
  Status finish() override { return executor->synchronize(); }

  Result<std::string> findNonFinite(std::string_view entry) override {
    SLUICE_ASSIGN_OR_RETURN(const std::optional<NonFinite> found, executor->findNonFinite(entry));
    // The largest number is that of the smallest position, then of the lowest rank.
    constexpr std::int64_t none = INT64_MIN;
    const std::int64_t ranks = size();
    const std::int64_t own = found ? -(static_cast<std::int64_t>(found->position) * ranks + ownRank) : none;
    SLUICE_ASSIGN_OR_RETURN(const std::int64_t largest, largestOf(own));
    if (largest == none)
      return std::string();
    std::string text = found ? found->text : std::string();
    SLUICE_RETURN_IF_ERROR(share(static_cast<int>(-largest % ranks), text));
    return text;
  }

  Status read(int rank, std::uint32_t buffer, std::uint64_t offset, std::span<std::byte> out) const override {
    if (inRoot && rank != ownRank) {
      SLUICE_RETURN_IF_ERROR(sendRequest({rank, buffer, offset, out.size()}));
      return broadcast(*pairs.at(rank), 1, out);
    }
    if (holds(rank))
      SLUICE_RETURN_IF_ERROR(executor->read(buffer, offset, out));
    return inRoot ? Status::ok() : broadcast(*all, rank, out);
  }

  Status write(int rank, std::uint32_t buffer, std::uint64_t offset, std::span<const std::byte> data) override {
    return holds(rank) ? executor->write(buffer, offset, data) : Status::ok();
  }

  Status readOwn(int, std::uint32_t buffer, std::uint64_t offset, std::span<std::byte> out) const override {
    return executor->read(buffer, offset, out);
  }
  Result<SharedMemory> memoryOf(int rank, std::uint32_t buffer) const override { return executor->memory(buffer); }

  Status copyState() const override { return executor->copyState(); }
  std::span<std::byte> checkpointMemory(int rank) const override {
    return holds(rank) ? executor->checkpointMemory() : std::span<std::byte>();
  }

  Status onRoot(const std::function<Status()> &work) const override {
    if (ownRank != 0)
      return serve();
    inRoot = true;
    Status status = work();
    inRoot = false;
    Status sent = sendRequest({});
    return status.isOk() ? sent : status;
  }

  Result<bool> agree(bool value) const override { return HostExchange(*all).agree(value); }
  Status share(int rank, std::string &text) const override { return HostExchange(*all).share(rank, text); }
  const Exchange &background() const override { return *checkpointExchange; }

  // No instruction is the last one then.
  Status noteWork() const override {
    world->noteProgress(~0u, ~0u);
    return world->state();
  }

  Result<bool> agreeLater(bool value) override {
    Result<bool> before = agreement.valid() ? agreement.get() : Result<bool>(false);
    // The next step is issued while the ranks exchange their values.
    agreement = std::async(std::launch::async, [this, value]() -> Result<bool> {
      SLUICE_ASSIGN_OR_RETURN(std::int64_t largest, largestOn(*agreements, value));
      return largest != 0;
    });
    return before;
  }

  std::uint64_t requestedBytes(plan::Space space) const override {
    const std::uint64_t own =
        executor->allocatedBytes(space == plan::Space::device ? MemorySpace::device : MemorySpace::host);
    Result<std::int64_t> largest = largestOf(static_cast<std::int64_t>(own));
    return largest.isOk() ? static_cast<std::uint64_t>(*largest) : own;
  }

  PageBytes pageBytes(plan::Space space) const override {
    const PageBytes own = pages->of(space);
    const auto largest = [this](std::uint64_t bytes) {
      Result<std::int64_t> most = largestOf(static_cast<std::int64_t>(bytes));
      return most.isOk() ? static_cast<std::uint64_t>(*most) : bytes;
    };
    return {largest(own.resident), largest(own.live)};
  }

  std::vector<Span> takeTrace() override {
    std::vector<Span> spans;
    Status status = collectTrace(spans);
    executor->clearTrace();
    return status.isOk() ? std::move(spans) : std::vector<Span>();
  }

private:
  Result<std::int64_t> largestOf(std::int64_t value) const { return largestOn(*all, value); }

  Status sendRequest(Request request) const {
    return broadcast(*all, 0, std::as_writable_bytes(std::span(&request, 1)));
  }

  /// Sends the root the ranges that it requests, until its last request.
  Status serve() const {
    while (true) {
      Request request;
      SLUICE_RETURN_IF_ERROR(broadcast(*all, 0, std::as_writable_bytes(std::span(&request, 1))));
      if (request.rank == 0)
        return Status::ok();
      if (request.rank != ownRank)
        continue;
      if (request.buffer >= held.buffers.size() || request.bytes > held.buffers[request.buffer]->bytes)
        return failedError(concat("rank 0 requests ", request.bytes, " bytes of buffer ", request.buffer,
                                  ", which the plan does not have"));
      std::vector<std::byte> copy(request.bytes);
      SLUICE_RETURN_IF_ERROR(executor->read(request.buffer, request.offset, copy));
      SLUICE_RETURN_IF_ERROR(broadcast(*pairs.at(ownRank), 1, copy));
    }
  }

  /// Each rank's records go to the root, which names them. On one machine all clocks are one.
  Status collectTrace(std::vector<Span> &spans) {
    const std::int64_t own = traceBegin(*executor);
    if (traceStart < 0) {
      SLUICE_ASSIGN_OR_RETURN(std::int64_t last, largestOf(own < 0 ? INT64_MIN : -own));
      traceStart = -last;
    }
    const std::vector<std::vector<std::string>> names =
        ownRank == 0 ? instructionNames(held) : std::vector<std::vector<std::string>>();
    for (int rank = 0; rank < size(); ++rank)
      for (std::uint32_t stream = 0; stream < held.streams.size(); ++stream) {
        if (ownRank != 0 && ownRank != rank)
          continue;
        std::string bytes;
        if (holds(rank)) {
          const auto own = std::as_bytes(executor->trace(stream));
          bytes.assign(reinterpret_cast<const char *>(own.data()), own.size());
        }
        if (rank != 0)
          SLUICE_RETURN_IF_ERROR(broadcastText(*pairs.at(rank), 1, bytes, "trace"));
        if (ownRank != 0)
          continue;
        std::vector<TraceRecord> records(bytes.size() / sizeof(TraceRecord));
        std::ranges::copy(std::as_bytes(std::span(bytes)).first(std::as_bytes(std::span(records)).size()),
                          std::as_writable_bytes(std::span(records)).begin());
        std::erase_if(records, [&](const TraceRecord &record) {
          return record.entry >= names.size() || record.instruction >= names[record.entry].size();
        });
        appendSpans(held, rank, stream, records, names, traceStart, spans);
      }
    return Status::ok();
  }

  const plan::PlanT held;
  const std::shared_ptr<World> world;
  const int ownRank;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Communicator> all, agreements, checkpoints;
  /// On `checkpoints`; only if the run writes some.
  std::optional<HostExchange> checkpointExchange;
  /// Of agreeLater(); destroyed before its communicator.
  std::future<Result<bool>> agreement;
  /// By the rank at the other end; the root has all of them.
  std::map<int, std::unique_ptr<Communicator>> pairs;
  /// True on the root within onRoot().
  mutable bool inRoot = false;
  bool traces = false;
  const std::shared_ptr<PageReport> pages = std::make_shared<PageReport>();
  std::int64_t traceStart = -1;
};

} // namespace

Result<std::unique_ptr<Ranks>> openProcessRanks(plan::PlanT plan, const RanksOptions &options) {
  RanksOptions own = options;
  if (plan.target && plan.target->device == "cuda") {
    // The processes communicate on the host; their GPUs with NCCL.
    NcclOptions nccl;
    nccl.registers = plan.register_arena;
    nccl.maxCtas = plan.max_ctas;
    nccl.copyEngines = plan.copy_engines;
    nccl.watchdogSeconds = options.watchdogSeconds;
    nccl.startSeconds = options.joinSeconds;
    nccl.endProcess = options.endProcess;
    SLUICE_ASSIGN_OR_RETURN(own.world, createNcclWorld(options.world, options.rank, nccl));
  }
  auto ranks = std::make_unique<ProcessRanks>(std::move(plan), own);
  SLUICE_RETURN_IF_ERROR(ranks->start(own));
  return std::unique_ptr<Ranks>(std::move(ranks));
}

} // namespace sluice
