//===- Step.cpp - accumulation of gradients and their norm --------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/vector/Loops.h"

namespace sluice::cpu {
namespace {

template <typename T> Bound accumulateOf(const KernelRequest &request) {
  bool first = request.attributes->integer("first") != 0;
  return makeKernel(request, [&l = loops().of<T>(), first](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    forStretches<2>(call.threads, {&x, &y}, [&](auto &at, std::int64_t count) {
      (first ? l.widen : l.addTo)(x.as<T>() + at[0], y.as<float>() + at[1], count);
    });
    return Status::ok();
  });
}

} // namespace

Bound fast::accumulate(const KernelRequest &request) {
  if (!allContiguousRows(request) || request.outputs[0].dtype != DType::f32 || !hasLoops(request.inputs[0].dtype))
    return useReference();
  return withLoops(request.inputs[0].dtype, [&]<typename T>() { return accumulateOf<T>(request); });
}

/// Squares, in f64, stretch after stretch of input after input.
Bound fast::power_sum(const KernelRequest &request) {
  bool fits = request.attributes->number("p") == 2 && allContiguousRows(request);
  for (const Operand &input : request.inputs)
    fits = fits && hasLoops(input.dtype);
  if (!fits)
    return useReference();
  return makeKernel(request, [&l = loops()](Call &call) {
    double sum = 0;
    for (const Operand &x : call.inputs)
      forStretches<1>(1, {&x}, [&](auto &at, std::int64_t count) {
        sum += withLoops(x.dtype, [&]<typename T>() { return l.of<T>().squareSum(x.as<T>() + at[0], count); });
      });
    store(call.outputs[0], 0, sum);
    return Status::ok();
  });
}

} // namespace sluice::cpu
