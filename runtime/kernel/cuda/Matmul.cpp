//===- Matmul.cpp - matrix products by cuBLASLt -------------------------------------------------------------===//
//
// A bias is the product's epilogue, a residual its C. Sluice's kernel computes requests that the library does not take
// (no dense dim, mixed types, an empty sum). GELU and its gradient are epilogues as well; if the library does not take
// them, a separate launch follows the product.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/cpu/MatmulShape.h"
#include "runtime/kernel/cuda/BlasProduct.h"
#include "runtime/kernel/cuda/ProductParts.h"
#include "runtime/kernel/cuda/device/Product.h"

#include <algorithm>
#include <array>

namespace sluice::cuda {
namespace {

using cpu::MatmulShape;

/// Any strides, by Sluice's kernel.
Bound plainProduct(const KernelRequest &request, const MatmulShape &s) {
  using A = ProductArgs;
  A args;
  args.hasBias = s.bias >= 0;
  args.hasResidual = s.residual >= 0;
  std::vector<View A::*> inputs = {&A::a, &A::b};
  if (args.hasBias)
    inputs.push_back(&A::bias);
  if (args.hasResidual)
    inputs.push_back(&A::residual);
  const auto bind = bindViews(args, request, inputs, {&A::c});
  args.m = s.m, args.n = s.n, args.k = s.k;
  args.aM = s.aM, args.aK = s.aK, args.bK = s.bK, args.bN = s.bN, args.cM = s.cM, args.cN = s.cN;
  args.rM = s.rM, args.rN = s.rN, args.biasN = s.biasN;
  args.batchRank = s.batchRank;
  args.batches = s.batches();
  for (int d = 0; d < s.batchRank; ++d) {
    args.batchExtent[d] = s.batchExtent[d];
    args.aBatch[d] = s.aBatch[d], args.bBatch[d] = s.bBatch[d], args.cBatch[d] = s.cBatch[d],
    args.rBatch[d] = s.rBatch[d];
  }
  const Operand &bias = request.inputs[static_cast<std::size_t>(std::max(s.bias, 0))];
  const Operand &residual = request.inputs[static_cast<std::size_t>(std::max(s.residual, 0))];
  return oneLaunch(request,
                   symbol("product", {&request.inputs[0], &request.inputs[1], &request.outputs[0], &bias, &residual}),
                   gridFor(*request.cuda, args.batches * args.m * args.n), args, bind);
}

/// Batch dims of more than one element; neighbours with matching strides are one dim.
struct BatchDim {
  std::int64_t extent, a, b, c, r;
};
std::vector<BatchDim> batchDims(const MatmulShape &s, bool hasResidual) {
  std::vector<BatchDim> dims;
  for (int d = s.batchRank - 1; d >= 0; --d) {
    if (s.batchExtent[d] == 1)
      continue;
    const BatchDim dim{s.batchExtent[d], s.aBatch[d], s.bBatch[d], s.cBatch[d], hasResidual ? s.rBatch[d] : 0};
    if (!dims.empty()) {
      BatchDim &inner = dims.back();
      if (dim.a == inner.a * inner.extent && dim.b == inner.b * inner.extent && dim.c == inner.c * inner.extent &&
          dim.r == inner.r * inner.extent) {
        inner.extent *= dim.extent;
        continue;
      }
    }
    dims.push_back(dim);
  }
  return dims;
}

bool libraryTakes(const KernelRequest &request, const MatmulShape &s) {
  const DType in = request.inputs[0].dtype, out = request.outputs[0].dtype;
  const bool half = in == DType::bf16 || in == DType::f16;
  if (!libraryType(in) || !(in == out || (half && out == DType::f32)))
    return false;
  for (const int extra : {s.bias, s.residual})
    if (extra >= 0 && request.inputs[static_cast<std::size_t>(extra)].dtype != out)
      return false;
  return s.m > 0 && s.n > 0 && s.k > 0 && s.batches() > 0 && (s.bias < 0 || s.biasN == 1 || s.n == 1);
}

/// True if the library may compute GELU in this type. Its documentation does not state the precision, so f32 uses it
/// only if inputs may be rounded to TF32.
bool takesGelu(const KernelRequest &request, const Operand &x) {
  const DType type = request.outputs[0].dtype;
  return x.dtype == type && request.inputs[0].dtype == type &&
         (type == DType::bf16 || type == DType::f16 || (type == DType::f32 && request.cuda->usesTf32()));
}

/// A request of `matmul` by the library; null if it does not take it. A run passes the address of GELU's input after
/// the inputs.
Bound libraryProduct(const KernelRequest &request, MatmulShape s, const GeluEpilogue *gelu) {
  if (!libraryTakes(request, s) || (gelu && !takesGelu(request, gelu->x)))
    return std::unique_ptr<BoundKernel>();
  // A matrix of the result's shape: a residual or GELU's input.
  const bool hasSide = gelu || s.residual >= 0;
  if (gelu) {
    s.rBatch = gelu->x.strides;
    s.rM = gelu->x.strides[s.batchRank];
    s.rN = gelu->x.strides[s.batchRank + 1];
  }
  std::vector<BatchDim> dims = batchDims(s, hasSide);
  // Batches whose rows follow one another, with one b for all, are one product.
  if (!dims.empty() && dims[0].b == 0 && dims[0].a == s.m * s.aM && dims[0].c == s.m * s.cM &&
      (!hasSide || dims[0].r == s.m * s.rM)) {
    s.m *= dims[0].extent;
    dims.erase(dims.begin());
  }
  const auto first = storedAs(s.n, s.k, s.bN, s.bK), second = storedAs(s.k, s.m, s.aK, s.aM);
  const auto result = storedAs(s.n, s.m, s.cN, s.cM);
  const auto side = hasSide ? storedAs(s.n, s.m, s.rN, s.rM) : result;
  if (!first || !second || !result || result->operation != blas::operationN || !side ||
      side->operation != blas::operationN)
    return std::unique_ptr<BoundKernel>();
  // Requirements of the library's documentation. It also has a stride between batches, which no plan needs.
  if (gelu && (!dims.empty() || side->leading % 8 != 0 || reinterpret_cast<std::uintptr_t>(gelu->x.data) % 16 != 0))
    return std::unique_ptr<BoundKernel>();
  BlasProduct::Batch batch;
  if (!dims.empty()) {
    batch = {static_cast<std::int32_t>(dims[0].extent), dims[0].b, dims[0].a, dims[0].r, dims[0].c};
    if (s.residual < 0)
      batch.residual = batch.result;
    dims.erase(dims.begin());
  }
  auto product = std::make_shared<BlasProduct>(*request.cuda);
  SLUICE_ASSIGN_OR_RETURN(
      const bool isSupported,
      product->make(request, *first, *second, gelu ? *result : *side, *result, batch, s.bias >= 0,
                    s.residual >= 0 ? request.inputs[static_cast<std::size_t>(s.residual)].data : nullptr, gelu,
                    *side));
  if (!isSupported)
    return std::unique_ptr<BoundKernel>();
  // One product for each index of the remaining dims.
  std::vector<BatchDim> offsets = {{1, 0, 0, 0, 0}};
  for (const BatchDim &dim : dims) {
    std::vector<BatchDim> more;
    for (std::int64_t i = 0; i < dim.extent; ++i)
      for (const BatchDim &at : offsets)
        more.push_back({1, at.a + i * dim.a, at.b + i * dim.b, at.c + i * dim.c, at.r + i * dim.r});
    offsets = std::move(more);
  }
  const auto in = static_cast<std::int64_t>(dtypeBytes(request.inputs[0].dtype));
  const auto out = static_cast<std::int64_t>(dtypeBytes(request.outputs[0].dtype));
  LaunchList list(*request.cuda);
  list.addStep([product, offsets = std::move(offsets), in, out, bias = s.bias, residual = s.residual,
                hasGelu = gelu != nullptr](const RunAddresses &run) {
    const auto input = [&](int i) { return static_cast<char *>(run.inputs[static_cast<std::size_t>(i)]); };
    for (const BatchDim &at : offsets)
      SLUICE_RETURN_IF_ERROR(
          product->run({input(1) + at.b * in, input(0) + at.a * in,
                        residual >= 0 ? input(residual) + at.r * out : nullptr, bias >= 0 ? input(bias) : nullptr,
                        static_cast<char *>(run.outputs[0]) + at.c * out, hasGelu ? run.inputs.back() : nullptr},
                       run.workspace, run.stream));
    return Status::ok();
  });
  return std::move(list).finish();
}

/// A product and GELU, or its gradient: an epilogue, or a launch after the product.
Bound withGelu(const KernelRequest &request, bool isGrad) {
  const std::size_t count = isGrad ? 2 : request.inputs.size();
  KernelRequest product = request;
  product.inputs = request.inputs.first(count);
  product.outputs = request.outputs.last(1);
  SLUICE_ASSIGN_OR_RETURN(const MatmulShape s, MatmulShape::of(product));
  const GeluEpilogue gelu{isGrad ? request.inputs[2] : request.outputs[0], isGrad};
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<BoundKernel> fused, libraryProduct(product, s, &gelu));
  LaunchList list(*request.cuda);
  if (fused) {
    list.addStep([fused, count, isGrad](const RunAddresses &run) {
      std::array<void *, 4> inputs{};
      std::copy_n(run.inputs.begin(), count, inputs.begin());
      inputs[count] = isGrad ? run.inputs[2] : run.outputs[0];
      return fused->enqueue(run.stream, std::span(inputs).first(count + 1), run.outputs.last(1), run.workspace);
    });
    return std::move(list).finish();
  }
  product.outputs = request.outputs.first(1);
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<BoundKernel> plain, kernels::matmul(product));
  const Attributes tanhForm({{"approximate", static_cast<std::int64_t>(kernel::GeluForm::tanh), 0, {}}});
  const Operand slopes[] = {request.outputs[0], request.inputs.back()};
  KernelRequest activationRequest = request;
  activationRequest.attributes = &tanhForm;
  activationRequest.inputs = isGrad ? std::span<const Operand>(slopes) : request.outputs.first(1);
  activationRequest.outputs = request.outputs.last(1);
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<BoundKernel> activation,
                          findCudaKernel(isGrad ? KernelId::gelu_grad : KernelId::gelu)(activationRequest));
  list.addStep([plain, activation, count, isGrad](const RunAddresses &run) {
    SLUICE_RETURN_IF_ERROR(plain->enqueue(run.stream, run.inputs.first(count), run.outputs.first(1), run.workspace));
    if (!isGrad)
      return activation->enqueue(run.stream, run.outputs.first(1), run.outputs.last(1), run.workspace);
    void *const slopes[] = {run.outputs[0], run.inputs[2]};
    return activation->enqueue(run.stream, slopes, run.outputs, run.workspace);
  });
  return std::move(list).finish();
}

} // namespace

Bound kernels::matmul(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(const MatmulShape s, MatmulShape::of(request));
  SLUICE_ASSIGN_OR_RETURN(auto parts, productInParts(request));
  if (parts)
    return Bound(std::move(parts));
  SLUICE_ASSIGN_OR_RETURN(auto kernel, libraryProduct(request, s, nullptr));
  return kernel ? Bound(std::move(kernel)) : plainProduct(request, s);
}
Bound kernels::matmul_gelu(const KernelRequest &request) { return withGelu(request, /*isGrad=*/false); }
Bound kernels::matmul_gelu_grad(const KernelRequest &request) { return withGelu(request, /*isGrad=*/true); }

} // namespace sluice::cuda
