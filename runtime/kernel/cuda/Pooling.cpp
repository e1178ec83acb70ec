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
Bound pool(std::string_view name, std::string_view function, const KernelRequest &request, const Operand &x,
           const Operand &y, Bind<PoolArgs> bind) {
  if (name != "max_pool2d_grad")
    if (Bound other = byDnn(name, request); !other.isOk() || *other)
      return other;
  SLUICE_ASSIGN_OR_RETURN(cpu::PoolShape s, cpu::PoolShape::of(request, x, y));
  PoolArgs args;
  args.x = args.dx = viewOf(x);
  args.y = args.dy = viewOf(y);
  // The gradient of a maximum also reads the image.
  if (request.inputs.size() == 2)
    args.dx = viewOf(request.outputs[0]);
  args.images = s.images;
  args.channels = s.channels;
  args.adaptive = s.adaptive;
  args.withoutPadding = s.withoutPadding;
  for (int d = 0; d < 2; ++d) {
    args.in[d] = s.in[d], args.out[d] = s.out[d], args.kernel[d] = s.kernel[d];
    args.stride[d] = s.stride[d], args.padding[d] = s.padding[d];
  }
  const Operand &result = request.outputs[0];
  return oneLaunch(request, symbol(function, {&x, &y, &result}), gridFor(*request.cuda, result.elements()), args,
                   std::move(bind));
}

void bindForward(PoolArgs &args, const RunAddresses &run) {
  args.x.data = run.inputs[0];
  args.y.data = run.outputs[0];
}

Bound maxPoolOf(const KernelRequest &request) {
  return pool("max_pool2d", "maxPool", request, request.inputs[0], request.outputs[0], bindForward);
}
Bound meanPoolOf(const KernelRequest &request) {
  return pool("avg_pool2d", "meanPool", request, request.inputs[0], request.outputs[0], bindForward);
}
Bound maxPoolGradOf(const KernelRequest &request) {
  return pool("max_pool2d_grad", "maxPoolGrad", request, request.inputs[1], request.inputs[0],
              [](PoolArgs &args, const RunAddresses &run) {
                args.dy.data = run.inputs[0];
                args.x.data = run.inputs[1];
                args.dx.data = run.outputs[0];
              });
}
Bound meanPoolGradOf(const KernelRequest &request) {
  return pool("avg_pool2d_grad", "meanPoolGrad", request, request.outputs[0], request.inputs[0],
              [](PoolArgs &args, const RunAddresses &run) {
                args.dy.data = run.inputs[0];
                args.dx.data = run.outputs[0];
              });
}

} // namespace

CudaKernels poolingKernels() {
  static constexpr CudaKernel kernels[] = {{KernelId::max_pool2d, maxPoolOf},
                                           {KernelId::max_pool2d_grad, maxPoolGradOf},
                                           {KernelId::avg_pool2d, meanPoolOf},
                                           {KernelId::avg_pool2d_grad, meanPoolGradOf}};
  return kernels;
}

} // namespace sluice::cuda
