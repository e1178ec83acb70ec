//===- Movement.cpp - copies of elements ----------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"

#include <cstring>

namespace sluice::cpu::reference {
namespace {

/// Copies x to y, extents of y, with the given strides of x.
void move(const Operand &x, const Dims &xStrides, std::int64_t xOffset, const Operand &y, std::int64_t yOffset,
          const Dims &extent) {
  std::size_t bytes = dtypeBytes(y.dtype);
  const char *from = x.as<char>() + xOffset * static_cast<std::int64_t>(bytes);
  char *to = y.as<char>() + yOffset * static_cast<std::int64_t>(bytes);
  walk<2>(y.rank, extent, {xStrides, y.strides},
          [&](auto &at) { std::memcpy(to + at[1] * bytes, from + at[0] * bytes, bytes); });
}

} // namespace

Bound copy(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(Check(request).dtype(request.inputs[0], request.outputs[0].dtype));
  return makeKernel(request, [](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    move(x, broadcastStrides(x, y), 0, y, 0, y.extent);
    return Status::ok();
  });
}

Bound slice(const KernelRequest &request) {
  Check check(request);
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  SLUICE_RETURN_IF_ERROR(check.dtype(x, y.dtype));
  SLUICE_RETURN_IF_ERROR(check.rank(x, y.rank));
  SLUICE_ASSIGN_OR_RETURN(int dim, check.dimOf(y));
  for (int d = 0; d < y.rank; ++d)
    if (d != dim)
      SLUICE_RETURN_IF_ERROR(check.dim(x, d, y.extent[d]));
  if (y.extent[dim] > 0 && y.origin[dim] + y.extent[dim] > x.extent[dim])
    return check.refuse("rows, expected at most ", x.extent[dim], " but got ", y.origin[dim] + y.extent[dim]);
  return makeKernel(request, [dim](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    move(x, x.strides, y.origin[dim] * x.strides[dim], y, 0, y.extent);
    return Status::ok();
  });
}

Bound concat(const KernelRequest &request) {
  Check check(request);
  const Operand &y = request.outputs[0];
  SLUICE_ASSIGN_OR_RETURN(int dim, check.dimOf(y));
  std::int64_t total = 0;
  for (const Operand &input : request.inputs) {
    SLUICE_RETURN_IF_ERROR(check.dtype(input, y.dtype));
    SLUICE_RETURN_IF_ERROR(check.rank(input, y.rank));
    for (int d = 0; d < y.rank; ++d)
      if (d != dim)
        SLUICE_RETURN_IF_ERROR(check.dim(input, d, y.extent[d]));
    total += input.extent[dim];
  }
  SLUICE_RETURN_IF_ERROR(check.dim(y, dim, total));
  return makeKernel(request, [dim](Call &call) {
    const Operand &y = call.outputs[0];
    std::int64_t offset = 0;
    for (const Operand &input : call.inputs) {
      move(input, input.strides, 0, y, offset * y.strides[dim], input.extent);
      offset += input.extent[dim];
    }
    return Status::ok();
  });
}

// A sharded input may be padded up to the capacity of its buffer.
Bound pad(const KernelRequest &request) {
  Check check(request);
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  SLUICE_RETURN_IF_ERROR(check.dtype(x, y.dtype));
  SLUICE_RETURN_IF_ERROR(check.rank(x, y.rank));
  auto low = request.attributes->list("low"), high = request.attributes->list("high"),
       step = request.attributes->list("step");
  if (low.size() != static_cast<std::size_t>(y.rank) || high.size() != low.size())
    return check.refuse("low and high, expected ", y.rank, " numbers each but got ", low.size(), " and ", high.size());
  if (!step.empty() && step.size() != low.size())
    return check.refuse("step, expected ", y.rank, " numbers but got ", step.size());
  Dims before{}, pitch{};
  for (int d = 0; d < y.rank; ++d) {
    if (low[d] < 0 || high[d] < 0)
      return check.refuse("padding, expected no negative number but got ", std::min(low[d], high[d]));
    pitch[d] = step.empty() ? 1 : step[d];
    if (pitch[d] < 1)
      return check.refuse("step, expected positive numbers but got ", pitch[d]);
    std::int64_t padded = 0, extent = x.extent[d];
    if (extent < x.shape[d] && y.extent[d] == y.shape[d])
      extent = x.shape[d];
    if (__builtin_mul_overflow(std::max<std::int64_t>(extent - 1, 0), pitch[d], &padded) ||
        __builtin_add_overflow(padded, std::min<std::int64_t>(extent, 1), &padded) ||
        __builtin_add_overflow(padded, low[d], &padded) || __builtin_add_overflow(padded, high[d], &padded))
      return check.refuse("padded extent, expected at most 63 bits but got more in dim ", d);
    SLUICE_RETURN_IF_ERROR(check.dim(y, d, padded));
    before[d] = low[d];
  }
  double value = request.attributes->number("value");
  return makeKernel(request, [before, pitch, value](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    walk<1>(y.rank, y.extent, {y.strides}, [&](auto &at) { store(y, at[0], value); });
    std::int64_t offset = 0;
    Operand spread = y;
    for (int d = 0; d < y.rank; ++d) {
      offset += before[d] * y.strides[d];
      spread.strides[d] *= pitch[d];
    }
    move(x, x.strides, 0, spread, offset, x.extent);
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
