//===- Matmul.cpp - the matrix product as its formula -------------------------===//
//
// Sums are over k upwards, in double. Columns are computed in blocks so that a row of b is read in order.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/MatmulShape.h"

#include <algorithm>

namespace sluice::cpu::reference {
namespace {

constexpr std::int64_t block = 64;

template <typename T>
void product(const MatmulShape &s, const T *a, const T *b, std::int64_t m, std::int64_t n0, std::int64_t width,
             double *sum) {
  for (std::int64_t k = 0; k < s.k; ++k) {
    double factor = a[m * s.aM + k * s.aK];
    const T *row = b + k * s.bK + n0 * s.bN;
    for (std::int64_t n = 0; n < width; ++n)
      sum[n] += factor * row[n * s.bN];
  }
}

} // namespace

Bound matmul(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(MatmulShape shape, MatmulShape::of(request));
  return makeKernel(request, [s = shape](Call &call) {
    const Operand &a = call.inputs[0], &b = call.inputs[1], &c = call.outputs[0];
    const Operand *bias = s.bias < 0 ? nullptr : &call.inputs[s.bias];
    const Operand *residual = s.residual < 0 ? nullptr : &call.inputs[s.residual];
    walk<4>(s.batchRank, s.batchExtent, {s.aBatch, s.bBatch, s.cBatch, s.rBatch}, [&](auto &at) {
      for (std::int64_t m = 0; m < s.m; ++m)
        for (std::int64_t n0 = 0; n0 < s.n; n0 += block) {
          std::int64_t width = std::min(block, s.n - n0);
          double sum[block] = {};
          withType(a.dtype, [&]<typename T>() { product(s, a.as<T>() + at[0], b.as<T>() + at[1], m, n0, width, sum); });
          for (std::int64_t n = 0; n < width; ++n) {
            double value = sum[n];
            if (bias)
              value += load(*bias, (n0 + n) * s.biasN);
            if (residual)
              value += load(*residual, at[3] + m * s.rM + (n0 + n) * s.rN);
            store(c, at[2] + m * s.cM + (n0 + n) * s.cN, value);
          }
        }
    });
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
