//===- Dnn.h - the types and numbers of cuDNN's graphs that Sluice uses -------------===//
//
// cuDNN 9 is reached as the other libraries are (Table.h), by its backend descriptors: tensors, operations, a graph of
// them, a heuristic's engines, a plan of one. A test compares every number with the toolkit's headers
// (test/cuda/DnnLibraryTest.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_CUDA_DNN_H
#define SLUICE_RUNTIME_BASE_CUDA_DNN_H

#include <cstdint>

namespace sluice::cuda::dnn {

/// cudnnHandle_t and cudnnBackendDescriptor_t.
using Handle = void *;
using Descriptor = void *;

/// cudnnDataType_t.
enum Type : int { f32 = 0, f64 = 1, f16 = 2, i32 = 4, bf16 = 9, boolean = 11 };

/// cudnnBackendDescriptorType_t.
enum Kind : int {
  pointwise = 0,
  convolution = 1,
  engine = 2,
  engineConfig = 3,
  engineHeuristic = 4,
  executionPlan = 5,
  convolutionForward = 10,
  convolutionWeightGrad = 11,
  convolutionInputGrad = 12,
  pointwiseOperation = 13,
  operationGraph = 15,
  variantPack = 16,
  tensor = 17,
  matmul = 18,
  matmulOperation = 19,
  reduction = 21,
  reductionOperation = 22,
  resample = 24,
  resampleForward = 25,
  resampleGrad = 26,
  reshapeOperation = 31,
  deviceProperties = 38,
};

/// cudnnBackendAttributeType_t.
enum ValueType : int {
  handleValue = 0,
  typeValue = 1,
  booleanValue = 2,
  int64Value = 3,
  floatValue = 4,
  doubleValue = 5,
  pointerValue = 6,
  convolutionModeValue = 7,
  heuristicModeValue = 8,
  nanValue = 10,
  numericalNoteValue = 11,
  pointwiseModeValue = 14,
  descriptorValue = 15,
  reductionValue = 18,
  resampleModeValue = 21,
  paddingModeValue = 22,
  charValue = 24,
  fractionValue = 26,
};

/// cudnnBackendAttributeName_t.
enum Attribute : int {
  pointwiseMode = 0,
  pointwisePrecision = 1,
  pointwiseAxis = 9,
  convolutionType = 100,
  convolutionMode = 101,
  convolutionDilations = 102,
  convolutionStrides = 103,
  convolutionPaddingBehind = 104,
  convolutionPaddingBefore = 105,
  convolutionDims = 106,
  heuristicMode = 200,
  heuristicGraph = 201,
  heuristicResults = 202,
  heuristicDevice = 204,
  configEngine = 300,
  planHandle = 400,
  planConfig = 401,
  planWorkspace = 402,
  planDevice = 407,
  // Alpha of the three operations; their beta, convolution, weight, x and y have the numbers after it.
  forwardAlpha = 700,
  inputGradAlpha = 706,
  weightGradAlpha = 712,
  pointwiseDescriptor = 750,
  pointwiseX = 751,
  pointwiseB = 752,
  pointwiseY = 753,
  pointwiseT = 758,
  graphHandle = 800,
  graphOperations = 801,
  tensorAlignment = 900,
  tensorType = 901,
  tensorExtent = 902,
  tensorStrides = 903,
  tensorNumber = 906,
  tensorIsVirtual = 907,
  tensorIsByValue = 908,
  packNumbers = 1000,
  packPointers = 1001,
  packWorkspace = 1003,
  engineIndex = 1301,
  engineNumericalNotes = 1303,
  matmulType = 1500,
  matmulA = 1520,
  matmulB = 1521,
  matmulC = 1522,
  matmulDescriptor = 1523,
  reductionMode = 1600,
  reductionType = 1601,
  reductionX = 1610,
  reductionY = 1611,
  reductionDescriptor = 1612,
  resampleMode = 1700,
  resampleType = 1701,
  resampleDims = 1702,
  resamplePaddingBehind = 1703,
  resamplePaddingBefore = 1704,
  resampleStrides = 1705,
  resampleWindow = 1706,
  resampleNan = 1707,
  resamplePaddingMode = 1708,
  resampleForwardX = 1710,
  resampleForwardY = 1711,
  resampleForwardDescriptor = 1716,
  resampleGradX = 1720,
  resampleGradY = 1721,
  resampleGradDescriptor = 1725,
  reshapeX = 2200,
  reshapeY = 2201,
  deviceJson = 2702,
};

/// cudnnPointwiseMode_t.
enum PointwiseMode : int {
  add = 0,
  multiply = 1,
  divide = 6,
  subtract = 9,
  exponential = 13,
  logarithm = 15,
  atLeast = 303,
  greater = 302,
  index = 501,
  select = 601,
};
/// cudnnReduceTensorOp_t.
enum ReductionMode : int { reduceAdd = 0, reduceMax = 3 };
/// cudnnResampleMode_t, cudnnPaddingMode_t and cudnnNanPropagation_t.
enum ResampleMode : int { meanWithPadding = 2, maximum = 3, meanWithoutPadding = 4 };
enum PaddingMode : int { padZero = 0, padLeast = 1 };
inline constexpr int propagateNan = 1;
/// cudnnConvolutionMode_t: the convolution of neural networks.
inline constexpr int crossCorrelation = 1;
/// cudnnBackendHeurMode_t.
enum HeuristicMode : int { heuristicFallback = 2, heuristicA = 3 };
/// cudnnBackendNumericalNote_t: numerical properties of an engine.
enum Note : int {
  tensorCores = 0,
  roundsInputs = 1,
  roundsSums = 2,
  fourier = 3,
  nondeterministic = 4,
  winograd = 5,
  winogradLast = 8
};

/// cudnnFraction_t.
struct Fraction {
  std::int64_t numerator = 1, denominator = 1;
};

} // namespace sluice::cuda::dnn

#endif // SLUICE_RUNTIME_BASE_CUDA_DNN_H
