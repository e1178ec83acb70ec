//===- Loops.cpp - choosing the instruction set at run time -------------------===//
#include "runtime/kernel/cpu/vector/Loops.h"

#include <atomic>

namespace sluice::cpu {

extern const Loops baselineLoops, avx2Loops, avx512Loops;

const Loops *loopsFor(std::string_view isa) {
#ifdef __x86_64__
  const bool hasAvx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                       __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  if (isa == "avx512")
    return hasAvx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
               ? &avx512Loops
               : nullptr;
  if (isa == "avx2")
    return hasAvx2 ? &avx2Loops : nullptr;
  if (!__builtin_cpu_supports("sse4.2"))
    return nullptr;
#endif
  return isa == "baseline" ? &baselineLoops : nullptr;
}

namespace {
std::atomic<const Loops *> chosen = nullptr;
} // namespace

void chooseLoops(const Loops &all) { chosen.store(&all, std::memory_order_relaxed); }

const Loops &loops() {
  if (const Loops *found = chosen.load(std::memory_order_relaxed))
    return *found;
  static const Loops &best = *[] {
    for (std::string_view isa : {"avx512", "avx2"})
      if (const Loops *found = loopsFor(isa))
        return found;
    return &baselineLoops;
  }();
  return best;
}

} // namespace sluice::cpu
