//===- Reduction.cpp - sums over leading dims ---------------------------------===//
//
// The gradient of a broadcast over rows: the reduced dims come first, the kept ones are contiguous columns. Rows are
// added in runs of 64, and the runs in order: the formula depends only on the number of rows.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/vector/Loops.h"

namespace sluice::cpu {
namespace {

constexpr std::int64_t blockRows = 64, columnBlock = 512;

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

template <typename T> Bound leadingOf(const KernelRequest &request, std::int64_t rows, std::int64_t columns) {
  double divisor = request.attributes->integer("mean") ? static_cast<double>(rows) : 1;
  return makeKernel(request, [rows, columns, divisor, adds = request.adds[0]](Call &call) {
    const T *x = call.inputs[0].as<T>();
    const Operand &y = call.outputs[0];
    forEach(call.threads, (columns + columnBlock - 1) / columnBlock, [&](std::int64_t block) {
      std::int64_t begin = block * columnBlock, count = std::min(columnBlock, columns - begin);
      float sums[columnBlock];
      columnSums(x + begin, rows, columns, count, sums);
      for (std::int64_t c = 0; c < count; ++c)
        storeResult(y, begin + c, sums[c] / divisor, adds);
    });
    return Status::ok();
  });
}

} // namespace

Bound fast::reduce_sum(const KernelRequest &request) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  auto dims = request.attributes->list("dims");
  // Distinct dims, all below the number of them: the leading ones.
  auto leading = static_cast<std::int64_t>(dims.size());
  bool fits = x.isDense() && y.isDense() && leading < x.rank;
  for (std::int64_t dim : dims)
    fits = fits && dim < leading;
  if (!fits)
    return useReference();
  std::int64_t rows = extentOf(x, 0, static_cast<int>(leading));
  std::int64_t columns = extentOf(x, static_cast<int>(leading), x.rank);
  if (!hasLoops(x.dtype) || y.dtype == DType::f64)
    return useReference();
  return withLoops(x.dtype, [&]<typename T>() { return leadingOf<T>(request, rows, columns); });
}

} // namespace sluice::cpu
