//===- AttentionTiles.h - common code of the forward and backward of attention -----===//
//
// Rows of one head, the part of a tile that queries read, mask and bias, and the heads shared among threads.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_ATTENTIONTILES_H
#define SLUICE_RUNTIME_KERNEL_CPU_ATTENTIONTILES_H

#include "runtime/kernel/catalogue/CpuWorkspace.h"
#include "runtime/kernel/cpu/AttentionShape.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <cstring>
#include <limits>

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

/// The gradient of the bias. `memory`: `floats`, those of attentionGradFloats, for each thread.
void addBiasGradient(const AttentionShape &s, Call &call, float *memory, std::int64_t floats);

template <typename Pass>
Bound attentionOf(const KernelRequest &request, const AttentionShape &shape, std::int64_t floats) {
  return makeKernel(request, [s = shape, floats](Call &call) {
    Pass pass{s, call};
    float *memory = static_cast<float *>(call.workspace);
    if (s.documents != 0) {
      // Tiles begin at the first token of a document, so that its bits do not depend on its place in the row.
      std::vector<DocumentAttention> documents = documentsOf(s, call);
      forEach(call.threads, std::ssize(documents) * s.keyHeads, [&](std::int64_t item) {
        DocumentAttention &one = documents[static_cast<std::size_t>(item / s.keyHeads)];
        Pass{one.shape, one.call}.head(0, item % s.keyHeads, memory + omp_get_thread_num() * floats);
      });
      return Status::ok();
    }
    forEach(call.threads, s.batch * s.keyHeads, [&](std::int64_t item) {
      pass.head(item / s.keyHeads, item % s.keyHeads, memory + omp_get_thread_num() * floats);
    });
    if (s.hasBiasGrad)
      addBiasGradient(s, call, memory, floats);
    return Status::ok();
  });
}

/// scores = scale scores + bias for the keys [first, first + count) of a query, -infinity where the mask hides the key.
template <typename T>
void changeScores(const AttentionShape &s, const Call &call, std::int64_t b, std::int64_t h, std::int64_t t,
                  std::int64_t first, std::int64_t count, float *scores) {
  constexpr std::int64_t chunk = 64;
  const auto scale = static_cast<float>(s.scale);
  for (std::int64_t i = 0; s.bias == 0 && i < count; ++i)
    scores[i] *= scale;
  for (std::int64_t i = 0; s.bias != 0 && i < count; i += chunk) {
    const Operand &bias = call.inputs[s.bias];
    const std::int64_t at = scoreRowAt(bias, b, h, t) + first + i, width = std::min(chunk, count - i);
    float room[chunk];
    const float *values = room;
    if (bias.dtype == DType::f32)
      values = bias.as<float>() + at;
    else
      loops().of<T>().widen(bias.as<T>() + at, room, width);
    for (std::int64_t c = 0; c < width; ++c)
      scores[i + c] = scores[i + c] * scale + values[c];
  }
  if (s.mask == 0)
    return;
  const Operand &mask = call.inputs[s.mask];
  const std::uint8_t *seen = mask.as<std::uint8_t>() + scoreRowAt(mask, b, h, t) + first;
  for (std::int64_t i = 0; i < count; ++i)
    scores[i] = seen[i] != 0 ? scores[i] : -std::numeric_limits<float>::infinity();
}

/// A few queries of a head against a tile of packed keys and values.
struct GradTile {
  std::int64_t b, h, t, count, j0, width;
  /// Rows of the queries and of their output gradients, dense; panels of the keys and the values; dout.out.
  const float *q, *dout, *keys, *values, *delta;
  /// At distances of keyTile floats.
  float *scores, *slopes;
};

inline void multiplyBy(float *row, const float *factors, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    row[i] *= factors[i];
}

/// p, after dropout, in place of scores, and ds, times the scale if `isScaled`, in place of slopes, zero where queries
/// do not read. Returns the columns that any query reads.
template <typename T>
Columns gradTile(const AttentionShape &s, const Call &call, const Operand &lse, const GradTile &tile, bool isScaled) {
  const Loops &l = loops();
  Columns any(s, tile.t, tile.t + tile.count - 1, tile.j0, tile.width);
  if (any.isEmpty()) {
    for (std::int64_t r = 0; r < tile.count; ++r) {
      clear(tile.scores + r * keyTile, 0, tile.width);
      clear(tile.slopes + r * keyTile, 0, tile.width);
    }
    return any;
  }
  const std::int64_t from = any.begin / l.panel * l.panel;
  l.tileProduct({tile.count, any.end - from, s.size, tile.q, s.size, 1, tile.keys + from * s.size, l.panel * s.size,
                 tile.scores + from, keyTile, false});
  l.tileProduct({tile.count, any.end - from, s.size, tile.dout, s.size, 1, tile.values + from * s.size,
                 l.panel * s.size, tile.slopes + from, keyTile, false});
  for (std::int64_t r = 0; r < tile.count; ++r) {
    const std::int64_t t = tile.t + r;
    Columns seen(s, t, t, tile.j0, tile.width);
    float *p = tile.scores + r * keyTile, *ds = tile.slopes + r * keyTile;
    float scale = static_cast<float>(s.scale), logSum = *statisticOf(lse, tile.b, tile.h, t);
    if (seen.isEmpty())
      seen.begin = seen.end = 0;
    const std::int64_t count = seen.end - seen.begin;
    if (s.changesScores()) {
      changeScores<T>(s, call, tile.b, tile.h, t, tile.j0 + seen.begin, count, p + seen.begin);
      // Of a row without keys, whose scores are -infinity.
      if (logSum == -std::numeric_limits<float>::infinity())
        logSum = 0;
      scale = 1;
    }
    float factors[keyTile];
    if (s.dropout) {
      ProbabilityDropout(s, call, lse).fill(tile.b, tile.h, t, tile.j0 + seen.begin, count, factors);
      multiplyBy(ds + seen.begin, factors, count);
    }
    l.scoreGradRow(p + seen.begin, ds + seen.begin, count, tile.width - seen.begin, scale, logSum, tile.delta[r]);
    if (s.dropout)
      multiplyBy(p + seen.begin, factors, count);
    if (s.changesScores() && isScaled)
      for (std::int64_t i = seen.begin; i < seen.end; ++i)
        ds[i] *= static_cast<float>(s.scale);
    clear(p, 0, seen.begin);
    clear(ds, 0, seen.begin);
  }
  return any;
}

/// The operands are all of one type, the row statistics f32, the bias and its gradient either, and every row is
/// contiguous.
inline bool fits(const KernelRequest &request, const AttentionShape &s, const Operand &statistics, DType dtype) {
  const auto isRow = [&](const Operand &operand, bool isMask, bool isBias) {
    const bool isOfType = isMask || operand.dtype == dtype || (isBias && operand.dtype == DType::f32);
    return &operand == &statistics ? operand.dtype == DType::f32 : isOfType && contiguousRows(operand);
  };
  const std::size_t inputs = s.documents != 0 ? s.documents : s.dropout ? s.dropout->seed : request.inputs.size();
  for (std::size_t i = 0; i < inputs; ++i)
    if (!isRow(request.inputs[i], i != 0 && i == s.mask, i != 0 && i == s.bias))
      return false;
  for (std::size_t i = 0; i < request.outputs.size(); ++i)
    if (!isRow(request.outputs[i], false, i == 3))
      return false;
  return true;
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_ATTENTIONTILES_H
