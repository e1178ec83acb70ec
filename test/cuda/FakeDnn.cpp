//===- FakeDnn.cpp - cuDNN's descriptors, heuristics and plans
//-----------------------------------------------------------===//
//
// Written from cuDNN's documentation and headers and not from Sluice's use of it: attributes have the types of the
// headers, only finalized descriptors are used, a pack names every tensor that is memory or a number.
// FakeDnnGraph.cpp computes.
//
//===----------------------------------------------------------------------===//
#include "test/cuda/Fake.h"
#include "test/cuda/FakeDnnGraph.h"

#include <cstdio>
#include <cstring>
#include <mutex>

namespace sluice::test {

FakeDnnOptions fakeDnn;

FakeDnnOptions usualEngines() {
  return {{{12, {cuda::dnn::tensorCores, cuda::dnn::nondeterministic}, 0},
           {13, {cuda::dnn::tensorCores, cuda::dnn::roundsSums}, 0},
           {14, {cuda::dnn::winograd, cuda::dnn::winogradLast}, 0},
           {15, {}, std::int64_t(1) << 40},
           {16, {}, 0, 4001},
           {45, {}, 512},
           {46, {}, 0}},
          {{0, {9}, 0}}};
}

namespace {

using namespace cuda;

std::mutex dnnMutex;
std::string lastDnnError;
int liveDnn = 0;

Code failDnn(Code code, const std::string &text) {
  std::lock_guard lock(dnnMutex);
  lastDnnError = text;
  return code;
}
constexpr Code badParam = 2000, notSupported = 3000;

/// The type of a value; 0 bytes: a descriptor has no such attribute.
struct Slot {
  int type;
  std::size_t bytes;
};
Slot slotOf(int kind, int attribute) {
  const Slot type{dnn::typeValue, 4}, longs{dnn::int64Value, 8}, descriptor{dnn::descriptorValue, sizeof(void *)};
  const Slot boolean{dnn::booleanValue, 1}, handle{dnn::handleValue, sizeof(void *)}, fraction{dnn::fractionValue, 16};
  switch (kind) {
  case dnn::tensor:
    return attribute == dnn::tensorType                                             ? type
           : attribute == dnn::tensorIsVirtual || attribute == dnn::tensorIsByValue ? boolean
           : attribute == dnn::tensorAlignment || attribute == dnn::tensorExtent || attribute == dnn::tensorStrides ||
                   attribute == dnn::tensorNumber
               ? longs
               : Slot{0, 0};
  case dnn::convolution:
    return attribute == dnn::convolutionType   ? type
           : attribute == dnn::convolutionMode ? Slot{dnn::convolutionModeValue, 4}
           : attribute >= dnn::convolutionDilations && attribute <= dnn::convolutionDims ? longs
                                                                                         : Slot{0, 0};
  case dnn::convolutionForward:
  case dnn::convolutionInputGrad:
  case dnn::convolutionWeightGrad: {
    const int first = kind == dnn::convolutionForward ? 700 : kind == dnn::convolutionInputGrad ? 706 : 712;
    if (attribute == first || attribute == first + 1)
      return {dnn::floatValue, 4};
    return attribute > first && attribute < first + 6 ? descriptor : Slot{0, 0};
  }
  case dnn::pointwise:
    return attribute == dnn::pointwiseMode        ? Slot{dnn::pointwiseModeValue, 4}
           : attribute == dnn::pointwisePrecision ? type
           : attribute == dnn::pointwiseAxis      ? longs
                                                  : Slot{0, 0};
  case dnn::reduction:
    return attribute == dnn::reductionMode   ? Slot{dnn::reductionValue, 4}
           : attribute == dnn::reductionType ? type
                                             : Slot{0, 0};
  case dnn::matmul:
    return attribute == dnn::matmulType ? type : Slot{0, 0};
  case dnn::pointwiseOperation:
  case dnn::reductionOperation:
  case dnn::matmulOperation:
  case dnn::resampleForward:
  case dnn::resampleGrad:
  case dnn::reshapeOperation:
    return descriptor;
  case dnn::resample:
    return attribute == dnn::resampleMode          ? Slot{dnn::resampleModeValue, 4}
           : attribute == dnn::resampleType        ? type
           : attribute == dnn::resampleNan         ? Slot{dnn::nanValue, 4}
           : attribute == dnn::resamplePaddingMode ? Slot{dnn::paddingModeValue, 4}
           : attribute == dnn::resampleDims        ? longs
           : attribute >= dnn::resamplePaddingBehind && attribute <= dnn::resampleWindow ? fraction
                                                                                         : Slot{0, 0};
  case dnn::operationGraph:
    return attribute == dnn::graphHandle ? handle : attribute == dnn::graphOperations ? descriptor : Slot{0, 0};
  case dnn::engineHeuristic:
    return attribute == dnn::heuristicGraph  ? descriptor
           : attribute == dnn::heuristicMode ? Slot{dnn::heuristicModeValue, 4}
                                             : Slot{0, 0};
  case dnn::executionPlan:
    return attribute == dnn::planHandle ? handle : attribute == dnn::planConfig ? descriptor : Slot{0, 0};
  case dnn::variantPack:
    return attribute == dnn::packNumbers                                       ? longs
           : attribute == dnn::packPointers || attribute == dnn::packWorkspace ? Slot{dnn::pointerValue, sizeof(void *)}
                                                                               : Slot{0, 0};
  default:
    return {0, 0};
  }
}

FakeDescriptor *of(dnn::Descriptor descriptor) { return static_cast<FakeDescriptor *>(descriptor); }

/// The attributes that a descriptor requires, and their consistency.
Code finalizeFake(FakeDescriptor &d) {
  for (const auto &[attribute, value] : d.values)
    if (value.type == dnn::descriptorValue)
      for (const void *other : d.all<void *>(attribute))
        if (!static_cast<const FakeDescriptor *>(other)->finalized)
          return failDnn(2004, "an attribute is not finalized");
  if (d.kind == dnn::tensor) {
    const auto extent = d.all<std::int64_t>(dnn::tensorExtent), strides = d.all<std::int64_t>(dnn::tensorStrides);
    if (extent.empty() || extent.size() != strides.size() || !d.has(dnn::tensorType) || !d.has(dnn::tensorNumber) ||
        !d.has(dnn::tensorAlignment))
      return failDnn(badParam, "a tensor lacks an attribute");
    for (std::size_t i = 0; i < extent.size(); ++i)
      if (extent[i] < 1 || strides[i] < 1)
        return failDnn(badParam, "extents and strides of a tensor");
  }
  if (d.kind == dnn::operationGraph) {
    if (!d.has(dnn::graphHandle))
      return failDnn(badParam, "a graph has no handle");
    if (const std::string wrong = checkFakeGraph(d); !wrong.empty())
      return failDnn(badParam, wrong);
  }
  if (d.kind == dnn::engineHeuristic && (!d.has(dnn::heuristicGraph) || !d.has(dnn::heuristicMode)))
    return failDnn(badParam, "a heuristic lacks an attribute");
  if (d.kind == dnn::executionPlan) {
    if (!d.has(dnn::planHandle) || !d.has(dnn::planConfig))
      return failDnn(badParam, "a plan lacks an attribute");
    d.engine = d.descriptor(dnn::planConfig)->engine;
    d.graph = d.descriptor(dnn::planConfig)->graph;
    if (d.engine.planCode != 0)
      return failDnn(d.engine.planCode, "this engine makes no plans");
  }
  if (d.kind == dnn::variantPack &&
      d.all<std::int64_t>(dnn::packNumbers).size() != d.all<void *>(dnn::packPointers).size())
    return failDnn(badParam, "a pack's numbers and pointers");
  d.finalized = true;
  return 0;
}

Code getFake(FakeDescriptor &d, int attribute, std::int64_t most, std::int64_t *count, void *values) {
  if (!d.finalized)
    return failDnn(2004, "asked for an attribute before it is finalized");
  if (d.kind == dnn::engineHeuristic && attribute == dnn::heuristicResults) {
    const auto &engines = d.one<int>(dnn::heuristicMode) == dnn::heuristicA ? fakeDnn.preferred : fakeDnn.fallback;
    *count = static_cast<std::int64_t>(engines.size());
    for (std::int64_t i = 0; values && i < std::min(most, *count); ++i) {
      FakeDescriptor *config = static_cast<FakeDescriptor **>(values)[i];
      config->engine = engines[static_cast<std::size_t>(i)];
      config->graph = d.descriptor(dnn::heuristicGraph);
      config->finalized = true;
    }
    return 0;
  }
  if (d.kind == dnn::engineConfig && attribute == dnn::configEngine) {
    FakeDescriptor *engine = *static_cast<FakeDescriptor **>(values);
    engine->engine = d.engine;
    engine->finalized = true;
    return *count = 1, 0;
  }
  if (d.kind == dnn::engine && attribute == dnn::engineNumericalNotes) {
    *count = static_cast<std::int64_t>(d.engine.notes.size());
    for (std::int64_t i = 0; i < std::min(most, *count); ++i)
      static_cast<int *>(values)[i] = d.engine.notes[static_cast<std::size_t>(i)];
    return 0;
  }
  if ((d.kind == dnn::engine && attribute == dnn::engineIndex) ||
      (d.kind == dnn::executionPlan && attribute == dnn::planWorkspace)) {
    *static_cast<std::int64_t *>(values) = attribute == dnn::engineIndex ? d.engine.index : d.engine.workspace;
    return *count = 1, 0;
  }
  return failDnn(notSupported, "no such attribute to ask for");
}

Code executeFake(Stream stream, FakeDescriptor &plan, FakeDescriptor &pack) {
  if (!plan.finalized || !pack.finalized)
    return failDnn(2004, "executed before it is finalized");
  if (fakeDnn.execute != 0)
    return failDnn(fakeDnn.execute, "the device has failed");
  const auto numbers = pack.all<std::int64_t>(dnn::packNumbers);
  const auto pointers = pack.all<void *>(dnn::packPointers);
  void *const workspace = pack.one<void *>(dnn::packWorkspace);
  FakeGraphRun run;
  const std::string wrong = run.bind(*plan.graph, numbers, pointers);
  if (!wrong.empty())
    return failDnn(badParam, wrong);
  if (plan.engine.workspace > 0 && !workspace)
    return failDnn(badParam, "an engine needs a workspace");
  FakeCall call;
  call.kind = FakeCall::Kind::matmul;
  call.name = "cudnn engine " + std::to_string(plan.engine.index);
  call.addresses = run.addresses();
  call.counts = run.extents();
  const auto bytes = static_cast<std::size_t>(plan.engine.workspace);
  return fakeEnqueue(stream, std::move(call), [run = std::move(run), workspace, bytes] {
    if (bytes > 0)
      std::memset(workspace, 0x77, bytes);
    run.compute();
  });
}

} // namespace

int liveDnnObjects() {
  std::lock_guard lock(dnnMutex);
  return liveDnn;
}

void fillFakeDnn(cuda::Dnn &d) {
  fakeDnn = usualEngines();
  d.version = [] { return std::size_t(91900); };
  d.errorText = [](Code code) {
    return code == 0 ? "CUDNN_STATUS_SUCCESS" : code == badParam ? "CUDNN_STATUS_BAD_PARAM" : "CUDNN_STATUS";
  };
  d.lastError = [](char *text, std::size_t most) {
    std::lock_guard lock(dnnMutex);
    std::snprintf(text, most, "%s", lastDnnError.c_str());
  };
  d.create = [](dnn::Handle *handle) -> Code {
    if (fakeDnn.create != 0)
      return failDnn(fakeDnn.create, "no context");
    std::lock_guard lock(dnnMutex);
    ++liveDnn;
    return *handle = new Stream(nullptr), 0;
  };
  d.destroy = [](dnn::Handle handle) -> Code {
    std::lock_guard lock(dnnMutex);
    --liveDnn;
    return delete static_cast<Stream *>(handle), 0;
  };
  d.setStream = [](dnn::Handle handle, Stream stream) -> Code { return *static_cast<Stream *>(handle) = stream, 0; };
  d.make = [](int kind, dnn::Descriptor *descriptor) -> Code {
    std::lock_guard lock(dnnMutex);
    ++liveDnn;
    auto *made = new FakeDescriptor;
    made->kind = kind;
    return *descriptor = made, 0;
  };
  d.release = [](dnn::Descriptor descriptor) -> Code {
    std::lock_guard lock(dnnMutex);
    --liveDnn;
    return delete of(descriptor), 0;
  };
  d.set = [](dnn::Descriptor descriptor, int attribute, int type, std::int64_t count, const void *values) -> Code {
    FakeDescriptor &set = *of(descriptor);
    Slot slot = slotOf(set.kind, attribute);
    // Numbers of a convolution of f64 are f64.
    if (slot.type == dnn::floatValue && type == dnn::doubleValue)
      slot = {dnn::doubleValue, 8};
    if (slot.bytes == 0)
      return failDnn(notSupported,
                     "kind " + std::to_string(set.kind) + " has no attribute " + std::to_string(attribute));
    if (set.finalized)
      return failDnn(2004, "set behind its finalize");
    if (slot.type != type || count < 1 || !values)
      return failDnn(2010, "type of attribute " + std::to_string(attribute));
    FakeValue &value = set.values[attribute];
    value.type = type;
    value.bytes.assign(static_cast<const char *>(values),
                       static_cast<const char *>(values) + slot.bytes * static_cast<std::size_t>(count));
    return 0;
  };
  d.get = [](dnn::Descriptor descriptor, int attribute, int, std::int64_t most, std::int64_t *count,
             void *values) -> Code { return getFake(*of(descriptor), attribute, most, count, values); };
  d.finalize = [](dnn::Descriptor descriptor) -> Code { return finalizeFake(*of(descriptor)); };
  d.execute = [](dnn::Handle handle, dnn::Descriptor plan, dnn::Descriptor pack) -> Code {
    return executeFake(*static_cast<Stream *>(handle), *of(plan), *of(pack));
  };
}

} // namespace sluice::test
