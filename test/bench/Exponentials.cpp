//===- Exponentials.cpp - exponentials and nothing else ------------------------===//
//
// The exponentials of the kernels' own inner loops over numbers in the first cache, added up: with AVX2, what a kernel
// that takes so many cannot be faster than.
//
//===----------------------------------------------------------------------===//
#include "test/bench/Exponentials.h"

#include "runtime/kernel/cpu/Numbers.h"

#include <immintrin.h>

#include <utility>

#pragma GCC target("avx2,fma,f16c")
#define SLUICE_LANES 8

namespace sluice::bench {
namespace {
namespace avx2 {
using cpu::Bf16;
using cpu::F16;
#include "runtime/kernel/cpu/vector/Vector.inc"

template <typename T> float sumOf(const float *x, std::int64_t count) {
  V sum[2] = {splat(0.f), splat(0.f)};
  for (std::int64_t i = 0; i + 2 * lanes <= count; i += 2 * lanes) {
    sum[0] += exponentialFor<T>(load(x + i));
    sum[1] += exponentialFor<T>(load(x + i + lanes));
  }
  return total(sum[0] + sum[1]);
}
} // namespace avx2
} // namespace

float sumOfExponentials(const float *x, std::int64_t count, bool forBf16) {
  return forBf16 ? avx2::sumOf<cpu::Bf16>(x, count) : avx2::sumOf<float>(x, count);
}

} // namespace sluice::bench
