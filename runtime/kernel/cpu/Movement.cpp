//===- Movement.cpp - strided copies ------------------------------------------===//
//
// Stretches where both sides have contiguous rows, else element by element with the type's size known.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/Registry.h"
#include "runtime/kernel/cpu/reference/References.h"

#include <cstring>

namespace sluice::cpu {
namespace {

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

Bound copy(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto slow, reference::copy(request));
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  if (sameExtent(x, y) && allContiguousRows(request))
    return makeKernel(request, [](Call &call) {
      const Operand &x = call.inputs[0], &y = call.outputs[0];
      auto bytes = static_cast<std::int64_t>(dtypeBytes(y.dtype));
      forStretches<2>(call.threads, {&x, &y}, [&](auto &at, std::int64_t count) {
        std::memmove(y.as<char>() + at[1] * bytes, x.as<char>() + at[0] * bytes,
                     static_cast<std::size_t>(count * bytes));
      });
      return Status::ok();
    });
  return makeKernel(request, [](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    switch (dtypeBytes(y.dtype)) {
    case 1:
      copyStrided<std::uint8_t>(x, y, call.threads);
      break;
    case 2:
      copyStrided<std::uint16_t>(x, y, call.threads);
      break;
    case 4:
      copyStrided<std::uint32_t>(x, y, call.threads);
      break;
    default:
      copyStrided<std::uint64_t>(x, y, call.threads);
      break;
    }
    return Status::ok();
  });
}

constexpr FastKernel kernels[] = {{"copy", copy}};

} // namespace

FastKernels movementKernels() { return kernels; }

} // namespace sluice::cpu
