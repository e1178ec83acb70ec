//===- FakeState.h - what the parts of the fake share ----------------------------------===//
//
// FakeDriver.cpp holds devices, contexts and the class that tests see; FakeStreams.cpp streams, events and their
// work; FakeMemory.cpp memory and moves; FakeGraphs.cpp device code, launches and captures.
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

/// How many nodes of each stream of a capture come before a point of it.
using CaptureClock = std::map<const FakeStream *, std::uint64_t>;

/// The nodes of a capture. FakeGraphs.cpp replays them in a random topological order.
struct FakeGraph {
  struct Node {
    std::function<void()> work;
    CaptureClock after;
    /// A collective: it waits for other ranks, so the replay goes on with other branches.
    bool waitsForPeers = false;
  };
  FakeStream *origin = nullptr;
  std::map<const FakeStream *, std::vector<Node>> branches;
  std::set<FakeStream *> joined;
  bool isInvalid = false, hasEnded = false;
  unsigned long long flags = 0;

  void replay(unsigned seed) const;
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

struct FakeEvent {
  std::shared_ptr<Generation> latest;
  /// True if the last record was captured.
  bool isCaptured = false;
  std::weak_ptr<FakeGraph> graph;
  CaptureClock clock;
  unsigned flags = 0;
  int caller = -1;
};

/// A thread that runs its work in order; none if nothing is executed.
struct FakeStream {
  FakeCuda::StreamInfo info;
  std::shared_ptr<FakeGraph> graph;
  /// In the current capture: this stream's nodes, and the nodes of other streams before them.
  std::uint64_t nodes = 0;
  CaptureClock clock;

  explicit FakeStream(bool executes);
  ~FakeStream();
  void push(std::function<void()> item);
  void drain();
  bool isIdle();
  void addNode(FakeGraph::Node node);

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
  /// Protects captures: streams of several threads may be in one. It is locked before the other mutex.
  std::mutex captureMutex;
  FakeOptions options;
  cuda::Table table;
  std::vector<FakeCall> calls;
  std::map<FakeStream *, std::unique_ptr<FakeStream>> streams;
  /// In order of creation.
  std::vector<FakeStream *> streamOrder;
  std::vector<FakeEvent *> events;
  std::vector<FakeCuda::Memory> memory;
  /// By device.
  std::map<int, std::uint64_t> ncclBytes;
  std::string complaint;
  int launches = 0, modules = 0, graphs = 0, contexts = 0, replays = 0;
  /// The error of every call after the device has failed.
  cuda::Code sticky = 0;
};
extern FakeState *state;

/// Of the calling thread: its rank in the test, the device whose context is current (-1: none), whether the driver runs
/// a host function on it.
extern thread_local int fakeCaller, currentDevice;
extern thread_local bool inHostFunction;

inline FakeStream *streamOf(cuda::Stream stream) { return static_cast<FakeStream *>(stream); }
inline FakeEvent *eventOf(cuda::Event event) { return static_cast<FakeEvent *>(event); }

/// The caller has locked the state.
void complainLocked(const std::string &text);
/// 0, or an error if no context is current.
cuda::Code checkContext(const char *call);

/// Of the current device. The caller has locked the state.
std::uint64_t freeBytesLocked();

void fillFakeStreams(cuda::Driver &driver);
void fillFakeMemory(cuda::Driver &driver);
/// Allocations that were not freed.
void freeFakeMemory();
void fillFakeGraphs(cuda::Driver &driver);

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_FAKESTATE_H
