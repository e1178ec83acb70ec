//===- Avx512.cpp - the loops for AVX-512 (F, BW, DQ, VL) ---===//
//
// Includes are before the target pragma: their inline functions keep the common instruction set, so the linker may use
// any file's copy.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/vector/Loops.h"

#include <immintrin.h>

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#define SLUICE_LANES 16

namespace sluice::cpu {
namespace {
namespace avx512 {
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
} // namespace avx512
} // namespace

extern const Loops avx512Loops;
const Loops avx512Loops = {"avx512",
                           avx512::typedLoops<float>,
                           avx512::typedLoops<Bf16>,
                           avx512::typedLoops<F16>,
                           avx512::panelColumns,
                           avx512::tileRows,
                           avx512::tileProduct,
                           avx512::scoreRows,
                           avx512::scoreGradRow,
                           avx512::rotations};

} // namespace sluice::cpu
