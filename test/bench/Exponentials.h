//===- Exponentials.h - exponentials and nothing else --------------------------===//
#ifndef SLUICE_TEST_BENCH_EXPONENTIALS_H
#define SLUICE_TEST_BENCH_EXPONENTIALS_H

#include <cstdint>

namespace sluice::bench {

/// The sum of e^x of all whole pairs of vectors, `forBf16` as exact as bf16 asks for. Needs AVX2.
float sumOfExponentials(const float *x, std::int64_t count, bool forBf16);

} // namespace sluice::bench

#endif // SLUICE_TEST_BENCH_EXPONENTIALS_H
