//===- Reduction.cpp - sums and maxima over dims ------------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"

#include <limits>

namespace sluice::cpu::reference {
namespace {

/// y[kept] = combine over x[reduced], row-major over the reduced dims, starting from `start`; with the attribute `mean`
/// divided by the number of elements combined.
template <typename Combine> Bound reduce(const KernelRequest &request, double start, Combine combine) {
  Check check(request);
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  std::array<bool, maxRank> reduced{};
  int kept = x.rank;
  for (std::int64_t dim : request.attributes->list("dims")) {
    if (dim < 0 || dim >= x.rank || reduced[dim])
      return check.refuse("dims, expected distinct dims below ", x.rank, " but got ", dim);
    reduced[dim] = true;
    --kept;
  }
  // reduce_max has no mean.
  const bool mean = request.attributes->integer("mean", 0) != 0, adds = request.adds[0];
  Dims outerExtent{}, outerX{}, outerY{}, innerExtent{}, innerX{};
  int outer = 0, inner = 0;
  for (int d = 0, out = 0; d < x.rank; ++d) {
    if (reduced[d]) {
      innerExtent[inner] = x.extent[d];
      innerX[inner++] = x.strides[d];
      // The output keeps the reduced dims with extent 1, or leaves them out.
      out += y.rank == x.rank && kept != x.rank;
      continue;
    }
    outerExtent[outer] = x.extent[d];
    outerX[outer] = x.strides[d];
    outerY[outer++] = y.strides[out++];
  }
  double divisor = 1;
  for (int d = 0; mean && d < inner; ++d)
    divisor *= static_cast<double>(innerExtent[d]);
  return makeKernel(request, [=](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    walk<2>(outer, outerExtent, {outerX, outerY}, [&](auto &at) {
      double result = start;
      walk<1>(inner, innerExtent, {innerX}, [&](auto &in) { result = combine(result, load(x, at[0] + in[0])); });
      storeResult(y, at[1], result / divisor, adds);
    });
    return Status::ok();
  });
}

} // namespace

Bound reduce_sum(const KernelRequest &request) {
  return reduce(request, 0, [](double sum, double x) { return sum + x; });
}

Bound reduce_max(const KernelRequest &request) {
  return reduce(request, -std::numeric_limits<double>::infinity(),
                [](double best, double x) { return best != best || best > x ? best : x; });
}

} // namespace sluice::cpu::reference
