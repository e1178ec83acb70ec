//===- Statistics.cpp - variances and sums without NaN of ATen -----------------------------===//

#include "passes/import/export/aten/Operands.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::statistics {

using Sizes = llvm::SmallVector<std::int64_t>;

struct Moments {
  Value variance, mean;
};

/// The argument of an overload that gives the number to subtract from the number of elements.
enum class Correction { number, isUnbiased, isUnbiasedOfAll };

/// The mean square of the distance from the mean, times n / (n - correction).
template <Correction kind> Moments momentsOf(Call &call) {
  Value self = call.cast(call.value("self"), call.elementType(call.result().type));
  const bool isOfAll = kind == Correction::isUnbiasedOfAll;
  const Sizes dims = isOfAll ? allDims(self) : call.dims("dim", Call::rankOf(self));
  const bool keep = !isOfAll && call.flag("keepdim");
  double count = 1;
  for (const std::int64_t dim : dims)
    count *= static_cast<double>(call.extentOf(self, dim));
  double correction = 1;
  if constexpr (kind == Correction::number)
    correction = call.optionalNumber("correction").value_or(1);
  else
    correction = call.flag("unbiased") ? 1 : 0;
  if (count <= correction) {
    call.refuse("a variance of no more elements than its correction");
    return {self, self};
  }
  Value mean = reduce<model::ReduceMeanOp>(call, self, dims, true);
  Value error = subtract(call, self, mean);
  Value square = reduce<model::ReduceMeanOp>(call, multiply(call, error, error), dims, keep);
  Value variance = call.scale(square, count / (count - correction));
  return {variance, keep ? mean : call.reshape(mean, Call::shapeOf(variance))};
}
template <Correction kind> void variance(Call &call) { call.set(momentsOf<kind>(call).variance); }
/// torch's derivative at a deviation of 0 is 0.
template <Correction kind> void deviation(Call &call) { call.set(safeRoot(call, momentsOf<kind>(call).variance)); }
template <Correction kind> void varianceAndMean(Call &call) {
  const Moments moments = momentsOf<kind>(call);
  call.set({moments.variance, moments.mean});
}
template <Correction kind> void deviationAndMean(Call &call) {
  const Moments moments = momentsOf<kind>(call);
  call.set({safeRoot(call, moments.variance), moments.mean});
}

/// NaN count as 0, and for the mean not at all.
template <bool isMean> void withoutNan(Call &call) {
  Value x = call.cast(call.value("self"), call.elementType(call.result().type)), nan = isNan(call, x);
  const Sizes dims = call.dims("dim", Call::rankOf(x));
  const bool keep = call.flag("keepdim");
  Value sum = reduce<model::ReduceSumOp>(call, call.select(nan, call.scalar(0, x), x), dims, keep);
  if (!isMean)
    return call.set(sum);
  Value one = call.broadcast(call.scalar(1, x), Call::shapeOf(x));
  call.set(divide(call, sum, reduce<model::ReduceSumOp>(call, call.select(nan, call.scalar(0, x), one), dims, keep)));
}

/// The areas between each two elements of a dim, by one distance or by the positions of the elements.
template <bool hasPositions> Value areasOf(Call &call, std::int64_t &dim) {
  Value y = call.value("y");
  dim = call.dim("dim", Call::rankOf(y));
  const auto between = [&](Value x, std::int64_t along, auto make) {
    const std::int64_t size = call.extentOf(x, along);
    return make(call.slice(x, along, 1, size), call.slice(x, along, 0, size - 1));
  };
  if (call.extentOf(y, dim) < 2) {
    call.refuse("an area of fewer than two elements");
    return y;
  }
  Value heights = call.scale(between(y, dim, [&](Value a, Value b) { return add(call, a, b); }), 0.5);
  if constexpr (!hasPositions)
    return call.scale(heights, call.number("dx"));
  Value x = call.value("x");
  // A vector is the positions along the dim.
  if (Call::rankOf(x) == 1 && Call::rankOf(y) > 1) {
    Sizes shape(Call::shapeOf(y).size(), 1);
    shape[static_cast<std::size_t>(dim)] = countOf(x);
    x = call.reshape(x, shape);
  }
  const std::int64_t along = dim + Call::rankOf(x) - Call::rankOf(y);
  return multiply(call, heights, between(x, along, [&](Value a, Value b) { return subtract(call, a, b); }));
}
template <bool hasPositions> void trapezoid(Call &call) {
  std::int64_t dim = 0;
  Value areas = areasOf<hasPositions>(call, dim);
  if (call.problem().empty())
    call.set(reduce<model::ReduceSumOp>(call, areas, {dim + Call::rankOf(areas) - Call::rankOf(call.value("y"))}));
}

constexpr AtenOp table[] = {
    {"nanmean.default", withoutNan<true>},
    {"nansum.default", withoutNan<false>},
    {"std.correction", deviation<Correction::number>},
    {"std.default", deviation<Correction::isUnbiasedOfAll>},
    {"std.dim", deviation<Correction::isUnbiased>},
    {"std_mean.correction", deviationAndMean<Correction::number>},
    {"std_mean.default", deviationAndMean<Correction::isUnbiasedOfAll>},
    {"std_mean.dim", deviationAndMean<Correction::isUnbiased>},
    {"trapezoid.dx", trapezoid<false>},
    {"trapezoid.x", trapezoid<true>},
    {"trapz.dx", trapezoid<false>},
    {"trapz.x", trapezoid<true>},
    {"var.correction", variance<Correction::number>},
    {"var.default", variance<Correction::isUnbiasedOfAll>},
    {"var.dim", variance<Correction::isUnbiased>},
    {"var_mean.correction", varianceAndMean<Correction::number>},
    {"var_mean.default", varianceAndMean<Correction::isUnbiasedOfAll>},
    {"var_mean.dim", varianceAndMean<Correction::isUnbiased>},
};

} // namespace sluice::exported::statistics

llvm::ArrayRef<AtenOp> exported::statisticsOps() { return statistics::table; }
