//===- AttentionGrad.cpp - the derivatives of attention by tiles --------------===//
//
// Recomputes the probabilities from the saved row statistics, tile by tile. Work is divided by batch row and key head.
// Order of sums: tiles of keys upwards (dq), tiles of queries upwards within each head of the group (dk, dv).
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/AttentionTiles.h"
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/vector/Loops.h"

namespace sluice::cpu {
namespace {

/// The outer loop is over tiles of keys, the inner one over the tiles of queries that read it. A tile is packed at its
/// first use and written after its last use, so it is in the cache both times.
template <typename T> struct Backward {
  const AttentionShape &s;
  Call &call;
  const Loops &l = loops();

  /// Workspace of one batch row and key head. Packed tiles are contiguous, `wide` floats per row.
  struct Memory {
    std::int64_t wide;
    float *keyRows, *valueRows, *keyColumns, *q, *dout, *qColumns, *doutColumns, *dq, *dk, *dv;
    float *scores, *slopes, *delta;
  };
  struct QueryHead {
    std::int64_t b, h;
    bool isFirst, isLast;
    /// Queries that are packed.
    std::int64_t packed = 0;
    HeadPrefetch prefetch;
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
    const Operand &dout = call.inputs[0], &q = call.inputs[1], &k = call.inputs[2], &v = call.inputs[3];
    std::int64_t begin = g * s.headsPerKey(), end = begin + s.headsPerKey();
    // A rank may have no head of the group: its terms of dk and dv are zeros.
    for (std::int64_t j = 0; begin == end && j < s.keys; ++j)
      for (const std::size_t output : {1, 2})
        std::fill_n(rowOf<T>(call.outputs[output], b, j, g), s.size, T{});
    for (std::int64_t h = begin; h < end; ++h) {
      QueryHead head{b,
                     h,
                     h == begin,
                     h + 1 == end,
                     0,
                     HeadPrefetch(s, {&dout, &q, &call.inputs[4], &call.outputs[0]},
                                  {&k, &v, &call.outputs[1], &call.outputs[2]}, b, h)};
      queryHead(head, g, m);
    }
  }

  void queryHead(QueryHead &head, std::int64_t g, const Memory &m) const {
    for (std::int64_t j0 = 0; j0 < s.keys; j0 += keyTile) {
      std::int64_t width = std::min(keyTile, s.keys - j0), end = s.endQuery(j0 + width - 1);
      if (head.isFirst)
        packKeys(head.b, g, j0, width, m);
      for (std::int64_t t0 = s.firstQuery(j0) / queryTile * queryTile; t0 < end; t0 += queryTile) {
        packQueries(head, t0 + queryTile, m);
        tile(head, t0, j0, width, m);
      }
      for (std::int64_t j = j0; head.isLast && j < j0 + width; ++j) {
        l.of<T>().narrow(m.dk + j * m.wide, rowOf<T>(call.outputs[1], head.b, j, g), s.size);
        l.of<T>().narrow(m.dv + j * m.wide, rowOf<T>(call.outputs[2], head.b, j, g), s.size);
      }
    }
    // If there are no keys.
    packQueries(head, s.queries, m);
    for (std::int64_t t = 0; t < s.queries; ++t)
      l.of<T>().narrow(m.dq + t * m.wide, rowOf<T>(call.outputs[0], head.b, t, head.h), s.size);
  }

  void packKeys(std::int64_t b, std::int64_t g, std::int64_t j0, std::int64_t width, const Memory &m) const {
    const Operand &k = call.inputs[2], &v = call.inputs[3];
    const T *keys = rowOf<T>(k, b, j0, g), *values = rowOf<T>(v, b, j0, g);
    l.of<T>().packRows(keys, k.strides[1], width, s.size, m.keyRows + j0 * s.size);
    l.of<T>().packRows(values, v.strides[1], width, s.size, m.valueRows + j0 * s.size);
    l.of<T>().packColumns(keys, k.strides[1], width, s.size, m.keyColumns + j0 * m.wide);
    std::memset(m.dk + j0 * m.wide, 0, static_cast<std::size_t>(width * m.wide) * sizeof(float));
    std::memset(m.dv + j0 * m.wide, 0, static_cast<std::size_t>(width * m.wide) * sizeof(float));
  }

  /// Tiles of queries up to `end`, as far as they are not packed.
  void packQueries(QueryHead &head, std::int64_t end, const Memory &m) const {
    const Operand &dout = call.inputs[0], &q = call.inputs[1], &out = call.inputs[4];
    for (; head.packed < std::min(end, s.queries); head.packed += queryTile) {
      std::int64_t t0 = head.packed, rows = std::min(queryTile, s.queries - t0);
      const T *queries = rowOf<T>(q, head.b, t0, head.h), *slopes = rowOf<T>(dout, head.b, t0, head.h);
      l.of<T>().packColumns(queries, q.strides[1], rows, s.size, m.qColumns + t0 * m.wide);
      l.of<T>().packColumns(slopes, dout.strides[1], rows, s.size, m.doutColumns + t0 * m.wide);
      for (std::int64_t r = 0; r < rows; ++r) {
        const T *slope = slopes + r * dout.strides[1];
        l.of<T>().widen(queries + r * q.strides[1], m.q + (t0 + r) * s.size, s.size);
        l.of<T>().widen(slope, m.dout + (t0 + r) * s.size, s.size);
        m.delta[t0 + r] = l.of<T>().dotRow(slope, rowOf<T>(out, head.b, t0 + r, head.h), s.size);
      }
      std::memset(m.dq + t0 * m.wide, 0, static_cast<std::size_t>(rows * m.wide) * sizeof(float));
    }
  }

  void tile(QueryHead &head, std::int64_t t0, std::int64_t j0, std::int64_t width, const Memory &m) const {
    std::int64_t rows = std::min(queryTile, s.queries - t0);
    for (std::int64_t r0 = 0; r0 < rows; r0 += l.rows)
      group(head, t0, r0, std::min<std::int64_t>(l.rows, rows - r0), j0, width, m);
    // dv and dk of a few keys, up to the last that queries of the tile read.
    for (std::int64_t c = 0; c < width; c += l.rows) {
      std::int64_t keys = std::min<std::int64_t>(l.rows, width - c);
      std::int64_t from = std::max<std::int64_t>(0, s.firstQuery(j0 + c) - t0);
      std::int64_t count = std::min(rows, s.endQuery(j0 + c + keys - 1) - t0) - from;
      if (count <= 0)
        continue;
      auto add = [&](const float *factors, const float *columns, float *sums) {
        head.prefetch.step();
        l.tileProduct({keys, s.size, count, factors + from * keyTile + c, 1, keyTile,
                       columns + t0 * m.wide + from * l.panel, l.panel * rows, sums + (j0 + c) * m.wide, m.wide, true});
      };
      add(m.scores, m.doutColumns, m.dv);
      add(m.slopes, m.qColumns, m.dk);
    }
  }

  /// p and ds of a few queries, zero where they do not read, and their part of dq.
  void group(const QueryHead &head, std::int64_t t0, std::int64_t r0, std::int64_t count, std::int64_t j0,
             std::int64_t width, const Memory &m) const {
    std::int64_t t = t0 + r0;
    float *slopes = m.slopes + r0 * keyTile;
    const Columns any =
        gradTile<T>(s, call, call.inputs[5],
                    {head.b, head.h, t, count, j0, width, m.q + t * s.size, m.dout + t * s.size,
                     m.keyRows + j0 * s.size, m.valueRows + j0 * s.size, m.delta + t, m.scores + r0 * keyTile, slopes},
                    /*isScaled=*/true);
    if (any.isEmpty())
      return;
    l.tileProduct({count, s.size, any.end - any.begin, slopes + any.begin, keyTile, 1,
                   m.keyColumns + j0 * m.wide + any.begin * l.panel, l.panel * width, m.dq + t * m.wide, m.wide, true});
  }
};

} // namespace

Bound fast::attention_grad(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(AttentionShape shape, AttentionShape::ofGradient(request));
  DType type = request.inputs[0].dtype;
  if (!hasLoops(type) || !fits(request, shape, request.inputs[5], type))
    return useReference();
  std::int64_t floats = attentionGradFloats(shape.queries, shape.keys, shape.size);
  SLUICE_RETURN_IF_ERROR(Check(request).workspace(floats * 4 * std::max(1, request.threads)));
  return withLoops(type, [&]<typename T>() { return attentionOf<Backward<T>>(request, shape, floats); });
}

} // namespace sluice::cpu
