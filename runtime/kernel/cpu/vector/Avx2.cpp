//===- Avx2.cpp - the loops for AVX2 with fused multiply-add ---===//
//
// Includes are before the target pragma: their inline functions keep the common instruction set, so the linker may use
// any file's copy.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/vector/Loops.h"

#include <immintrin.h>

#pragma GCC target("avx2,fma,f16c")
#define SLUICE_LANES 8

namespace sluice::cpu {
namespace {
namespace avx2 {
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
} // namespace avx2
} // namespace

extern const Loops avx2Loops;
const Loops avx2Loops = {
    "avx2",         avx2::typedLoops<float>, avx2::typedLoops<Bf16>, avx2::typedLoops<F16>, avx2::panelColumns,
    avx2::tileRows, avx2::tileProduct,       avx2::scoreRows,        avx2::scoreGradRow,    avx2::rotations};

} // namespace sluice::cpu
