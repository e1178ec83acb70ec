//===- Attention.cpp - attention by tiles, never a T x T buffer ---------------===//
//
// Forward keeps a running maximum and sum per query over tiles of keys; backward recomputes the probabilities from the
// saved row statistics, tile by tile. Work is cut by batch row and key head; keys, values and, backward, queries of one
// head are packed once in panels for the tile product. Order of sums: tiles of keys upwards (dq, out), tiles of queries
// upwards within each head of the group (dk, dv).
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

/// A head [rows, size] in panels over its rows, for a product that sums over `size`: panel p holds, for each d, the
/// elements of rows p * panel and on. Rows beyond the last are zero.
template <typename T>
void packRows(const Operand &o, std::int64_t b, std::int64_t h, std::int64_t rows, std::int64_t size, int panel,
              float *out) {
  std::int64_t padded = roundUp(rows, panel);
  for (std::int64_t row = 0; row < padded; ++row) {
    float *to = out + row / panel * panel * size + row % panel;
    if (row < rows) {
      const T *from = rowOf<T>(o, b, row, h);
      for (std::int64_t d = 0; d < size; ++d)
        to[d * panel] = static_cast<float>(from[d]);
    } else {
      for (std::int64_t d = 0; d < size; ++d)
        to[d * panel] = 0;
    }
  }
}

/// A head in panels over `size`, for a product that sums over rows: panel p holds, for each row, its elements p * panel
/// and on, zeros beyond the last. `rowsOut`, where not null, gets the head as dense rows.
template <typename T>
void packColumns(const Loops &l, const Operand &o, std::int64_t b, std::int64_t h, std::int64_t rows,
                 std::int64_t size, float *out, float *rowsOut) {
  int panel = l.panel;
  for (std::int64_t row = 0; row < rows; ++row) {
    const T *from = rowOf<T>(o, b, row, h);
    for (std::int64_t d = 0; d < size; d += panel) {
      float *to = out + d * rows + row * panel;
      std::int64_t width = std::min<std::int64_t>(panel, size - d);
      l.of<T>().widen(from + d, to, width);
      for (std::int64_t i = width; i < panel; ++i)
        to[i] = 0;
    }
    if (rowsOut)
      l.of<T>().widen(from, rowsOut + row * size, size);
  }
}

/// Rows of a query tile that see key `first`, and keys of the tile that its last row sees.
struct TileBounds {
  std::int64_t firstRow, keys;
  TileBounds(const AttentionShape &s, std::int64_t t0, std::int64_t rows, std::int64_t j0) {
    firstRow = s.causal ? std::max<std::int64_t>(0, j0 - t0) : 0;
    keys = std::min(keyTile, s.visible(t0 + rows - 1) - j0);
  }
};

template <typename T> struct Forward {
  const AttentionShape &s;
  Call &call;
  const Loops &l = loops();

  void head(std::int64_t b, std::int64_t g, float *memory) const {
    Floats floats{memory};
    std::int64_t wide = roundUp(s.size, l.panel);
    float *keys = floats.take(roundUp(s.keys, l.panel) * s.size), *values = floats.take(s.keys * wide);
    packRows<T>(call.inputs[1], b, g, s.keys, s.size, l.panel, keys);
    packColumns<T>(l, call.inputs[2], b, g, s.keys, s.size, values, nullptr);
    for (std::int64_t h = g * s.headsPerKey(); h < (g + 1) * s.headsPerKey(); ++h)
      for (std::int64_t t0 = 0; t0 < s.queries; t0 += queryTile)
        tile(b, h, t0, keys, values, wide, floats);
  }

  void tile(std::int64_t b, std::int64_t h, std::int64_t t0, const float *keys, const float *values,
            std::int64_t wide, Floats floats) const {
    std::int64_t rows = std::min(queryTile, s.queries - t0);
    float *q = floats.take(rows * s.size), *scores = floats.take(rows * keyTile), *out = floats.take(rows * wide);
    float maximum[queryTile], sum[queryTile];
    for (std::int64_t r = 0; r < rows; ++r) {
      l.of<T>().widen(rowOf<T>(call.inputs[0], b, t0 + r, h), q + r * s.size, s.size);
      maximum[r] = -std::numeric_limits<float>::infinity();
      sum[r] = 0;
    }
    std::memset(out, 0, rows * wide * sizeof(float));
    float scale = static_cast<float>(s.scale);
    for (std::int64_t j0 = 0; j0 < s.visible(t0 + rows - 1); j0 += keyTile) {
      TileBounds bounds(s, t0, rows, j0);
      std::int64_t first = bounds.firstRow, m = rows - first;
      l.tileProduct({m, bounds.keys, s.size, q + first * s.size, s.size, 1, keys + j0 * s.size, l.panel * s.size,
                     scores + first * keyTile, keyTile, false});
      for (std::int64_t r = first; r < rows; ++r) {
        std::int64_t count = std::min(bounds.keys, s.visible(t0 + r) - j0);
        float before = maximum[r];
        float part = l.scoreRow(scores + r * keyTile, count, bounds.keys, scale, &maximum[r]);
        // exp(before - maximum) of what is there; nothing is there at first.
        if (maximum[r] != before && sum[r] != 0) {
          float factor = std::exp(before - maximum[r]);
          sum[r] *= factor;
          l.scaleRow(out + r * wide, wide, factor);
        }
        sum[r] += part;
      }
      l.tileProduct({m, s.size, bounds.keys, scores + first * keyTile, keyTile, 1, values + j0 * l.panel,
                     l.panel * s.keys, out + first * wide, wide, true});
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      l.scaleRow(out + r * wide, s.size, 1 / sum[r]);
      l.of<T>().narrow(out + r * wide, rowOf<T>(call.outputs[0], b, t0 + r, h), s.size);
      *statisticOf(call.outputs[1], b, h, t0 + r) =
          static_cast<float>(maximum[r] + std::log(static_cast<double>(sum[r])));
    }
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
    packRows<T>(call.inputs[2], b, g, s.keys, s.size, l.panel, m.keyRows);
    packRows<T>(call.inputs[3], b, g, s.keys, s.size, l.panel, m.valueRows);
    packColumns<T>(l, call.inputs[2], b, g, s.keys, s.size, m.keyColumns, nullptr);
    std::memset(m.dk, 0, s.keys * wide * sizeof(float));
    std::memset(m.dv, 0, s.keys * wide * sizeof(float));
    for (std::int64_t h = g * s.headsPerKey(); h < (g + 1) * s.headsPerKey(); ++h)
      queryHead(b, h, m);
    for (std::int64_t j = 0; j < s.keys; ++j) {
      l.of<T>().narrow(m.dk + j * wide, rowOf<T>(call.outputs[1], b, j, g), s.size);
      l.of<T>().narrow(m.dv + j * wide, rowOf<T>(call.outputs[2], b, j, g), s.size);
    }
  }

  void queryHead(std::int64_t b, std::int64_t h, const Memory &m) const {
    packColumns<T>(l, call.inputs[1], b, h, s.queries, s.size, m.qColumns, m.q);
    packColumns<T>(l, call.inputs[0], b, h, s.queries, s.size, m.doutColumns, m.dout);
    for (std::int64_t t = 0; t < s.queries; ++t) {
      const T *out = rowOf<T>(call.inputs[4], b, t, h);
      double delta = 0;
      for (std::int64_t d = 0; d < s.size; ++d)
        delta += m.dout[t * s.size + d] * static_cast<float>(out[d]);
      m.delta[t] = static_cast<float>(delta);
    }
    std::memset(m.dq, 0, s.queries * m.wide * sizeof(float));
    for (std::int64_t j0 = 0; j0 < s.keys; j0 += keyTile)
      for (std::int64_t t0 = s.causal ? j0 / queryTile * queryTile : 0; t0 < s.queries; t0 += queryTile)
        tile(b, h, t0, j0, m);
    for (std::int64_t t = 0; t < s.queries; ++t)
      l.of<T>().narrow(m.dq + t * m.wide, rowOf<T>(call.outputs[0], b, t, h), s.size);
  }

  void tile(std::int64_t b, std::int64_t h, std::int64_t t0, std::int64_t j0, const Memory &m) const {
    std::int64_t rows = std::min(queryTile, s.queries - t0);
    TileBounds bounds(s, t0, rows, j0);
    std::int64_t first = bounds.firstRow, count = rows - first, keys = bounds.keys;
    if (count <= 0 || keys <= 0)
      return;
    std::int64_t t = t0 + first;
    l.tileProduct({count, keys, s.size, m.q + t * s.size, s.size, 1, m.keyRows + j0 * s.size, l.panel * s.size,
                   m.scores, keyTile, false});
    l.tileProduct({count, keys, s.size, m.dout + t * s.size, s.size, 1, m.valueRows + j0 * s.size, l.panel * s.size,
                   m.slopes, keyTile, false});
    for (std::int64_t r = 0; r < count; ++r)
      l.scoreGradRow(m.scores + r * keyTile, m.slopes + r * keyTile, std::min(keys, s.visible(t + r) - j0), keys,
                     static_cast<float>(s.scale), *statisticOf(call.inputs[5], b, h, t + r), m.delta[t + r]);
    l.tileProduct({keys, s.size, count, m.scores, 1, keyTile, m.doutColumns + t * l.panel, l.panel * s.queries,
                   m.dv + j0 * m.wide, m.wide, true});
    l.tileProduct({keys, s.size, count, m.slopes, 1, keyTile, m.qColumns + t * l.panel, l.panel * s.queries,
                   m.dk + j0 * m.wide, m.wide, true});
    l.tileProduct({count, s.size, keys, m.slopes, keyTile, 1, m.keyColumns + j0 * l.panel, l.panel * s.keys,
                   m.dq + t * m.wide, m.wide, true});
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
