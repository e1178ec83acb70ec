//===- Avx512.cpp - the loops for AVX-512 (F, BW, DQ, VL) ---------------------===//
#ifdef __x86_64__
#define SLUICE_TARGET HWY_AVX3
#include "runtime/kernel/cpu/vector/Loops.inc"

namespace sluice::cpu {

extern const Loops avx512Loops;
const Loops avx512Loops = loopsOf("avx512");

} // namespace sluice::cpu

#endif
