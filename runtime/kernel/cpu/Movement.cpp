//===- Movement.cpp - constants and strided copies ----------------------------===//
//
// Stretches where both sides have contiguous rows, else element by element with the type's size known.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/Parallel.h"

#include <cstring>

namespace sluice::cpu {
namespace {

/// Every element of y becomes `value`: writes one element, then copies it to the others. The rows of y are contiguous.
void fillRows(const Operand &y, double value, int threads) {
  std::size_t bytes = dtypeBytes(y.dtype);
  forStretches<1>(threads, {&y}, [&](auto &at, std::int64_t count) {
    if (count == 0)
      return;
    char *to = y.as<char>() + at[0] * static_cast<std::int64_t>(bytes);
    storeNumber(to, y.dtype, 0, value);
    std::size_t total = bytes * static_cast<std::size_t>(count);
    for (std::size_t done = bytes; done < total; done *= 2)
      std::memcpy(to + done, to, std::min(done, total - done));
  });
}

/// A window of y from element `offset` on, with other extents.
Operand windowOf(const Operand &y, std::int64_t offset, const Dims &extent) {
  Operand window = y;
  window.data = y.as<char>() + offset * static_cast<std::int64_t>(dtypeBytes(y.dtype));
  window.extent = extent;
  return window;
}

template <typename Word> void copyStrided(const Operand &x, const Operand &y, int threads) {
  Dims xStrides = broadcastStrides(x, y);
  Operand seen = y;
  seen.data = x.data;
  seen.strides = xStrides;
  Rows from(seen), to(y);
  forEach(threads, to.rows, [&](std::int64_t row) {
    const Word *source = from.at<Word>(row);
    Word *target = to.at<Word>(row);
    for (std::int64_t i = 0; i < to.columns; ++i)
      target[i * to.stride] = source[i * from.stride];
  });
}

/// Copies x to y, of one type and equal extents or x repeating over y's.
void copyWindow(const Operand &x, const Operand &y, int threads) {
  auto bytes = static_cast<std::int64_t>(dtypeBytes(y.dtype));
  if (sameExtent(x, y) && contiguousRows(x) && contiguousRows(y)) {
    forStretches<2>(threads, {&x, &y}, [&](auto &at, std::int64_t count) {
      std::memmove(y.as<char>() + at[1] * bytes, x.as<char>() + at[0] * bytes, static_cast<std::size_t>(count * bytes));
    });
    return;
  }
  withWord(y.dtype, [&]<typename Word>() { copyStrided<Word>(x, y, threads); });
}

} // namespace

Bound fast::constant(const KernelRequest &request) {
  if (!contiguousRows(request.outputs[0]))
    return useReference();
  double value = request.attributes->number("value");
  return makeKernel(request, [value](Call &call) {
    fillRows(call.outputs[0], value, call.threads);
    return Status::ok();
  });
}

Bound fast::copy(const KernelRequest &request) {
  return makeKernel(request, [](Call &call) {
    copyWindow(call.inputs[0], call.outputs[0], call.threads);
    return Status::ok();
  });
}

/// The rows at the output's origin and extent.
Bound fast::slice(const KernelRequest &request) {
  std::int64_t dim = request.attributes->integer("dim");
  return makeKernel(request, [dim](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    if (y.elements())
      copyWindow(windowOf(x, y.origin[dim] * x.strides[dim], y.extent), y, call.threads);
    return Status::ok();
  });
}

Bound fast::concat(const KernelRequest &request) {
  std::int64_t dim = request.attributes->integer("dim");
  return makeKernel(request, [dim](Call &call) {
    const Operand &y = call.outputs[0];
    std::int64_t at = 0;
    for (const Operand &input : call.inputs) {
      if (input.elements())
        copyWindow(input, windowOf(y, at * y.strides[dim], input.extent), call.threads);
      at += input.extent[dim];
    }
    return Status::ok();
  });
}

/// The padding value everywhere, then the input over it.
Bound fast::pad(const KernelRequest &request) {
  if (!contiguousRows(request.outputs[0]))
    return useReference();
  Dims low{}, step{};
  for (int d = 0; d < request.outputs[0].rank; ++d) {
    auto steps = request.attributes->list("step");
    low[d] = request.attributes->list("low")[d];
    step[d] = steps.empty() ? 1 : steps[d];
  }
  double value = request.attributes->number("value");
  return makeKernel(request, [low, step, value](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    fillRows(y, value, call.threads);
    if (x.elements() == 0)
      return Status::ok();
    std::int64_t offset = 0;
    for (int d = 0; d < y.rank; ++d)
      offset += low[d] * y.strides[d];
    Operand window = windowOf(y, offset, x.extent);
    for (int d = 0; d < y.rank; ++d)
      window.strides[d] *= step[d];
    copyWindow(x, window, call.threads);
    return Status::ok();
  });
}

} // namespace sluice::cpu
