//===- FakeDriver.cpp - the driver of a GPU that is not there ----------------------------===//
#include "test/cuda/Emulator.h"
#include "test/cuda/Fake.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

namespace sluice::test {
namespace {

using namespace cuda;

struct FakeStream;
using Clock = std::map<const FakeStream *, std::uint64_t>;

/// What a capture has collected.
struct FakeGraph {
  FakeStream *origin = nullptr;
  std::vector<std::function<void()>> work;
  std::set<FakeStream *> joined;
};

/// A latch: one record of an event.
struct Generation {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::chrono::steady_clock::time_point at;
  void complete() {
    std::lock_guard lock(mutex);
    at = std::chrono::steady_clock::now();
    done = true;
    changed.notify_all();
  }
  void await() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return done; });
  }
  bool isDone() {
    std::lock_guard lock(mutex);
    return done;
  }
};

struct FakeEvent {
  std::shared_ptr<Generation> latest;
  std::shared_ptr<FakeGraph> graph;
  Clock clock;
  unsigned flags = 0;
};

struct FakeStream {
  int priority = 0;
  unsigned flags = 0;
  std::shared_ptr<FakeGraph> graph;
  /// In the present capture: of this stream's own nodes, and which of the others' stand before.
  std::uint64_t nodes = 0;
  Clock clock;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  bool busy = false, stopping = false;
  std::thread thread;

  FakeStream() : thread([this] { work(); }) {}
  ~FakeStream() {
    {
      std::lock_guard lock(mutex);
      stopping = true;
      changed.notify_all();
    }
    thread.join();
  }
  void push(std::function<void()> item) {
    std::lock_guard lock(mutex);
    queue.push_back(std::move(item));
    changed.notify_all();
  }
  void drain() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return queue.empty() && !busy; });
  }

private:
  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return stopping || !queue.empty(); });
      if (queue.empty())
        return;
      std::function<void()> item = std::move(queue.front());
      queue.pop_front();
      busy = true;
      lock.unlock();
      item();
      lock.lock();
      busy = false;
      changed.notify_all();
    }
  }
};

struct State {
  std::mutex mutex;
  FakeOptions options;
  Table table;
  std::vector<FakeCall> calls;
  std::map<FakeStream *, std::unique_ptr<FakeStream>> streams;
  std::set<FakeEvent *> events;
  std::map<std::uintptr_t, std::uint64_t> memory, pinned;
  std::string complaint;
  int launches = 0, modules = 0, graphs = 0, contexts = 0;
  /// The error that every call gives once the device has failed.
  Code sticky = 0;
};
State *state = nullptr;
thread_local bool contextIsSet = false;

FakeStream *streamOf(Stream stream) { return static_cast<FakeStream *>(stream); }

void complainLocked(const std::string &text) {
  if (state->complaint.empty())
    state->complaint = text;
}

Code checkContext(const char *call) {
  if (contextIsSet)
    return 0;
  fakeComplain(std::string(call) + " without a current context");
  return 201;
}

/// Which other streams' nodes stand before the next node of `stream`.
void addNode(FakeStream &stream) { stream.clock[&stream] = ++stream.nodes; }

void makeDriver(Driver &d) {
  d.init = [](unsigned) -> Code { return 0; };
  d.driverVersion = [](int *version) -> Code { return *version = state->options.driverVersion, 0; };
  d.errorName = [](Code code, const char **name) -> Code {
    *name = code == outOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : code == launchFailed ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR";
    return 0;
  };
  d.errorText = [](Code code, const char **text) -> Code {
    *text = code == outOfMemory ? "out of memory" : code == launchFailed ? "unspecified launch failure" : "error";
    return 0;
  };
  d.deviceCount = [](int *count) -> Code { return *count = 1, 0; };
  d.deviceGet = [](int *device, int ordinal) -> Code { return *device = ordinal, ordinal == 0 ? 0 : 101; };
  d.deviceName = [](char *name, int length, int) -> Code { return std::strncpy(name, "fake", length), 0; };
  d.deviceAttribute = [](int *value, int attribute, int) -> Code {
    *value = attribute == attributeMajor ? 9 : attribute == attributeMinor ? 0 : attribute == attributeMultiprocessors ? 4 : 227 << 10;
    return 0;
  };
  d.contextRetain = [](Context *context, int) -> Code {
    std::lock_guard lock(state->mutex);
    ++state->contexts;
    return *context = state, 0;
  };
  d.contextRelease = [](int) -> Code {
    std::lock_guard lock(state->mutex);
    --state->contexts;
    return 0;
  };
  d.contextSet = [](Context context) -> Code { return contextIsSet = context != nullptr, 0; };
  d.contextGet = [](Context *context) -> Code { return *context = contextIsSet ? state : nullptr, 0; };
  d.memoryInfo = [](std::size_t *free, std::size_t *total) -> Code {
    *free = state->options.memory - FakeCuda::allocatedBytes();
    *total = state->options.memory;
    return checkContext("cuMemGetInfo");
  };
  d.allocate = [](DevicePointer *pointer, std::size_t bytes) -> Code {
    if (const Code code = checkContext("cuMemAlloc"))
      return code;
    if (bytes > state->options.memory - FakeCuda::allocatedBytes())
      return outOfMemory;
    // As the real one: aligned to 256 and no more, and full of what was there before.
    char *memory = static_cast<char *>(std::aligned_alloc(4096, (bytes + 256 + 4095) / 4096 * 4096)) + 256;
    std::memset(memory, 0xa5, bytes);
    std::lock_guard lock(state->mutex);
    state->memory[reinterpret_cast<std::uintptr_t>(memory)] = bytes;
    *pointer = reinterpret_cast<DevicePointer>(memory);
    return 0;
  };
  d.release = [](DevicePointer pointer) -> Code {
    std::lock_guard lock(state->mutex);
    if (!state->memory.erase(pointer))
      return complainLocked("cuMemFree of what was not allocated"), 1;
    std::free(reinterpret_cast<char *>(pointer) - 256);
    return 0;
  };
  d.allocateHost = [](void **pointer, std::size_t bytes, unsigned) -> Code {
    *pointer = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    std::memset(*pointer, 0xa5, bytes);
    std::lock_guard lock(state->mutex);
    state->pinned[reinterpret_cast<std::uintptr_t>(*pointer)] = bytes;
    return 0;
  };
  d.releaseHost = [](void *pointer) -> Code {
    std::lock_guard lock(state->mutex);
    if (!state->pinned.erase(reinterpret_cast<std::uintptr_t>(pointer)))
      return complainLocked("cuMemFreeHost of what was not allocated"), 1;
    std::free(pointer);
    return 0;
  };
  d.copy = [](DevicePointer to, DevicePointer from, std::size_t bytes, Stream stream) -> Code {
    FakeCall call;
    call.kind = FakeCall::Kind::copy;
    call.addresses = {reinterpret_cast<void *>(to), reinterpret_cast<void *>(from)};
    call.bytes = bytes;
    return fakeEnqueue(stream, std::move(call), [=] {
      std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
    });
  };
  d.fill8 = [](DevicePointer to, unsigned char value, std::size_t count, Stream stream) -> Code {
    FakeCall call;
    call.kind = FakeCall::Kind::fill;
    call.addresses = {reinterpret_cast<void *>(to)};
    call.bytes = count;
    return fakeEnqueue(stream, std::move(call), [=] { std::memset(reinterpret_cast<void *>(to), value, count); });
  };
  d.fill16 = [](DevicePointer to, unsigned short value, std::size_t count, Stream stream) -> Code {
    FakeCall call;
    call.kind = FakeCall::Kind::fill;
    call.addresses = {reinterpret_cast<void *>(to)};
    call.bytes = count * 2;
    return fakeEnqueue(stream, std::move(call), [=] { std::fill_n(reinterpret_cast<unsigned short *>(to), count, value); });
  };
  d.fill32 = [](DevicePointer to, unsigned value, std::size_t count, Stream stream) -> Code {
    FakeCall call;
    call.kind = FakeCall::Kind::fill;
    call.addresses = {reinterpret_cast<void *>(to)};
    call.bytes = count * 4;
    return fakeEnqueue(stream, std::move(call), [=] { std::fill_n(reinterpret_cast<unsigned *>(to), count, value); });
  };
  d.fillRows32 = [](DevicePointer to, std::size_t pitch, unsigned value, std::size_t width, std::size_t height,
                    Stream stream) -> Code {
    FakeCall call;
    call.kind = FakeCall::Kind::fill;
    call.addresses = {reinterpret_cast<void *>(to)};
    call.bytes = width * height * 4;
    return fakeEnqueue(stream, std::move(call), [=] {
      for (std::size_t row = 0; row < height; ++row)
        std::fill_n(reinterpret_cast<unsigned *>(to + row * pitch), width, value);
    });
  };
  d.priorities = [](int *least, int *greatest) -> Code { return *least = 0, *greatest = -5, checkContext("cuCtxGetStreamPriorityRange"); };
  d.streamCreate = [](Stream *stream, unsigned flags, int priority) -> Code {
    if (const Code code = checkContext("cuStreamCreateWithPriority"))
      return code;
    auto made = std::make_unique<FakeStream>();
    made->priority = priority;
    made->flags = flags;
    std::lock_guard lock(state->mutex);
    *stream = made.get();
    state->streams[made.get()] = std::move(made);
    return 0;
  };
  d.streamDestroy = [](Stream stream) -> Code {
    std::unique_ptr<FakeStream> gone;
    std::lock_guard lock(state->mutex);
    gone = std::move(state->streams[streamOf(stream)]);
    state->streams.erase(streamOf(stream));
    return 0;
  };
  d.streamSynchronize = [](Stream stream) -> Code {
    if (streamOf(stream)->graph)
      fakeComplain("cuStreamSynchronize of a stream that is captured");
    streamOf(stream)->drain();
    std::lock_guard lock(state->mutex);
    return state->sticky;
  };
  d.streamWait = [](Stream stream, Event event, unsigned) -> Code {
    FakeStream &waiting = *streamOf(stream);
    FakeEvent &on = *static_cast<FakeEvent *>(event);
    FakeCall call;
    call.kind = FakeCall::Kind::wait;
    call.event = event;
    if (on.graph) {
      if (waiting.graph && waiting.graph != on.graph)
        return fakeComplain("a wait of one capture for another"), 1;
      if (!waiting.graph) {
        waiting.graph = on.graph;
        waiting.graph->joined.insert(&waiting);
        waiting.nodes = 0;
        waiting.clock.clear();
      }
      for (const auto &[of, node] : on.clock)
        waiting.clock[of] = std::max(waiting.clock[of], node);
      call.captured = true;
      std::lock_guard lock(state->mutex);
      call.stream = stream;
      state->calls.push_back(std::move(call));
      return 0;
    }
    if (!on.latest)
      return fakeEnqueue(stream, std::move(call), [] {});
    // CUDA_ERROR_STREAM_CAPTURE_ISOLATION
    if (waiting.graph)
      return fakeComplain("a wait in a capture for an event that was recorded before it"), 905;
    return fakeEnqueue(stream, std::move(call), [latest = on.latest] { latest->await(); });
  };
  d.streamCapturing = [](Stream stream, int *status) -> Code { return *status = streamOf(stream)->graph != nullptr, 0; };
  d.hostCall = [](Stream stream, HostFunction function, void *data) -> Code {
    FakeCall call;
    call.kind = FakeCall::Kind::host;
    return fakeEnqueue(stream, std::move(call), [=] { function(data); });
  };
  d.eventCreate = [](Event *event, unsigned flags) -> Code {
    auto *made = new FakeEvent;
    made->flags = flags;
    *event = made;
    std::lock_guard lock(state->mutex);
    state->events.insert(made);
    return 0;
  };
  d.eventDestroy = [](Event event) -> Code {
    std::lock_guard lock(state->mutex);
    if (!state->events.erase(static_cast<FakeEvent *>(event)))
      return complainLocked("cuEventDestroy of what is no event"), 1;
    delete static_cast<FakeEvent *>(event);
    return 0;
  };
  d.eventRecord = [](Event event, Stream stream) -> Code {
    FakeStream &on = *streamOf(stream);
    FakeEvent &recorded = *static_cast<FakeEvent *>(event);
    FakeCall call;
    call.kind = FakeCall::Kind::record;
    call.event = event;
    if (on.graph) {
      recorded.graph = on.graph;
      recorded.clock = on.clock;
      call.captured = true;
      call.stream = stream;
      std::lock_guard lock(state->mutex);
      state->calls.push_back(std::move(call));
      return 0;
    }
    recorded.graph = nullptr;
    recorded.latest = std::make_shared<Generation>();
    return fakeEnqueue(stream, std::move(call), [latest = recorded.latest] { latest->complete(); });
  };
  d.eventQuery = [](Event event) -> Code {
    FakeEvent &asked = *static_cast<FakeEvent *>(event);
    return !asked.latest || asked.latest->isDone() ? 0 : notReady;
  };
  d.eventElapsed = [](float *milliseconds, Event begin, Event end) -> Code {
    const FakeEvent &first = *static_cast<FakeEvent *>(begin), &last = *static_cast<FakeEvent *>(end);
    for (const FakeEvent *event : {&first, &last}) {
      if ((event->flags & eventDisableTiming) || event->graph || !event->latest)
        return fakeComplain("the time of an event that has none"), 400;
      if (!event->latest->isDone())
        return notReady;
    }
    *milliseconds = std::chrono::duration<float, std::milli>(last.latest->at - first.latest->at).count();
    return 0;
  };
  d.moduleLoad = [](Module *module, const void *) -> Code {
    std::lock_guard lock(state->mutex);
    ++state->modules;
    return *module = state, checkContext("cuModuleLoadData");
  };
  d.moduleUnload = [](Module) -> Code {
    std::lock_guard lock(state->mutex);
    --state->modules;
    return 0;
  };
  d.moduleFunction = [](Function *function, Module, const char *name) -> Code {
    const HostKernel *kernel = findHostKernel(name);
    *function = const_cast<HostKernel *>(kernel);
    return kernel ? 0 : notFound;
  };
  d.functionAttribute = [](Function, int attribute, int value) -> Code {
    return attribute == functionMaxSharedMemory && value <= 227 << 10 ? 0 : 1;
  };
  d.launch = [](Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                unsigned blockZ, unsigned shared, Stream stream, void **parameters, void **) -> Code {
    const auto *kernel = static_cast<const HostKernel *>(function);
    if (gridX == 0 || gridY != 1 || gridZ != 1 || blockX == 0 || blockX > 1024 || blockY != 1 || blockZ != 1)
      return fakeComplain("a launch of " + std::string(kernel->name) + " with a wrong grid"), 1;
    {
      std::lock_guard lock(state->mutex);
      if (state->launches++ == state->options.failingLaunch)
        return state->sticky = launchFailed;
    }
    FakeCall call;
    call.name = kernel->name;
    call.blocks = gridX;
    call.threads = static_cast<int>(blockX);
    const auto *bytes = static_cast<const unsigned char *>(parameters[0]);
    call.arguments.assign(bytes, bytes + kernel->argumentBytes);
    return fakeEnqueue(stream, call, [=, arguments = call.arguments] {
      std::string error;
      if (!emulate(*kernel, arguments.data(), gridX, static_cast<int>(blockX), static_cast<int>(shared), error))
        fakeComplain(error);
    });
  };
  d.captureBegin = [](Stream stream, int) -> Code {
    FakeStream &origin = *streamOf(stream);
    if (origin.graph)
      return 1;
    origin.graph = std::make_shared<FakeGraph>();
    origin.graph->origin = &origin;
    origin.nodes = 0;
    origin.clock.clear();
    return 0;
  };
  d.captureEnd = [](Stream stream, Graph *graph) -> Code {
    FakeStream &origin = *streamOf(stream);
    if (!origin.graph || origin.graph->origin != &origin)
      return 1;
    std::shared_ptr<FakeGraph> made = std::move(origin.graph);
    origin.graph = nullptr;
    bool joined = true;
    for (FakeStream *other : made->joined) {
      joined = joined && origin.clock[other] == other->nodes;
      other->graph = nullptr;
    }
    if (!joined)
      return fakeComplain("a capture ends with a stream that was not joined"), 904;
    std::lock_guard lock(state->mutex);
    ++state->graphs;
    *graph = new std::shared_ptr<FakeGraph>(std::move(made));
    return 0;
  };
  d.graphInstantiate = [](GraphExec *exec, Graph graph, unsigned long long) -> Code {
    std::lock_guard lock(state->mutex);
    ++state->graphs;
    *exec = new std::shared_ptr<FakeGraph>(*static_cast<std::shared_ptr<FakeGraph> *>(graph));
    return 0;
  };
  d.graphLaunch = [](GraphExec exec, Stream stream) -> Code {
    FakeCall call;
    call.kind = FakeCall::Kind::graph;
    return fakeEnqueue(stream, std::move(call), [graph = *static_cast<std::shared_ptr<FakeGraph> *>(exec)] {
      for (const auto &work : graph->work)
        work();
    });
  };
  const auto destroyGraph = [](void *graph) -> Code {
    std::lock_guard lock(state->mutex);
    --state->graphs;
    delete static_cast<std::shared_ptr<FakeGraph> *>(graph);
    return 0;
  };
  d.graphExecDestroy = destroyGraph;
  d.graphDestroy = destroyGraph;
}

} // namespace

Code fakeEnqueue(Stream stream, FakeCall call, std::function<void()> work) {
  FakeStream &on = *streamOf(stream);
  call.stream = stream;
  call.captured = on.graph != nullptr;
  {
    std::lock_guard lock(state->mutex);
    if (!state->streams.count(&on))
      return complainLocked("work on a stream that is not there"), 400;
    if (state->sticky)
      return state->sticky;
    state->calls.push_back(std::move(call));
  }
  if (on.graph) {
    addNode(on);
    on.graph->work.push_back(std::move(work));
  } else {
    on.push(std::move(work));
  }
  return 0;
}

void fakeComplain(const std::string &text) {
  std::lock_guard lock(state->mutex);
  complainLocked(text);
}

FakeCuda::FakeCuda(const FakeOptions &options) {
  state = new State;
  state->options = options;
  makeDriver(state->table.driver);
  fillFakeBlas(state->table.blas);
  fillFakeNccl(state->table.nccl);
  if (!options.nccl)
    state->table.ncclAbsence = refusedError("nccl, expected the library libnccl.so.2 but got: nothing");
  static const Image image{"fake", ""};
  state->table.images = {&image, 1};
  setTable(&state->table);
}

FakeCuda::~FakeCuda() {
  setTable(nullptr);
  resetFakeNccl();
  state->streams.clear();
  delete state;
  state = nullptr;
}

std::vector<FakeCall> FakeCuda::takeCalls() {
  std::lock_guard lock(state->mutex);
  return std::exchange(state->calls, {});
}
std::map<Stream, FakeCuda::StreamInfo> FakeCuda::streams() {
  std::lock_guard lock(state->mutex);
  std::map<Stream, StreamInfo> found;
  for (const auto &[stream, owned] : state->streams)
    found[stream] = {stream->priority, stream->flags};
  return found;
}
std::uint64_t FakeCuda::allocatedBytes() {
  std::lock_guard lock(state->mutex);
  std::uint64_t bytes = 0;
  for (const auto &[address, size] : state->memory)
    bytes += size;
  return bytes;
}
std::uint64_t FakeCuda::pinnedBytes() {
  std::lock_guard lock(state->mutex);
  std::uint64_t bytes = 0;
  for (const auto &[address, size] : state->pinned)
    bytes += size;
  return bytes;
}
int FakeCuda::liveObjects() {
  std::lock_guard lock(state->mutex);
  return static_cast<int>(state->streams.size() + state->events.size() + state->memory.size() + state->pinned.size()) +
         state->modules + state->graphs + state->contexts;
}
std::string FakeCuda::complaint() {
  std::lock_guard lock(state->mutex);
  return state->complaint;
}
const Table &FakeCuda::table() { return state->table; }

} // namespace sluice::test
