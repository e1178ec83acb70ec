//===- DnnLibraryTest.cpp - Sluice's graphs in the real cuDNN, without a device
//-------------------------------------------===//
//
// cuDNN creates plans for a described device (since 9.8): every form of DnnKernels.h is built with the library
// of the machine, for three GPUs, and must have an allowed engine within the workspace that a plan
// declares. The results of engines are not tested here. Skipped if there is no library.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/catalogue/DnnAttention.h"
#include "runtime/kernel/cuda/DnnKernels.h"
#include "test/unit/kernel/Harness.h"

#include <dlfcn.h>

#if __has_include(<cudnn_graph.h>) && __has_include(<driver_types.h>)
#include <cudnn_graph.h>
#define SLUICE_HAS_DNN_HEADERS 1
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace sluice::test {
namespace {

using namespace cuda;

struct Gpu {
  const char *name;
  int version, multiprocessors, sharedMemory, threads, blocks;
  long long gigabytes = 80;
};
/// A100, H100, B200: compute capability, and the properties that cuDNN requires.
const Gpu gpus[] = {{"sm_80", 800, 108, 166912, 2048, 32},
                    {"sm_90", 900, 132, 232448, 2048, 32},
                    {"sm_100", 1000, 148, 232448, 2048, 32}};

const Gpu h200 = {"h200", 900, 132, 232448, 2048, 32, 141};

/// The properties as the library writes them.
std::string propertiesOf(const Gpu &gpu) {
  const auto number = [](const char *name, long long value) {
    return "\"" + std::string(name) + "\":" + std::to_string(value) + ",";
  };
  return "{" + number("cudaDeviceId", 0) + number("deviceVer", gpu.version) + number("driverVer", 13000) +
         number("isTccDriver", 0) + number("l2CacheSize", 52428800) + number("maxCtasPerSM", gpu.blocks) +
         number("maxRegistersPerSM", 65536) + number("maxSharedMemoryPerBlock", 49152) +
         number("maxSharedMemoryPerBlockOptin", gpu.sharedMemory) + number("maxThreadsPerBlock", 1024) +
         number("maxThreadsPerSM", gpu.threads) + number("memClockRateKHz", 2619000) +
         number("multiProcessorCount", gpu.multiprocessors) + number("pciDeviceId", 0) + number("regsPerBlock", 65536) +
         number("reservedSharedMemoryPerBlock", 1024) + number("smClockRateKHz", 1755000) +
         number("supportCoopLaunch", 1) + number("totalGlobalMem", gpu.gigabytes << 30) + number("warpSize", 32) +
         R"("deviceName":"NVIDIA","maxBlockSize":[1024,1024,64],"maxGridSize":[2147483647,65535,65535]})";
}

/// Excludes memory that the library never frees: that of NVRTC, which compiles its engines, and handles of cublasLt.
/// Leaks of Sluice are still reported.
void leaveOutLeaksOf(Dnn &library) {
#if defined(__SANITIZE_ADDRESS__)
  static Dnn own;
  own = library;
  library.finalize = [](dnn::Descriptor descriptor) -> Code {
    __lsan::ScopedDisabler off;
    return own.finalize(descriptor);
  };
  library.get = [](dnn::Descriptor descriptor, int attribute, int type, std::int64_t most, std::int64_t *count,
                   void *values) -> Code {
    __lsan::ScopedDisabler off;
    return own.get(descriptor, attribute, type, most, count, values);
  };
#endif
}

/// The library of this machine; null with the reason.
const Dnn *library(std::string &reason) {
  static Dnn dnn;
  static const Status opened = [] {
    // The library finds it by name when it loads a driver.
    dlopen(SLUICE_LOADING_DRIVER, RTLD_NOW | RTLD_GLOBAL);
    Status status = openDnn(dnn, "libcudnn.so.9");
    for (const char *place : {"/usr/local/cuda/lib64/libcudnn.so.9", "/usr/local/cuda-13.0/lib/libcudnn.so.9"})
      if (!status.isOk())
        status = openDnn(dnn, place);
    leaveOutLeaksOf(dnn);
    return status;
  }();
  reason = opened.message();
  return opened.isOk() ? &dnn : nullptr;
}

class DnnLibrary : public testing::Test {
protected:
  void SetUp() override {
    std::string reason;
    dnn = library(reason);
    if (!dnn)
      GTEST_SKIP() << reason;
  }

  struct Case {
    std::string kernel;
    std::vector<Operand> inputs, outputs;
    std::vector<Attributes::Item> attributes;
  };
  static Operand operand(DType dtype, const Shape &shape) { return Operand::dense(dtype, shape); }

  struct Chosen {
    Status status;
    std::int64_t engine = -1;
    std::uint64_t workspace = 0, declared = 0;
    std::vector<int> notes;
  };
  /// The chosen engine for a GPU, with the workspace that a plan declares.
  Chosen choose(const Case &c, const Gpu &gpu, bool tf32 = false) {
    const Attributes attributes(c.attributes);
    KernelRequest request{c.inputs, c.outputs, &attributes, 1, 0, nullptr};
    request.workspace = workspaceCap(c.kernel, c.inputs, c.outputs, attributes, {"cuda"});
    const auto form = std::ranges::find(dnnForms(), std::string_view(c.kernel), &DnnForm::kernel);
    DnnGraph graph = DnnGraph::forDescription(*dnn, propertiesOf(gpu));
    Status status = chooseDnn(*form, request, tf32, graph);
    if (status.isOk() && graph.workspaceBytes() > request.workspace)
      status = internalError("more workspace than declared");
    return {std::move(status), graph.engine(), graph.workspaceBytes(), request.workspace, graph.notes()};
  }
  void expectEngines(const Case &c, const std::string &what, bool tf32 = false) {
    for (const Gpu &gpu : gpus) {
      const Chosen chosen = choose(c, gpu, tf32);
      EXPECT_TRUE(chosen.status.isOk()) << c.kernel << " " << what << " on " << gpu.name << ": "
                                        << chosen.status.message();
      // The choice is deterministic.
      EXPECT_TRUE(!chosen.status.isOk() || &gpu != gpus || !c.kernel.starts_with("conv2d_") ||
                  choose(c, gpu, tf32).engine == chosen.engine)
          << c.kernel << " " << what;
      std::string name = gpu.name + std::string(" ") + what;
      std::ranges::replace(name, ' ', '_');
      RecordProperty(c.kernel + "_" + name, std::to_string(chosen.engine));
    }
  }

  const Dnn *dnn = nullptr;
};

// ResNet-50's layers at 32 images, the stem's three channels among them.
TEST_F(DnnLibrary, HasEnginesForConvolutions) {
  struct Layer {
    std::int64_t place, in, out, window, stride, groups;
  };
  const Layer layers[] = {
      {224, 3, 64, 7, 2, 1}, {56, 64, 64, 3, 1, 1}, {7, 512, 2048, 1, 1, 1}, {14, 64, 64, 3, 1, 64}};
  for (const Layer &l : layers)
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      if (dtype == DType::f16 && (l.groups != 1 || l.in != 64))
        continue;
      const std::int64_t padding = l.window / 2, result = (l.place + 2 * padding - l.window) / l.stride + 1;
      const Operand x = operand(dtype, {32, l.place, l.place, l.in}), y = operand(dtype, {32, result, result, l.out});
      const Operand weight = operand(dtype, {l.out, l.in / l.groups, l.window, l.window}),
                    bias = operand(dtype, {l.out});
      const std::vector<Attributes::Item> attributes = {list("stride", {l.stride, l.stride}),
                                                        list("padding", {padding, padding}), list("dilation", {1, 1}),
                                                        integer("groups", l.groups)};
      const std::string what = std::string(dtypeName(dtype)) + " " + std::to_string(l.place) + " " +
                               std::to_string(l.in) + " " + std::to_string(l.out) + " " + std::to_string(l.window) +
                               " " + std::to_string(l.groups);
      expectEngines({"conv2d", {x, weight}, {y}, attributes}, what);
      expectEngines({"conv2d", {x, weight, bias}, {y}, attributes}, what + " bias");
      expectEngines({"conv2d_input_grad", {y, weight}, {x}, attributes}, what);
      expectEngines({"conv2d_weight_grad", {y, x}, {weight}, attributes}, what);
    }
}

// Heads of 64 and 128, causal and not, groups, windows, fewer queries than keys, both types.
TEST_F(DnnLibrary, HasEnginesForAttention) {
  struct Heads {
    std::int64_t batch, queries, keys, heads, keyHeads, size, causal, window;
  };
  const Heads cases[] = {{8, 1024, 1024, 12, 12, 64, 1, 0},
                         {2, 4096, 4096, 32, 8, 128, 1, 0},
                         {1, 8192, 8192, 32, 8, 128, 1, 1024},
                         {2, 512, 1024, 16, 4, 64, 1, 256},
                         {2, 512, 384, 16, 16, 128, 0, 0}};
  for (const Heads &c : cases)
    for (const DType dtype : {DType::bf16, DType::f16}) {
      if (dtype == DType::f16 && c.queries != 4096)
        continue;
      const Operand q = operand(dtype, {c.batch, c.queries, c.heads, c.size}),
                    k = operand(dtype, {c.batch, c.keys, c.keyHeads, c.size});
      const Operand lse = operand(DType::f32, {c.batch, c.heads, c.queries});
      expectEngines(
          {"attention",
           {q, k, k},
           {q, lse},
           {integer("causal", c.causal), number("scale", 0.125), integer("window", c.window), integer("cudnn", 1)}},
          std::string(dtypeName(dtype)) + " " + std::to_string(c.queries) + " " + std::to_string(c.keys) + " " +
              std::to_string(c.heads) + " " + std::to_string(c.keyHeads) + " " + std::to_string(c.size) + " " +
              std::to_string(c.causal) + " " + std::to_string(c.window));
    }
}

struct DnnAttentionCase {
  std::int64_t batch, queries, keys, heads, keyHeads, size, causal, window;
  /// By cuDNN 9.19 for all rows of the batch.
  std::uint64_t gradientWorkspace;
};
/// Of the two models of docs/benchmarks.md.
const DnnAttentionCase benchmarkAttention[] = {{32, 1024, 1024, 12, 12, 64, 1, 0, 806879488},
                                               {2, 4096, 4096, 32, 32, 128, 1, 0, 2148532480}};
/// Heads that share keys, windows, lengths that are no multiple of a tile.
const DnnAttentionCase otherAttention[] = {
    {2, 4096, 4096, 32, 8, 128, 1, 0, 2282750208}, {1, 8192, 8192, 32, 8, 128, 1, 1024, 4430233856},
    {1, 1000, 1100, 3, 1, 128, 1, 0, 8779776},     {2, 512, 1024, 16, 4, 64, 1, 256, 42008832},
    {4, 65, 65, 1, 1, 64, 1, 0, 132608},           {4, 1, 1, 1, 1, 8, 0, 0, 66048},
    {2, 512, 384, 16, 16, 72, 0, 0, 12648704}};

// Tests the plans of an H200, by the numbers in docs/cuda-kernels.md: the gradient's engine writes the gradients of the
// scores, and its workspace is the declared one, with all rows of the batch and with those of a plan.
TEST_F(DnnLibrary, HasEnginesForTheGradientOfAttention) {
  const bool isKnown = dnn->version() / 100 == 919;
  const auto check = [&](const DnnAttentionCase &c) {
    const Operand q = operand(DType::bf16, {c.batch, c.queries, c.heads, c.size}),
                  k = operand(DType::bf16, {c.batch, c.keys, c.keyHeads, c.size});
    const Operand lse = operand(DType::f32, {c.batch, c.heads, c.queries});
    const std::int64_t divided = dnnAttentionGradRows(q, k);
    for (const std::int64_t rows : {std::int64_t(0), divided}) {
      const Chosen chosen = choose({"attention_grad",
                                    {q, q, k, k, q, lse},
                                    {q, k, k},
                                    {integer("causal", c.causal), number("scale", 0.125), integer("window", c.window),
                                     integer("cudnn", 1), integer("rows", rows)}},
                                   h200);
      const std::string what = std::to_string(c.batch) + "x" + std::to_string(c.queries) + "x" +
                               std::to_string(c.keys) + "x" + std::to_string(c.heads) + "x" + std::to_string(c.size) +
                               "_rows_" + std::to_string(rows);
      ASSERT_TRUE(chosen.status.isOk()) << what << ": " << chosen.status.message();
      if (isKnown) {
        EXPECT_EQ(chosen.engine, 6) << what;
        EXPECT_EQ(chosen.notes, std::vector<int>{dnn::tensorCores}) << what;
        EXPECT_EQ(chosen.workspace, chosen.declared) << what;
      }
      if (isKnown && rows == 0) {
        EXPECT_EQ(chosen.workspace, c.gradientWorkspace) << what;
      }
      RecordProperty("attention_grad_" + what, std::to_string(chosen.workspace));
    }
    EXPECT_TRUE(divided == 1 || DnnAttentionGrad(q, k, divided).workspace() <= std::uint64_t(2064) << 20) << divided;
  };
  for (const DnnAttentionCase &c : benchmarkAttention)
    check(c);
  for (const DnnAttentionCase &c : otherAttention)
    check(c);
}

TEST_F(DnnLibrary, HasTheRecordedEnginesForAttention) {
  if (dnn->version() / 100 != 919)
    GTEST_SKIP() << "the numbers are those of cuDNN 9.19";
  for (const DnnAttentionCase &c : benchmarkAttention) {
    const Operand q = operand(DType::bf16, {c.batch, c.queries, c.heads, c.size});
    const Operand lse = operand(DType::f32, {c.batch, c.heads, c.queries});
    const Chosen chosen =
        choose({"attention",
                {q, q, q},
                {q, lse},
                {integer("causal", 1), number("scale", 0.125), integer("window", 0), integer("cudnn", 1)}},
               h200);
    ASSERT_TRUE(chosen.status.isOk()) << chosen.status.message();
    EXPECT_EQ(chosen.engine, 2);
    EXPECT_EQ(chosen.notes, std::vector<int>{dnn::tensorCores});
    EXPECT_EQ(chosen.workspace, 256U);
  }
}

// ResNet's: the maxima after the stem, means of full images, and windows with padding counted and not.
TEST_F(DnnLibrary, HasEnginesForPooling) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Operand x = operand(dtype, {32, 112, 112, 64}), y = operand(dtype, {32, 56, 56, 64});
    const Operand wide = operand(dtype, {32, 7, 7, 2048}), one = operand(dtype, {32, 1, 1, 2048});
    std::vector<Attributes::Item> attributes = {list("kernel", {3, 3}), list("stride", {2, 2}),
                                                list("padding", {1, 1})};
    const std::string type(dtypeName(dtype));
    expectEngines({"max_pool2d", {x}, {y}, attributes}, type);
    if (dtype == DType::f32)
      continue;
    for (const std::int64_t without : {0, 1}) {
      auto means = attributes;
      means.push_back(integer("without_padding", without));
      expectEngines({"avg_pool2d", {x}, {y}, means}, type + " " + std::to_string(without));
      expectEngines({"avg_pool2d_grad", {y}, {x}, means}, type + " " + std::to_string(without));
    }
    expectEngines({"avg_pool2d", {wide}, {one}, {integer("adaptive", 1)}}, type + " whole");
    expectEngines({"avg_pool2d_grad", {one}, {wide}, {integer("adaptive", 1)}}, type + " whole");
  }
}

#ifdef SLUICE_HAS_DNN_HEADERS
// Tests that constants are those of the toolkit.
TEST(DnnApi, MatchesTheToolkit) {
  const auto same = [](int own, int theirs) { EXPECT_EQ(own, theirs); };
#define SLUICE_SAME(own, theirs) same(dnn::own, CUDNN_##theirs)
  SLUICE_SAME(f32, DATA_FLOAT);
  SLUICE_SAME(f64, DATA_DOUBLE);
  SLUICE_SAME(f16, DATA_HALF);
  SLUICE_SAME(i32, DATA_INT32);
  SLUICE_SAME(bf16, DATA_BFLOAT16);
  SLUICE_SAME(boolean, DATA_BOOLEAN);
  SLUICE_SAME(pointwise, BACKEND_POINTWISE_DESCRIPTOR);
  SLUICE_SAME(convolution, BACKEND_CONVOLUTION_DESCRIPTOR);
  SLUICE_SAME(engine, BACKEND_ENGINE_DESCRIPTOR);
  SLUICE_SAME(engineConfig, BACKEND_ENGINECFG_DESCRIPTOR);
  SLUICE_SAME(engineHeuristic, BACKEND_ENGINEHEUR_DESCRIPTOR);
  SLUICE_SAME(executionPlan, BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  SLUICE_SAME(convolutionForward, BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  SLUICE_SAME(convolutionWeightGrad, BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
  SLUICE_SAME(convolutionInputGrad, BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
  SLUICE_SAME(pointwiseOperation, BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  SLUICE_SAME(operationGraph, BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  SLUICE_SAME(variantPack, BACKEND_VARIANT_PACK_DESCRIPTOR);
  SLUICE_SAME(tensor, BACKEND_TENSOR_DESCRIPTOR);
  SLUICE_SAME(matmul, BACKEND_MATMUL_DESCRIPTOR);
  SLUICE_SAME(matmulOperation, BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  SLUICE_SAME(reduction, BACKEND_REDUCTION_DESCRIPTOR);
  SLUICE_SAME(reductionOperation, BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  SLUICE_SAME(resample, BACKEND_RESAMPLE_DESCRIPTOR);
  SLUICE_SAME(resampleForward, BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);
  SLUICE_SAME(resampleGrad, BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR);
  SLUICE_SAME(reshapeOperation, BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  SLUICE_SAME(deviceProperties, BACKEND_DEVICEPROP_DESCRIPTOR);
  SLUICE_SAME(handleValue, TYPE_HANDLE);
  SLUICE_SAME(typeValue, TYPE_DATA_TYPE);
  SLUICE_SAME(booleanValue, TYPE_BOOLEAN);
  SLUICE_SAME(int64Value, TYPE_INT64);
  SLUICE_SAME(floatValue, TYPE_FLOAT);
  SLUICE_SAME(doubleValue, TYPE_DOUBLE);
  SLUICE_SAME(pointerValue, TYPE_VOID_PTR);
  SLUICE_SAME(convolutionModeValue, TYPE_CONVOLUTION_MODE);
  SLUICE_SAME(heuristicModeValue, TYPE_HEUR_MODE);
  same(dnn::nanValue, 10); // its name is deprecated
  SLUICE_SAME(numericalNoteValue, TYPE_NUMERICAL_NOTE);
  SLUICE_SAME(pointwiseModeValue, TYPE_POINTWISE_MODE);
  SLUICE_SAME(descriptorValue, TYPE_BACKEND_DESCRIPTOR);
  SLUICE_SAME(reductionValue, TYPE_REDUCTION_OPERATOR_TYPE);
  SLUICE_SAME(resampleModeValue, TYPE_RESAMPLE_MODE);
  SLUICE_SAME(paddingModeValue, TYPE_PADDING_MODE);
  SLUICE_SAME(charValue, TYPE_CHAR);
  SLUICE_SAME(fractionValue, TYPE_FRACTION);
  SLUICE_SAME(pointwiseMode, ATTR_POINTWISE_MODE);
  SLUICE_SAME(pointwisePrecision, ATTR_POINTWISE_MATH_PREC);
  SLUICE_SAME(pointwiseAxis, ATTR_POINTWISE_AXIS);
  SLUICE_SAME(convolutionType, ATTR_CONVOLUTION_COMP_TYPE);
  SLUICE_SAME(convolutionMode, ATTR_CONVOLUTION_CONV_MODE);
  SLUICE_SAME(convolutionDilations, ATTR_CONVOLUTION_DILATIONS);
  SLUICE_SAME(convolutionStrides, ATTR_CONVOLUTION_FILTER_STRIDES);
  SLUICE_SAME(convolutionPaddingBehind, ATTR_CONVOLUTION_POST_PADDINGS);
  SLUICE_SAME(convolutionPaddingBefore, ATTR_CONVOLUTION_PRE_PADDINGS);
  SLUICE_SAME(convolutionDims, ATTR_CONVOLUTION_SPATIAL_DIMS);
  SLUICE_SAME(heuristicMode, ATTR_ENGINEHEUR_MODE);
  SLUICE_SAME(heuristicGraph, ATTR_ENGINEHEUR_OPERATION_GRAPH);
  SLUICE_SAME(heuristicResults, ATTR_ENGINEHEUR_RESULTS);
  SLUICE_SAME(heuristicDevice, ATTR_ENGINEHEUR_DEVICEPROP);
  SLUICE_SAME(configEngine, ATTR_ENGINECFG_ENGINE);
  SLUICE_SAME(planHandle, ATTR_EXECUTION_PLAN_HANDLE);
  SLUICE_SAME(planConfig, ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  SLUICE_SAME(planWorkspace, ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  SLUICE_SAME(planDevice, ATTR_EXECUTION_PLAN_DEVICEPROP);
  SLUICE_SAME(forwardAlpha, ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
  SLUICE_SAME(forwardAlpha + 1, ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
  SLUICE_SAME(forwardAlpha + 2, ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
  SLUICE_SAME(forwardAlpha + 3, ATTR_OPERATION_CONVOLUTION_FORWARD_W);
  SLUICE_SAME(forwardAlpha + 4, ATTR_OPERATION_CONVOLUTION_FORWARD_X);
  SLUICE_SAME(forwardAlpha + 5, ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
  SLUICE_SAME(inputGradAlpha, ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA);
  SLUICE_SAME(inputGradAlpha + 1, ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA);
  SLUICE_SAME(inputGradAlpha + 2, ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
  SLUICE_SAME(inputGradAlpha + 3, ATTR_OPERATION_CONVOLUTION_BWD_DATA_W);
  SLUICE_SAME(inputGradAlpha + 4, ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX);
  SLUICE_SAME(inputGradAlpha + 5, ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
  SLUICE_SAME(weightGradAlpha, ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA);
  SLUICE_SAME(weightGradAlpha + 1, ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA);
  SLUICE_SAME(weightGradAlpha + 2, ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC);
  SLUICE_SAME(weightGradAlpha + 3, ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW);
  SLUICE_SAME(weightGradAlpha + 4, ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X);
  SLUICE_SAME(weightGradAlpha + 5, ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
  SLUICE_SAME(pointwiseDescriptor, ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  SLUICE_SAME(pointwiseX, ATTR_OPERATION_POINTWISE_XDESC);
  SLUICE_SAME(pointwiseB, ATTR_OPERATION_POINTWISE_BDESC);
  SLUICE_SAME(pointwiseY, ATTR_OPERATION_POINTWISE_YDESC);
  SLUICE_SAME(pointwiseT, ATTR_OPERATION_POINTWISE_TDESC);
  SLUICE_SAME(graphHandle, ATTR_OPERATIONGRAPH_HANDLE);
  SLUICE_SAME(graphOperations, ATTR_OPERATIONGRAPH_OPS);
  SLUICE_SAME(tensorAlignment, ATTR_TENSOR_BYTE_ALIGNMENT);
  SLUICE_SAME(tensorType, ATTR_TENSOR_DATA_TYPE);
  SLUICE_SAME(tensorExtent, ATTR_TENSOR_DIMENSIONS);
  SLUICE_SAME(tensorStrides, ATTR_TENSOR_STRIDES);
  SLUICE_SAME(tensorNumber, ATTR_TENSOR_UNIQUE_ID);
  SLUICE_SAME(tensorIsVirtual, ATTR_TENSOR_IS_VIRTUAL);
  SLUICE_SAME(tensorIsByValue, ATTR_TENSOR_IS_BY_VALUE);
  SLUICE_SAME(packNumbers, ATTR_VARIANT_PACK_UNIQUE_IDS);
  SLUICE_SAME(packPointers, ATTR_VARIANT_PACK_DATA_POINTERS);
  SLUICE_SAME(packWorkspace, ATTR_VARIANT_PACK_WORKSPACE);
  SLUICE_SAME(engineIndex, ATTR_ENGINE_GLOBAL_INDEX);
  SLUICE_SAME(engineNumericalNotes, ATTR_ENGINE_NUMERICAL_NOTE);
  SLUICE_SAME(matmulType, ATTR_MATMUL_COMP_TYPE);
  SLUICE_SAME(matmulA, ATTR_OPERATION_MATMUL_ADESC);
  SLUICE_SAME(matmulB, ATTR_OPERATION_MATMUL_BDESC);
  SLUICE_SAME(matmulC, ATTR_OPERATION_MATMUL_CDESC);
  SLUICE_SAME(matmulDescriptor, ATTR_OPERATION_MATMUL_DESC);
  SLUICE_SAME(reductionMode, ATTR_REDUCTION_OPERATOR);
  SLUICE_SAME(reductionType, ATTR_REDUCTION_COMP_TYPE);
  SLUICE_SAME(reductionX, ATTR_OPERATION_REDUCTION_XDESC);
  SLUICE_SAME(reductionY, ATTR_OPERATION_REDUCTION_YDESC);
  SLUICE_SAME(reductionDescriptor, ATTR_OPERATION_REDUCTION_DESC);
  SLUICE_SAME(resampleMode, ATTR_RESAMPLE_MODE);
  SLUICE_SAME(resampleType, ATTR_RESAMPLE_COMP_TYPE);
  SLUICE_SAME(resampleDims, ATTR_RESAMPLE_SPATIAL_DIMS);
  SLUICE_SAME(resamplePaddingBehind, ATTR_RESAMPLE_POST_PADDINGS);
  SLUICE_SAME(resamplePaddingBefore, ATTR_RESAMPLE_PRE_PADDINGS);
  SLUICE_SAME(resampleStrides, ATTR_RESAMPLE_STRIDES);
  SLUICE_SAME(resampleWindow, ATTR_RESAMPLE_WINDOW_DIMS);
  SLUICE_SAME(resampleNan, ATTR_RESAMPLE_NAN_PROPAGATION);
  SLUICE_SAME(resamplePaddingMode, ATTR_RESAMPLE_PADDING_MODE);
  SLUICE_SAME(resampleForwardX, ATTR_OPERATION_RESAMPLE_FWD_XDESC);
  SLUICE_SAME(resampleForwardY, ATTR_OPERATION_RESAMPLE_FWD_YDESC);
  SLUICE_SAME(resampleForwardDescriptor, ATTR_OPERATION_RESAMPLE_FWD_DESC);
  SLUICE_SAME(resampleGradX, ATTR_OPERATION_RESAMPLE_BWD_DXDESC);
  SLUICE_SAME(resampleGradY, ATTR_OPERATION_RESAMPLE_BWD_DYDESC);
  SLUICE_SAME(resampleGradDescriptor, ATTR_OPERATION_RESAMPLE_BWD_DESC);
  SLUICE_SAME(reshapeX, ATTR_OPERATION_RESHAPE_XDESC);
  SLUICE_SAME(reshapeY, ATTR_OPERATION_RESHAPE_YDESC);
  SLUICE_SAME(deviceJson, ATTR_DEVICEPROP_JSON_REPRESENTATION);
  SLUICE_SAME(add, POINTWISE_ADD);
  SLUICE_SAME(multiply, POINTWISE_MUL);
  SLUICE_SAME(divide, POINTWISE_DIV);
  SLUICE_SAME(subtract, POINTWISE_SUB);
  SLUICE_SAME(exponential, POINTWISE_EXP);
  SLUICE_SAME(logarithm, POINTWISE_LOG);
  SLUICE_SAME(atLeast, POINTWISE_CMP_GE);
  SLUICE_SAME(greater, POINTWISE_CMP_GT);
  SLUICE_SAME(index, POINTWISE_GEN_INDEX);
  SLUICE_SAME(select, POINTWISE_BINARY_SELECT);
  SLUICE_SAME(reduceAdd, REDUCE_TENSOR_ADD);
  SLUICE_SAME(reduceMax, REDUCE_TENSOR_MAX);
  SLUICE_SAME(meanWithPadding, RESAMPLE_AVGPOOL_INCLUDE_PADDING);
  SLUICE_SAME(maximum, RESAMPLE_MAXPOOL);
  SLUICE_SAME(meanWithoutPadding, RESAMPLE_AVGPOOL_EXCLUDE_PADDING);
  SLUICE_SAME(padZero, ZERO_PAD);
  SLUICE_SAME(padLeast, NEG_INF_PAD);
  same(dnn::propagateNan, 1); // its name is deprecated
  SLUICE_SAME(crossCorrelation, CROSS_CORRELATION);
  SLUICE_SAME(heuristicFallback, HEUR_MODE_FALLBACK);
  SLUICE_SAME(heuristicA, HEUR_MODE_A);
  SLUICE_SAME(tensorCores, NUMERICAL_NOTE_TENSOR_CORE);
  SLUICE_SAME(roundsInputs, NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
  SLUICE_SAME(roundsSums, NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
  SLUICE_SAME(fourier, NUMERICAL_NOTE_FFT);
  SLUICE_SAME(nondeterministic, NUMERICAL_NOTE_NONDETERMINISTIC);
  SLUICE_SAME(winograd, NUMERICAL_NOTE_WINOGRAD);
  SLUICE_SAME(winogradLast, NUMERICAL_NOTE_WINOGRAD_TILE_13x13);
#undef SLUICE_SAME
  EXPECT_EQ(sizeof(dnn::Fraction), sizeof(cudnnFraction_t));
  EXPECT_EQ(sizeof(dnn::Handle), sizeof(cudnnHandle_t));
  EXPECT_EQ(sizeof(dnn::Descriptor), sizeof(cudnnBackendDescriptor_t));
  // The parameters of the table's functions are those of the headers.
  Dnn own;
  EXPECT_EQ(sizeof own.make, sizeof &cudnnBackendCreateDescriptor);
}
#endif

} // namespace
} // namespace sluice::test
