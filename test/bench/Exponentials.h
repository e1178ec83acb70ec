//===- Exponentials.h - exponentials and nothing else --------------------------===//
#ifndef SLUICE_TEST_BENCH_EXPONENTIALS_H
#define SLUICE_TEST_BENCH_EXPONENTIALS_H

#include <cstdint>
#include <string_view>

namespace sluice::bench {

/// The sum of e^x of all whole pairs of vectors, `forBf16` as exact as bf16 asks for; `isa` is "avx2" or "avx512".
float sumOfExponentials(const float *x, std::int64_t count, bool forBf16, std::string_view isa);

} // namespace sluice::bench

#endif // SLUICE_TEST_BENCH_EXPONENTIALS_H
