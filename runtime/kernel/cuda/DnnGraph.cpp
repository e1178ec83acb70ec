//===- DnnGraph.cpp - a graph of cuDNN operations ------------------------------------------===//
#include "runtime/kernel/cuda/DnnGraph.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace sluice::cuda {

std::optional<int> dnnType(DType dtype) {
  switch (dtype) {
  case DType::f32:
    return dnn::f32;
  case DType::f64:
    return dnn::f64;
  case DType::bf16:
    return dnn::bf16;
  case DType::f16:
    return dnn::f16;
  default:
    return std::nullopt;
  }
}

DnnGraph::DnnGraph(const Dnn &dnn, dnn::Handle handle, std::string_view json) : dnn(&dnn), handle(handle) {
  if (handle)
    return;
  device = make(dnn::deviceProperties);
  set(device, dnn::deviceJson, dnn::charValue, static_cast<std::int64_t>(json.size()), json.data());
  finalize(device, "the device's properties");
}

DnnGraph::DnnGraph(DnnGraph &&other) noexcept
    : dnn(other.dnn), handle(other.handle), device(other.device), graph(other.graph), plan(other.plan),
      owned(std::exchange(other.owned, {})), operations(std::move(other.operations)), failure(std::move(other.failure)),
      nextNumber(other.nextNumber), arguments(std::move(other.arguments)), constants(std::move(other.constants)),
      chosenEngine(other.chosenEngine), chosenNotes(std::move(other.chosenNotes)),
      chosenWorkspace(other.chosenWorkspace), scratchBytes(other.scratchBytes), packs(std::exchange(other.packs, {})),
      bytesOfRepetition(std::move(other.bytesOfRepetition)) {}

DnnGraph::~DnnGraph() {
  for (const Pack &pack : packs)
    if (pack.descriptor)
      dnn->release(pack.descriptor);
  for (auto last = owned.rbegin(); last != owned.rend(); ++last)
    dnn->release(*last);
}

void DnnGraph::check(Code code, const std::string &call) {
  if (failure.isOk())
    failure = dnnStatus(*dnn, code, call);
}

dnn::Descriptor DnnGraph::make(dnn::Kind kind) {
  dnn::Descriptor made = nullptr;
  if (!failure.isOk())
    return nullptr;
  check(dnn->make(kind, &made), "cudnnBackendCreateDescriptor of kind " + std::to_string(kind));
  if (made)
    owned.push_back(made);
  return made;
}

void DnnGraph::set(dnn::Descriptor on, dnn::Attribute attribute, dnn::ValueType type, std::int64_t count,
                   const void *values) {
  if (failure.isOk())
    check(dnn->set(on, attribute, type, count, values),
          "cudnnBackendSetAttribute of attribute " + std::to_string(attribute));
}

void DnnGraph::finalize(dnn::Descriptor descriptor, const char *what) {
  if (failure.isOk())
    check(dnn->finalize(descriptor), std::string("cudnnBackendFinalize of ") + what);
}

void DnnGraph::addOperation(dnn::Descriptor operation, const char *what, Descriptors descriptors) {
  for (const auto &[attribute, descriptor] : descriptors)
    if (descriptor)
      setOne(operation, static_cast<dnn::Attribute>(attribute), dnn::descriptorValue, descriptor);
  finalize(operation, what);
  operations.push_back(operation);
}

DnnTensor DnnGraph::tensor(std::int64_t number, int type, DnnDims extent, DnnDims strides, bool isVirtual,
                           bool isByValue) {
  const dnn::Descriptor made = make(dnn::tensor);
  setOne(made, dnn::tensorType, dnn::typeValue, type);
  set(made, dnn::tensorExtent, dnn::int64Value, static_cast<std::int64_t>(extent.size()), extent.data());
  set(made, dnn::tensorStrides, dnn::int64Value, static_cast<std::int64_t>(strides.size()), strides.data());
  setOne(made, dnn::tensorNumber, dnn::int64Value, number);
  setOne(made, dnn::tensorAlignment, dnn::int64Value, std::int64_t(16));
  if (isVirtual)
    setOne(made, dnn::tensorIsVirtual, dnn::booleanValue, true);
  if (isByValue)
    setOne(made, dnn::tensorIsByValue, dnn::booleanValue, true);
  finalize(made, "a tensor");
  return {made, std::move(extent)};
}

DnnTensor DnnGraph::memory(int place, int type, DnnDims extent, DnnDims strides) {
  arguments.push_back({place + 1, place, nullptr});
  return tensor(place + 1, type, std::move(extent), std::move(strides), false, false);
}

DnnTensor DnnGraph::between(int type, DnnDims extent) {
  DnnDims strides(extent.size(), 1);
  for (std::size_t d = extent.size(); d-- > 1;)
    strides[d - 1] = strides[d] * extent[d];
  return between(type, std::move(extent), std::move(strides));
}
DnnTensor DnnGraph::between(int type, DnnDims extent, DnnDims strides) {
  return tensor(nextNumber++, type, std::move(extent), std::move(strides), true, false);
}

DnnTensor DnnGraph::scratch(DnnDims extent) {
  DnnDims strides(extent.size(), 1);
  for (std::size_t d = extent.size(); d-- > 1;)
    strides[d - 1] = strides[d] * extent[d];
  arguments.push_back({nextNumber, -1, nullptr, scratchBytes});
  scratchBytes += static_cast<std::uint64_t>(strides[0] * extent[0]) * 4;
  scratchBytes = (scratchBytes + 255) / 256 * 256;
  return tensor(nextNumber++, dnn::f32, std::move(extent), std::move(strides), false, false);
}

template <typename T> DnnTensor DnnGraph::constant(int type, T value) {
  constants.push_back(0);
  std::memcpy(&constants.back(), &value, sizeof value);
  arguments.push_back({nextNumber, -1, &constants.back()});
  return tensor(nextNumber++, type, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
}
template DnnTensor DnnGraph::constant(int, float);
template DnnTensor DnnGraph::constant(int, std::int32_t);

void DnnGraph::convolve(dnn::Kind kind, const DnnWindow &window, const DnnTensor &x, const DnnTensor &weight,
                        const DnnTensor &y, bool wide) {
  const dnn::Descriptor made = make(dnn::convolution);
  setOne(made, dnn::convolutionType, dnn::typeValue, static_cast<int>(wide ? dnn::f64 : dnn::f32));
  setOne(made, dnn::convolutionMode, dnn::convolutionModeValue, dnn::crossCorrelation);
  setOne(made, dnn::convolutionDims, dnn::int64Value, std::int64_t(2));
  set(made, dnn::convolutionDilations, dnn::int64Value, 2, window.dilation.data());
  set(made, dnn::convolutionStrides, dnn::int64Value, 2, window.stride.data());
  set(made, dnn::convolutionPaddingBefore, dnn::int64Value, 2, window.before.data());
  set(made, dnn::convolutionPaddingBehind, dnn::int64Value, 2, window.behind.data());
  finalize(made, "a convolution");
  // The three have the same attributes in the same order.
  const int first = kind == dnn::convolutionForward     ? dnn::forwardAlpha
                    : kind == dnn::convolutionInputGrad ? dnn::inputGradAlpha
                                                        : dnn::weightGradAlpha;
  const auto attribute = [&](int offset) { return static_cast<dnn::Attribute>(first + offset); };
  const dnn::Descriptor operation = make(kind);
  if (wide) {
    setOne(operation, attribute(0), dnn::doubleValue, 1.0);
    setOne(operation, attribute(1), dnn::doubleValue, 0.0);
  } else {
    setOne(operation, attribute(0), dnn::floatValue, 1.0F);
    setOne(operation, attribute(1), dnn::floatValue, 0.0F);
  }
  addOperation(
      operation, kind == dnn::convolutionForward ? "a convolution's operation" : "a convolution's gradient",
      {{first + 2, made}, {first + 3, weight.descriptor}, {first + 4, x.descriptor}, {first + 5, y.descriptor}});
}

void DnnGraph::pointwise(dnn::PointwiseMode mode, int computeType, const DnnTensor &x, const DnnTensor *b,
                         const DnnTensor *t, const DnnTensor &y, int axis) {
  const dnn::Descriptor made = make(dnn::pointwise);
  setOne(made, dnn::pointwiseMode, dnn::pointwiseModeValue, mode);
  setOne(made, dnn::pointwisePrecision, dnn::typeValue, computeType);
  if (axis >= 0)
    setOne(made, dnn::pointwiseAxis, dnn::int64Value, static_cast<std::int64_t>(axis));
  finalize(made, "a pointwise mode");
  addOperation(make(dnn::pointwiseOperation), "a pointwise operation",
               {{dnn::pointwiseDescriptor, made},
                {dnn::pointwiseX, x.descriptor},
                {dnn::pointwiseB, b ? b->descriptor : nullptr},
                {dnn::pointwiseT, t ? t->descriptor : nullptr},
                {dnn::pointwiseY, y.descriptor}});
}

void DnnGraph::reduce(dnn::ReductionMode mode, const DnnTensor &x, const DnnTensor &y) {
  const dnn::Descriptor made = make(dnn::reduction);
  setOne(made, dnn::reductionMode, dnn::reductionValue, mode);
  setOne(made, dnn::reductionType, dnn::typeValue, static_cast<int>(dnn::f32));
  finalize(made, "a reduction");
  addOperation(make(dnn::reductionOperation), "a reduction's operation",
               {{dnn::reductionDescriptor, made}, {dnn::reductionX, x.descriptor}, {dnn::reductionY, y.descriptor}});
}

void DnnGraph::multiply(const DnnTensor &a, const DnnTensor &b, const DnnTensor &c) {
  const dnn::Descriptor made = make(dnn::matmul);
  setOne(made, dnn::matmulType, dnn::typeValue, static_cast<int>(dnn::f32));
  finalize(made, "a product");
  addOperation(make(dnn::matmulOperation), "a product's operation",
               {{dnn::matmulDescriptor, made},
                {dnn::matmulA, a.descriptor},
                {dnn::matmulB, b.descriptor},
                {dnn::matmulC, c.descriptor}});
}

void DnnGraph::reshape(const DnnTensor &x, const DnnTensor &y) {
  addOperation(make(dnn::reshapeOperation), "a reshape",
               {{dnn::reshapeX, x.descriptor}, {dnn::reshapeY, y.descriptor}});
}

void DnnGraph::resample(dnn::Kind kind, dnn::ResampleMode mode, const DnnWindow &window, const DnnTensor &x,
                        const DnnTensor &y) {
  const dnn::Descriptor made = make(dnn::resample);
  const auto fractions = [&](dnn::Attribute attribute, const std::array<std::int64_t, 2> &numbers) {
    const dnn::Fraction values[] = {{numbers[0], 1}, {numbers[1], 1}};
    set(made, attribute, dnn::fractionValue, 2, values);
  };
  setOne(made, dnn::resampleMode, dnn::resampleModeValue, mode);
  setOne(made, dnn::resampleType, dnn::typeValue, static_cast<int>(dnn::f32));
  setOne(made, dnn::resampleNan, dnn::nanValue, dnn::propagateNan);
  setOne(made, dnn::resamplePaddingMode, dnn::paddingModeValue, mode == dnn::maximum ? dnn::padLeast : dnn::padZero);
  setOne(made, dnn::resampleDims, dnn::int64Value, std::int64_t(2));
  fractions(dnn::resampleWindow, window.size);
  fractions(dnn::resampleStrides, window.stride);
  fractions(dnn::resamplePaddingBefore, window.before);
  fractions(dnn::resamplePaddingBehind, window.behind);
  finalize(made, "a pooling");
  const bool forward = kind == dnn::resampleForward;
  addOperation(make(kind), "a pooling's operation",
               {{forward ? dnn::resampleForwardDescriptor : dnn::resampleGradDescriptor, made},
                {forward ? dnn::resampleForwardX : dnn::resampleGradX, x.descriptor},
                {forward ? dnn::resampleForwardY : dnn::resampleGradY, y.descriptor}});
}

std::optional<std::string> DnnGraph::unfit(dnn::Descriptor engine, const DnnLimits &limits) {
  int notes[32] = {};
  std::int64_t count = 0;
  if (dnn->get(engine, dnn::engineNumericalNotes, dnn::numericalNoteValue, 32, &count, notes) != 0)
    return "it does not say how it computes";
  chosenNotes.assign(notes, notes + std::clamp<std::int64_t>(count, 0, 32));
  for (const int note : chosenNotes) {
    if (note == dnn::nondeterministic)
      return "its results differ from run to run";
    if (note == dnn::roundsInputs || note == dnn::roundsSums || note == dnn::fourier ||
        (note >= dnn::winograd && note <= dnn::winogradLast))
      return "it rounds more than a sum of products does";
    if (note == dnn::tensorCores && limits.withoutTensorCores)
      return "it rounds to TF32, which is not asked for";
  }
  return std::nullopt;
}

bool DnnGraph::tryConfig(dnn::Descriptor config, const DnnLimits &limits, std::string &why) {
  const std::size_t before = owned.size();
  dnn::Descriptor chosen = make(dnn::engine);
  std::int64_t count = 0, index = -1, workspace = 0;
  check(dnn->get(config, dnn::configEngine, dnn::descriptorValue, 1, &count, &chosen),
        "cudnnBackendGetAttribute of a configuration");
  if (!failure.isOk())
    return false;
  check(dnn->get(chosen, dnn::engineIndex, dnn::int64Value, 1, &count, &index),
        "cudnnBackendGetAttribute of an engine");
  const auto passOver = [&](const std::string &reason) {
    if (why.empty())
      why = "engine " + std::to_string(index) + ": " + reason;
    while (owned.size() > before) {
      dnn->release(owned.back());
      owned.pop_back();
    }
    return false;
  };
  if (const std::optional<std::string> reason = unfit(chosen, limits))
    return passOver(*reason);
  const dnn::Descriptor made = make(dnn::executionPlan);
  if (handle)
    setOne(made, dnn::planHandle, dnn::handleValue, handle);
  else
    setOne(made, dnn::planDevice, dnn::descriptorValue, device);
  setOne(made, dnn::planConfig, dnn::descriptorValue, config);
  if (!failure.isOk())
    return false;
  if (const Code code = dnn->finalize(made); code != 0)
    return passOver(dnnStatus(*dnn, code, "cudnnBackendFinalize of a plan").message());
  check(dnn->get(made, dnn::planWorkspace, dnn::int64Value, 1, &count, &workspace),
        "cudnnBackendGetAttribute of a plan");
  if (!failure.isOk())
    return false;
  if (workspace < 0 || scratchBytes + static_cast<std::uint64_t>(workspace) > limits.workspace)
    return passOver("it needs " + std::to_string(scratchBytes + static_cast<std::uint64_t>(workspace)) +
                    " bytes of workspace, the plan has " + std::to_string(limits.workspace));
  plan = made;
  chosenEngine = index;
  chosenWorkspace = static_cast<std::uint64_t>(workspace);
  return true;
}

bool DnnGraph::tryHeuristic(dnn::HeuristicMode mode, const DnnLimits &limits, std::string &why) {
  const dnn::Descriptor heuristic = make(dnn::engineHeuristic);
  setOne(heuristic, dnn::heuristicGraph, dnn::descriptorValue, graph);
  setOne(heuristic, dnn::heuristicMode, dnn::heuristicModeValue, mode);
  if (device)
    setOne(heuristic, dnn::heuristicDevice, dnn::descriptorValue, device);
  if (!failure.isOk())
    return false;
  // A heuristic that does not support the graph fails here.
  if (const Code code = dnn->finalize(heuristic); code != 0) {
    if (why.empty())
      why = dnnStatus(*dnn, code, "cudnnBackendFinalize of a heuristic").message();
    return false;
  }
  std::int64_t count = 0, found = 0;
  check(dnn->get(heuristic, dnn::heuristicResults, dnn::descriptorValue, 0, &count, nullptr),
        "cudnnBackendGetAttribute of a heuristic");
  if (!failure.isOk() || count <= 0)
    return false;
  std::vector<dnn::Descriptor> configs(static_cast<std::size_t>(count));
  for (dnn::Descriptor &config : configs)
    config = make(dnn::engineConfig);
  if (!failure.isOk())
    return false;
  check(dnn->get(heuristic, dnn::heuristicResults, dnn::descriptorValue, count, &found, configs.data()),
        "cudnnBackendGetAttribute of a heuristic's results");
  for (std::int64_t i = 0; i < std::min(found, count) && failure.isOk(); ++i)
    if (tryConfig(configs[static_cast<std::size_t>(i)], limits, why))
      return true;
  return false;
}

Status DnnGraph::choose(const DnnLimits &limits) {
  graph = make(dnn::operationGraph);
  if (handle)
    setOne(graph, dnn::graphHandle, dnn::handleValue, handle);
  set(graph, dnn::graphOperations, dnn::descriptorValue, static_cast<std::int64_t>(operations.size()),
      operations.data());
  finalize(graph, "a graph");
  std::string why;
  for (const dnn::HeuristicMode mode : {dnn::heuristicA, dnn::heuristicFallback})
    if (failure.isOk() && tryHeuristic(mode, limits, why))
      return {};
  if (failure.isOk())
    failure =
        refusedError("cudnn, expected an engine for the graph but " + (why.empty() ? std::string("it has none") : why));
  return failure;
}

void DnnGraph::repeat(std::int64_t count, std::vector<std::int64_t> bytes) {
  packs.resize(static_cast<std::size_t>(count));
  bytesOfRepetition = std::move(bytes);
}

Status DnnGraph::run(Stream stream, std::span<void *const> addresses, void *workspace) {
  SLUICE_RETURN_IF_ERROR(dnnStatus(*dnn, dnn->setStream(handle, stream), "cudnnSetStream"));
  for (std::size_t i = 0; i < packs.size(); ++i)
    SLUICE_RETURN_IF_ERROR(runOnce(packs[i], addresses, static_cast<std::int64_t>(i), workspace));
  return {};
}

Status DnnGraph::runOnce(Pack &pack, std::span<void *const> addresses, std::int64_t repetition, void *workspace) {
  std::vector<void *> now;
  std::vector<std::int64_t> numbers;
  for (const Argument &argument : arguments) {
    const auto place = static_cast<std::size_t>(argument.place);
    void *address = argument.place >= 0 ? addresses[place]
                    : argument.constant ? const_cast<void *>(argument.constant)
                                        : static_cast<char *>(workspace) + argument.offset;
    if (argument.place >= 0 && repetition > 0)
      address = static_cast<char *>(address) + repetition * bytesOfRepetition[place];
    if (argument.place >= 0 && reinterpret_cast<std::uintptr_t>(address) % 16 != 0)
      return internalError("an address of a cudnn graph, expected a multiple of 16");
    now.push_back(address);
    numbers.push_back(argument.number);
  }
  void *const own = static_cast<char *>(workspace) + scratchBytes;
  now.push_back(own);
  if (!pack.descriptor || now != pack.addresses) {
    if (pack.descriptor)
      dnn->release(std::exchange(pack.descriptor, nullptr));
    SLUICE_RETURN_IF_ERROR(
        dnnStatus(*dnn, dnn->make(dnn::variantPack, &pack.descriptor), "cudnnBackendCreateDescriptor of a pack"));
    const auto count = static_cast<std::int64_t>(numbers.size());
    const auto put = [&](dnn::Attribute attribute, dnn::ValueType type, std::int64_t count, const void *values) {
      return dnnStatus(*dnn, dnn->set(pack.descriptor, attribute, type, count, values),
                       "cudnnBackendSetAttribute of a pack");
    };
    SLUICE_RETURN_IF_ERROR(put(dnn::packNumbers, dnn::int64Value, count, numbers.data()));
    SLUICE_RETURN_IF_ERROR(put(dnn::packPointers, dnn::pointerValue, count, now.data()));
    SLUICE_RETURN_IF_ERROR(put(dnn::packWorkspace, dnn::pointerValue, 1, &own));
    SLUICE_RETURN_IF_ERROR(dnnStatus(*dnn, dnn->finalize(pack.descriptor), "cudnnBackendFinalize of a pack"));
    pack.addresses = std::move(now);
  }
  return dnnStatus(*dnn, dnn->execute(handle, plan, pack.descriptor), "cudnnBackendExecute");
}

} // namespace sluice::cuda
