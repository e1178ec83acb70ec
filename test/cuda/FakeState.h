//===- FakeState.h - what the parts of the fake share ----------------------------------===//
//
// FakeDriver.cpp holds devices, contexts and the class that tests see; FakeStreams.cpp streams, events and what is put on
// them; FakeMemory.cpp memory and moves; FakeGraphs.cpp device code, launches and captures.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_CUDA_FAKESTATE_H
#define SLUICE_TEST_CUDA_FAKESTATE_H

#include "test/cuda/Fake.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

namespace sluice::test {

struct FakeStream;

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
  void complete();
  void await();
  bool isDone();
};

/// How many nodes of each stream of a capture stand before a point of it.
using CaptureClock = std::map<const FakeStream *, std::uint64_t>;

struct FakeEvent {
  std::shared_ptr<Generation> latest;
  std::shared_ptr<FakeGraph> graph;
  CaptureClock clock;
  unsigned flags = 0;
  int caller = -1;
};

/// A thread that does what it is given, in order; none where nothing is executed.
struct FakeStream {
  FakeCuda::StreamInfo info;
  std::shared_ptr<FakeGraph> graph;
  /// In the present capture: of this stream's own nodes, and which of the others' stand before.
  std::uint64_t nodes = 0;
  CaptureClock clock;

  explicit FakeStream(bool executes);
  ~FakeStream();
  void push(std::function<void()> item);
  void drain();
  void addNode() { clock[this] = ++nodes; }

private:
  void work();

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  bool busy = false, stopping = false;
  std::thread thread;
};

struct FakeState {
  std::mutex mutex;
  /// Of what captures hold: streams of several threads may be in one. Taken before the other.
  std::mutex captureMutex;
  FakeOptions options;
  cuda::Table table;
  std::vector<FakeCall> calls;
  std::map<FakeStream *, std::unique_ptr<FakeStream>> streams;
  /// In the order of making.
  std::vector<FakeStream *> streamOrder;
  std::vector<FakeEvent *> events;
  std::vector<FakeCuda::Memory> memory;
  std::string complaint;
  int launches = 0, modules = 0, graphs = 0, contexts = 0;
  /// The error that every call gives once the device has failed.
  cuda::Code sticky = 0;
};
extern FakeState *state;

/// Of the calling thread: its rank in the test, whether a context is current, whether the driver runs a host function on it.
extern thread_local int fakeCaller;
extern thread_local bool contextIsSet, inHostFunction;

inline FakeStream *streamOf(cuda::Stream stream) { return static_cast<FakeStream *>(stream); }
inline FakeEvent *eventOf(cuda::Event event) { return static_cast<FakeEvent *>(event); }

/// With the state's lock held.
void complainLocked(const std::string &text);
/// 0, or an error where no context is current.
cuda::Code checkContext(const char *call);

void fillFakeStreams(cuda::Driver &driver);
void fillFakeMemory(cuda::Driver &driver);
void fillFakeGraphs(cuda::Driver &driver);

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_FAKESTATE_H
