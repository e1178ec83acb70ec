//===- Executor.cpp - one rank's run of a plan ------------------------------------===//
//
// Load, in this order: does the plan fit, is it the same everywhere, memory, streams and events, communicators, ports
// and parameters, commands. A step then walks the issue lists.
//
//===----------------------------------------------------------------------===//
#include "runtime/collective/DeviceWorld.h"
#include "runtime/executor/Backend.h"
#include "runtime/executor/Commands.h"
#include "runtime/executor/Handshake.h"
#include "runtime/executor/Machine.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <optional>

namespace sluice {
namespace {

/// An instruction as it is issued.
struct IssueItem {
  plan::Operation kind = plan::Operation::NONE;
  StreamId stream = 0;
  Command *command = nullptr;
  EventId event = 0;
  const plan::InstructionT *instruction = nullptr;
};

struct IssueSection {
  std::uint32_t repeat = 1;
  std::vector<IssueItem> items;
};

struct BoundPort {
  std::string_view name;
  PortMemory memory;
};

struct IssueEntry {
  std::string_view name;
  /// On a device that records: how often it was issued, and the recording once there is one.
  std::uint64_t runs = 0;
  std::optional<std::uint32_t> recording;
  std::vector<IssueSection> sections;
  std::vector<BoundPort> inputs;
  std::vector<BoundPort> outputs;
};

MemorySpace spaceOf(plan::Space space) {
  return space == plan::Space::device ? MemorySpace::device : MemorySpace::host;
}

class PlanExecutor final : public Executor {
public:
  PlanExecutor(const plan::PlanT &plan, std::shared_ptr<World> world, int rank, const ExecutorOptions &options)
      : options(options), context(plan, std::move(world), rank, options.onFailure), binder(plan, rank) {}

  ~PlanExecutor() override {
    context.world->nameProgress({});
    if (!backend || backend->isHost())
      return;
    // Kernels and communicators of a GPU hold what belongs to its context, which is current after this.
    (void)backend->device().synchronize();
    entries.clear();
    commands.clear();
    channels.clear();
  }

  Status load() {
    SLUICE_RETURN_IF_ERROR(checkWorld());
    context.world->nameProgress([&plan = plan()](std::uint32_t entry, std::uint32_t index) {
      std::string text;
      if (entry < plan.entries.size())
        forEachInstruction(*plan.entries[entry], [&](const plan::InstructionT &found, std::uint32_t i, std::uint32_t) {
          if (i == index)
            text = describe(plan, {entry, index, &found, 1});
        });
      return text;
    });
    SLUICE_RETURN_IF_ERROR(checkFits(plan(), options));
    SLUICE_RETURN_IF_ERROR(compareDigests(plan(), *context.world, rank()));
    SLUICE_RETURN_IF_ERROR(makeDevice());
    SLUICE_RETURN_IF_ERROR(bindTensors());
    for (std::uint32_t e = 0; e < plan().entries.size(); ++e)
      SLUICE_RETURN_IF_ERROR(makeEntry(e));
    return {};
  }

  RankContext &rankContext() { return context; }
  const plan::PlanT &plan() const override { return context.plan; }
  int rank() const override { return context.rank; }

  Status runEntry(std::string_view name) override {
    if (!failure.isOk())
      return failure;
    for (IssueEntry &entry : entries)
      if (entry.name == name)
        return backend->records() && recording ? replay(entry) : issue(entry);
    return unknown("entry point", name);
  }

  Status synchronize() override {
    Status status = backend->device().synchronize();
    if (const auto *world = dynamic_cast<const DeviceWorld *>(context.world.get()); world && status.isOk())
      status = world->health();
    if (status.isOk() && context.clock)
      status = readTimes();
    if (failure.isOk())
      failure = std::move(status);
    return failure;
  }

  Result<PortMemory> input(std::string_view entry, std::string_view name) const override {
    return findPort(entry, name, &IssueEntry::inputs, "input");
  }
  Result<PortMemory> output(std::string_view entry, std::string_view name) const override {
    return findPort(entry, name, &IssueEntry::outputs, "output");
  }
  std::span<const ParameterMemory> parameters() const override { return parameterMemory; }
  std::span<const TensorMemory> variables() const override { return variableMemory; }
  Status read(void *to, const void *from, std::uint64_t bytes) const override {
    return backend->device().read(to, from, bytes);
  }
  Status write(void *to, const void *from, std::uint64_t bytes) override {
    return backend->device().write(to, from, bytes);
  }
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

  Status checkWorld() const {
    const std::uint64_t ranks = meshSize(plan());
    if (ranks != static_cast<std::uint64_t>(context.world->size()))
      return refusedError("ranks of the world, expected " + std::to_string(ranks) + " as the plan's mesh but got " +
                          std::to_string(context.world->size()));
    if (rank() < 0 || rank() >= context.world->size())
      return refusedError("rank, expected less than " + std::to_string(ranks) + " but got " + std::to_string(rank()));
    return {};
  }

  Status makeDevice() {
    threads = options.threads > 0 ? options.threads : std::max(1, static_cast<int>(plan().target->threads));
    SLUICE_ASSIGN_OR_RETURN(backend, createBackend(plan(), rank(), options, threads));
    Device *device = &backend->device();
    context.mover = backend->isHost() ? nullptr : device;
    context.clock = options.traceCapacity != 0 ? backend->clock() : nullptr;
    // Virtual ranks meet at issue: each of their steps is issued anew. So is one whose instructions are timed: events of a
    // recording have no times.
    recording = (context.world->size() == 1 || dynamic_cast<DeviceWorld *>(context.world.get())) &&
                options.graphs != GraphMode::off && !context.clock;
    // What a library of collectives takes for itself is taken before the arena.
    auto *const deviceWorld = dynamic_cast<DeviceWorld *>(context.world.get());
    if (deviceWorld)
      SLUICE_RETURN_IF_ERROR(makeChannels());
    for (const auto &arena : plan().arenas) {
      const std::string purpose = "the arena of rank " + std::to_string(rank());
      Result<void *> memory = device->allocate(spaceOf(arena->space), arena->bytes, purpose);
      if (!memory.isOk())
        return withHolders(memory.takeStatus(), arena->space);
      void *base = *memory;
      binder.setArena(arena->space, base, arena->bytes);
      if (deviceWorld && arena->space == plan::Space::device)
        SLUICE_RETURN_IF_ERROR(deviceWorld->registerMemory(base, arena->bytes));
    }
    for (const auto &stream : plan().streams) {
      const bool ofHost = stream->processor == plan::Processor::host;
      SLUICE_ASSIGN_OR_RETURN(void *block, device->allocate(ofHost ? MemorySpace::host : MemorySpace::device, stream->workspace,
                                                            "the workspace of stream '" + stream->name + "'"));
      workspaces.push_back(block);
      SLUICE_RETURN_IF_ERROR(device->createStream(stream->name, stream->priority).status());
    }
    traces.resize(plan().streams.size());
    for (StreamTrace &trace : traces)
      trace.records.resize(options.traceCapacity);
    std::uint32_t events = 0;
    for (const auto &entry : plan().entries)
      events += entry->events;
    return device->createEvents(events);
  }

  /// Times in the place of the marks that were made since the last call.
  Status readTimes() {
    for (StreamTrace &trace : traces)
      for (; trace.timed < trace.used; ++trace.timed)
        for (std::int64_t *at : {&trace.records[trace.timed].begin, &trace.records[trace.timed].end}) {
          SLUICE_ASSIGN_OR_RETURN(*at, context.clock->timeOf(static_cast<std::uint32_t>(*at)));
        }
    return {};
  }

  Status bindTensors() {
    for (std::uint32_t p = 0; p < plan().parameters.size(); ++p) {
      const plan::ParameterT &parameter = *plan().parameters[p];
      ParameterMemory memory;
      memory.index = p;
      memory.dim = cutDim(parameter);
      memory.tensor.name = parameter.name;
      SLUICE_ASSIGN_OR_RETURN(memory.tensor.value, binder.bindParameter(parameter, parameter.buffer));
      const std::vector<std::uint32_t> coordinates = coordinatesOf(plan(), static_cast<std::uint32_t>(rank()));
      for (std::uint32_t axis = 0; axis < coordinates.size(); ++axis)
        if (std::ranges::find(parameter.axes, axis) == parameter.axes.end() &&
            !(parameter.split && std::ranges::find(parameter.split->axes, axis) != parameter.split->axes.end()))
          memory.primary = memory.primary && coordinates[axis] == 0;
      for (const auto &state : parameter.states) {
        SLUICE_ASSIGN_OR_RETURN(Operand value, binder.bindParameter(parameter, state->buffer));
        memory.states.push_back({state->name, value});
      }
      parameterMemory.push_back(std::move(memory));
    }
    for (const auto &variable : plan().variables) {
      SLUICE_ASSIGN_OR_RETURN(Operand value, binder.bindBuffer(variable->buffer));
      variableMemory.push_back({variable->name, value});
    }
    return {};
  }

  Status makeEntry(std::uint32_t e) {
    const plan::EntryT &source = *plan().entries[e];
    IssueEntry &entry = entries.emplace_back();
    entry.name = source.name;
    SLUICE_RETURN_IF_ERROR(bindPorts(source, source.inputs, entry.inputs));
    SLUICE_RETURN_IF_ERROR(bindPorts(source, source.outputs, entry.outputs));
    std::uint32_t index = 0;
    for (const auto &section : source.sections) {
      IssueSection &made = entry.sections.emplace_back();
      made.repeat = section->repeat;
      for (const auto &instruction : section->instructions) {
        const InstructionPlace place{e, index++, instruction.get(), section->repeat};
        if (instruction->operation.type == plan::Operation::Release)
          continue;
        if (Status status = addItem(source, place, made); !status.isOk())
          return Status(status.code(), describe(plan(), place) + ": " + status.message());
      }
    }
    firstEvent += source.events;
    writeSeed(entry);
    return {};
  }

  Status addItem(const plan::EntryT &entry, const InstructionPlace &place, IssueSection &section) {
    const plan::InstructionT &instruction = *place.instruction;
    if (instruction.stream >= plan().streams.size())
      return refusedError("stream, expected less than " + std::to_string(plan().streams.size()) + " but got " +
                          std::to_string(instruction.stream));
    IssueItem item{instruction.operation.type, instruction.stream, nullptr, 0, &instruction};
    if (const plan::RecordT *record = instruction.operation.AsRecord())
      item.event = record->event;
    else if (const plan::WaitT *wait = instruction.operation.AsWait())
      item.event = wait->event;
    else {
      SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<InstructionCommand> command, makeCommand(place));
      if (options.traceCapacity != 0)
        command->setTrace(&traces[instruction.stream]);
      item.command = command.get();
      commands.push_back(std::move(command));
    }
    if (!item.command) {
      if (item.event >= entry.events)
        return refusedError("event, expected less than " + std::to_string(entry.events) + " but got " +
                            std::to_string(item.event));
      item.event += firstEvent;
    }
    section.items.push_back(item);
    return {};
  }

  /// A failure to get an arena, with the largest of what it was to hold.
  Status withHolders(Status status, plan::Space space) const {
    std::vector<const plan::BufferT *> held;
    for (const auto &buffer : plan().buffers)
      if (buffer->space == space)
        held.push_back(buffer.get());
    std::ranges::stable_sort(held, std::ranges::greater(), &plan::BufferT::bytes);
    for (std::size_t i = 0; i < held.size() && i < 3; ++i)
      status.addNote("buffer '" + held[i]->name + "' takes " + std::to_string(held[i]->bytes) + " bytes");
    return status;
  }

  MadeCommand makeCommand(const InstructionPlace &place) {
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
      return refusedError("operation, expected one of this version but got kind " +
                          std::to_string(static_cast<int>(operation.type)));
    }
  }

  MadeCommand makeLaunchCommand(const InstructionPlace &place, const plan::LaunchT &launch) {
    if (launch.kernel >= plan().kernels.size())
      return refusedError("kernel, expected less than " + std::to_string(plan().kernels.size()) + " but got " +
                          std::to_string(launch.kernel));
    const std::uint32_t stream = place.instruction->stream;
    if (launch.workspace > plan().streams[stream]->workspace)
      return refusedError("workspace, expected at most the stream's " +
                          std::to_string(plan().streams[stream]->workspace) + " bytes but got " +
                          std::to_string(launch.workspace));
    const std::string &name = plan().kernels[launch.kernel];
    LaunchSetting setting;
    setting.prepare = findKernelOf(plan(), options, name);
    setting.cuda = backend->kernelContext();
    setting.threads = threads;
    setting.workspace = workspaces[stream];
    return makeLaunch(context, place, launch, binder, setting);
  }

  /// All that the plan uses, in the order of their first use: the same on every rank.
  Status makeChannels() {
    for (const auto &entry : plan().entries)
      for (const auto &section : entry->sections)
        for (const auto &instruction : section->instructions)
          if (const plan::CollectiveT *collective = instruction->operation.AsCollective())
            SLUICE_RETURN_IF_ERROR(findChannel(collective->axes, instruction->stream).status());
    return {};
  }

  /// The communicator of a group and stream: every stream has its own, so that streams do not wait for each other.
  Result<Communicator *> findChannel(const std::vector<std::uint32_t> &axes, std::uint32_t stream) {
    std::unique_ptr<Communicator> &found = channels[{axes, stream}];
    if (!found) {
      if (!std::ranges::is_sorted(axes) || std::ranges::adjacent_find(axes) != axes.end() ||
          (!axes.empty() && axes.back() >= plan().mesh.size()))
        return refusedError("axes of a collective, expected different axes of the mesh in its order but got others");
      const std::vector<int> members = groupMembers(plan(), static_cast<std::uint32_t>(rank()), axes);
      auto *const deviceWorld = dynamic_cast<DeviceWorld *>(context.world.get());
      SLUICE_ASSIGN_OR_RETURN(found, deviceWorld && !backend->isHost()
                                         ? deviceWorld->createForDevice(rank(), members, plan().streams[stream]->name)
                                         : context.world->create(rank(), members, plan().streams[stream]->name));
    }
    return found.get();
  }

  Status bindPorts(const plan::EntryT &entry, const std::vector<std::unique_ptr<plan::PortT>> &ports,
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
      bound.push_back({port->name, std::move(memory)});
    }
    return {};
  }

  void writeSeed(const IssueEntry &entry) const {
    for (const BoundPort &port : entry.inputs)
      if (port.name == "seed" && port.memory.dtype == DType::i64)
        *port.memory.as<std::int64_t>() = static_cast<std::int64_t>(options.seed);
  }

  Status unknown(std::string_view what, std::string_view name) const {
    std::string message(what);
    message.append(" '").append(name).append("' is not in the plan");
    return inputError(std::move(message));
  }

  Result<PortMemory> findPort(std::string_view entryName, std::string_view name,
                              std::vector<BoundPort> IssueEntry::*list, std::string_view what) const {
    for (const IssueEntry &entry : entries)
      if (entry.name == entryName) {
        for (const BoundPort &port : entry.*list)
          if (port.name == name)
            return port.memory;
        return unknown(std::string(what) + " of entry point '" + std::string(entryName) + "'", name);
      }
    return unknown("entry point", entryName);
  }

  /// The first run is issued, so that whatever libraries load is loaded; the second is recorded; then it is replayed.
  Status replay(IssueEntry &entry) {
    if (entry.recording)
      return backend->replay(*entry.recording);
    if (entry.runs++ == 0)
      return issue(entry);
    SLUICE_RETURN_IF_ERROR(backend->beginRecording());
    Status issued = issue(entry);
    Result<std::uint32_t> made = backend->endRecording();
    if (issued.isOk() && made.isOk()) {
      entry.recording = *made;
      return backend->replay(*entry.recording);
    }
    if (options.graphs == GraphMode::on || !issued.isOk())
      return issued.isOk() ? made.takeStatus() : issued;
    recording = false;
    return issue(entry);
  }

  Status issue(const IssueEntry &entry) {
    Device *device = &backend->device();
    for (const IssueSection &section : entry.sections)
      for (std::uint32_t repetition = 0; repetition < section.repeat; ++repetition)
        for (const IssueItem &item : section.items) {
          if (item.instruction->when != plan::When::all && !isIssued(*item.instruction, repetition, section.repeat))
            continue;
          if (item.command)
            SLUICE_RETURN_IF_ERROR(device->enqueue(item.stream, *item.command, repetition));
          else if (item.kind == plan::Operation::Record)
            SLUICE_RETURN_IF_ERROR(device->record(item.stream, item.event));
          else
            SLUICE_RETURN_IF_ERROR(device->wait(item.stream, item.event));
        }
    return {};
  }

  const ExecutorOptions options;
  RankContext context;
  Binder binder;
  int threads = 1;
  /// Once there is one, nothing runs any more.
  Status failure;
  EventId firstEvent = 0;
  std::vector<void *> workspaces;
  std::vector<StreamTrace> traces;
  std::vector<ParameterMemory> parameterMemory;
  std::vector<TensorMemory> variableMemory;
  std::map<ChannelKey, std::unique_ptr<Communicator>> channels;
  std::vector<std::unique_ptr<InstructionCommand>> commands;
  std::vector<IssueEntry> entries;
  bool recording = false;
  /// Last, so that it goes first: its streams use all of the above.
  std::unique_ptr<Backend> backend;
};

} // namespace

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

} // namespace sluice
