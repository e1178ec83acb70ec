//===- ConvolutionShape.cpp - the operands of a convolution or pooling, resolved ------------===//
#include "runtime/kernel/cpu/ConvolutionShape.h"

namespace sluice::cpu {
namespace {

/// Limit of extents, so that products of positions do not overflow.
constexpr std::int64_t largest = std::int64_t(1) << 40;

Status readPair(const KernelRequest &request, std::string_view name, std::int64_t least, Pair &pair) {
  const Check check(request);
  auto list = request.attributes->list(name);
  if (list.size() != 2)
    return check.refuse(name, ", expected 2 numbers but got ", list.size());
  for (int d = 0; d < 2; ++d) {
    if (list[d] < least || list[d] > (std::int64_t(1) << 20))
      return check.refuse(name, ", expected ", least, " to 1048576 but got ", list[d]);
    pair[d] = list[d];
  }
  return Status::ok();
}

Status checkImages(const Check &check, const Operand &operand) {
  for (int d = 0; d < 4; ++d)
    if (operand.extent[d] > largest)
      return check.refuse("extents, expected at most 2^40 but got ", operand.extent[d]);
  return Status::ok();
}

} // namespace

Result<ConvolutionShape> ConvolutionShape::of(const KernelRequest &request, const Operand &x, const Operand &weight,
                                              const Operand &y) {
  const Check check(request);
  for (const Operand *operand : {&x, &weight, &y})
    SLUICE_RETURN_IF_ERROR(checkImages(check, *operand));
  ConvolutionShape s;
  SLUICE_RETURN_IF_ERROR(readPair(request, "stride", 1, s.stride));
  SLUICE_RETURN_IF_ERROR(readPair(request, "padding", 0, s.padding));
  SLUICE_RETURN_IF_ERROR(readPair(request, "dilation", 1, s.dilation));
  s.groups = request.attributes->integer("groups");
  s.images = x.extent[0], s.inputs = x.extent[3], s.outputs = weight.extent[0];
  if (s.groups < 1 || s.inputs % s.groups != 0 || s.outputs % s.groups != 0)
    return check.refuse("groups, expected a divisor of ", s.inputs, " and ", s.outputs, " but got ", s.groups);
  SLUICE_RETURN_IF_ERROR(check.dim(weight, 1, s.inputs / s.groups));
  for (int d = 0; d < 2; ++d) {
    s.in[d] = x.extent[1 + d], s.out[d] = y.extent[1 + d], s.kernel[d] = weight.extent[2 + d];
    std::int64_t room = s.in[d] + 2 * s.padding[d] - s.dilation[d] * (s.kernel[d] - 1) - 1;
    if (s.kernel[d] < 1 || room < 0)
      return check.refuse("window, expected at most the padded input but got ", s.kernel[d]);
    SLUICE_RETURN_IF_ERROR(check.dim(y, 1 + d, room / s.stride[d] + 1));
  }
  return s;
}

Result<PoolShape> PoolShape::of(const KernelRequest &request, const Operand &x, const Operand &y) {
  const Check check(request);
  for (const Operand *operand : {&x, &y})
    SLUICE_RETURN_IF_ERROR(checkImages(check, *operand));
  PoolShape s;
  // Only avg_pool2d and its gradient have them.
  s.adaptive = request.attributes->integer("adaptive", 0) != 0;
  s.withoutPadding = request.attributes->integer("without_padding", 0) != 0;
  s.images = x.extent[0], s.channels = x.extent[3];
  if (!s.adaptive) {
    SLUICE_RETURN_IF_ERROR(readPair(request, "kernel", 1, s.kernel));
    SLUICE_RETURN_IF_ERROR(readPair(request, "stride", 1, s.stride));
    SLUICE_RETURN_IF_ERROR(readPair(request, "padding", 0, s.padding));
  }
  for (int d = 0; d < 2; ++d) {
    s.in[d] = x.extent[1 + d], s.out[d] = y.extent[1 + d];
    if (s.adaptive) {
      if (s.in[d] < 1 || s.out[d] < 1)
        return check.refuse("extents, expected at least 1 but got ", std::min(s.in[d], s.out[d]));
      continue;
    }
    if (2 * s.padding[d] > s.kernel[d])
      return check.refuse("padding, expected at most half the kernel but got ", s.padding[d]);
    std::int64_t room = s.in[d] + 2 * s.padding[d] - s.kernel[d];
    if (room < 0)
      return check.refuse("window, expected at most the padded input but got ", s.kernel[d]);
    SLUICE_RETURN_IF_ERROR(check.dim(y, 1 + d, room / s.stride[d] + 1));
  }
  return s;
}

} // namespace sluice::cpu
