//===- CudaDevice.cpp - the device of one rank on a GPU -------------------------------===//
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/base/cuda/Nvtx.h"
#include "runtime/device/cpu/FirstFailure.h"
#include "runtime/device/cuda/CudaClock.h"
#include "runtime/device/cuda/CudaMemory.h"
#include "runtime/device/cuda/DeviceStreams.h"
#include "runtime/device/cuda/HostCalls.h"
#include "runtime/device/cuda/HostSignals.h"
#include "runtime/device/cuda/StreamWaits.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace sluice {
namespace {

using namespace cuda;
using Clock = std::chrono::steady_clock;

DevicePointer pointerOf(const void *address) { return reinterpret_cast<DevicePointer>(address); }

class CudaStreams final : public CudaDevice {
public:
  CudaStreams(const Table &table, const CudaDeviceOptions &options)
      : table(table), options(options), waits(table, failure), hostCalls(failure, options.threads), streams(table) {}

  ~CudaStreams() override {
    if (!context || !use().isOk())
      return;
    const Driver &driver = table.driver;
    if (notifier)
      streams.push_back(*notifier);
    for (const DeviceStream &stream : streams)
      driver.streamSynchronize(stream.stream);
    destroyGraphs();
    times.reset();
    for (Event event : events)
      driver.eventDestroy(event);
    for (const DeviceStream &stream : streams)
      driver.streamDestroy(stream.stream);
    if (service)
      driver.streamDestroy(service);
    memory.reset();
    driver.contextRelease(device);
    driver.contextSet(nullptr);
  }

  Status start() {
    const Driver &driver = table.driver;
    int count = 0;
    SLUICE_RETURN_IF_ERROR(check(driver.deviceCount(&count), "cuDeviceGetCount"));
    if (options.ordinal < 0 || options.ordinal >= count)
      return refusedError("cuda device " + std::to_string(options.ordinal) + ", expected less than the machine's " +
                          std::to_string(count));
    SLUICE_RETURN_IF_ERROR(check(driver.deviceGet(&device, options.ordinal), "cuDeviceGet"));
    SLUICE_RETURN_IF_ERROR(check(driver.deviceAttribute(&major, attributeMajor, device), "cuDeviceGetAttribute"));
    SLUICE_RETURN_IF_ERROR(check(driver.deviceAttribute(&minor, attributeMinor, device), "cuDeviceGetAttribute"));
    if (major < 8)
      return refusedError("architecture of the device, expected sm_80 or later but got " + architecture());
    SLUICE_RETURN_IF_ERROR(check(driver.contextRetain(&context, device), "cuDevicePrimaryCtxRetain"));
    SLUICE_RETURN_IF_ERROR(use());
    SLUICE_RETURN_IF_ERROR(check(driver.priorities(&leastPriority, &greatestPriority), "cuCtxGetStreamPriorityRange"));
    SLUICE_RETURN_IF_ERROR(check(driver.streamCreate(&service, streamNonBlocking, 0), "cuStreamCreateWithPriority"));
    memory.emplace(table, service);
    return {};
  }

  const Table &functions() const override { return table; }
  Stream stream(StreamId id) const override { return streams[id].stream; }
  Status use() const override { return check(table.driver.contextSet(context), "cuCtxSetCurrent"); }
  std::string architecture() const override { return "sm_" + std::to_string(major * 10 + minor); }
  void report(const Status &status) override { failure.report(status); }
  void watchWaits(std::function<Status(Clock::time_point)> check) override { waits.watch(std::move(check)); }
  bool isAbandoned() const override { return waits.isAbandoned(); }
  StreamClock &clock() override {
    if (!times)
      times.emplace(table, service);
    return *times;
  }

  Result<void *> allocate(MemorySpace space, std::uint64_t bytes, std::string_view purpose) override {
    SLUICE_RETURN_IF_ERROR(use());
    return memory->allocate(space, bytes, purpose);
  }

  Result<void *> allocateForPeers(std::uint64_t bytes, std::string_view purpose) override {
    SLUICE_RETURN_IF_ERROR(use());
    return memory->allocate(MemorySpace::device, bytes, purpose, /*isForPeers=*/true);
  }

  std::uint64_t allocatedBytes(MemorySpace space) const override { return memory->allocatedBytes(space); }

  Result<StreamId> createStream(std::string_view name, int priority) override {
    SLUICE_ASSIGN_OR_RETURN(DeviceStream made, newStream(priority));
    made.name = name;
    streams.push_back(std::move(made));
    if (const Nvtx *names = nvtx(); names && names->nameStream)
      names->nameStream(streams.back().stream, streams.back().name.c_str());
    return static_cast<StreamId>(streams.size() - 1);
  }

  Result<StreamId> createHostStream(std::string_view name, int priority) override {
    SLUICE_ASSIGN_OR_RETURN(StreamId made, createStream(name, priority));
    streams[made].ofHost = true;
    return made;
  }

  Status createEvents(std::uint32_t count) override {
    SLUICE_RETURN_IF_ERROR(use());
    while (planEvents.size() < count) {
      SLUICE_ASSIGN_OR_RETURN(const Event event, createEvent());
      planEvents.push_back(event);
    }
    signals.resize(count);
    if (!notifier) {
      SLUICE_ASSIGN_OR_RETURN(notifier, newStream(0));
      SLUICE_ASSIGN_OR_RETURN(notified, createEvent());
    }
    return {};
  }

  Status enqueue(StreamId stream, Command &command, std::uint32_t repetition) override {
    SLUICE_RETURN_IF_ERROR(checkStream(stream));
    if (failure.known())
      return failure.get();
    SLUICE_RETURN_IF_ERROR(use());
    if (options.delays)
      SLUICE_RETURN_IF_ERROR(delay(stream, command, repetition));
    if (streams[stream].ofHost)
      return check(table.driver.hostCall(streams[stream].stream, HostCalls::run, &hostCalls.of(command, repetition)),
                   "cuLaunchHostFunc");
    Status status = command.execute(streams[stream].stream, repetition);
    // A failed capture has run nothing, so its caller decides.
    if (!status.isOk() && !capturing)
      failure.report(status);
    return status;
  }

  Status record(StreamId stream, EventId event) override {
    SLUICE_RETURN_IF_ERROR(use(stream, event));
    return streams.record(streams[stream], planEvents[event]);
  }

  Status wait(StreamId stream, EventId event) override {
    SLUICE_RETURN_IF_ERROR(use(stream, event));
    return streams.wait(streams[stream], planEvents[event]);
  }

  Status recordForHost(StreamId stream, EventId event) override {
    SLUICE_RETURN_IF_ERROR(use(stream, event));
    const DeviceStream *on = &streams[stream];
    if (capturing) {
      // A capture runs nothing: the host expects the notifications of each launch of the graph. They are a branch of
      // the graph: a host function starts some 0.2 ms late, and no kernel waits for it.
      notifiedByCapture.push_back(event);
      SLUICE_RETURN_IF_ERROR(streams.record(*on, notified));
      on = &*notifier;
      SLUICE_RETURN_IF_ERROR(streams.wait(*on, notified));
    } else {
      signals.expect(event);
    }
    return check(table.driver.hostCall(on->stream, HostSignals::Notification::send, &signals.notificationOf(event)),
                 "cuLaunchHostFunc");
  }

  Status await(EventId event) override {
    SLUICE_RETURN_IF_ERROR(checkEvent(event));
    SLUICE_RETURN_IF_ERROR(use());
    // After an error of the context a stream runs no host functions.
    const Clock::time_point since = Clock::now();
    while (!failure.known() && !signals.await(event, waits.pause())) {
      waits.check(since);
      for (const DeviceStream &stream : streams)
        if (const Code code = table.driver.streamQuery(stream.stream); code != 0 && code != notReady)
          failure.report(check(code, "cuStreamQuery of stream '" + stream.name + "'"));
    }
    return failure.get();
  }

  Status synchronize() override {
    SLUICE_RETURN_IF_ERROR(use());
    for (const DeviceStream &stream : streams)
      if (Status status = waits.waitFor(stream.stream, "cuStreamSynchronize of stream '" + stream.name + "'");
          !status.isOk())
        failure.report(status);
    if (waits.isAbandoned())
      return failure.get();
    pauses.clear();
    return failure.take();
  }

  Status copy(void *nativeStream, void *to, const void *from, std::uint64_t bytes) override {
    return bytes == 0 ? Status()
                      : check(table.driver.copy(pointerOf(to), pointerOf(from), bytes, nativeStream), "cuMemcpyAsync");
  }

  Status fill(void *nativeStream, void *to, const void *pattern, std::uint32_t elementBytes,
              std::uint64_t count) override {
    return fillMemory(table, nativeStream, to, pattern, elementBytes, count);
  }

  Status read(void *to, const void *from, std::uint64_t bytes) override { return move(to, from, bytes); }
  Status write(void *to, const void *from, std::uint64_t bytes) override { return move(to, from, bytes); }

  Status beginCapture() override {
    if (streams.empty())
      return internalError("a capture without streams");
    SLUICE_RETURN_IF_ERROR(use());
    notifiedByCapture.clear();
    SLUICE_RETURN_IF_ERROR(
        check(table.driver.captureBegin(streams[0].stream, captureThreadLocal), "cuStreamBeginCapture"));
    capturing = true;
    return streams.fork();
  }

  Event origin() const override { return streams[0].join; }
  std::vector<Event> joins() const override {
    std::vector<Event> found;
    for (const DeviceStream &stream : streams)
      found.push_back(stream.join);
    return found;
  }

  Status joinCapture(Event begun) override {
    SLUICE_RETURN_IF_ERROR(use());
    capturing = true;
    notifiedByCapture.clear();
    return streams.waitAll(begun);
  }

  Result<GraphId> leaveCapture() override {
    capturing = false;
    SLUICE_RETURN_IF_ERROR(joinNotifier());
    SLUICE_RETURN_IF_ERROR(offer());
    // The graph belongs to the other device; this one stores the notifications of its streams.
    graphs.push_back(nullptr);
    notifiedByGraph.push_back(notifiedByCapture);
    return static_cast<GraphId>(graphs.size() - 1);
  }

  Status offer() override {
    SLUICE_RETURN_IF_ERROR(use());
    return streams.recordJoins();
  }

  Status follow(GraphId graph, Event launched) override {
    SLUICE_RETURN_IF_ERROR(use());
    for (EventId event : notifiedByGraph[graph])
      signals.expect(event);
    return streams.waitAll(launched);
  }

  Result<GraphId> endCapture(std::span<const Event> others) override {
    SLUICE_RETURN_IF_ERROR(use());
    const Driver &driver = table.driver;
    capturing = false;
    Status status = joinNotifier();
    if (status.isOk())
      status = streams.join(others);
    const auto keep = [&](Code code, const char *call) {
      if (status.isOk())
        status = check(code, call);
    };
    Graph graph = nullptr;
    keep(driver.captureEnd(streams[0].stream, &graph), "cuStreamEndCapture");
    GraphExec exec = nullptr;
    if (graph) {
      keep(driver.graphInstantiate(&exec, graph, instantiateNodePriority), "cuGraphInstantiate");
      driver.graphDestroy(graph);
    }
    SLUICE_RETURN_IF_ERROR(status);
    graphs.push_back(exec);
    notifiedByGraph.push_back(notifiedByCapture);
    return static_cast<GraphId>(graphs.size() - 1);
  }

  void discardCapture() override {
    Graph graph = nullptr;
    if (capturing && use().isOk() && table.driver.captureEnd(streams[0].stream, &graph) == 0 && graph)
      table.driver.graphDestroy(graph);
    capturing = false;
  }

  Status resumeIssue() override {
    capturing = false;
    notifiedByCapture.clear();
    return offer();
  }

  void destroyGraphs() override {
    for (GraphExec graph : std::exchange(graphs, {}))
      if (graph && use().isOk())
        table.driver.graphExecDestroy(graph);
  }

  Status launch(GraphId graph, std::span<const Event> others) override {
    if (failure.known())
      return failure.get();
    SLUICE_RETURN_IF_ERROR(use());
    // The graph runs on the first stream, after all work before it and before all later work.
    SLUICE_RETURN_IF_ERROR(streams.join(others));
    for (EventId event : notifiedByGraph[graph])
      signals.expect(event);
    SLUICE_RETURN_IF_ERROR(check(table.driver.graphLaunch(graphs[graph], streams[0].stream), "cuGraphLaunch"));
    return streams.fork();
  }

private:
  /// A delay that a stream has not reached yet.
  struct Pause {
    DelayInjector *delays;
    std::string stream;
    std::uint32_t instruction, repetition;
  };

  Status check(Code code, std::string_view call) const { return driverStatus(table, code, call); }

  Result<Event> createEvent() {
    Event event = nullptr;
    SLUICE_RETURN_IF_ERROR(check(table.driver.eventCreate(&event, eventDisableTiming), "cuEventCreate"));
    events.push_back(event);
    return event;
  }

  Result<DeviceStream> newStream(int priority) {
    SLUICE_RETURN_IF_ERROR(use());
    DeviceStream made;
    SLUICE_ASSIGN_OR_RETURN(made.join, createEvent());
    // A plan's priority grows with urgency, CUDA's falls.
    const int clamped = std::clamp(leastPriority - priority, greatestPriority, leastPriority);
    SLUICE_RETURN_IF_ERROR(
        check(table.driver.streamCreate(&made.stream, streamNonBlocking, clamped), "cuStreamCreateWithPriority"));
    return made;
  }

  /// The first stream waits for the notifications of a capture, so that they are part of it.
  Status joinNotifier() {
    if (notifiedByCapture.empty())
      return {};
    SLUICE_RETURN_IF_ERROR(streams.record(*notifier, notifier->join));
    return streams.wait(streams[0], notifier->join);
  }

  Status use(StreamId stream, EventId event) const {
    SLUICE_RETURN_IF_ERROR(checkStream(stream));
    SLUICE_RETURN_IF_ERROR(checkEvent(event));
    return use();
  }
  Status checkStream(StreamId stream) const {
    if (stream < streams.size())
      return {};
    return internalError("stream " + std::to_string(stream) + ", expected one of " + std::to_string(streams.size()));
  }
  Status checkEvent(EventId event) const {
    if (event < planEvents.size())
      return {};
    return internalError("event " + std::to_string(event) + ", expected one of " + std::to_string(planEvents.size()));
  }

  Status move(void *to, const void *from, std::uint64_t bytes) {
    if (bytes == 0)
      return {};
    SLUICE_RETURN_IF_ERROR(use());
    SLUICE_RETURN_IF_ERROR(check(table.driver.copy(pointerOf(to), pointerOf(from), bytes, service), "cuMemcpyAsync"));
    return waits.waitFor(service, "cuStreamSynchronize");
  }

  Status delay(StreamId stream, const Command &command, std::uint32_t repetition) {
    pauses.push_back(
        std::make_unique<Pause>(Pause{options.delays, streams[stream].name, command.instruction(), repetition}));
    const auto pause = [](void *data) {
      const auto *of = static_cast<const Pause *>(data);
      of->delays->before(of->stream, of->instruction, of->repetition);
    };
    return check(table.driver.hostCall(streams[stream].stream, pause, pauses.back().get()), "cuLaunchHostFunc");
  }

  const Table &table;
  const CudaDeviceOptions options;
  int device = 0, major = 0, minor = 0, leastPriority = 0, greatestPriority = 0;
  Context context = nullptr;
  /// For work that is on no stream of the plan.
  Stream service = nullptr;
  std::optional<CudaMemory> memory;
  std::optional<CudaClock> times;
  FirstFailure failure;
  StreamWaits waits;
  HostCalls hostCalls;
  DeviceStreams streams;
  std::vector<Event> events, planEvents;
  std::vector<GraphExec> graphs;
  HostSignals signals;
  /// Of notifications in a capture, with the event that precedes each. It has no id.
  std::optional<DeviceStream> notifier;
  Event notified = nullptr;
  bool capturing = false;
  /// Events for which the current capture, and each graph, notifies the host.
  std::vector<EventId> notifiedByCapture;
  std::vector<std::vector<EventId>> notifiedByGraph;
  std::vector<std::unique_ptr<Pause>> pauses;
};

} // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::create(const CudaDeviceOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(const Table *functions, table());
  auto made = std::make_unique<CudaStreams>(*functions, options);
  SLUICE_RETURN_IF_ERROR(made->start());
  return std::unique_ptr<CudaDevice>(std::move(made));
}

} // namespace sluice
