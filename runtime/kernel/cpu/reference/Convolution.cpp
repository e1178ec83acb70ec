//===- Convolution.cpp - convolution over two dims and its derivatives ------------------------===//
#include "runtime/kernel/cpu/ConvolutionShape.h"
#include "runtime/kernel/cpu/CpuKernels.h"

namespace sluice::cpu::reference {
namespace {

std::int64_t at(const Operand &o, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  return a * o.strides[0] + b * o.strides[1] + c * o.strides[2] + d * o.strides[3];
}

/// body(h, w, p, q) for each element of window (i, j) that is no padding: y[n, i, j, o] += x[n, p, q, c] weight[o, c,
/// h, w].
template <typename Body> void forWindow(const ConvolutionShape &s, std::int64_t i, std::int64_t j, Body body) {
  for (std::int64_t h = 0; h < s.kernel[0]; ++h)
    for (std::int64_t w = 0; w < s.kernel[1]; ++w) {
      std::int64_t p = s.place(0, i, h), q = s.place(1, j, w);
      if (p >= 0 && q >= 0)
        body(h, w, p, q);
    }
}

} // namespace

Bound conv2d(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(ConvolutionShape s,
                          ConvolutionShape::of(request, request.inputs[0], request.inputs[1], request.outputs[0]));
  bool hasBias = request.inputs.size() == 3;
  return makeKernel(request, [s, hasBias](Call &call) {
    const Operand &x = call.inputs[0], &weight = call.inputs[1], &y = call.outputs[0];
    std::int64_t ins = s.inputs / s.groups, outs = s.outputs / s.groups;
    for (std::int64_t n = 0; n < s.images; ++n)
      for (std::int64_t i = 0; i < s.out[0]; ++i)
        for (std::int64_t j = 0; j < s.out[1]; ++j)
          for (std::int64_t o = 0; o < s.outputs; ++o) {
            double sum = hasBias ? load(call.inputs[2], o * call.inputs[2].strides[0]) : 0;
            forWindow(s, i, j, [&](auto h, auto w, auto p, auto q) {
              for (std::int64_t c = 0; c < ins; ++c)
                sum += load(x, at(x, n, p, q, o / outs * ins + c)) * load(weight, at(weight, o, c, h, w));
            });
            store(y, at(y, n, i, j, o), sum);
          }
    return Status::ok();
  });
}

/// dx[n, p, q, c] = sum over the windows that contain it. Each element searches its windows, because sums of an image
/// row in double would need memory.
Bound conv2d_input_grad(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(ConvolutionShape s,
                          ConvolutionShape::of(request, request.outputs[0], request.inputs[1], request.inputs[0]));
  return makeKernel(request, [s](Call &call) {
    const Operand &dy = call.inputs[0], &weight = call.inputs[1], &dx = call.outputs[0];
    std::int64_t ins = s.inputs / s.groups, outs = s.outputs / s.groups;
    // The window whose element `element` is at position `place`, or -1.
    auto window = [&](int dim, std::int64_t place, std::int64_t element) -> std::int64_t {
      std::int64_t from = place + s.padding[dim] - element * s.dilation[dim];
      return from >= 0 && from % s.stride[dim] == 0 && from / s.stride[dim] < s.out[dim] ? from / s.stride[dim] : -1;
    };
    for (std::int64_t n = 0; n < s.images; ++n)
      for (std::int64_t p = 0; p < s.in[0]; ++p)
        for (std::int64_t q = 0; q < s.in[1]; ++q)
          for (std::int64_t c = 0; c < s.inputs; ++c) {
            double sum = 0;
            std::int64_t group = c / ins;
            for (std::int64_t h = 0; h < s.kernel[0]; ++h)
              for (std::int64_t w = 0; w < s.kernel[1]; ++w) {
                std::int64_t i = window(0, p, h), j = window(1, q, w);
                if (i >= 0 && j >= 0)
                  for (std::int64_t o = group * outs; o < (group + 1) * outs; ++o)
                    sum += load(dy, at(dy, n, i, j, o)) * load(weight, at(weight, o, c % ins, h, w));
              }
            store(dx, at(dx, n, p, q, c), sum);
          }
    return Status::ok();
  });
}

Bound conv2d_weight_grad(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(ConvolutionShape s,
                          ConvolutionShape::of(request, request.inputs[1], request.outputs[0], request.inputs[0]));
  return makeKernel(request, [s](Call &call) {
    const Operand &dy = call.inputs[0], &x = call.inputs[1], &dweight = call.outputs[0];
    std::int64_t ins = s.inputs / s.groups, outs = s.outputs / s.groups;
    for (std::int64_t o = 0; o < s.outputs; ++o)
      for (std::int64_t c = 0; c < ins; ++c)
        for (std::int64_t h = 0; h < s.kernel[0]; ++h)
          for (std::int64_t w = 0; w < s.kernel[1]; ++w) {
            double sum = 0;
            for (std::int64_t n = 0; n < s.images; ++n)
              for (std::int64_t i = 0; i < s.out[0]; ++i)
                for (std::int64_t j = 0; j < s.out[1]; ++j) {
                  std::int64_t p = s.place(0, i, h), q = s.place(1, j, w);
                  if (p >= 0 && q >= 0)
                    sum += load(dy, at(dy, n, i, j, o)) * load(x, at(x, n, p, q, o / outs * ins + c));
                }
            store(dweight, at(dweight, o, c, h, w), sum);
          }
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
