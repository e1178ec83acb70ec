//===- PlanCalls.cpp - compares a rank's calls with the plan --------------------------------===//
#include "test/cuda/PlanCalls.h"
#include "runtime/device/cuda/HostCalls.h"

#include <algorithm>
#include <cstdlib>

namespace sluice::test {
namespace {

using Kind = FakeCall::Kind;

/// The caller's number for kernels that are prepared here.
constexpr int ownCaller = 1 << 20;

std::string compareCall(const FakeCall &got, const FakeCall &wanted) {
  if (got.kind != wanted.kind)
    return differs("kind of call", static_cast<int>(wanted.kind), static_cast<int>(got.kind));
  if (got.name != wanted.name)
    return "device function, expected " + wanted.name + " but got " + got.name;
  if (got.blocks != wanted.blocks)
    return differs("blocks of " + got.name, wanted.blocks, got.blocks);
  if (got.threads != wanted.threads)
    return differs("threads of " + got.name, wanted.threads, got.threads);
  if (got.arguments != wanted.arguments)
    return "arguments of " + got.name + ", expected the plan's operands but got others";
  if (got.smCount != wanted.smCount)
    return differs("SMs of a product", wanted.smCount, got.smCount);
  if (got.addresses != wanted.addresses || got.counts != wanted.counts || got.bytes != wanted.bytes)
    return "addresses or extents of a call, expected the plan's but got others";
  return "";
}

} // namespace

PlanCalls::~PlanCalls() {
  made.clear();
  kernels.reset();
  const cuda::Driver &driver = FakeCuda::table().driver;
  if (scratch) {
    driver.streamDestroy(scratch);
    driver.contextRelease(0);
  }
}

std::string PlanCalls::begin() {
  std::vector<FakeCuda::Memory> memory = FakeCuda::memoryOf(rank);
  std::size_t at = 0;
  std::string wrong;
  const auto take = [&](std::uint64_t bytes, bool pinned, const std::string &what) -> std::byte * {
    if (bytes == 0 || !wrong.empty())
      return nullptr;
    const std::uint64_t slack = pinned ? 0 : 4096;
    if (at == memory.size() || memory[at].pinned != pinned ||
        (memory[at].bytes != bytes && memory[at].bytes != bytes + slack)) {
      wrong = "allocation of " + what + " does not have " + std::to_string(bytes) + " bytes";
      return nullptr;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(memory[at++].address);
    return reinterpret_cast<std::byte *>((address + 4095) / 4096 * 4096);
  };
  for (const auto &arena : plan.arenas)
    arenas[static_cast<int>(arena->space)] = take(arena->bytes, arena->space == plan::Space::host,
                                                  "the arena of " + std::string(plan::EnumNameSpace(arena->space)));
  for (const auto &stream : plan.streams)
    workspaces.push_back(
        take(stream->workspace, stream->processor == plan::Processor::host, "the workspace of " + stream->name));
  if (!wrong.empty())
    return wrong;
  if (at != memory.size())
    return differs("allocations", at, memory.size());

  // Between the one for calls on no stream of the plan and the one for notifications in a capture.
  streams = FakeCuda::streamsOf(rank);
  if (streams.size() != plan.streams.size() + 2)
    return differs("streams", plan.streams.size() + 2, streams.size());
  streams.erase(streams.begin());
  streams.pop_back();
  const auto infos = FakeCuda::streams();
  for (std::size_t s = 0; s < streams.size(); ++s) {
    const FakeCuda::StreamInfo &info = infos.at(streams[s]);
    if (info.flags != cuda::streamNonBlocking || info.priority != std::clamp(-plan.streams[s]->priority, -5, 0))
      return differs("priority of stream '" + plan.streams[s]->name + "'", -plan.streams[s]->priority, info.priority);
  }
  // After those of the streams.
  const std::vector<cuda::Event> found = FakeCuda::eventsOf(rank);
  std::uint32_t count = 0;
  for (const auto &entry : plan.entries)
    count += entry->events;
  if (found.size() < streams.size() + count)
    return differs("events", streams.size() + count, found.size());
  for (std::uint32_t e = 0; e < count; ++e)
    events[found[streams.size() + e]] = e;

  FakeCuda::setCaller(ownCaller + rank);
  const cuda::Table &table = FakeCuda::table();
  cuda::Context context = nullptr;
  table.driver.contextRetain(&context, 0);
  table.driver.contextSet(context);
  table.driver.streamCreate(&scratch, cuda::streamNonBlocking, 0);
  auto own = cuda::KernelContext::create(table, 0, false);
  FakeCuda::setCaller(rank);
  if (!own.isOk())
    return own.status().message();
  kernels = std::move(*own);
  if (const auto dnn = environmentDnn())
    if (const Status used = kernels->useDnn(dnn); !used.isOk())
      return used.message();
  return "";
}

std::shared_ptr<cuda::DnnUse> environmentDnn() {
  const char *asked = std::getenv("SLUICE_CUDNN");
  return asked ? std::make_shared<cuda::DnnUse>(std::string_view(asked) == "on" ? cuda::DnnMode::on
                                                                                : cuda::DnnMode::automatic)
               : nullptr;
}

bool PlanCalls::isOfHost(const plan::InstructionT &instruction) const {
  return plan.streams[instruction.stream]->processor == plan::Processor::host;
}

PlanCalls::Bound PlanCalls::bind(const plan::ViewT &view) const {
  Bound bound;
  Operand &operand = bound.operand;
  const plan::BufferT &buffer = *plan.buffers[view.buffer];
  operand.data = arenas[static_cast<int>(buffer.space)] + buffer.offset + view.offset;
  operand.dtype = baseType(view.dtype);
  operand.rank = static_cast<int>(view.shape.size());
  std::int64_t dense = 1;
  for (int d = operand.rank - 1; d >= 0; --d) {
    operand.shape[d] = operand.extent[d] = operand.global[d] = view.shape[d];
    operand.strides[d] = view.strides.empty() ? dense : view.strides[d];
    dense *= view.shape[d];
  }
  for (const auto &valid : view.valid) {
    const std::int64_t origin = valid->chunk * coordinateAlong(plan, static_cast<std::uint32_t>(rank), valid->axes);
    operand.origin[valid->dim] = origin;
    operand.global[valid->dim] = valid->total;
    operand.extent[valid->dim] = std::clamp<std::int64_t>(valid->total - origin, 0, valid->chunk);
  }
  bound.stride = view.repetition_stride;
  return bound;
}

const FakeCall *PlanCalls::peek(std::uint32_t stream) const {
  const auto queue = queues.find(stream);
  return queue == queues.end() || queue->second.empty() ? nullptr : &(*all)[queue->second.front()];
}

const FakeCall *PlanCalls::next(std::uint32_t stream) {
  const FakeCall *call = peek(stream);
  if (call)
    queues[stream].pop_front();
  return call;
}

std::string PlanCalls::compareEvent(const plan::InstructionT &instruction, std::uint32_t event, bool isRecord,
                                    bool carried) {
  const FakeCall *call = peek(instruction.stream);
  const Kind kind = isRecord ? Kind::record : Kind::wait;
  const bool fits = call && call->kind == kind && events.at(call->event) == firstEvent + event;
  // A wait for the previous run may be a different call.
  if (carried && !fits)
    return "";
  if (!fits)
    return "the next call of the stream is a different one";
  const std::size_t position = queues[instruction.stream].front();
  next(instruction.stream);
  ++counts.events;
  EventUse &use = uses[event];
  if (isRecord)
    use.records.push_back(position);
  else if (!carried)
    use.waits.push_back({position, use.records.size()});
  return "";
}

std::string PlanCalls::checkOrderOfEvents() const {
  for (const auto &[event, use] : uses)
    for (const auto &[position, before] : use.waits) {
      if (before == 0 || use.records[before - 1] > position)
        return "a wait for event " + std::to_string(event) + " is issued before the record that it is for";
      if (before < use.records.size() && use.records[before] < position)
        return "a wait for event " + std::to_string(event) + " is issued behind a later record";
    }
  return "";
}

Result<std::vector<FakeCall>> PlanCalls::callsOf(const plan::InstructionT &instruction, const plan::LaunchT &launch,
                                                 std::uint32_t repetition) {
  std::vector<Operand> operands[2];
  std::vector<void *> addresses[2];
  const std::vector<std::unique_ptr<plan::ViewT>> *lists[2] = {&launch.inputs, &launch.outputs};
  for (int side = 0; side < 2; ++side)
    for (const auto &view : *lists[side]) {
      const Bound bound = bind(*view);
      operands[side].push_back(bound.operand);
      addresses[side].push_back(static_cast<std::byte *>(bound.operand.data) + repetition * bound.stride);
    }
  if (std::ranges::all_of(operands[1], [](const Operand &operand) { return operand.elements() == 0; }))
    return std::vector<FakeCall>();
  FakeCuda::setCaller(ownCaller + rank);
  std::unique_ptr<BoundKernel> &kernel = made[&launch];
  Status status;
  if (!kernel) {
    std::vector<Attributes::Item> items;
    for (const auto &attribute : launch.attributes)
      items.push_back({attribute->name, attribute->integer,
                       attribute->kind == 0 ? static_cast<double>(attribute->integer) : attribute->number,
                       attribute->list});
    const Attributes attributes(std::move(items));
    KernelRequest request;
    request.inputs = operands[0];
    request.outputs = operands[1];
    request.attributes = &attributes;
    request.threads = static_cast<int>(plan.target->threads);
    request.workspace = launch.workspace;
    request.cuda = kernels.get();
    request.smMargin = launch.sm_margin;
    auto prepared = findCudaKernel(plan.kernels[launch.kernel])(request);
    if (prepared.isOk())
      kernel = std::move(*prepared);
    else
      status = prepared.takeStatus();
  }
  if (status.isOk())
    status = kernel->enqueue(scratch, addresses[0], addresses[1], workspaces[instruction.stream]);
  FakeCuda::setCaller(rank);
  SLUICE_RETURN_IF_ERROR(status);
  return FakeCuda::takeCalls(ownCaller + rank);
}

std::string PlanCalls::compareLaunch(const plan::InstructionT &instruction, const plan::LaunchT &launch,
                                     std::uint32_t repetition) {
  auto wanted = callsOf(instruction, launch, repetition);
  if (!wanted.isOk())
    return wanted.status().message();
  for (const FakeCall &one : *wanted) {
    const FakeCall *call = next(instruction.stream);
    if (!call)
      return "expected " + std::to_string(wanted->size()) + " calls but got fewer";
    if (std::string wrong = compareCall(*call, one); !wrong.empty())
      return wrong;
    ++counts.launches;
  }
  return "";
}

std::string PlanCalls::compareMove(const plan::InstructionT &instruction, const Bound &to, const Bound *from,
                                   std::uint32_t repetition) {
  std::array<std::int64_t, maxRank> extent = to.operand.extent;
  for (int d = 0; from && d < to.operand.rank; ++d)
    extent[d] = std::min(extent[d], from->operand.extent[d]);
  const auto element = static_cast<std::int64_t>(dtypeBytes(to.operand.dtype));
  const auto add = [](std::vector<Run> &runs, const Run &run) {
    if (!runs.empty() && runs.back().to + runs.back().bytes == run.to &&
        (!run.from || runs.back().from + runs.back().bytes == run.from))
      runs.back().bytes += run.bytes;
    else
      runs.push_back(run);
  };
  // Row by row; a dense innermost dim is one run.
  std::vector<Run> wanted;
  const int rank = to.operand.rank;
  const bool dense = rank > 0 && to.operand.strides[rank - 1] == 1 && (!from || from->operand.strides[rank - 1] == 1);
  const int outer = dense ? rank - 1 : rank;
  std::uint64_t total = static_cast<std::uint64_t>(element);
  for (int d = 0; d < rank; ++d)
    total *= static_cast<std::uint64_t>(extent[d]);
  // A large dense view is one run, whatever its rank.
  const auto isWhole = [&](const Bound &bound) { return bound.operand.isDense() && bound.operand.extent == extent; };
  const auto *toBase = static_cast<const std::byte *>(to.operand.data) + repetition * to.stride;
  const auto *fromBase =
      from ? static_cast<const std::byte *>(from->operand.data) + repetition * from->stride : nullptr;
  if (total && isWhole(to) && (!from || isWhole(*from))) {
    wanted.push_back({toBase, fromBase, total});
  } else if (total) {
    std::array<std::int64_t, maxRank> position{};
    while (true) {
      std::int64_t inTo = 0, inFrom = 0;
      for (int d = 0; d < outer; ++d) {
        inTo += position[d] * to.operand.strides[d];
        inFrom += from ? position[d] * from->operand.strides[d] : 0;
      }
      add(wanted, {toBase + inTo * element, from ? fromBase + inFrom * element : nullptr,
                   static_cast<std::uint64_t>((dense ? extent[rank - 1] : 1) * element)});
      int d = outer - 1;
      while (d >= 0 && ++position[d] == extent[d])
        position[d--] = 0;
      if (d < 0)
        break;
    }
  }
  std::vector<Run> got;
  for (std::uint64_t bytes = 0; bytes < total;) {
    const FakeCall *call = next(instruction.stream);
    if (!call || call->kind != (from ? Kind::copy : Kind::fill))
      return "expected " + std::to_string(total) + " bytes but got " + std::to_string(bytes);
    bytes += call->bytes;
    const auto *destination = static_cast<const std::byte *>(call->addresses[0]);
    // Elements of eight bytes are filled in two halves.
    if (!from && element == 8) {
      const FakeCall *second = next(instruction.stream);
      if (!second || second->bytes != call->bytes || second->addresses[0] != destination + 4)
        return "expected the upper halves behind the lower ones";
      bytes += second->bytes;
      add(got, {destination, nullptr, 2 * call->bytes});
    } else {
      add(got, {destination, from ? static_cast<const std::byte *>(call->addresses[1]) : nullptr, call->bytes});
    }
    ++counts.moves;
  }
  return got == wanted ? "" : "addresses of a move, expected the plan's but got others";
}

std::string PlanCalls::compareInstruction(const plan::InstructionT &instruction, std::uint32_t repetition) {
  if (const plan::RecordT *record = instruction.operation.AsRecord())
    return compareEvent(instruction, record->event, true, false);
  if (const plan::WaitT *wait = instruction.operation.AsWait())
    return compareEvent(instruction, wait->event, false, wait->carried);
  if (instruction.operation.type == plan::Operation::Release)
    return "";
  if (isOfHost(instruction)) {
    const FakeCall *call = next(instruction.stream);
    ++counts.hostCalls;
    return call && call->kind == Kind::host ? "" : "the next call is not one of the host";
  }
  if (const plan::LaunchT *launch = instruction.operation.AsLaunch())
    return compareLaunch(instruction, *launch, repetition);
  if (const plan::CopyT *copy = instruction.operation.AsCopy()) {
    const Bound from = bind(*copy->source);
    return compareMove(instruction, bind(*copy->destination), &from, repetition);
  }
  if (const plan::FillT *fill = instruction.operation.AsFill())
    return compareMove(instruction, bind(*fill->destination), nullptr, repetition);
  return compareCollective(instruction, *instruction.operation.AsCollective(), repetition);
}

std::string PlanCalls::compare(std::uint32_t entryIndex, const std::vector<FakeCall> &calls, bool captured) {
  const plan::EntryT &entry = *plan.entries[entryIndex];
  firstEvent = 0;
  for (std::uint32_t e = 0; e < entryIndex; ++e)
    firstEvent += plan.entries[e]->events;
  all = &calls;
  queues.clear();
  uses.clear();
  reduced.clear();
  // Host functions that do not run commands notify the host; they belong to no instruction.
  const auto *const runsCommand = reinterpret_cast<const void *>(&HostCalls::run);
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const FakeCall &call = calls[c];
    if (call.kind == Kind::host && call.addresses[1] != runsCommand)
      continue;
    const auto stream = std::ranges::find(streams, call.stream);
    // Events of no instruction add streams to a capture, precede a notification, or signal the end of a collective to
    // the watch.
    const bool ofPlan = (call.kind != Kind::record && call.kind != Kind::wait) || events.contains(call.event);
    if (stream == streams.end() && call.kind != Kind::graph && ofPlan)
      return entry.name + ": call " + std::to_string(c) + " is on a stream that the plan has not";
    if (!ofPlan || call.kind == Kind::graph)
      continue;
    if (call.captured != captured)
      return entry.name + ": call " + std::to_string(c) + (captured ? " is not captured" : " is captured");
    queues[static_cast<std::uint32_t>(stream - streams.begin())].push_back(c);
  }
  std::string wrong;
  forEachIssued(entry, [&](const IssuedInstruction &issued) {
    if (!wrong.empty())
      return;
    wrong = compareInstruction(*issued.instruction, issued.repetition);
    if (!wrong.empty())
      wrong = entry.name + ", instruction " + std::to_string(issued.index) + " (" +
              operationName(plan, *issued.instruction) + ") on stream '" +
              plan.streams[issued.instruction->stream]->name + "': " + wrong;
  });
  for (const auto &[stream, queue] : queues)
    if (wrong.empty() && !queue.empty())
      wrong = entry.name + ": " + std::to_string(queue.size()) + " calls on stream '" + plan.streams[stream]->name +
              "' that no instruction of the plan made";
  if (wrong.empty())
    wrong = checkOrderOfEvents();
  if (wrong.empty())
    wrong = checkReductions();
  return wrong;
}

} // namespace sluice::test
