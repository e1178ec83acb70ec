//===- Avx2.cpp - the loops for AVX2 with fused multiply-add ------------------===//
#ifdef __x86_64__
#define SLUICE_TARGET HWY_AVX2
#include "runtime/kernel/cpu/vector/Loops.inc"

namespace sluice::cpu {

extern const Loops avx2Loops;
const Loops avx2Loops = loopsOf("avx2");

} // namespace sluice::cpu

#endif
