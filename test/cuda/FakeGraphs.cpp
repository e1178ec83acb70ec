//===- FakeGraphs.cpp - device code, launches and captures of a GPU that is not there -------===//
#include "test/cuda/Emulator.h"
#include "test/cuda/FakeState.h"

namespace sluice::test {

using namespace cuda;

namespace {

using GraphHandle = std::shared_ptr<FakeGraph>;
GraphHandle &graphOf(void *graph) { return *static_cast<GraphHandle *>(graph); }

/// Counts a graph; the state's lock is held.
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

Code beginCapture(FakeStream &origin) {
  if (origin.graph || state->options.failingCapture)
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
  if (!joined)
    return fakeComplain("a capture ends with a stream that was not joined"), 904;
  std::lock_guard lock(state->mutex);
  *graph = handleOf(std::move(made));
  return 0;
}

Code launch(const HostKernel &kernel, unsigned blocks, unsigned threads, unsigned shared, Stream stream, const void *parameter) {
  {
    std::lock_guard lock(state->mutex);
    if (state->launches++ == state->options.failingLaunch)
      return state->sticky = launchFailed;
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

void fillFakeGraphs(Driver &d) {
  d.moduleLoad = [](Module *module, const void *) -> Code {
    std::lock_guard lock(state->mutex);
    ++state->modules;
    return *module = state, contextIsSet ? 0 : 201;
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
    const auto &kernel = *static_cast<const HostKernel *>(function);
    if (gridX == 0 || gridY != 1 || gridZ != 1 || blockX == 0 || blockX > 1024 || blockY != 1 || blockZ != 1)
      return fakeComplain("a launch of " + std::string(kernel.name) + " with a wrong grid"), 1;
    return launch(kernel, gridX, blockX, shared, stream, parameters[0]);
  };
  d.captureBegin = [](Stream stream, int) -> Code { return beginCapture(*streamOf(stream)); };
  d.captureEnd = [](Stream stream, Graph *graph) -> Code { return endCapture(*streamOf(stream), graph); };
  d.graphInstantiate = [](GraphExec *exec, Graph graph, unsigned long long) -> Code {
    std::lock_guard lock(state->mutex);
    return *exec = handleOf(graphOf(graph)), 0;
  };
  d.graphLaunch = [](GraphExec exec, Stream stream) -> Code {
    FakeCall call;
    call.kind = FakeCall::Kind::graph;
    return fakeEnqueue(stream, std::move(call), [graph = graphOf(exec)] {
      for (const auto &work : graph->work)
        work();
    });
  };
  d.graphExecDestroy = destroyGraph;
  d.graphDestroy = destroyGraph;
}

} // namespace sluice::test
