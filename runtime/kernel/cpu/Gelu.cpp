//===- Gelu.cpp - gelu by stretches -------------------------------------------===//
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/Registry.h"
#include "runtime/kernel/cpu/reference/References.h"
#include "runtime/kernel/cpu/vector/Loops.h"

namespace sluice::cpu {
namespace {

template <typename T> Bound forwardOf(const KernelRequest &request) {
  bool tanhForm = integerAttribute(request, "approximate", 0) != 0;
  return makeKernel(request, [&l = loops().of<T>(), tanhForm](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    forStretches<2>(call.threads, {&x, &y}, [&](auto &at, std::int64_t count) {
      l.gelu(x.as<T>() + at[0], y.as<T>() + at[1], count, tanhForm);
    });
    return Status::ok();
  });
}

template <typename T> Bound backwardOf(const KernelRequest &request) {
  bool tanhForm = integerAttribute(request, "approximate", 0) != 0;
  return makeKernel(request, [&l = loops().of<T>(), tanhForm](Call &call) {
    const Operand &dy = call.inputs[0], &x = call.inputs[1], &dx = call.outputs[0];
    forStretches<3>(call.threads, {&dy, &x, &dx}, [&](auto &at, std::int64_t count) {
      l.geluGrad(dy.as<T>() + at[0], x.as<T>() + at[1], dx.as<T>() + at[2], count, tanhForm);
    });
    return Status::ok();
  });
}

Bound forward(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto plain, reference::gelu(request));
  if (allContiguousRows(request)) {
    if (allOf(DType::f32, request.inputs[0], request.outputs[0]))
      return forwardOf<float>(request);
    if (allOf(DType::bf16, request.inputs[0], request.outputs[0]))
      return forwardOf<Bf16>(request);
  }
  return plain;
}

Bound backward(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto plain, reference::gelu_grad(request));
  if (allContiguousRows(request)) {
    if (allOf(DType::f32, request.inputs[0], request.inputs[1], request.outputs[0]))
      return backwardOf<float>(request);
    if (allOf(DType::bf16, request.inputs[0], request.inputs[1], request.outputs[0]))
      return backwardOf<Bf16>(request);
  }
  return plain;
}

constexpr FastKernel kernels[] = {{"gelu", forward}, {"gelu_grad", backward}};

} // namespace

FastKernels geluKernels() { return kernels; }

} // namespace sluice::cpu
