//===- ExecutorIssue.cpp - runs of entry points -------------------------------------===//
#include "runtime/base/Text.h"
#include "runtime/collective/DeviceWorld.h"
#include "runtime/executor/PlanExecutor.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice {

DeviceWorld *PlanExecutor::deviceWorld() const {
  return backend->isHost() ? nullptr : dynamic_cast<DeviceWorld *>(context.world.get());
}

Status PlanExecutor::runEntry(std::string_view name) {
  if (!failure.isOk())
    return failure;
  const auto entry = std::ranges::find(entries, name, &IssueEntry::name);
  if (entry == entries.end())
    return unknown("entry point", name);
  const cuda::NvtxRange range(context.ranges,
                              plan().entries[static_cast<std::size_t>(entry - entries.begin())]->name.c_str());
  SLUICE_RETURN_IF_ERROR(writeConstants(*entry));
  return backend->records() && recording ? replay(*entry) : issue(*entry, /*isRecorded=*/false);
}

/// Another entry point may have used the memory of the constants since the last run of this one.
Status PlanExecutor::writeConstants(const IssueEntry &entry) {
  const bool isSame = std::exchange(holder, &entry) == &entry;
  if (isSame || std::ranges::all_of(entry.inputs, [](const BoundPort &port) { return port.values.empty(); }))
    return {};
  if (busy)
    SLUICE_RETURN_IF_ERROR(synchronize());
  for (const BoundPort &port : entry.inputs)
    if (!port.values.empty())
      std::memcpy(port.memory.base, port.values.data(), port.values.size());
  return {};
}

Status PlanExecutor::awaitPorts(std::string_view name) {
  if (!failure.isOk())
    return failure;
  const auto entry = std::ranges::find(entries, name, &IssueEntry::name);
  if (entry == entries.end())
    return unknown("entry point", name);
  for (EventId event : entry->portEvents)
    if (!backend->device().await(event).isOk())
      return synchronize();
  return deviceWorld() && !context.world->state().isOk() ? synchronize() : Status();
}

Status PlanExecutor::synchronize() {
  Status status = backend->device().synchronize();
  if (deviceWorld() && status.isOk())
    status = context.world->state();
  if (status.isOk() && context.clock)
    status = readTimes();
  busy = false;
  if (failure.isOk())
    failure = std::move(status);
  // A failure on a host stream of a GPU plan has not ended the world.
  if (!failure.isOk() && !context.failed)
    context.fail(failure);
  return failure;
}

/// Replaces the marks since the last call by times.
Status PlanExecutor::readTimes() {
  for (StreamTrace &trace : traces) {
    // Work of the host already has its times.
    if (plan().streams[static_cast<std::size_t>(&trace - traces.data())]->processor == plan::Processor::host)
      continue;
    for (; trace.timed < trace.used; ++trace.timed)
      for (std::int64_t *at : {&trace.records[trace.timed].begin, &trace.records[trace.timed].end}) {
        SLUICE_ASSIGN_OR_RETURN(*at, context.clock->timeOf(static_cast<std::uint32_t>(*at)));
      }
  }
  return {};
}

Status PlanExecutor::unknown(std::string_view what, std::string_view name) const {
  return inputError(concat(what, " '", name, "' is not in the plan"));
}

Result<PortMemory> PlanExecutor::findPort(std::string_view entryName, std::string_view name,
                                          std::vector<BoundPort> IssueEntry::*list, std::string_view what) const {
  const auto entry = std::ranges::find(entries, entryName, &IssueEntry::name);
  if (entry == entries.end())
    return unknown("entry point", entryName);
  const auto port = std::ranges::find((*entry).*list, name, &BoundPort::name);
  if (port == ((*entry).*list).end())
    return unknown(concat(what, " of entry point '", entryName, "'"), name);
  return port->memory;
}

/// The first run is issued, so that libraries load their code; the second is recorded; then it is replayed. A step
/// whose recording fails has run nothing: with GraphMode::automatic it is issued, and so are all later ones.
Status PlanExecutor::replay(IssueEntry &entry) {
  if (!entry.recording) {
    if (entry.runs++ == 0)
      return issue(entry, /*isRecorded=*/false);
    Result<std::uint32_t> graph = record(entry);
    if (!graph.isOk()) {
      if (options.graphs == GraphMode::on)
        return failure = graph.takeStatus(), context.fail(failure), failure;
      recording = false;
      return issue(entry, /*isRecorded=*/false);
    }
    entry.recording = *graph;
  }
  follows = nullptr;
  busy = true;
  return backend->replay(*entry.recording);
}

Result<std::uint32_t> PlanExecutor::record(IssueEntry &entry) {
  SLUICE_RETURN_IF_ERROR(backend->beginRecording());
  context.isRecording = true;
  const Status issued = issue(entry, /*isRecorded=*/true);
  context.isRecording = false;
  // The events of a recording are not those of issued steps.
  follows = nullptr;
  return backend->endRecording(issued);
}

Status PlanExecutor::issueItem(const IssueItem &item, std::uint32_t repetition, bool carries) {
  Device &device = backend->device();
  if (item.command)
    return device.enqueue(item.stream, *item.command, repetition);
  if (item.forHost)
    return device.recordForHost(item.stream, item.event);
  if (item.kind == plan::Operation::Record)
    return device.record(item.stream, item.event);
  const bool waits = item.kind == plan::Operation::Wait && (carries || !item.carried);
  return waits ? device.wait(item.stream, item.event) : Status();
}

Status PlanExecutor::issue(const IssueEntry &entry, bool isRecorded) {
  const bool carries = follows == &entry && !isRecorded;
  if (!isRecorded) {
    if (!carries && busy)
      SLUICE_RETURN_IF_ERROR(join());
    follows = &entry;
    busy = true;
  }
  const auto e = static_cast<std::uint32_t>(&entry - entries.data());
  const bool isObserved = observer || search;
  if (isObserved)
    SLUICE_RETURN_IF_ERROR(observe([&](InstructionObserver &each) { return each.beforeEntry(e); }));
  Status first;
  for (const IssueSection &section : entry.sections)
    for (std::uint32_t repetition = 0; repetition < section.repeat; ++repetition)
      for (const IssueItem &item : section.items) {
        if (search && item.index >= searchEnd)
          return first;
        const bool isNow = isIssued(*item.instruction, repetition, section.repeat);
        Status status = isNow ? issueItem(item, repetition, carries) : Status();
        if (isObserved && !item.forHost && status.isOk()) {
          const ObservedInstruction issued{e,          item.index, section.range,
                                           repetition, isNow,      repetition + 1 == section.repeat};
          status = observe([&](InstructionObserver &each) { return each.afterInstruction(issued); });
        }
        if (status.isOk())
          continue;
        if (!isRecorded || !backend->sharesRecordings())
          return status;
        if (first.isOk())
          first = std::move(status);
      }
  return first;
}

/// Calls the observers while nothing runs.
Status PlanExecutor::observe(const std::function<Status(InstructionObserver &)> &call) {
  SLUICE_RETURN_IF_ERROR(backend->device().synchronize());
  Status status = observer ? call(*observer) : Status();
  if (search && status.isOk())
    status = call(*search);
  if (!status.isOk())
    context.fail(failure = status);
  return status;
}

/// The first instruction of an entry point that writes a parameter or an optimizer state.
static std::uint32_t firstUpdate(const plan::PlanT &plan, const plan::EntryT &entry) {
  std::uint32_t found = instructionCount(entry);
  forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t) {
    forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
      const plan::BufferT &buffer = *plan.buffers[view.buffer];
      if (isWrite && buffer.entry == -1 && buffer.class_ != plan::BufferClass::state)
        found = std::min(found, i);
    });
  });
  return found;
}

Result<std::optional<NonFinite>> PlanExecutor::findNonFinite(std::string_view name) {
  if (!backend->isHost())
    return refusedError("values are searched between instructions of the CPU, and the plan is for CUDA");
  const auto entry = std::ranges::find(entries, name, &IssueEntry::name);
  if (entry == entries.end())
    return unknown("entry point", name);
  SLUICE_RETURN_IF_ERROR(synchronize());
  // A forward changes the running statistics.
  std::vector<std::vector<std::byte>> statistics;
  for (const auto &variable : plan().variables) {
    statistics.emplace_back(plan().buffers[variable->buffer]->bytes);
    SLUICE_RETURN_IF_ERROR(read(variable->buffer, 0, statistics.back()));
  }
  NonFiniteSearch searched(plan(), rank(), rankMemory());
  search = &searched;
  searchEnd = firstUpdate(plan(), *plan().entries[static_cast<std::size_t>(entry - entries.begin())]);
  Status issued = issue(*entry, /*isRecorded=*/false);
  search = nullptr;
  // The run is incomplete: a later one must not wait for its events.
  follows = nullptr;
  Status finished = synchronize();
  SLUICE_RETURN_IF_ERROR(issued.isOk() ? std::move(finished) : std::move(issued));
  for (std::size_t i = 0; i < statistics.size(); ++i)
    SLUICE_RETURN_IF_ERROR(write(plan().variables[i]->buffer, 0, statistics[i]));
  return searched.found();
}

/// Orders all later work after all earlier work.
Status PlanExecutor::join() {
  Device *device = &backend->device();
  const auto streams = static_cast<std::uint32_t>(plan().streams.size());
  for (std::uint32_t stream = 0; stream < streams; ++stream)
    SLUICE_RETURN_IF_ERROR(device->record(stream, firstJoinEvent + stream));
  for (std::uint32_t stream = 0; stream < streams; ++stream)
    for (std::uint32_t other = 0; other < streams; ++other)
      if (other != stream)
        SLUICE_RETURN_IF_ERROR(device->wait(stream, firstJoinEvent + other));
  return {};
}

} // namespace sluice
