//===- TensorCore.h - products of 16 x 16 by 16 x 8 by a warp, and copies of their operands ----------------------===//
//
// Functions for the PTX instructions mma.sync, ldmatrix and cp.async. A host compiler gets an emulation of each,
// register by register as in the PTX ISA, so that a fragment in the wrong lane also gives a wrong result in a test. In
// a product
//
//   c[16 x 8] += a[16 x 16] b[16 x 8]         lane = 4 group + part
//   a: word w holds rows group + 8 (w % 2), columns 2 part + 8 (w / 2) and the next
//   b: word w holds rows 2 part + 8 w and the next, column group
//   c: number i is row group + 8 (i / 2), column 2 part + i % 2
//
// the factors are bf16 or f16, two in a word, the lower first; c is f32. The order in which a processor
// adds the 16 products is not documented, so these sums are `fixed` by the architecture. All threads of a warp call
// each function.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_TENSORCORE_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_TENSORCORE_H

#include "runtime/base/cuda/Element.h"

#ifdef __CUDACC__
#define SLUICE_UNROLL _Pragma("unroll")
#else
#define SLUICE_UNROLL
#endif

namespace sluice::cuda {

/// A factor in memory: bf16 or f16, as the kernel's type (typeBf16, typeF16) says.
using Half = unsigned short;

/// One asynchronous copy to shared memory.
inline constexpr int chunkBytes = 16;
inline constexpr int chunkHalves = chunkBytes / 2;

template <int type> SLUICE_DEVICE float widened(Half half) {
  return type == typeBf16 ? readBf16(&half, 0) : readF16(&half, 0);
}

#ifdef __CUDACC__

/// An address in shared memory, in bytes.
using TileAddress = unsigned;

SLUICE_DEVICE TileAddress addressOf(const void *shared, Lane) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

/// Two numbers rounded to nearest even, `low` in the lower half.
template <int type> SLUICE_DEVICE unsigned packed(float low, float high) {
  unsigned word;
  if constexpr (type == typeBf16)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

/// Four matrices of 8 x 8: lane i gives the address of row i % 8 of matrix i / 8. Word w of a lane has of matrix w row
/// `group`, columns 2 part and the next.
SLUICE_DEVICE void loadMatrices(unsigned (&to)[4], TileAddress row, Lane) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}
/// The same of their transposes: column `group`, rows 2 part and the next.
SLUICE_DEVICE void loadTransposed(unsigned (&to)[4], TileAddress row, Lane) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}

template <int type>
SLUICE_DEVICE void multiplyAdd(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, Lane) {
  if constexpr (type == typeBf16)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Begins to copy a chunk to shared memory, zeros where it is not `real` (`from` is an address of the device all the
/// same). Both are aligned to 16 bytes.
SLUICE_DEVICE void copyChunk(void *to, const void *from, bool real, Lane lane) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(addressOf(to, lane)),
               "l"(__cvta_generic_to_global(from)), "r"(real ? 16 : 0)
               : "memory");
}
/// The same with one number of 4 bytes.
SLUICE_DEVICE void copyWord(void *to, const void *from, bool real, Lane lane) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(addressOf(to, lane)),
               "l"(__cvta_generic_to_global(from)), "r"(real ? 4 : 0)
               : "memory");
}
/// Makes a group of the copies that this thread began after the last group.
SLUICE_DEVICE void commitCopies(Lane) { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most the last `pending` groups of this thread are in flight. The block's other threads see the copied
/// data after their next barrier.
template <int pending> SLUICE_DEVICE void waitForCopies(Lane) {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

#else

using TileAddress = std::uintptr_t;

inline TileAddress addressOf(const void *shared, Lane) { return reinterpret_cast<TileAddress>(shared); }

template <int type> unsigned packed(float low, float high) {
  Half halves[2];
  type == typeBf16 ? writeBf16(halves, 0, low) : writeF16(halves, 0, low);
  type == typeBf16 ? writeBf16(halves, 1, high) : writeF16(halves, 1, high);
  return halves[0] | static_cast<unsigned>(halves[1]) << 16;
}

/// The rows' addresses of all lanes of the warp; false if one is not in shared memory.
inline bool rowsOf(TileAddress row, TileAddress (&rows)[warpSize], Lane lane) {
  lane.exchange(row, rows);
  bool good = true;
  for (TileAddress one : rows)
    good &= lane.emulator().isShared(reinterpret_cast<const void *>(one), chunkBytes);
  return good;
}
inline void loadMatrices(unsigned (&to)[4], TileAddress row, Lane lane) {
  TileAddress rows[warpSize];
  const bool good = rowsOf(row, rows, lane);
  const int group = lane.thread() % warpSize / 4, part = lane.thread() % 4;
  for (int w = 0; w < 4; ++w) {
    const Half *from = reinterpret_cast<const Half *>(rows[8 * w + group]) + 2 * part;
    to[w] = good ? from[0] | static_cast<unsigned>(from[1]) << 16 : 0;
  }
}
inline void loadTransposed(unsigned (&to)[4], TileAddress row, Lane lane) {
  TileAddress rows[warpSize];
  const bool good = rowsOf(row, rows, lane);
  const int group = lane.thread() % warpSize / 4, part = lane.thread() % 4;
  for (int w = 0; w < 4; ++w) {
    const auto at = [&](int i) { return reinterpret_cast<const Half *>(rows[8 * w + 2 * part + i])[group]; };
    to[w] = good ? at(0) | static_cast<unsigned>(at(1)) << 16 : 0;
  }
}

template <int type> void multiplyAdd(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, Lane lane) {
  struct Words {
    unsigned a[4], b[2];
  };
  Words words{{a[0], a[1], a[2], a[3]}, {b0, b1}}, all[warpSize];
  lane.exchange(words, all);
  const int group = lane.thread() % warpSize / 4, part = lane.thread() % 4;
  const auto half = [](unsigned word, int i) { return widened<type>(static_cast<Half>(i % 2 ? word >> 16 : word)); };
  for (int i = 0; i < 4; ++i) {
    const int row = group + 8 * (i / 2), column = 2 * part + i % 2;
    double sum = c[i];
    for (int k = 0; k < 16; ++k)
      sum += double(half(all[4 * (row % 8) + k % 8 / 2].a[row / 8 + 2 * (k / 8)], k)) *
             half(all[4 * column + k % 8 / 2].b[k / 8], k);
    c[i] = static_cast<float>(sum);
  }
}

inline void copyChunk(void *to, const void *from, bool real, Lane lane) {
  lane.emulator().copy(lane.thread(), to, from, chunkBytes, real ? chunkBytes : 0);
}
inline void copyWord(void *to, const void *from, bool real, Lane lane) {
  lane.emulator().copy(lane.thread(), to, from, 4, real ? 4 : 0);
}
inline void commitCopies(Lane lane) { lane.emulator().commitCopies(lane.thread()); }
template <int pending> void waitForCopies(Lane lane) { lane.emulator().waitForCopies(lane.thread(), pending); }

#endif

/// Over the four lanes that hold a row of c.
template <typename Op> SLUICE_DEVICE float reduceRow(float value, Op op, Lane lane) {
  const int at = lane.thread() % warpSize;
  value = op(value, lane.warpRead(value, at ^ 1));
  return op(value, lane.warpRead(value, at ^ 2));
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_TENSORCORE_H
