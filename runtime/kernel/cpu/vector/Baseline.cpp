//===- Baseline.cpp - the loops for what every x86-64 machine has ---===//
//
// Includes are before the target pragma: their inline functions keep the common instruction set, so the linker may use
// any file's copy.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/vector/Loops.h"

#include <immintrin.h>

#define SLUICE_LANES 4

namespace sluice::cpu {
namespace {
namespace baseline {
#include "runtime/kernel/cpu/vector/Vector.inc"

#include "runtime/kernel/cpu/vector/Channels.inc"
#include "runtime/kernel/cpu/vector/Elementwise.inc"
#include "runtime/kernel/cpu/vector/Gelu.inc"
#include "runtime/kernel/cpu/vector/LayerNorm.inc"
#include "runtime/kernel/cpu/vector/Optimizer.inc"
#include "runtime/kernel/cpu/vector/RmsNorm.inc"
#include "runtime/kernel/cpu/vector/Rope.inc"
#include "runtime/kernel/cpu/vector/Silu.inc"
#include "runtime/kernel/cpu/vector/Softmax.inc"

#include "runtime/kernel/cpu/vector/Attention.inc"
#include "runtime/kernel/cpu/vector/Table.inc"
} // namespace baseline
} // namespace

extern const Loops baselineLoops;
const Loops baselineLoops = {"baseline",
                             baseline::typedLoops<float>,
                             baseline::typedLoops<Bf16>,
                             baseline::typedLoops<F16>,
                             baseline::panelColumns,
                             baseline::tileRows,
                             baseline::tileProduct,
                             baseline::scoreRows,
                             baseline::scoreGradRow,
                             baseline::rotations};

} // namespace sluice::cpu
