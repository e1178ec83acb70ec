//===- Reduction.cpp - sums over leading or middle dims -----------------------===//
//
// The gradient of a broadcast over rows, and the mean of an image's channels: the reduced dims follow each other, and
// the kept ones after them are contiguous columns. Rows are added in runs of 64, and the runs in order: the formula
// depends only on the number of rows.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <algorithm>

namespace sluice::cpu {
namespace {

constexpr std::int64_t blockRows = 64, columnBlock = 512, leastColumns = 8;

/// Sums of `count` columns of rows at distance `pitch`.
template <typename T>
void columnSums(const T *x, std::int64_t rows, std::int64_t pitch, std::int64_t count, float *sums) {
  std::fill(sums, sums + count, 0.f);
  for (std::int64_t begin = 0; begin < rows; begin += blockRows) {
    float run[columnBlock] = {};
    for (std::int64_t row = begin; row < std::min(rows, begin + blockRows); ++row)
      loops().of<T>().addTo(x + row * pitch, run, count);
    loops().f32.addTo(run, sums, count);
  }
}

/// x is [batches, rows, columns].
template <typename T>
Bound rowSumsOf(const KernelRequest &request, std::int64_t batches, std::int64_t rows, std::int64_t columns) {
  double divisor = request.attributes->integer("mean") ? static_cast<double>(rows) : 1;
  return makeKernel(request, [batches, rows, columns, divisor, adds = request.adds[0]](Call &call) {
    const T *x = call.inputs[0].as<T>();
    const Operand &y = call.outputs[0];
    const std::int64_t blocks = (columns + columnBlock - 1) / columnBlock;
    forEach(call.threads, batches * blocks, [&](std::int64_t i) {
      std::int64_t batch = i / blocks, begin = i % blocks * columnBlock, count = std::min(columnBlock, columns - begin);
      float sums[columnBlock];
      columnSums(x + batch * rows * columns + begin, rows, columns, count, sums);
      for (std::int64_t c = 0; c < count; ++c)
        storeResult(y, batch * columns + begin + c, sums[c] / divisor, adds);
    });
    return Status::ok();
  });
}

} // namespace

Bound fast::reduce_sum(const KernelRequest &request) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  auto dims = request.attributes->list("dims");
  // Distinct dims that follow each other.
  const auto [least, most] = std::ranges::minmax_element(dims);
  const auto first = dims.empty() ? 0 : static_cast<int>(*least), end = first + static_cast<int>(dims.size());
  if (!x.isDense() || !y.isDense() || end >= x.rank || (!dims.empty() && *most >= end))
    return useReference();
  std::int64_t batches = extentOf(x, 0, first), rows = extentOf(x, first, end), columns = extentOf(x, end, x.rank);
  // Fewer columns do not fill a vector.
  if (first > 0 && columns < leastColumns)
    return useReference();
  if (!hasLoops(x.dtype) || y.dtype == DType::f64)
    return useReference();
  return withLoops(x.dtype, [&]<typename T>() { return rowSumsOf<T>(request, batches, rows, columns); });
}

} // namespace sluice::cpu
