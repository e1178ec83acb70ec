//===- Exponentials.h - sums of exponentials ----------------------------------===//
#ifndef SLUICE_TEST_BENCH_EXPONENTIALS_H
#define SLUICE_TEST_BENCH_EXPONENTIALS_H

#include <cstdint>
#include <string_view>

namespace sluice::bench {

namespace N_AVX2 {
float sumOfExponentials(const float *x, std::int64_t count, bool forBf16);
}
namespace N_AVX3 {
float sumOfExponentials(const float *x, std::int64_t count, bool forBf16);
}

/// The sum of e^x of all complete pairs of vectors; `forBf16`: as exact as bf16 requires; `isa` is "avx2" or "avx512".
inline float sumOfExponentials(const float *x, std::int64_t count, bool forBf16, std::string_view isa) {
  return isa == "avx512" ? N_AVX3::sumOfExponentials(x, count, forBf16) : N_AVX2::sumOfExponentials(x, count, forBf16);
}

} // namespace sluice::bench

#endif // SLUICE_TEST_BENCH_EXPONENTIALS_H
