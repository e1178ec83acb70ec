//===- ExecutorLoad.cpp - memory, streams, channels and commands of a plan ----------===//
#include "runtime/collective/DeviceWorld.h"

#include "runtime/base/Sha256.h"
#include "runtime/base/Text.h"
#include "runtime/executor/Machine.h"
#include "runtime/executor/PlanExecutor.h"

#include <algorithm>

namespace sluice {

static MemorySpace spaceOf(plan::Space space) {
  return space == plan::Space::device ? MemorySpace::device : MemorySpace::host;
}

Status PlanExecutor::load() {
  SLUICE_RETURN_IF_ERROR(checkWorld());
  context.world->nameProgress([&plan = plan()](std::uint32_t entry, std::uint32_t index) {
    const plan::InstructionT *found =
        entry < plan.entries.size() ? instructionAt(*plan.entries[entry], index) : nullptr;
    return found ? describe(plan, {entry, index, found, 1}) : std::string();
  });
  if (options.observe && isCudaPlan(plan()))
    return refusedError("lifespans are checked between instructions of the CPU, and the plan is for CUDA");
  SLUICE_RETURN_IF_ERROR(checkFits(plan(), options));
  SLUICE_RETURN_IF_ERROR(compareDigests());
  SLUICE_RETURN_IF_ERROR(makeDevice());
  for (std::uint32_t e = 0; e < plan().entries.size(); ++e)
    SLUICE_RETURN_IF_ERROR(makeEntry(e));
  if (options.observe)
    observer = options.observe(plan(), rank(), rankMemory());
  return {};
}

Result<SharedMemory> PlanExecutor::memory(std::uint32_t buffer) const {
  if (!backend->isHost())
    return refusedError("memory of a GPU has no view on the host");
  const plan::BufferT &found = *plan().buffers.at(buffer);
  SLUICE_ASSIGN_OR_RETURN(std::byte * address, binder.address(buffer, 0, found.bytes));
  const std::span<std::byte> arena = binder.arenas[static_cast<std::size_t>(found.space)];
  return SharedMemory{{address, found.bytes}, backend->device().share(arena.data())};
}

RankMemory PlanExecutor::rankMemory() const {
  RankMemory memory;
  memory.arenas = binder.arenas;
  for (std::size_t stream = 0; stream < workspaces.size(); ++stream)
    memory.workspaces.push_back({static_cast<std::byte *>(workspaces[stream]), plan().streams[stream]->workspace});
  return memory;
}

Status PlanExecutor::checkWorld() const {
  const std::uint64_t ranks = meshSize(plan());
  if (ranks != static_cast<std::uint64_t>(context.world->size()))
    return refusedError(
        concat("ranks of the world, expected ", ranks, " as the plan's mesh but got ", context.world->size()));
  if (rank() < 0 || rank() >= context.world->size())
    return refusedError(concat("rank, expected less than ", ranks, " but got ", rank()));
  return {};
}

/// Every rank gets the refusal, which names the ranks whose plan differs from rank 0's.
Status PlanExecutor::compareDigests() const {
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> communicator, context.world->createForAll(rank(), "handshake"));

  const auto ranks = static_cast<std::size_t>(context.world->size());
  std::vector<std::uint8_t> digests(ranks * digestBytes);
  std::uint8_t *own = digests.data() + static_cast<std::size_t>(rank()) * digestBytes;
  std::copy_n(plan().digest.begin(), std::min(plan().digest.size(), digestBytes), own);
  const SegmentPointers segment{own, digests.data(), digestBytes};
  SLUICE_RETURN_IF_ERROR(communicator->allGather({&segment, 1}, DType::u8, {0, "digest"}, nullptr));

  const auto digestOf = [&](std::size_t r) { return std::span(digests).subspan(r * digestBytes, digestBytes); };
  std::string others;
  for (std::size_t r = 1; r < ranks; ++r)
    if (!std::ranges::equal(digestOf(r), digestOf(0)))
      others += (others.empty() ? "rank " : ", rank ") + std::to_string(r) + " has " + toHex(digestOf(r));
  if (others.empty())
    return {};
  return refusedError("digest of the plan, expected " + toHex(digestOf(0)) + " as on rank 0 but " + others);
}

Status PlanExecutor::makeDevice() {
  threads = options.threads > 0 ? options.threads : std::max(1, static_cast<int>(plan().target->threads));
  SLUICE_ASSIGN_OR_RETURN(backend, createBackend(plan(), rank(), options, threads));
  Device *device = &backend->device();
  context.mover = backend->isHost() ? nullptr : device;
  if (const cuda::Nvtx *names = backend->isHost() ? nullptr : cuda::nvtx(); names && names->hasRanges())
    context.ranges = names;
  context.clock = options.traceCapacity != 0 ? backend->clock() : nullptr;
  // Timed instructions are issued in each step: events of a recording have no times.
  recording = !backend->isHost() && options.graphs != GraphMode::off && !context.clock;
  // The work of host streams cannot be recorded.
  for (const auto &stream : plan().streams)
    if (!backend->isHost() && stream->processor == plan::Processor::host) {
      recording = false;
      if (options.graphs == GraphMode::on)
        return refusedError("streams of a plan that is run as a graph, expected those of the device but got '" +
                            stream->name + "', which the host runs")
            .withNote("run it with --cuda-graph auto, which issues its steps");
    }
  // Ranks that share a GPU are recorded together.
  if (recording && backend->records() && context.world->size() > 1 && !deviceWorld()) {
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> meeting, context.world->createForAll(rank(), "graph"));
    backend->shareRecordings(std::move(meeting));
  }
  // A library of collectives allocates its memory before the arena is allocated.
  DeviceWorld *const byLibrary = deviceWorld();
  if (byLibrary) {
    backend->watchWaits([byLibrary](auto since) { return byLibrary->checkWait(since); });
    SLUICE_RETURN_IF_ERROR(makeChannels());
  }
  for (const auto &arena : plan().arenas) {
    const std::string purpose = concat("the arena of rank ", rank());
    // NCCL maps the arenas of all ranks into each rank: they have one size and one layout.
    const bool isForPeers = byLibrary && arena->space == plan::Space::device;
    Result<void *> memory = isForPeers ? device->allocateForPeers(arena->bytes, purpose)
                                       : device->allocate(spaceOf(arena->space), arena->bytes, purpose);
    if (!memory.isOk())
      return withHolders(memory.takeStatus(), arena->space);
    void *base = *memory;
    binder.arenas[static_cast<std::size_t>(arena->space)] = {static_cast<std::byte *>(base), arena->bytes};
    if (isForPeers)
      SLUICE_RETURN_IF_ERROR(byLibrary->registerMemory(base, arena->bytes));
  }
  if (options.writesCheckpoints) {
    const CheckpointMemory needed = sluice::checkpointMemory(plan(), static_cast<std::uint32_t>(rank()));
    const std::uint64_t bytes = needed.bytes();
    copied = needed.ranges;
    SLUICE_ASSIGN_OR_RETURN(void *memory,
                            device->allocate(MemorySpace::host, bytes, concat("the checkpoints of rank ", rank())));
    checkpoint = {static_cast<std::byte *>(memory), bytes};
  }
  for (const auto &stream : plan().streams) {
    const bool ofHost = stream->processor == plan::Processor::host;
    SLUICE_ASSIGN_OR_RETURN(void *block,
                            device->allocate(ofHost ? MemorySpace::host : MemorySpace::device, stream->workspace,
                                             "the workspace of stream '" + stream->name + "'"));
    workspaces.push_back(block);
    SLUICE_RETURN_IF_ERROR((ofHost ? device->createHostStream(stream->name, stream->priority)
                                   : device->createStream(stream->name, stream->priority))
                               .status());
  }
  traces.resize(plan().streams.size());
  for (StreamTrace &trace : traces)
    trace.records.resize(options.traceCapacity);
  std::uint32_t events = 0;
  for (const auto &entry : plan().entries)
    events += entry->events;
  // After the plan's events: one per stream for join(), and one per stream and entry point for the host.
  const auto streams = static_cast<std::uint32_t>(plan().streams.size());
  firstJoinEvent = events;
  nextPortEvent = events + streams;
  return device->createEvents(nextPortEvent + streams * static_cast<std::uint32_t>(plan().entries.size()));
}

Status PlanExecutor::makeEntry(std::uint32_t e) {
  const plan::EntryT &source = *plan().entries[e];
  IssueEntry &entry = entries.emplace_back();
  entry.name = source.name;
  SLUICE_RETURN_IF_ERROR(bindPorts(source, source.inputs, entry.inputs));
  SLUICE_RETURN_IF_ERROR(bindPorts(source, source.outputs, entry.outputs));
  std::uint32_t index = 0;
  for (const auto &section : source.sections) {
    IssueSection &issued = entry.sections.emplace_back();
    issued.repeat = section->repeat;
    issued.range.begin = index;
    for (const auto &instruction : section->instructions) {
      const InstructionPlace place{e, index++, instruction.get(), section->repeat};
      if (Status status = addItem(source, place, issued); !status.isOk()) {
        Status located(status.code(), describe(plan(), place) + ": " + status.message());
        for (const std::string &note : status.notes())
          located.addNote(note);
        return located;
      }
    }
    issued.range.end = index;
  }
  firstEvent += source.events;
  addPortEvents(source, entry);
  writeSeed(entry);
  return {};
}

Status PlanExecutor::addItem(const plan::EntryT &entry, const InstructionPlace &place, IssueSection &section) {
  const plan::InstructionT &instruction = *place.instruction;
  if (instruction.stream >= plan().streams.size())
    return refusedError(concat("stream, expected less than ", plan().streams.size(), " but got ", instruction.stream));
  IssueItem item{instruction.operation.type, instruction.stream, nullptr, 0, &instruction, place.index};
  const plan::RecordT *record = instruction.operation.AsRecord();
  const plan::WaitT *wait = instruction.operation.AsWait();
  if (record || wait) {
    item.event = record ? record->event : wait->event;
    item.carried = wait && wait->carried;
    if (item.event >= entry.events)
      return refusedError(concat("event, expected less than ", entry.events, " but got ", item.event));
    item.event += firstEvent;
  } else if (item.kind != plan::Operation::Release) {
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<InstructionCommand> command, makeCommand(place));
    if (options.traceCapacity != 0)
      command->setTrace(&traces[instruction.stream]);
    item.command = command.get();
    commands.push_back(std::move(command));
  }
  section.items.push_back(item);
  return {};
}

/// On each stream that accesses a port, a record for the host after the last such instruction.
void PlanExecutor::addPortEvents(const plan::EntryT &source, IssueEntry &entry) {
  std::vector<bool> isPort(plan().buffers.size(), false);
  for (const auto *ports : {&source.inputs, &source.outputs})
    for (const auto &port : *ports)
      isPort[port->view->buffer] = true;
  std::vector<bool> isDone(plan().streams.size(), false);
  for (auto section = entry.sections.rbegin(); section != entry.sections.rend(); ++section)
    for (std::size_t at = section->items.size(); at-- > 0;) {
      const IssueItem item = section->items[at];
      bool touches = false;
      forEachView(*item.instruction, [&](const plan::ViewT &view, bool) { touches = touches || isPort[view.buffer]; });
      if (!touches || isDone[item.stream])
        continue;
      isDone[item.stream] = true;
      const IssueItem record{plan::Operation::Record, item.stream, nullptr, nextPortEvent,
                             item.instruction,        item.index,  false,   true};
      section->items.insert(section->items.begin() + static_cast<std::ptrdiff_t>(at) + 1, record);
      entry.portEvents.push_back(nextPortEvent++);
    }
}

/// A failure to allocate an arena, with its largest buffers.
Status PlanExecutor::withHolders(Status status, plan::Space space) const {
  std::vector<const plan::BufferT *> held;
  for (const auto &buffer : plan().buffers)
    if (buffer->space == space)
      held.push_back(buffer.get());
  std::ranges::stable_sort(held, std::ranges::greater(), &plan::BufferT::bytes);
  for (std::size_t i = 0; i < held.size() && i < 3; ++i)
    status.addNote(concat("buffer '", held[i]->name, "' takes ", held[i]->bytes, " bytes"));
  if (deviceWorld() && space == plan::Space::device)
    status.addNote(concat("nccl takes ", deviceWorld()->libraryBytes(), " bytes for its communicators"));
  return status;
}

CommandResult PlanExecutor::makeCommand(const InstructionPlace &place) {
  const plan::OperationUnion &operation = place.instruction->operation;
  switch (operation.type) {
  case plan::Operation::Launch:
    return makeLaunchCommand(place, *operation.AsLaunch());
  case plan::Operation::Collective: {
    const plan::CollectiveT &collective = *operation.AsCollective();
    SLUICE_ASSIGN_OR_RETURN(Communicator * communicator, findChannel(collective.axes, place.instruction->stream));
    return makeCollective(context, place, collective, binder, *communicator);
  }
  case plan::Operation::Copy:
    return makeCopy(context, place, *operation.AsCopy(), binder);
  case plan::Operation::Fill:
    return makeFill(context, place, *operation.AsFill(), binder);
  default:
    return refusedError(
        concat("operation, expected one of this version but got kind ", static_cast<int>(operation.type)));
  }
}

CommandResult PlanExecutor::makeLaunchCommand(const InstructionPlace &place, const plan::LaunchT &launch) {
  if (launch.kernel >= plan().kernels.size())
    return refusedError(concat("kernel, expected less than ", plan().kernels.size(), " but got ", launch.kernel));
  const std::uint32_t stream = place.instruction->stream;
  if (launch.workspace > plan().streams[stream]->workspace)
    return refusedError(concat("workspace, expected at most the stream's ", plan().streams[stream]->workspace,
                               " bytes but got ", launch.workspace));
  const std::string &name = plan().kernels[launch.kernel];
  LaunchSetting setting;
  const plan::Processor processor = plan().streams[stream]->processor;
  setting.prepare = findKernelOf(plan(), options, name, processor);
  if (!setting.prepare)
    return internalError("kernel '" + name + "' has no implementation for the processor of its stream");
  setting.cuda = processor == plan::Processor::host ? nullptr : backend->kernelContext();
  setting.threads = threads;
  setting.workspace = workspaces[stream];
  return makeLaunch(context, place, launch, binder, setting);
}

/// Creates all communicators of the plan in the order of their first use, which is the same on every rank.
Status PlanExecutor::makeChannels() {
  for (const auto &entry : plan().entries)
    for (const auto &section : entry->sections)
      for (const auto &instruction : section->instructions)
        if (const plan::CollectiveT *collective = instruction->operation.AsCollective())
          SLUICE_RETURN_IF_ERROR(findChannel(collective->axes, instruction->stream).status());
  return {};
}

/// The communicator of a group and stream. Streams have separate communicators, so that they do not wait for each
/// other.
Result<Communicator *> PlanExecutor::findChannel(const std::vector<std::uint32_t> &axes, std::uint32_t stream) {
  std::unique_ptr<Communicator> &found = channels[{axes, stream}];
  if (!found) {
    if (!std::ranges::is_sorted(axes) || std::ranges::adjacent_find(axes) != axes.end() ||
        (!axes.empty() && axes.back() >= plan().mesh.size()))
      return refusedError("axes of a collective must be distinct and in the order of the mesh");
    const std::vector<int> members = groupMembers(plan(), static_cast<std::uint32_t>(rank()), axes);
    const std::string &name = plan().streams[stream]->name;
    SLUICE_ASSIGN_OR_RETURN(found, deviceWorld() ? deviceWorld()->createForDevice(rank(), members, name)
                                                 : context.world->create(rank(), members, name));
  }
  return found.get();
}

Status PlanExecutor::bindPorts(const plan::EntryT &entry, const std::vector<std::unique_ptr<plan::PortT>> &ports,
                               std::vector<BoundPort> &bound) {
  const std::uint32_t firstRepeat = entry.sections.empty() ? 1 : entry.sections.front()->repeat;
  for (const auto &port : ports) {
    const std::uint32_t repetitions = port->per_repetition ? firstRepeat : 1;
    Result<BoundView> view = binder.bind(*port->view, repetitions);
    if (!view.isOk())
      return Status(view.status().code(), entry.name + ", port '" + port->name + "': " + view.status().message());
    if (plan().buffers[port->view->buffer]->space != plan::Space::host)
      return refusedError(entry.name + ", port '" + port->name + "', expected a buffer in host space but got device");
    PortMemory memory;
    memory.dtype = view->operand.dtype;
    memory.shape = port->view->shape;
    memory.bytes = viewBytes(*port->view).value_or(0);
    memory.repetitions = repetitions;
    memory.limit = port->limit;
    memory.base = static_cast<std::byte *>(view->operand.data);
    memory.stride = view->stride;
    if (port->role == plan::PortRole::constant && port->values.size() != memory.bytes)
      return refusedError(concat(entry.name, ", port '", port->name, "', expected ", memory.bytes,
                                 " bytes of values but got ", port->values.size()));
    bound.push_back({port->name, port->role, std::move(memory), port->values});
  }
  return {};
}

void PlanExecutor::writeSeed(const IssueEntry &entry) const {
  for (const BoundPort &port : entry.inputs)
    if (port.role == plan::PortRole::seed && port.memory.dtype == DType::i64)
      *port.memory.as<std::int64_t>() = static_cast<std::int64_t>(options.seed);
}

} // namespace sluice
