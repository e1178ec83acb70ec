//===- FakeGraphs.cpp - device code, launches and captures of the emulated GPU -------------===//
#include "test/cuda/Emulator.h"
#include "test/cuda/FakeState.h"

#include <algorithm>
#include <random>

namespace sluice::test {

using namespace cuda;

namespace {

using GraphHandle = std::shared_ptr<FakeGraph>;
GraphHandle &graphOf(void *graph) { return *static_cast<GraphHandle *>(graph); }

/// Counts a graph. The caller has locked the state.
void *handleOf(GraphHandle graph) {
  ++state->graphs;
  return new GraphHandle(std::move(graph));
}

Code destroyGraph(void *graph) {
  std::lock_guard lock(state->mutex);
  --state->graphs;
  delete &graphOf(graph);
  return 0;
}

bool failsAt(CaptureFault fault) { return state->options.captureFault == fault; }

Code beginCapture(FakeStream &origin) {
  if (origin.graph || failsAt(CaptureFault::begin))
    return 1;
  origin.graph = std::make_shared<FakeGraph>();
  origin.graph->origin = &origin;
  origin.nodes = 0;
  origin.clock.clear();
  return 0;
}

Code endCapture(FakeStream &origin, Graph *graph) {
  if (!origin.graph || origin.graph->origin != &origin)
    return 1;
  GraphHandle made = std::move(origin.graph);
  origin.graph = nullptr;
  bool joined = true;
  for (FakeStream *other : made->joined) {
    joined = joined && origin.clock[other] == other->nodes;
    other->graph = nullptr;
  }
  made->hasEnded = true;
  *graph = nullptr;
  if (made->isInvalid || failsAt(CaptureFault::end))
    return captureInvalidated;
  if (!joined)
    return fakeComplain("a capture ends with a stream that was not joined"), 904;
  std::lock_guard lock(state->mutex);
  *graph = handleOf(std::move(made));
  return 0;
}

Code launch(const HostKernel &kernel, unsigned blocks, unsigned threads, unsigned shared, Stream stream,
            const void *parameter) {
  {
    std::lock_guard lock(state->mutex);
    if (state->launches++ == state->options.failingLaunch)
      return state->sticky = launchFailed;
  }
  if (streamOf(stream)->graph && failsAt(CaptureFault::launch)) {
    streamOf(stream)->graph->isInvalid = true;
    return captureUnsupported;
  }
  FakeCall call;
  call.name = kernel.name;
  call.blocks = blocks;
  call.threads = static_cast<int>(threads);
  const auto *bytes = static_cast<const unsigned char *>(parameter);
  call.arguments.assign(bytes, bytes + kernel.argumentBytes);
  return fakeEnqueue(stream, call, [=, &kernel, arguments = call.arguments] {
    std::string error;
    if (!emulate(kernel, arguments.data(), blocks, static_cast<int>(threads), static_cast<int>(shared), error))
      fakeComplain(error);
  });
}

} // namespace

/// A branch's next node is ready when the nodes before it are done; of those that are ready a random one is next. Nodes
/// that wait for peers run on threads, so that no order of branches can stop a rank.
void FakeGraph::replay(unsigned seed) const {
  std::minstd_rand random(seed + 1);
  std::mutex mutex;
  std::condition_variable changed;
  CaptureClock begun, done;
  std::vector<std::thread> waiting;
  std::unique_lock lock(mutex);
  const auto isReady = [&](const FakeStream *branch, const std::vector<Node> &nodes) {
    return begun[branch] == done[branch] && begun[branch] < nodes.size() &&
           std::ranges::all_of(nodes[begun[branch]].after, [&](const auto &of) { return done[of.first] >= of.second; });
  };
  while (true) {
    std::vector<const FakeStream *> ready;
    std::uint64_t remaining = 0, running = 0;
    for (const auto &[branch, nodes] : branches) {
      remaining += nodes.size() - done[branch];
      running += begun[branch] - done[branch];
      if (isReady(branch, nodes))
        ready.push_back(branch);
    }
    if (remaining == 0)
      break;
    if (ready.empty() && running == 0) {
      fakeComplain("the nodes of a graph wait for each other");
      break;
    }
    if (ready.empty()) {
      changed.wait(lock);
      continue;
    }
    const FakeStream *branch = ready[random() % ready.size()];
    const Node &node = branches.at(branch)[begun[branch]++];
    const auto run = [&node, &mutex, &changed, &finished = done[branch]] {
      node.work();
      std::lock_guard guard(mutex);
      ++finished;
      changed.notify_all();
    };
    lock.unlock();
    if (node.waitsForPeers)
      waiting.emplace_back(run);
    else
      run();
    lock.lock();
  }
  lock.unlock();
  for (std::thread &thread : waiting)
    thread.join();
}

void fillFakeGraphs(Driver &d) {
  d.moduleLoad = [](Module *module, const void *) -> Code {
    std::lock_guard lock(state->mutex);
    ++state->modules;
    return *module = state, currentDevice >= 0 ? 0 : 201;
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
  d.moduleGlobal = [](DevicePointer *pointer, std::size_t *bytes, Module, const char *name) -> Code {
    static float one = 1;
    if (std::string_view(name) != "sluice_one")
      return notFound;
    *pointer = reinterpret_cast<DevicePointer>(&one);
    return *bytes = sizeof one, 0;
  };
  d.functionAttribute = [](Function, int attribute, int value) -> Code {
    return attribute == functionMaxSharedMemory && value <= 227 << 10 ? 0 : 1;
  };
  d.launch = [](Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                unsigned blockZ, unsigned shared, Stream stream, void **parameters, void **) -> Code {
    const auto &kernel = *static_cast<const HostKernel *>(function);
    if (gridX == 0 || gridY != 1 || gridZ != 1 || blockX == 0 || blockX > 1024 || blockY != 1 || blockZ != 1)
      return fakeComplain("a launch of " + std::string(kernel.name) + " with a wrong grid"), 1;
    return launch(kernel, gridX, blockX, shared, stream, parameters[0]);
  };
  d.captureBegin = [](Stream stream, int) -> Code { return beginCapture(*streamOf(stream)); };
  d.captureEnd = [](Stream stream, Graph *graph) -> Code { return endCapture(*streamOf(stream), graph); };
  d.graphInstantiate = [](GraphExec *exec, Graph graph, unsigned long long flags) -> Code {
    if (failsAt(CaptureFault::instantiate))
      return *exec = nullptr, 1;
    std::lock_guard lock(state->mutex);
    graphOf(graph)->flags = flags;
    return *exec = handleOf(graphOf(graph)), 0;
  };
  d.graphLaunch = [](GraphExec exec, Stream stream) -> Code {
    FakeCall call;
    call.kind = FakeCall::Kind::graph;
    call.flags = graphOf(exec)->flags;
    unsigned seed = 0;
    {
      std::lock_guard lock(state->mutex);
      seed = static_cast<unsigned>(state->replays++);
    }
    return fakeEnqueue(stream, std::move(call), [graph = graphOf(exec), seed] { graph->replay(seed); });
  };
  d.graphExecDestroy = destroyGraph;
  d.graphDestroy = destroyGraph;
}

} // namespace sluice::test
