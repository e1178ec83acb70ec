//===- PlanExecutor.h - the implementation of Executor -----------------------------===//
//
// ExecutorLoad.cpp creates it, in this order: compare plan and machine, compare the digests of all ranks, allocate
// memory, create streams, events and communicators, bind ports, prepare commands. ExecutorIssue.cpp
// issues steps.
//
// Order of runs: a run that follows a run of the same entry point starts where its waits allow, carried waits included.
// A run that follows a different entry point, a replay or a failed run starts after all earlier work: each stream waits
// for every other one, and carried waits are omitted. A recording also omits them: a replay starts after all earlier
// work, and later work starts after the replay.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_EXECUTOR_PLANEXECUTOR_H
#define SLUICE_RUNTIME_EXECUTOR_PLANEXECUTOR_H

#include "runtime/executor/Backend.h"
#include "runtime/executor/Commands.h"
#include "runtime/executor/NonFinite.h"
#include "runtime/plan/CheckpointMemory.h"

#include <map>
#include <optional>

namespace sluice {

class DeviceWorld;

/// An issued instruction.
struct IssueItem {
  plan::Operation kind = plan::Operation::NONE;
  StreamId stream = 0;
  Command *command = nullptr;
  EventId event = 0;
  const plan::InstructionT *instruction = nullptr;
  /// In issue order within the entry point.
  std::uint32_t index = 0;
  /// A wait for an event of the previous run.
  bool carried = false;
  /// A record for awaitPorts(), which is not an instruction of the plan.
  bool forHost = false;
};

struct IssueSection {
  std::uint32_t repeat = 1;
  SectionRange range;
  std::vector<IssueItem> items;
};

struct BoundPort {
  std::string_view name;
  plan::PortRole role = plan::PortRole::data;
  PortMemory memory;
  /// Of a constant.
  std::span<const std::uint8_t> values;
};

struct IssueEntry {
  std::string_view name;
  /// On a device that records: how often it was issued, and the recording once there is one.
  std::uint64_t runs = 0;
  std::optional<std::uint32_t> recording;
  std::vector<IssueSection> sections;
  std::vector<BoundPort> inputs;
  std::vector<BoundPort> outputs;
  /// Recorded after the last instruction of a stream that reads an input or writes an output.
  std::vector<EventId> portEvents;
};

class PlanExecutor final : public Executor {
public:
  PlanExecutor(const plan::PlanT &plan, std::shared_ptr<World> world, int rank, const ExecutorOptions &options)
      : options(options), context(plan, std::move(world), rank, options.onFailure), binder(plan, rank) {}
  ~PlanExecutor() override;

  Status load();
  RankContext &rankContext() { return context; }

  const plan::PlanT &plan() const override { return context.plan; }
  int rank() const override { return context.rank; }
  Status runEntry(std::string_view name) override;
  Status awaitPorts(std::string_view name) override;
  Status synchronize() override;
  Result<PortMemory> input(std::string_view entry, std::string_view name) const override {
    return findPort(entry, name, &IssueEntry::inputs, "input");
  }
  Result<PortMemory> output(std::string_view entry, std::string_view name) const override {
    return findPort(entry, name, &IssueEntry::outputs, "output");
  }
  Status read(std::uint32_t buffer, std::uint64_t offset, std::span<std::byte> out) const override {
    SLUICE_ASSIGN_OR_RETURN(const std::byte *from, binder.address(buffer, offset, out.size()));
    return backend->device().read(out.data(), from, out.size());
  }
  Status write(std::uint32_t buffer, std::uint64_t offset, std::span<const std::byte> data) override {
    SLUICE_ASSIGN_OR_RETURN(std::byte * to, binder.address(buffer, offset, data.size()));
    return backend->device().write(to, data.data(), data.size());
  }
  Result<SharedMemory> memory(std::uint32_t buffer) const override;
  Result<std::optional<NonFinite>> findNonFinite(std::string_view name) override;
  Status copyState() override;
  std::span<std::byte> checkpointMemory() const override { return checkpoint; }
  std::uint64_t allocatedBytes(MemorySpace space) const override { return backend->device().allocatedBytes(space); }
  std::span<const TraceRecord> trace(std::uint32_t stream) const override {
    return std::span(traces[stream].records).first(traces[stream].used);
  }
  void clearTrace() override {
    for (StreamTrace &trace : traces)
      trace.used = trace.timed = 0;
    if (context.clock)
      context.clock->restart();
  }

private:
  using ChannelKey = std::pair<std::vector<std::uint32_t>, std::uint32_t>;

  //===--- Load ---===//
  Status checkWorld() const;
  Status compareDigests() const;
  Status makeDevice();
  Status makeEntry(std::uint32_t e);
  Status addItem(const plan::EntryT &entry, const InstructionPlace &place, IssueSection &section);
  void addPortEvents(const plan::EntryT &source, IssueEntry &entry);
  Status withHolders(Status status, plan::Space space) const;
  CommandResult makeCommand(const InstructionPlace &place);
  CommandResult makeLaunchCommand(const InstructionPlace &place, const plan::LaunchT &launch);
  Status makeChannels();
  Result<Communicator *> findChannel(const std::vector<std::uint32_t> &axes, std::uint32_t stream);
  Status bindPorts(const plan::EntryT &entry, const std::vector<std::unique_ptr<plan::PortT>> &ports,
                   std::vector<BoundPort> &bound);
  void writeSeed(const IssueEntry &entry) const;

  //===--- Issue ---===//
  Status writeConstants(const IssueEntry &entry);
  RankMemory rankMemory() const;
  /// Null if the ranks share a GPU, or have none.
  DeviceWorld *deviceWorld() const;
  Status replay(IssueEntry &entry);
  Result<std::uint32_t> record(IssueEntry &entry);
  Status issue(const IssueEntry &entry, bool isRecorded);
  Status issueItem(const IssueItem &item, std::uint32_t repetition, bool carries);
  Status observe(const std::function<Status(InstructionObserver &)> &call);
  Status join();
  Status readTimes();
  Status unknown(std::string_view what, std::string_view name) const;
  Result<PortMemory> findPort(std::string_view entryName, std::string_view name,
                              std::vector<BoundPort> IssueEntry::*list, std::string_view what) const;

  const ExecutorOptions options;
  RankContext context;
  Binder binder;
  int threads = 1;
  /// After a failure no further entry point runs.
  Status failure;
  /// First event of the entry point that is created next. The events of all entry points are followed by one per stream
  /// for join(), then by those of ports.
  EventId firstEvent = 0, firstJoinEvent = 0, nextPortEvent = 0;
  /// The entry point issued last, if its records are the ones that carried waits are for; null otherwise.
  const IssueEntry *follows = nullptr;
  /// The entry point that ran last, whose constants are in its ports.
  const IssueEntry *holder = nullptr;
  /// True if work was issued after the last time that all streams were idle.
  bool busy = false;
  std::vector<void *> workspaces;
  /// The memory of checkpoints, and the tensors that are copied to it.
  std::span<std::byte> checkpoint;
  std::vector<CopiedRange> copied;
  std::vector<StreamTrace> traces;
  std::map<ChannelKey, std::unique_ptr<Communicator>> channels;
  std::vector<std::unique_ptr<InstructionCommand>> commands;
  std::vector<IssueEntry> entries;
  /// Null unless requested.
  std::unique_ptr<InstructionObserver> observer;
  /// During findNonFinite(), which issues the instructions before `searchEnd`.
  NonFiniteSearch *search = nullptr;
  std::uint32_t searchEnd = 0;
  bool recording = false;
  /// Last, so that it is destroyed first: its streams use all of the above.
  std::unique_ptr<Backend> backend;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_EXECUTOR_PLANEXECUTOR_H
