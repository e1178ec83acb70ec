//===- FakeStreams.cpp - streams and events of the emulated GPU ------------------------===//
#include "test/cuda/FakeState.h"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace sluice::test {

using namespace cuda;

void Generation::complete() {
  std::lock_guard lock(mutex);
  at = std::chrono::steady_clock::now();
  done = true;
  changed.notify_all();
}

void Generation::await() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done; });
}

bool Generation::isDone() {
  std::lock_guard lock(mutex);
  return done;
}

FakeStream::FakeStream(bool executes) {
  if (executes)
    thread = std::thread([this] { work(); });
}

FakeStream::~FakeStream() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    stopping = true;
    changed.notify_all();
  }
  thread.join();
}

void FakeStream::push(std::function<void()> item) {
  if (!thread.joinable())
    return;
  std::lock_guard lock(mutex);
  queue.push_back(std::move(item));
  changed.notify_all();
}

void FakeStream::drain() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return queue.empty() && !busy; });
}

bool FakeStream::isIdle() {
  std::lock_guard lock(mutex);
  return queue.empty() && !busy;
}

void FakeStream::addNode(FakeGraph::Node node) {
  node.after = clock;
  graph->branches[this].push_back(std::move(node));
  clock[this] = ++nodes;
}

void FakeStream::work() {
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

Code fakeEnqueue(Stream stream, FakeCall call, std::function<void()> work) {
  FakeStream &on = *streamOf(stream);
  if (inHostFunction)
    return fakeComplain("a call of CUDA within a host function"), 1;
  const bool isCollective = call.kind == FakeCall::Kind::collective;
  call.stream = stream;
  call.captured = on.graph != nullptr;
  call.caller = fakeCaller;
  {
    std::lock_guard lock(state->mutex);
    if (!state->streams.count(&on))
      return complainLocked("work on a stream that is not there"), 400;
    if (state->sticky)
      return state->sticky;
    state->calls.push_back(std::move(call));
  }
  if (on.graph) {
    std::lock_guard lock(state->captureMutex);
    if (on.graph->isInvalid)
      return captureInvalidated;
    on.addNode({std::move(work), {}, isCollective});
  } else {
    on.push(std::move(work));
  }
  return 0;
}

namespace {

/// Records a call of a capture that enqueues no work.
void noteCaptured(FakeCall call, Stream stream) {
  call.captured = true;
  call.stream = stream;
  call.caller = fakeCaller;
  std::lock_guard lock(state->mutex);
  state->calls.push_back(std::move(call));
}

Code waitFor(Stream stream, Event event) {
  FakeStream &waiting = *streamOf(stream);
  FakeEvent &on = *eventOf(event);
  FakeCall call;
  call.kind = FakeCall::Kind::wait;
  call.event = event;
  if (waiting.graph) {
    std::lock_guard lock(state->captureMutex);
    if (waiting.graph->isInvalid)
      return captureInvalidated;
  }
  if (on.isCaptured) {
    std::lock_guard lock(state->captureMutex);
    const std::shared_ptr<FakeGraph> graph = on.graph.lock();
    if (!graph || graph->hasEnded)
      return capturedEvent;
    if (graph->isInvalid)
      return captureInvalidated;
    if (waiting.graph && waiting.graph != graph)
      return fakeComplain("a wait of one capture for another"), 1;
    if (!waiting.graph) {
      waiting.graph = graph;
      waiting.graph->joined.insert(&waiting);
      waiting.nodes = 0;
      waiting.clock.clear();
    }
    for (const auto &[of, node] : on.clock)
      waiting.clock[of] = std::max(waiting.clock[of], node);
    noteCaptured(std::move(call), stream);
    return 0;
  }
  if (!on.latest)
    return fakeEnqueue(stream, std::move(call), [] {});
  // CUDA_ERROR_STREAM_CAPTURE_ISOLATION
  if (waiting.graph)
    return fakeComplain("a wait in a capture for an event that was recorded before it"), 905;
  return fakeEnqueue(stream, std::move(call), [latest = on.latest] { latest->await(); });
}

Code recordOn(Event event, Stream stream) {
  FakeStream &on = *streamOf(stream);
  FakeEvent &recorded = *eventOf(event);
  FakeCall call;
  call.kind = FakeCall::Kind::record;
  call.event = event;
  if (on.graph) {
    std::lock_guard lock(state->captureMutex);
    if (on.graph->isInvalid)
      return captureInvalidated;
    recorded.isCaptured = true;
    recorded.graph = on.graph;
    recorded.clock = on.clock;
    noteCaptured(std::move(call), stream);
    return 0;
  }
  recorded.isCaptured = false;
  recorded.graph.reset();
  recorded.latest = std::make_shared<Generation>();
  if (state->options.recordsOnly)
    recorded.latest->complete();
  return fakeEnqueue(stream, std::move(call), [latest = recorded.latest] { latest->complete(); });
}

Code timeBetween(float *milliseconds, Event begin, Event end) {
  const FakeEvent &first = *eventOf(begin), &last = *eventOf(end);
  for (const FakeEvent *event : {&first, &last}) {
    if ((event->flags & eventDisableTiming) || event->isCaptured || !event->latest)
      return fakeComplain("the time of an event that has none"), 400;
    if (!event->latest->isDone())
      return notReady;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(last.latest->at - first.latest->at).count();
  return 0;
}

} // namespace

void fillFakeStreams(Driver &d) {
  d.priorities = [](int *least, int *greatest) -> Code {
    return *least = 0, *greatest = -5, checkContext("cuCtxGetStreamPriorityRange");
  };
  d.streamCreate = [](Stream *stream, unsigned flags, int priority) -> Code {
    if (const Code code = checkContext("cuStreamCreateWithPriority"))
      return code;
    auto made = std::make_unique<FakeStream>(!state->options.recordsOnly);
    made->info = {priority, flags, fakeCaller};
    std::lock_guard lock(state->mutex);
    *stream = made.get();
    state->streamOrder.push_back(made.get());
    state->streams[made.get()] = std::move(made);
    return 0;
  };
  d.streamDestroy = [](Stream stream) -> Code {
    std::unique_ptr<FakeStream> gone;
    std::lock_guard lock(state->mutex);
    gone = std::move(state->streams[streamOf(stream)]);
    state->streams.erase(streamOf(stream));
    std::erase(state->streamOrder, streamOf(stream));
    return 0;
  };
  d.streamSynchronize = [](Stream stream) -> Code {
    if (inHostFunction)
      return fakeComplain("a call of CUDA within a host function"), 1;
    if (streamOf(stream)->graph)
      fakeComplain("cuStreamSynchronize of a stream that is captured");
    streamOf(stream)->drain();
    std::lock_guard lock(state->mutex);
    return state->sticky;
  };
  d.streamQuery = [](Stream stream) -> Code {
    {
      std::lock_guard lock(state->mutex);
      if (state->sticky)
        return state->sticky;
    }
    return streamOf(stream)->isIdle() ? 0 : notReady;
  };
  d.streamWait = [](Stream stream, Event event, unsigned) -> Code { return waitFor(stream, event); };
  d.streamCapturing = [](Stream stream, int *status) -> Code {
    return *status = streamOf(stream)->graph != nullptr, 0;
  };
  d.writeValue = [](Stream stream, DevicePointer to, std::uint32_t value, unsigned) -> Code {
    FakeCall call;
    call.kind = FakeCall::Kind::mark;
    auto *const at = reinterpret_cast<std::uint32_t *>(to);
    call.addresses = {at};
    return fakeEnqueue(stream, std::move(call), [at, value] { std::atomic_ref(*at).store(value); });
  };
  d.hostCall = [](Stream stream, HostFunction function, void *data) -> Code {
    FakeCall call;
    call.kind = FakeCall::Kind::host;
    call.addresses = {data, reinterpret_cast<const void *>(function)};
    // A host function is run in the stream's order, on the one thread that a driver has for those of all streams, and
    // calls nothing of CUDA.
    return fakeEnqueue(stream, std::move(call), [=] {
      static std::mutex one;
      std::lock_guard lock(one);
      inHostFunction = true;
      function(data);
      inHostFunction = false;
    });
  };
  d.eventCreate = [](Event *event, unsigned flags) -> Code {
    auto *made = new FakeEvent;
    made->flags = flags;
    made->caller = fakeCaller;
    *event = made;
    std::lock_guard lock(state->mutex);
    state->events.push_back(made);
    return 0;
  };
  d.eventDestroy = [](Event event) -> Code {
    std::lock_guard lock(state->mutex);
    if (!std::erase(state->events, eventOf(event)))
      return complainLocked("cuEventDestroy of what is no event"), 1;
    delete eventOf(event);
    return 0;
  };
  d.eventRecord = [](Event event, Stream stream) -> Code { return recordOn(event, stream); };
  d.eventElapsed = [](float *milliseconds, Event begin, Event end) -> Code {
    return timeBetween(milliseconds, begin, end);
  };
}

} // namespace sluice::test
