//===- AttentionTiles.h - common code of the forward and backward of attention -----===//
//
// Rows of one head, the part of a tile that queries read, and the heads shared among threads.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_ATTENTIONTILES_H
#define SLUICE_RUNTIME_KERNEL_CPU_ATTENTIONTILES_H

#include "runtime/kernel/catalogue/CpuWorkspace.h"
#include "runtime/kernel/cpu/AttentionShape.h"
#include "runtime/kernel/cpu/Parallel.h"

#include <cstring>

#include <omp.h>

namespace sluice::cpu {

template <typename T> T *rowOf(const Operand &o, std::int64_t b, std::int64_t t, std::int64_t h) {
  return o.as<T>() + b * o.strides[0] + t * o.strides[1] + h * o.strides[2];
}
inline float *statisticOf(const Operand &o, std::int64_t b, std::int64_t h, std::int64_t t) {
  return o.as<float>() + b * o.strides[0] + h * o.strides[1] + t * o.strides[2];
}

/// Allocates the floats of one thread's workspace.
struct Floats {
  float *next;
  float *take(std::int64_t count) {
    float *taken = next;
    next += roundUp(count, 16);
    return taken;
  }
};

/// Prefetches the rows that the next head reads and writes, one row at a time between products: each row would be a
/// cache miss.
struct HeadPrefetch {
  /// Largest number of prefetched rows: more would evict the data in use.
  static constexpr std::int64_t mostRows = 256;
  struct Part {
    const char *next;
    std::int64_t pitch;
  };
  Part parts[8];
  int count = 0;
  std::int64_t left = 0, bytes = 0;

  /// After query head h of batch row b; starts with the next key head if that is a different one.
  HeadPrefetch(const AttentionShape &s, std::initializer_list<const Operand *> likeQ,
               std::initializer_list<const Operand *> likeK, std::int64_t b, std::int64_t h) {
    std::int64_t next = b * s.heads + h + 1, nextB = next / s.heads, nextH = next % s.heads;
    if (next >= s.batch * s.heads)
      return;
    left = std::min({mostRows, s.queries, s.keys});
    for (const Operand *o : likeQ)
      add(*o, nextB, nextH, s.size);
    if (nextH % s.headsPerKey() == 0)
      for (const Operand *o : likeK)
        add(*o, nextB, nextH / s.headsPerKey(), s.size);
  }
  void add(const Operand &o, std::int64_t b, std::int64_t h, std::int64_t size) {
    auto unit = static_cast<std::int64_t>(dtypeBytes(o.dtype));
    parts[count++] = {o.as<char>() + (b * o.strides[0] + h * o.strides[2]) * unit, o.strides[1] * unit};
    bytes = size * unit;
  }
  void step() {
    if (left == 0)
      return;
    --left;
    for (int i = 0; i < count; ++i) {
      for (std::int64_t at = 0; at < bytes; at += 64)
        __builtin_prefetch(parts[i].next + at);
      parts[i].next += parts[i].pitch;
    }
  }
};

/// Columns [begin, end) of a tile of `width` keys from j0 on that queries [first, last] read, any of them or all.
struct Columns {
  std::int64_t begin = 0, end = 0;
  Columns() = default;
  Columns(const AttentionShape &s, std::int64_t first, std::int64_t last, std::int64_t j0, std::int64_t width)
      : begin(std::max<std::int64_t>(0, s.firstKey(first) - j0)), end(std::min(width, s.visible(last) - j0)) {}
  bool isEmpty() const { return begin >= end; }
};

inline void clear(float *row, std::int64_t begin, std::int64_t end) {
  if (begin < end)
    std::memset(row + begin, 0, static_cast<std::size_t>(end - begin) * sizeof(float));
}

template <typename Pass>
Bound attentionOf(const KernelRequest &request, const AttentionShape &shape, std::int64_t floats) {
  return makeKernel(request, [s = shape, floats](Call &call) {
    Pass pass{s, call};
    float *memory = static_cast<float *>(call.workspace);
    forEach(call.threads, s.batch * s.keyHeads, [&](std::int64_t item) {
      pass.head(item / s.keyHeads, item % s.keyHeads, memory + omp_get_thread_num() * floats);
    });
    return Status::ok();
  });
}

/// The operands are all of one type, the row statistics f32, and every row is contiguous.
inline bool fits(const KernelRequest &request, const Operand &statistics, DType dtype) {
  for (auto operands : {request.inputs, request.outputs})
    for (const Operand &operand : operands)
      if (&operand == &statistics ? operand.dtype != DType::f32 : operand.dtype != dtype || !contiguousRows(operand))
        return false;
  return true;
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_ATTENTIONTILES_H
