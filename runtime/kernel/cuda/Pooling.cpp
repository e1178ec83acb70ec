//===- Pooling.cpp - pooling on a GPU -------------------------------------------------------------------------===//
//
// cuDNN computes it if it is enabled and has an engine (DnnKernels.h), else Sluice's kernels do. The gradient of a
// maximum is always Sluice's.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cuda/device/Pooling.h"
#include "runtime/kernel/cpu/ConvolutionShape.h"
#include "runtime/kernel/cuda/DnnKernels.h"
#include "runtime/kernel/cuda/Prepare.h"

namespace sluice::cuda {
namespace {

/// One launch with one thread per element of the result. x is the image, y has one element per window; or their
/// gradients.
Bound pool(const KernelRequest &request, std::string_view function, const Operand &x, const Operand &y,
           std::vector<View PoolArgs::*> inputs, View PoolArgs::*output) {
  if (Bound other = byDnn(request); !other.isOk() || *other)
    return other;
  SLUICE_ASSIGN_OR_RETURN(cpu::PoolShape s, cpu::PoolShape::of(request, x, y));
  PoolArgs args;
  const auto bind = bindViews(args, request, std::move(inputs), {output});
  args.images = s.images;
  args.channels = s.channels;
  args.adaptive = s.adaptive;
  args.withoutPadding = s.withoutPadding;
  for (int d = 0; d < 2; ++d) {
    args.in[d] = s.in[d], args.out[d] = s.out[d], args.kernel[d] = s.kernel[d];
    args.stride[d] = s.stride[d], args.padding[d] = s.padding[d];
  }
  const Operand &result = request.outputs[0];
  return oneLaunch(request, symbol(function, {&x, &y, &result}), gridFor(*request.cuda, result.elements()), args, bind);
}

} // namespace

Bound kernels::max_pool2d(const KernelRequest &request) {
  return pool(request, "maxPool", request.inputs[0], request.outputs[0], {&PoolArgs::x}, &PoolArgs::y);
}
Bound kernels::max_pool2d_grad(const KernelRequest &request) {
  return pool(request, "maxPoolGrad", request.inputs[1], request.inputs[0], {&PoolArgs::dy, &PoolArgs::x},
              &PoolArgs::dx);
}
Bound kernels::avg_pool2d(const KernelRequest &request) {
  return pool(request, "meanPool", request.inputs[0], request.outputs[0], {&PoolArgs::x}, &PoolArgs::y);
}
Bound kernels::avg_pool2d_grad(const KernelRequest &request) {
  return pool(request, "meanPoolGrad", request.outputs[0], request.inputs[0], {&PoolArgs::dy}, &PoolArgs::dx);
}

} // namespace sluice::cuda
