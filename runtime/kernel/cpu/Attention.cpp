//===- Attention.cpp - attention by tiles, never a T x T buffer ---------------===//
//
// A running maximum and sum per query over tiles of keys. Within a tile, groups of a few rows compute only the columns
// that they read, so that a diagonal or a window costs little more than its pairs. Work is divided by batch row and key
// head; keys and values of one head are packed once in panels for the tile product. Order of sums: tiles of keys
// upwards.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/AttentionTiles.h"
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <cmath>
#include <limits>

namespace sluice::cpu {
namespace {

/// A head's rows as floats: f32 in place, other types widened into `room`.
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

template <typename T> struct Forward {
  const AttentionShape &s;
  Call &call;
  const Loops &l = loops();

  /// A few queries and the columns that they read of a tile of keys.
  struct Group {
    std::int64_t first = 0, count = 0;
    Columns any = {};
  };
  /// Position of one tile of queries.
  struct Tile {
    std::int64_t b, h, t0, rows, wide;
    FloatRows<T> q;
    float *scores, *out;
    float maximum[wideQueryTile], sum[wideQueryTile];
    bool begun[wideQueryTile];
  };

  void head(std::int64_t b, std::int64_t g, float *memory) const {
    Floats floats{memory};
    std::int64_t wide = roundUp(s.size, l.panel);
    float *keys = floats.take(roundUp(s.keys, l.panel) * s.size), *values = floats.take(s.keys * wide);
    const Operand &k = call.inputs[1], &v = call.inputs[2];
    l.of<T>().packRows(rowOf<T>(k, b, 0, g), k.strides[1], s.keys, s.size, keys);
    l.of<T>().packColumns(rowOf<T>(v, b, 0, g), v.strides[1], s.keys, s.size, values);
    for (std::int64_t h = g * s.headsPerKey(); h < (g + 1) * s.headsPerKey(); ++h) {
      HeadPrefetch prefetch(s, {&call.inputs[0], &call.outputs[0]}, {&k, &v}, b, h);
      for (std::int64_t t0 = 0; t0 < s.queries; t0 += wideQueryTile)
        queries(b, h, t0, keys, values, wide, floats, prefetch);
    }
  }

  void queries(std::int64_t b, std::int64_t h, std::int64_t t0, const float *keys, const float *values,
               std::int64_t wide, Floats floats, HeadPrefetch &prefetch) const {
    std::int64_t rows = std::min(wideQueryTile, s.queries - t0);
    FloatRows<T> q(call.inputs[0], b, h, t0, rows, s.size, floats.take(rows * s.size));
    Tile tile{b, h, t0, rows, wide, q, floats.take(rows * wideKeyTile), floats.take(rows * wide), {}, {}, {}};
    std::fill_n(tile.maximum, rows, -std::numeric_limits<float>::infinity());
    std::int64_t end = s.visible(t0 + rows - 1);
    for (std::int64_t j0 = s.firstKey(t0) / l.panel * l.panel; j0 < end; j0 += wideKeyTile)
      keyTiles(tile, j0, std::min(wideKeyTile, end - j0), keys, values, prefetch);
    for (std::int64_t r = 0; r < rows; ++r) {
      T *out = rowOf<T>(call.outputs[0], b, t0 + r, h);
      // Without keys, and perhaps no memory of the row is written.
      if (tile.sum[r] == 0)
        std::fill_n(out, s.size, T{});
      else
        l.of<T>().scaleTo(tile.out + r * wide, 1 / tile.sum[r], out, s.size);
      *statisticOf(call.outputs[1], b, h, t0 + r) =
          static_cast<float>(tile.maximum[r] + std::log(static_cast<double>(tile.sum[r])));
    }
  }

  /// The tile's queries against keys j0 and on.
  void keyTiles(Tile &tile, std::int64_t j0, std::int64_t width, const float *keys, const float *values,
                HeadPrefetch &prefetch) const {
    Group groups[wideQueryTile];
    int count = 0;
    for (std::int64_t r0 = 0; r0 < tile.rows; r0 += l.rows) {
      std::int64_t m = std::min<std::int64_t>(l.rows, tile.rows - r0), t = tile.t0 + r0;
      Columns any(s, t, t + m - 1, j0, width);
      if (!any.isEmpty())
        groups[count++] = {r0, m, any};
    }
    if (count == 0)
      return;
    scores(tile, groups, count, j0, keys);
    for (int i = 0; i < count; ++i)
      powers(tile, groups[i], j0, width);
    // A panel of values stays in the first cache for all groups.
    for (std::int64_t n = 0; n < s.size; n += l.panel)
      for (int i = 0; i < count; ++i) {
        const Group &group = groups[i];
        prefetch.step();
        prefetch.step();
        l.tileProduct({group.count, std::min<std::int64_t>(l.panel, s.size - n), group.any.end - group.any.begin,
                       tile.scores + group.first * wideKeyTile + group.any.begin, wideKeyTile, 1,
                       values + n * s.keys + (j0 + group.any.begin) * l.panel, l.panel * s.keys,
                       tile.out + group.first * tile.wide + n, tile.wide, tile.begun[group.first]});
      }
    for (int i = 0; i < count; ++i)
      tile.begun[groups[i].first] = true;
  }

  /// q k, in complete panels: first those that all groups read, then the others group by group.
  void scores(const Tile &tile, const Group *groups, int count, std::int64_t j0, const float *keys) const {
    auto product = [&](std::int64_t first, std::int64_t rows, std::int64_t from, std::int64_t to) {
      if (from < to)
        l.tileProduct({rows, to - from, s.size, tile.q.data + first * tile.q.pitch, tile.q.pitch, 1,
                       keys + (j0 + from) * s.size, l.panel * s.size, tile.scores + first * wideKeyTile + from,
                       wideKeyTile, false});
    };
    const Group &upper = groups[0], &lower = groups[count - 1];
    std::int64_t begin = lower.any.begin / l.panel * l.panel, end = upper.any.end / l.panel * l.panel;
    end = std::max(begin, end);
    product(upper.first, lower.first + lower.count - upper.first, begin, end);
    for (int i = 0; i < count; ++i) {
      const Group &group = groups[i];
      product(group.first, group.count, group.any.begin / l.panel * l.panel, std::min(begin, group.any.end));
      product(group.first, group.count, end, group.any.end);
    }
  }

  /// Replaces scores by exponentials and scales the earlier values to the new maximum.
  void powers(Tile &tile, const Group &group, std::int64_t j0, std::int64_t width) const {
    ScoreRows rows{tile.scores + group.first * wideKeyTile,
                   wideKeyTile,
                   static_cast<int>(group.count),
                   {},
                   {},
                   group.any.begin,
                   group.any.end,
                   s.changesScores() ? 1 : static_cast<float>(s.scale),
                   tile.maximum + group.first,
                   tile.sum + group.first,
                   {}};
    for (int r = 0; r < rows.rows; ++r) {
      std::int64_t t = tile.t0 + group.first + r;
      Columns seen(s, t, t, j0, width);
      rows.begin[r] = seen.begin;
      rows.end[r] = seen.end;
      if (s.changesScores() && !seen.isEmpty())
        changeScores<T>(s, call, tile.b, tile.h, t, j0 + seen.begin, seen.end - seen.begin,
                        rows.x + r * wideKeyTile + seen.begin);
    }
    l.scoreRows(rows);
    // The sums are those of all probabilities.
    if (s.dropout)
      drop(tile, group, rows, j0);
    for (int r = 0; r < rows.rows; ++r)
      if (rows.factor[r] != 1) {
        float *out = tile.out + (group.first + r) * tile.wide;
        l.f32.scaleTo(out, rows.factor[r], out, tile.wide);
      }
  }

  void drop(const Tile &tile, const Group &group, const ScoreRows &rows, std::int64_t j0) const {
    const ProbabilityDropout dropout(s, call, call.outputs[1]);
    float factors[wideKeyTile];
    for (int r = 0; r < rows.rows; ++r) {
      const std::int64_t begin = rows.begin[r], count = rows.end[r] - begin;
      if (count <= 0)
        continue;
      dropout.fill(tile.b, tile.h, tile.t0 + group.first + r, j0 + begin, count, factors);
      multiplyBy(rows.x + r * wideKeyTile + begin, factors, count);
    }
  }
};

} // namespace

Bound fast::attention(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(AttentionShape shape, AttentionShape::ofForward(request));
  DType type = request.inputs[0].dtype;
  if (!hasLoops(type) || !fits(request, shape, request.outputs[1], type))
    return useReference();
  std::int64_t floats = attentionFloats(shape.keys, shape.size);
  SLUICE_RETURN_IF_ERROR(Check(request).workspace(floats * 4 * std::max(1, request.threads)));
  return withLoops(type, [&]<typename T>() { return attentionOf<Forward<T>>(request, shape, floats); });
}

} // namespace sluice::cpu
