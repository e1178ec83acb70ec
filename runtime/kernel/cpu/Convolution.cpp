//===- Convolution.cpp - convolutions by oneDNN, and the weight's gradient ---------===//
//
// Dense f32 operands are passed to the library. Strided, bf16 and f16 operands are copied to dense f32 in workspace,
// since the library does not have these convolutions for every processor; the result is rounded once. f64, and shapes
// for which the library has only a plain loop, use the reference.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/catalogue/CpuWorkspace.h"
#include "runtime/kernel/cpu/ConvolutionWeightGrad.h"
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/OnednnConvolution.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/vector/Loops.h"

namespace sluice::cpu {
namespace {

using Kind = LibraryConvolution::Kind;

/// Which operands are x, weight, bias and y; the output is one of them.
struct Roles {
  const Operand *x, *weight, *bias, *y;
};

Roles rolesOf(Kind kind, std::span<const Operand> inputs, std::span<const Operand> outputs) {
  switch (kind) {
  case Kind::forward:
    return {&inputs[0], &inputs[1], inputs.size() > 2 ? &inputs[2] : nullptr, &outputs[0]};
  case Kind::inputGrad:
    return {&outputs[0], &inputs[1], nullptr, &inputs[0]};
  case Kind::weightGrad:
    return {&inputs[1], &outputs[0], nullptr, &inputs[0]};
  }
  return {};
}

bool needsCopy(const Operand *operand) { return operand && (operand->dtype != DType::f32 || !operand->isDense()); }

std::int64_t copiedFloats(const Operand *operand) { return needsCopy(operand) ? roundUp(operand->elements(), 16) : 0; }

template <typename T> void convertStrided(int threads, const Operand &operand, float *dense, bool comesIn) {
  const Rows rows(operand);
  forEach(threads, rows.rows, [&](std::int64_t row) {
    T *own = rows.at<T>(row);
    float *copied = dense + row * rows.columns;
    for (std::int64_t i = 0; i < rows.columns; ++i)
      if (comesIn)
        copied[i] = static_cast<float>(own[i * rows.stride]);
      else
        own[i * rows.stride] = T(copied[i]);
  });
}

/// Between an operand and its dense f32 copy.
void convert(int threads, const Operand &operand, float *dense, bool comesIn) {
  withLoops(operand.dtype, [&]<typename T>() {
    if (!operand.isDense())
      return convertStrided<T>(threads, operand, dense, comesIn);
    std::int64_t elements = operand.elements();
    forEach(threads, (elements + stretch - 1) / stretch, [&](std::int64_t chunk) {
      std::int64_t begin = chunk * stretch, count = std::min(stretch, elements - begin);
      if (comesIn)
        loops().of<T>().widen(operand.as<T>() + begin, dense + begin, count);
      else
        loops().of<T>().narrow(dense + begin, operand.as<T>() + begin, count);
    });
  });
}

/// `compute` on dense f32 operands, by role, and the rest of the workspace.
template <typename Compute> Bound bind(const KernelRequest &request, Kind kind, Compute compute) {
  return makeKernel(request, [kind, compute](Call &call) {
    Roles r = rolesOf(kind, call.inputs, call.outputs);
    const Operand *operands[] = {r.x, r.weight, r.bias, r.y}, *output = &call.outputs[0];
    float *next = static_cast<float *>(call.workspace), *copies[4] = {};
    void *places[4] = {};
    for (int i = 0; i < 4; ++i) {
      places[i] = operands[i] ? operands[i]->data : nullptr;
      if (!needsCopy(operands[i]))
        continue;
      places[i] = copies[i] = next;
      next += copiedFloats(operands[i]);
      if (operands[i] != output)
        convert(call.threads, *operands[i], copies[i], true);
    }
    SLUICE_RETURN_IF_ERROR(compute(places, next, call.threads));
    for (int i = 0; i < 4; ++i)
      if (copies[i] && operands[i] == output)
        convert(call.threads, *output, copies[i], false);
    return Status::ok();
  });
}

Bound prepare(const KernelRequest &request, Kind kind) {
  Roles r = rolesOf(kind, request.inputs, request.outputs);
  DType type = r.x->dtype;
  if (!hasLoops(type))
    return useReference();
  std::uint64_t taken = 0;
  for (const Operand *operand : {r.x, r.weight, r.bias, r.y}) {
    if (!operand)
      continue;
    if (operand->elements() == 0 || operand->dtype != type)
      return useReference();
    taken += static_cast<std::uint64_t>(copiedFloats(operand)) * 4;
  }
  SLUICE_ASSIGN_OR_RETURN(ConvolutionShape shape, ConvolutionShape::of(request, *r.x, *r.weight, *r.y));
  if (taken > request.workspace)
    return Check(request).workspace(taken);
  if (kind == Kind::weightGrad && WeightGrad::isFaster(shape)) {
    WeightGrad own(shape);
    SLUICE_RETURN_IF_ERROR(Check(request).workspace(taken + own.workspace(request.threads)));
    return bind(request, kind, [own](void *const *places, void *workspace, int threads) {
      own.run(static_cast<const float *>(places[3]), static_cast<const float *>(places[0]),
              static_cast<float *>(places[1]), workspace, threads);
      return Status::ok();
    });
  }
  auto library = LibraryConvolution::make(kind, shape, r.bias != nullptr, request.threads, request.workspace - taken);
  if (!library.isOk())
    return useReference();
  std::shared_ptr<LibraryConvolution> shared = std::move(*library);
  return bind(request, kind, [shared](void *const *places, void *workspace, int) {
    return shared->run(places[0], places[1], places[2], places[3], workspace);
  });
}

} // namespace

Bound fast::conv2d(const KernelRequest &request) { return prepare(request, Kind::forward); }
Bound fast::conv2d_input_grad(const KernelRequest &request) { return prepare(request, Kind::inputGrad); }
Bound fast::conv2d_weight_grad(const KernelRequest &request) { return prepare(request, Kind::weightGrad); }

} // namespace sluice::cpu
