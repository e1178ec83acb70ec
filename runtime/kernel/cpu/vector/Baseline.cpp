//===- Baseline.cpp - the loops that every supported processor runs -----------===//
#ifdef __x86_64__
#define SLUICE_TARGET HWY_SSE4
#else
#define SLUICE_TARGET HWY_STATIC_TARGET
#endif
#include "runtime/kernel/cpu/vector/Loops.inc"

namespace sluice::cpu {

extern const Loops baselineLoops;
const Loops baselineLoops = loopsOf("baseline");

} // namespace sluice::cpu
