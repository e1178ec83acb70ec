//===- Exponentials.cpp - exponentials and nothing else ------------------------===//
//
// The exponentials of the kernels' own inner loops over numbers in the first cache, added up: what a kernel that takes
// so many cannot be faster than. One form for each instruction set, under the targets of the kernels' loops.
//
//===----------------------------------------------------------------------===//
#include "test/bench/Exponentials.h"

#include "runtime/kernel/cpu/Numbers.h"

#include <immintrin.h>

#include <utility>

namespace sluice::bench {
namespace {

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#define SLUICE_LANES 8
namespace avx2 {
#include "test/bench/Exponentials.inc"
} // namespace avx2
#undef SLUICE_LANES
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#define SLUICE_LANES 16
namespace avx512 {
#include "test/bench/Exponentials.inc"
} // namespace avx512
#undef SLUICE_LANES
#pragma GCC pop_options

} // namespace

float sumOfExponentials(const float *x, std::int64_t count, bool forBf16, std::string_view isa) {
  if (isa == "avx512")
    return forBf16 ? avx512::sumOf<cpu::Bf16>(x, count) : avx512::sumOf<float>(x, count);
  return forBf16 ? avx2::sumOf<cpu::Bf16>(x, count) : avx2::sumOf<float>(x, count);
}

} // namespace sluice::bench
