//===- Attention.cpp - attention by tiles, never a T x T buffer ---------------===//
//
// Forward keeps a running maximum and sum per query over tiles of keys; backward recomputes the probabilities from the
// saved row statistics, tile by tile. Within a tile a few rows at a time go only as far as they read, so that a diagonal or
// a window costs little more than its pairs. Work is cut by batch row and key head; keys, values and, backward, queries
// of one head are packed once in panels for the tile product. Order of sums: tiles of keys upwards (dq, out), tiles of
// queries upwards within each head of the group (dk, dv).
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/AttentionShape.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/Registry.h"
#include "runtime/kernel/cpu/Workspace.h"
#include "runtime/kernel/cpu/reference/References.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <omp.h>

namespace sluice::cpu {
namespace {

template <typename T> T *rowOf(const Operand &o, std::int64_t b, std::int64_t t, std::int64_t h) {
  return o.as<T>() + b * o.strides[0] + t * o.strides[1] + h * o.strides[2];
}
float *statisticOf(const Operand &o, std::int64_t b, std::int64_t h, std::int64_t t) {
  return o.as<float>() + b * o.strides[0] + h * o.strides[1] + t * o.strides[2];
}

/// Hands out the floats of one thread's workspace.
struct Floats {
  float *next;
  float *take(std::int64_t count) {
    float *taken = next;
    next += roundUp(count, 16);
    return taken;
  }
};

/// A head's rows as floats: in place where they are, else widened into `room`.
template <typename T> struct FloatRows {
  const float *data;
  std::int64_t pitch;
  FloatRows(const Operand &o, std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t rows, std::int64_t size,
            float *room) {
    const T *from = rowOf<T>(o, b, first, h);
    if constexpr (std::is_same_v<T, float>) {
      data = from;
      pitch = o.strides[1];
    } else {
      for (std::int64_t row = 0; row < rows; ++row)
        loops().of<T>().widen(from + row * o.strides[1], room + row * size, size);
      data = room;
      pitch = size;
    }
  }
};

/// Columns [begin, end) of a tile of `width` keys from j0 on that queries [first, last] read, any of them or all.
struct Columns {
  std::int64_t begin, end;
  Columns(const AttentionShape &s, std::int64_t first, std::int64_t last, std::int64_t j0, std::int64_t width)
      : begin(std::max<std::int64_t>(0, s.firstKey(first) - j0)), end(std::min(width, s.visible(last) - j0)) {}
  bool isEmpty() const { return begin >= end; }
};

void clear(float *row, std::int64_t begin, std::int64_t end) {
  if (begin < end)
    std::memset(row + begin, 0, static_cast<std::size_t>(end - begin) * sizeof(float));
}

template <typename T> struct Forward {
  const AttentionShape &s;
  Call &call;
  const Loops &l = loops();

  /// Where one tile of queries stands.
  struct Tile {
    std::int64_t rows, wide;
    FloatRows<T> q;
    float *scores, *out;
    float maximum[queryTile], sum[queryTile];
  };

  void head(std::int64_t b, std::int64_t g, float *memory) const {
    Floats floats{memory};
    std::int64_t wide = roundUp(s.size, l.panel);
    float *keys = floats.take(roundUp(s.keys, l.panel) * s.size), *values = floats.take(s.keys * wide);
    const Operand &k = call.inputs[1], &v = call.inputs[2];
    l.of<T>().packRows(rowOf<T>(k, b, 0, g), k.strides[1], s.keys, s.size, keys);
    l.of<T>().packColumns(rowOf<T>(v, b, 0, g), v.strides[1], s.keys, s.size, values);
    for (std::int64_t h = g * s.headsPerKey(); h < (g + 1) * s.headsPerKey(); ++h)
      for (std::int64_t t0 = 0; t0 < s.queries; t0 += queryTile)
        queries(b, h, t0, keys, values, wide, floats);
  }

  void queries(std::int64_t b, std::int64_t h, std::int64_t t0, const float *keys, const float *values,
               std::int64_t wide, Floats floats) const {
    std::int64_t rows = std::min(queryTile, s.queries - t0);
    Tile tile{rows, wide, FloatRows<T>(call.inputs[0], b, h, t0, rows, s.size, floats.take(rows * s.size)),
              floats.take(rows * keyTile), floats.take(rows * wide), {}, {}};
    std::fill_n(tile.maximum, rows, -std::numeric_limits<float>::infinity());
    std::memset(tile.out, 0, static_cast<std::size_t>(rows * wide) * sizeof(float));
    std::int64_t end = s.visible(t0 + rows - 1);
    for (std::int64_t j0 = s.firstKey(t0) / l.panel * l.panel; j0 < end; j0 += keyTile)
      for (std::int64_t r0 = 0; r0 < rows; r0 += l.rows)
        group(tile, t0, r0, j0, std::min(keyTile, end - j0), keys, values);
    for (std::int64_t r = 0; r < rows; ++r) {
      l.scaleRow(tile.out + r * wide, s.size, 1 / tile.sum[r]);
      l.of<T>().narrow(tile.out + r * wide, rowOf<T>(call.outputs[0], b, t0 + r, h), s.size);
      *statisticOf(call.outputs[1], b, h, t0 + r) =
          static_cast<float>(tile.maximum[r] + std::log(static_cast<double>(tile.sum[r])));
    }
  }

  /// A few queries against a tile of keys, only as far as they read it.
  void group(Tile &tile, std::int64_t t0, std::int64_t r0, std::int64_t j0, std::int64_t width, const float *keys,
             const float *values) const {
    std::int64_t m = std::min<std::int64_t>(l.rows, tile.rows - r0);
    Columns any(s, t0 + r0, t0 + r0 + m - 1, j0, width);
    if (any.isEmpty())
      return;
    float *scores = tile.scores + r0 * keyTile;
    std::int64_t from = any.begin / l.panel * l.panel;
    l.tileProduct({m, any.end - from, s.size, tile.q.data + r0 * tile.q.pitch, tile.q.pitch, 1,
                   keys + (j0 + from) * s.size, l.panel * s.size, scores + from, keyTile, false});
    for (std::int64_t r = r0; r < r0 + m; ++r) {
      Columns seen(s, t0 + r, t0 + r, j0, width);
      float *row = tile.scores + r * keyTile;
      if (seen.isEmpty()) {
        clear(row, any.begin, any.end);
        continue;
      }
      float before = tile.maximum[r];
      float part = l.scoreRow(row + seen.begin, seen.end - seen.begin, any.end - seen.begin,
                              static_cast<float>(s.scale), &tile.maximum[r]);
      clear(row, any.begin, seen.begin);
      // exp(before - maximum) of what is there; nothing is there at first.
      if (tile.maximum[r] != before && tile.sum[r] != 0) {
        float factor = std::exp(before - tile.maximum[r]);
        tile.sum[r] *= factor;
        l.scaleRow(tile.out + r * tile.wide, tile.wide, factor);
      }
      tile.sum[r] += part;
    }
    l.tileProduct({m, s.size, any.end - any.begin, scores + any.begin, keyTile, 1,
                   values + (j0 + any.begin) * l.panel, l.panel * s.keys, tile.out + r0 * tile.wide, tile.wide, true});
  }
};

template <typename T> struct Backward {
  const AttentionShape &s;
  Call &call;
  const Loops &l = loops();

  /// What one batch row and key head needs, in workspace.
  struct Memory {
    std::int64_t wide;
    float *keyRows, *valueRows, *keyColumns, *q, *dout, *qColumns, *doutColumns, *dq, *dk, *dv, *scores, *slopes, *delta;
  };

  void head(std::int64_t b, std::int64_t g, float *memory) const {
    Floats floats{memory};
    Memory m;
    std::int64_t wide = m.wide = roundUp(s.size, l.panel), paddedKeys = roundUp(s.keys, l.panel);
    m.keyRows = floats.take(paddedKeys * s.size);
    m.valueRows = floats.take(paddedKeys * s.size);
    m.keyColumns = floats.take(s.keys * wide);
    m.q = floats.take(s.queries * s.size);
    m.dout = floats.take(s.queries * s.size);
    m.qColumns = floats.take(s.queries * wide);
    m.doutColumns = floats.take(s.queries * wide);
    m.dq = floats.take(s.queries * wide);
    m.dk = floats.take(s.keys * wide);
    m.dv = floats.take(s.keys * wide);
    m.scores = floats.take(queryTile * keyTile);
    m.slopes = floats.take(queryTile * keyTile);
    m.delta = floats.take(s.queries);
    const Operand &k = call.inputs[2], &v = call.inputs[3];
    l.of<T>().packRows(rowOf<T>(k, b, 0, g), k.strides[1], s.keys, s.size, m.keyRows);
    l.of<T>().packRows(rowOf<T>(v, b, 0, g), v.strides[1], s.keys, s.size, m.valueRows);
    l.of<T>().packColumns(rowOf<T>(k, b, 0, g), k.strides[1], s.keys, s.size, m.keyColumns);
    std::memset(m.dk, 0, static_cast<std::size_t>(s.keys * wide) * sizeof(float));
    std::memset(m.dv, 0, static_cast<std::size_t>(s.keys * wide) * sizeof(float));
    for (std::int64_t h = g * s.headsPerKey(); h < (g + 1) * s.headsPerKey(); ++h)
      queryHead(b, h, m);
    for (std::int64_t j = 0; j < s.keys; ++j) {
      l.of<T>().narrow(m.dk + j * wide, rowOf<T>(call.outputs[1], b, j, g), s.size);
      l.of<T>().narrow(m.dv + j * wide, rowOf<T>(call.outputs[2], b, j, g), s.size);
    }
  }

  void queryHead(std::int64_t b, std::int64_t h, const Memory &m) const {
    const Operand &dout = call.inputs[0], &q = call.inputs[1], &out = call.inputs[4];
    l.of<T>().packColumns(rowOf<T>(q, b, 0, h), q.strides[1], s.queries, s.size, m.qColumns);
    l.of<T>().packColumns(rowOf<T>(dout, b, 0, h), dout.strides[1], s.queries, s.size, m.doutColumns);
    FloatRows<T> qRows(q, b, h, 0, s.queries, s.size, m.q), doutRows(dout, b, h, 0, s.queries, s.size, m.dout);
    for (std::int64_t t = 0; t < s.queries; ++t)
      m.delta[t] = l.of<T>().dotRow(rowOf<T>(dout, b, t, h), rowOf<T>(out, b, t, h), s.size);
    std::memset(m.dq, 0, static_cast<std::size_t>(s.queries * m.wide) * sizeof(float));
    for (std::int64_t j0 = 0; j0 < s.keys; j0 += keyTile) {
      std::int64_t width = std::min(keyTile, s.keys - j0), end = s.endQuery(j0 + width - 1);
      for (std::int64_t t0 = s.firstQuery(j0) / queryTile * queryTile; t0 < end; t0 += queryTile)
        tile(b, h, t0, j0, width, qRows, doutRows, m);
    }
    for (std::int64_t t = 0; t < s.queries; ++t)
      l.of<T>().narrow(m.dq + t * m.wide, rowOf<T>(call.outputs[0], b, t, h), s.size);
  }

  void tile(std::int64_t b, std::int64_t h, std::int64_t t0, std::int64_t j0, std::int64_t width,
            const FloatRows<T> &q, const FloatRows<T> &dout, const Memory &m) const {
    std::int64_t rows = std::min(queryTile, s.queries - t0);
    for (std::int64_t r0 = 0; r0 < rows; r0 += l.rows)
      group(b, h, t0, r0, std::min<std::int64_t>(l.rows, rows - r0), j0, width, q, dout, m);
    // Of a few keys, dv and dk: as far as queries of the tile read them.
    for (std::int64_t c = 0; c < width; c += l.rows) {
      std::int64_t keys = std::min<std::int64_t>(l.rows, width - c);
      std::int64_t from = std::max<std::int64_t>(0, s.firstQuery(j0 + c) - t0);
      std::int64_t count = std::min(rows, s.endQuery(j0 + c + keys - 1) - t0) - from, t = t0 + from;
      if (count <= 0)
        continue;
      l.tileProduct({keys, s.size, count, m.scores + from * keyTile + c, 1, keyTile, m.doutColumns + t * l.panel,
                     l.panel * s.queries, m.dv + (j0 + c) * m.wide, m.wide, true});
      l.tileProduct({keys, s.size, count, m.slopes + from * keyTile + c, 1, keyTile, m.qColumns + t * l.panel,
                     l.panel * s.queries, m.dk + (j0 + c) * m.wide, m.wide, true});
    }
  }

  /// p and ds of a few queries, zero where they do not read, and their part of dq.
  void group(std::int64_t b, std::int64_t h, std::int64_t t0, std::int64_t r0, std::int64_t count, std::int64_t j0,
             std::int64_t width, const FloatRows<T> &q, const FloatRows<T> &dout, const Memory &m) const {
    std::int64_t t = t0 + r0;
    float *scores = m.scores + r0 * keyTile, *slopes = m.slopes + r0 * keyTile;
    Columns any(s, t, t + count - 1, j0, width);
    if (any.isEmpty()) {
      for (std::int64_t r = 0; r < count; ++r) {
        clear(scores + r * keyTile, 0, width);
        clear(slopes + r * keyTile, 0, width);
      }
      return;
    }
    std::int64_t from = any.begin / l.panel * l.panel;
    l.tileProduct({count, any.end - from, s.size, q.data + t * q.pitch, q.pitch, 1, m.keyRows + (j0 + from) * s.size,
                   l.panel * s.size, scores + from, keyTile, false});
    l.tileProduct({count, any.end - from, s.size, dout.data + t * dout.pitch, dout.pitch, 1,
                   m.valueRows + (j0 + from) * s.size, l.panel * s.size, slopes + from, keyTile, false});
    for (std::int64_t r = 0; r < count; ++r) {
      Columns seen(s, t + r, t + r, j0, width);
      float *p = scores + r * keyTile, *ds = slopes + r * keyTile;
      if (seen.isEmpty())
        seen.begin = seen.end = 0;
      l.scoreGradRow(p + seen.begin, ds + seen.begin, seen.end - seen.begin, width - seen.begin,
                     static_cast<float>(s.scale), *statisticOf(call.inputs[5], b, h, t + r), m.delta[t + r]);
      clear(p, 0, seen.begin);
      clear(ds, 0, seen.begin);
    }
    l.tileProduct({count, s.size, any.end - any.begin, slopes + any.begin, keyTile, 1,
                   m.keyColumns + (j0 + any.begin) * l.panel, l.panel * s.keys, m.dq + t * m.wide, m.wide, true});
  }
};

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

/// The operands are all f32 or all bf16, the row statistics f32, and every row is contiguous.
bool fits(const KernelRequest &request, const Operand &statistics, DType dtype) {
  for (auto operands : {request.inputs, request.outputs})
    for (const Operand &operand : operands)
      if (&operand == &statistics ? operand.dtype != DType::f32
                                  : operand.dtype != dtype || !contiguousRows(operand))
        return false;
  return true;
}

Bound forward(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto plain, reference::attention(request));
  SLUICE_ASSIGN_OR_RETURN(AttentionShape shape,
                          AttentionShape::of("attention", request, request.inputs[0], request.inputs[1],
                                             request.inputs[2], {&request.outputs[0]}, request.outputs[1]));
  bool f32 = fits(request, request.outputs[1], DType::f32);
  if (!f32 && !fits(request, request.outputs[1], DType::bf16))
    return plain;
  std::int64_t floats = attentionFloats(shape.keys, shape.size);
  SLUICE_RETURN_IF_ERROR(Check("attention", request).workspace(floats * 4 * std::max(1, request.threads)));
  return f32 ? attentionOf<Forward<float>>(request, shape, floats) : attentionOf<Forward<Bf16>>(request, shape, floats);
}

Bound backward(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(auto plain, reference::attention_grad(request));
  SLUICE_ASSIGN_OR_RETURN(
      AttentionShape shape,
      AttentionShape::of("attention_grad", request, request.inputs[1], request.inputs[2], request.inputs[3],
                         {&request.inputs[0], &request.inputs[4], &request.outputs[0]}, request.inputs[5]));
  bool f32 = fits(request, request.inputs[5], DType::f32);
  if (!f32 && !fits(request, request.inputs[5], DType::bf16))
    return plain;
  std::int64_t floats = attentionGradFloats(shape.queries, shape.keys, shape.size);
  SLUICE_RETURN_IF_ERROR(Check("attention_grad", request).workspace(floats * 4 * std::max(1, request.threads)));
  return f32 ? attentionOf<Backward<float>>(request, shape, floats)
             : attentionOf<Backward<Bf16>>(request, shape, floats);
}

constexpr FastKernel kernels[] = {{"attention", forward}, {"attention_grad", backward}};

} // namespace

FastKernels attentionKernels() { return kernels; }

} // namespace sluice::cpu
