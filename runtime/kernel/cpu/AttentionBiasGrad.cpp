//===- AttentionBiasGrad.cpp - the derivative of attention's bias by tiles ----===//
//
// Computes the scores a second time. Work is divided by the elements of the bias: one batch row, head and tile of
// queries of the bias, and all terms of its elements. Order of sums: batch rows, heads, queries upwards.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/AttentionTiles.h"

namespace sluice::cpu {
namespace {

/// Positions [begin, end) of a dim that share a position of the bias.
struct Range {
  std::int64_t begin, end;
  Range(std::int64_t at, std::int64_t extent, std::int64_t all)
      : begin(extent == 1 ? 0 : at), end(extent == 1 ? all : at + 1) {}
};

template <typename T> struct BiasGradient {
  const AttentionShape &s;
  Call &call;
  const Operand &dbias = call.outputs[3];
  const Loops &l = loops();

  std::int64_t tiles() const { return dbias.extent[2] == 1 ? 1 : (s.queries + queryTile - 1) / queryTile; }

  /// `sums`: of a tile's rows of the bias, `s.keys` floats each.
  struct Memory {
    float *keys, *values, *q, *dout, *scores, *slopes, *delta, *sums;
  };

  void item(std::int64_t number, float *memory) const {
    const std::int64_t tile = number % tiles(), y = number / tiles() % dbias.extent[1],
                       x = number / tiles() / dbias.extent[1];
    const bool isOneRow = dbias.extent[2] == 1;
    const std::int64_t first = isOneRow ? 0 : tile * queryTile,
                       last = isOneRow ? s.queries : std::min(s.queries, first + queryTile),
                       rows = isOneRow ? 1 : last - first;
    Floats floats{memory};
    Memory m{};
    m.keys = floats.take(roundUp(s.keys, l.panel) * s.size);
    m.values = floats.take(roundUp(s.keys, l.panel) * s.size);
    m.q = floats.take(queryTile * s.size);
    m.dout = floats.take(queryTile * s.size);
    m.scores = floats.take(queryTile * keyTile);
    m.slopes = floats.take(queryTile * keyTile);
    m.delta = floats.take(queryTile);
    m.sums = floats.take(rows * s.keys);
    std::fill_n(m.sums, rows * s.keys, 0.f);
    const Range batch(x, dbias.extent[0], s.batch), heads(y, dbias.extent[1], s.heads);
    for (std::int64_t b = batch.begin; b < batch.end; ++b)
      for (std::int64_t h = heads.begin; h < heads.end; ++h) {
        if (h == heads.begin || h % s.headsPerKey() == 0)
          packKeys(b, h / s.headsPerKey(), m);
        for (std::int64_t t0 = first; t0 < last; t0 += queryTile)
          addTile(b, h, t0, std::min(queryTile, last - t0), isOneRow ? 0 : s.keys, m);
      }
    for (std::int64_t r = 0; r < rows; ++r) {
      const float *sums = m.sums + r * s.keys;
      const std::int64_t to = scoreRowAt(dbias, x, y, first + r);
      if (dbias.dtype == DType::f32)
        std::copy_n(sums, s.keys, dbias.as<float>() + to);
      else
        l.of<T>().narrow(sums, dbias.as<T>() + to, s.keys);
    }
  }

  void packKeys(std::int64_t b, std::int64_t g, const Memory &m) const {
    const Operand &k = call.inputs[2], &v = call.inputs[3];
    l.of<T>().packRows(rowOf<T>(k, b, 0, g), k.strides[1], s.keys, s.size, m.keys);
    l.of<T>().packRows(rowOf<T>(v, b, 0, g), v.strides[1], s.keys, s.size, m.values);
  }

  /// The queries [t0, t0 + rows), of which each adds to a row of sums at distance `pitch` from that of the one before.
  void addTile(std::int64_t b, std::int64_t h, std::int64_t t0, std::int64_t rows, std::int64_t pitch,
               const Memory &m) const {
    const Operand &dout = call.inputs[0], &q = call.inputs[1], &out = call.inputs[4];
    for (std::int64_t r = 0; r < rows; ++r) {
      const T *slope = rowOf<T>(dout, b, t0 + r, h);
      l.of<T>().widen(rowOf<T>(q, b, t0 + r, h), m.q + r * s.size, s.size);
      l.of<T>().widen(slope, m.dout + r * s.size, s.size);
      m.delta[r] = l.of<T>().dotRow(slope, rowOf<T>(out, b, t0 + r, h), s.size);
    }
    for (std::int64_t j0 = 0; j0 < s.keys; j0 += keyTile)
      for (std::int64_t r0 = 0; r0 < rows; r0 += l.rows) {
        const std::int64_t count = std::min<std::int64_t>(l.rows, rows - r0);
        const GradTile tile{b,
                            h,
                            t0 + r0,
                            count,
                            j0,
                            std::min(keyTile, s.keys - j0),
                            m.q + r0 * s.size,
                            m.dout + r0 * s.size,
                            m.keys + j0 * s.size,
                            m.values + j0 * s.size,
                            m.delta + r0,
                            m.scores,
                            m.slopes};
        const Columns any = gradTile<T>(s, call, call.inputs[5], tile, /*isScaled=*/false);
        for (std::int64_t r = 0; r < count; ++r) {
          float *sums = m.sums + (r0 + r) * pitch + j0;
          for (std::int64_t c = any.begin; c < any.end; ++c)
            sums[c] += m.slopes[r * keyTile + c];
        }
      }
  }
};

} // namespace

void addBiasGradient(const AttentionShape &s, Call &call, float *memory, std::int64_t floats) {
  withLoops(call.inputs[0].dtype, [&]<typename T>() {
    const BiasGradient<T> gradient{s, call};
    const Operand &dbias = call.outputs[3];
    forEach(call.threads, dbias.extent[0] * dbias.extent[1] * gradient.tiles(),
            [&](std::int64_t item) { gradient.item(item, memory + omp_get_thread_num() * floats); });
    return 0;
  });
}

} // namespace sluice::cpu
