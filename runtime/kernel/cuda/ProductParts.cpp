//===- ProductParts.cpp - a product as two, of which the large one is aligned ------------------------------------===//
#include "runtime/kernel/cuda/ProductParts.h"
#include "runtime/kernel/catalogue/Record.h"

#include <algorithm>
#include <array>

namespace sluice::cuda {
namespace {

/// Elements of 16 bytes.
constexpr std::int64_t unit = 8;
/// A shorter dim is not divided: a second launch costs more than the alignment gains.
constexpr std::int64_t leastExtent = 64;

/// The dims of a matrix product. c is [m, n], a is [m, k], b is [k, n].
enum class ProductDim { m, n, k };

/// The axis of each operand that is a dim; -1: it does not have the dim.
struct Axes {
  int a = -1, b = -1, c = -1;
};
Axes axesOf(const KernelRequest &request, ProductDim dim) {
  const bool transposeA = request.attributes->integer("transpose_a"),
             transposeB = request.attributes->integer("transpose_b");
  const int a = request.inputs[0].rank, b = request.inputs[1].rank, c = request.outputs[0].rank;
  switch (dim) {
  case ProductDim::m:
    return {transposeA ? a - 1 : a - 2, -1, c - 2};
  case ProductDim::n:
    return {-1, transposeB ? b - 2 : b - 1, c - 1};
  case ProductDim::k:
    return {transposeA ? a - 2 : a - 1, transposeB ? b - 1 : b - 2, -1};
  }
  return {};
}

/// True if the rows along `axis` begin at multiples of 16 bytes, but do not have such a length.
bool isUnaligned(const Operand &operand, int axis) {
  if (axis < 0 || dtypeBytes(operand.dtype) != 2 || operand.strides[axis] != 1 || operand.extent[axis] % unit == 0 ||
      operand.extent[axis] < leastExtent || reinterpret_cast<std::uintptr_t>(operand.data) % 16 != 0)
    return false;
  for (int d = 0; d < operand.rank; ++d)
    if (d != axis && operand.extent[d] != 1 && operand.strides[d] % unit != 0)
      return false;
  return true;
}

/// `count` elements of an operand along an axis from element `begin`; all of them if it does not have the dim.
Operand part(const Operand &operand, int axis, std::int64_t begin, std::int64_t count) {
  Operand result = operand;
  if (axis < 0)
    return result;
  result.extent[axis] = count;
  result.data = static_cast<char *>(operand.data) +
                begin * operand.strides[axis] * static_cast<std::int64_t>(dtypeBytes(operand.dtype));
  return result;
}

/// A part: the product, and the bytes from each operand of the request to that of the part.
struct Part {
  std::shared_ptr<BoundKernel> kernel;
  std::array<std::int64_t, 4> inputs{};
  std::int64_t output = 0;
  int bias = -1, residual = -1;
  bool addsToResult = false;
};

/// The elements from `begin` along `dim`; `addsToResult`: the residual is the result of the other part.
Result<Part> prepare(const KernelRequest &request, ProductDim dim, std::int64_t begin, std::int64_t count, bool hasBias,
                     bool hasResidual, bool addsToResult) {
  const Axes axes = axesOf(request, dim);
  const bool requestHasBias = request.attributes->integer("bias", 0);
  Part made;
  made.addsToResult = addsToResult;
  std::vector<Operand> inputs = {part(request.inputs[0], axes.a, begin, count),
                                 part(request.inputs[1], axes.b, begin, count)};
  const Operand output = part(request.outputs[0], axes.c, begin, count);
  if (hasBias) {
    made.bias = 2;
    inputs.push_back(part(request.inputs[2], dim == ProductDim::n ? 0 : -1, begin, count));
  }
  if (hasResidual && !addsToResult) {
    made.residual = 2 + requestHasBias;
    inputs.push_back(part(request.inputs[static_cast<std::size_t>(made.residual)], axes.c, begin, count));
  }
  if (addsToResult)
    inputs.push_back(output);
  const auto distance = [](const Operand &from, const Operand &to) {
    return static_cast<char *>(to.data) - static_cast<char *>(from.data);
  };
  std::size_t next = 0;
  for (const int source : {0, 1, made.bias, made.residual})
    if (source >= 0) {
      made.inputs[next] = distance(request.inputs[static_cast<std::size_t>(source)], inputs[next]);
      ++next;
    }
  made.output = distance(request.outputs[0], output);
  const auto flag = [](const char *name, bool value) {
    return Attributes::Item{name, static_cast<std::int64_t>(value), 0, {}};
  };
  Attributes attributes({flag("transpose_a", request.attributes->integer("transpose_a")),
                         flag("transpose_b", request.attributes->integer("transpose_b")), flag("bias", hasBias),
                         flag("residual", hasResidual || addsToResult)});
  const Operand outputs[] = {output};
  KernelRequest inner = request;
  inner.inputs = inputs;
  inner.outputs = outputs;
  inner.attributes = &attributes;
  SLUICE_ASSIGN_OR_RETURN(made.kernel, findCudaKernel(KernelId::matmul)(inner));
  return made;
}

Status enqueue(const Part &part, const RunAddresses &run) {
  const auto shifted = [](void *data, std::int64_t bytes) -> void * { return static_cast<char *>(data) + bytes; };
  std::array<void *, 4> inputs{};
  std::size_t count = 0;
  for (const int source : {0, 1, part.bias, part.residual})
    if (source >= 0) {
      inputs[count] = shifted(run.inputs[static_cast<std::size_t>(source)], part.inputs[count]);
      ++count;
    }
  void *const outputs[] = {shifted(run.outputs[0], part.output)};
  if (part.addsToResult)
    inputs[count++] = outputs[0];
  return part.kernel->enqueue(run.stream, std::span(inputs).first(count), outputs, run.workspace);
}

} // namespace

Bound productInParts(const KernelRequest &request) {
  for (const ProductDim dim : {ProductDim::n, ProductDim::k, ProductDim::m}) {
    const Axes axes = axesOf(request, dim);
    if (!isUnaligned(request.inputs[0], axes.a) && !isUnaligned(request.inputs[1], axes.b) &&
        !isUnaligned(request.outputs[0], axes.c))
      continue;
    const std::int64_t extent = axes.a >= 0 ? request.inputs[0].extent[axes.a] : request.inputs[1].extent[axes.b];
    const std::int64_t aligned = extent / unit * unit;
    const bool isSum = dim == ProductDim::k, hasBias = request.attributes->integer("bias", 0),
               hasResidual = request.attributes->integer("residual", 0);
    SLUICE_ASSIGN_OR_RETURN(Part remainder, prepare(request, dim, aligned, extent - aligned, hasBias && !isSum,
                                                    hasResidual, /*addsToResult=*/false));
    SLUICE_ASSIGN_OR_RETURN(Part rest,
                            prepare(request, dim, 0, aligned, hasBias, hasResidual && !isSum, /*addsToResult=*/isSum));
    LaunchList list(*request.cuda);
    list.addStep([remainder = std::move(remainder), rest = std::move(rest)](const RunAddresses &run) {
      SLUICE_RETURN_IF_ERROR(enqueue(remainder, run));
      return enqueue(rest, run);
    });
    return std::move(list).finish();
  }
  return std::unique_ptr<BoundKernel>();
}

} // namespace sluice::cuda
