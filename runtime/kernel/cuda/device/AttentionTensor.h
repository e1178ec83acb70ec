//===- AttentionTensor.h - attention on tensor cores ------------------------------------------------------------===//
//
// As Attention.h, for q, k, v and results of one type, bf16 or f16, and heads of at most 256. A block has 64 M queries
// of a head and goes over the tiles of keys that they read, upwards; scores and results stay in registers, weights are
// rounded to the operands' type before they are multiplied. Values are copied while scores are computed, the next keys
// while the values are added up.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_ATTENTIONTENSOR_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_ATTENTIONTENSOR_H

#include "runtime/kernel/cuda/device/HeadTiles.h"

namespace sluice::cuda {

/// The tiles of a kernel for heads of at most D elements: 16 M own rows a warp, tiles of N rows of the other side. As
/// many as fit 255 registers.
struct HeadForm {
  int D, M, N;
  constexpr int rows() const { return headWarps * 16 * M; }
};

inline constexpr HeadForm headForms[] = {{64, 2, 64}, {96, 2, 32}, {128, 2, 32}, {256, 1, 32}};

constexpr int attentionTensorShared(HeadForm form) {
  return headTile(form.D, form.rows()) + 2 * headTile(form.D, form.N);
}

inline constexpr float log2OfE = 1.4426950408889634f;

/// The queries [first, first + rows) of a head. Where queries are causal the blocks with most keys come first.
struct QueryTile {
  Index b, h, g;
  int first, begin, end;
  SLUICE_DEVICE QueryTile(const AttentionArgs &args, int rows, Lane lane) {
    const Index blocksOfHead = (args.queries + rows - 1) / rows, head = lane.block() / blocksOfHead;
    const Index at = lane.block() % blocksOfHead;
    b = head / args.heads;
    h = head % args.heads;
    g = h / (args.heads / args.keyHeads);
    first = static_cast<int>((args.causal ? blocksOfHead - 1 - at : at) * rows);
    const Index last = first + rows < args.queries ? first + rows - 1 : args.queries - 1;
    begin = static_cast<int>(args.firstKey(first));
    end = static_cast<int>(args.endKey(last));
  }
};

/// A warp's queries, and which tiles of keys all of them, or any, read from.
struct WarpQueries {
  int first, last, allBegin, allEnd, anyBegin, anyEnd;
  SLUICE_DEVICE WarpQueries(const AttentionArgs &args, int blockFirst, int rows, Lane lane) {
    first = blockFirst + lane.thread() / warpSize * rows;
    last = first + rows < args.queries ? first + rows - 1 : static_cast<int>(args.queries) - 1;
    const bool real = first <= last;
    allBegin = static_cast<int>(args.firstKey(last));
    allEnd = static_cast<int>(args.endKey(first));
    anyBegin = static_cast<int>(args.firstKey(first));
    anyEnd = real ? static_cast<int>(args.endKey(last)) : 0;
  }
  SLUICE_DEVICE bool someRead(int tile, int N) const { return tile < anyEnd && tile + N > anyBegin; }
  SLUICE_DEVICE bool allRead(int tile, int N) const { return tile >= allBegin && tile + N <= allEnd; }
};

/// Sets scores of columns outside [low(row), high(row)) to minus infinity.
template <int M, int N, typename Low, typename High>
SLUICE_DEVICE void maskScores(float (&s)[M][N][4], int row, int tile, Low low, High high, Lane lane) {
  const int group = lane.thread() % warpSize / 4, part = lane.thread() % 4;
  forRows<M>([&](int m, int i) {
    const Index own = row + m * 16 + i * 8 + group;
    const int from = static_cast<int>(low(own) - tile), to = static_cast<int>(high(own) - tile);
    SLUICE_UNROLL
    for (int n = 0; n < N; ++n)
      SLUICE_UNROLL
    for (int e = 0; e < 2; ++e)
      if (const int column = n * 8 + 2 * part + e; column < from || column >= to)
        s[m][n][2 * i + e] = -infinityOf(0.0f);
  });
}
template <int M, int N>
SLUICE_DEVICE void maskKeys(float (&s)[M][N][4], const AttentionArgs &args, const WarpQueries &queries, int tile,
                            Lane lane) {
  const auto within = [&](Index t) { return t < queries.last ? t : Index(queries.last); };
  maskScores(
      s, queries.first, tile, [&](Index t) { return args.firstKey(within(t)); },
      [&](Index t) { return args.endKey(within(t)); }, lane);
}

template <int type, HeadForm form> SLUICE_DEVICE void attentionTensor(const AttentionArgs &args, Lane lane) {
  constexpr int D = form.D, M = form.M, N = form.N, rows = headWarps * 16 * M;
  Half *const queryTile = lane.shared<Half>(), *const keyTile = queryTile + headPitch<D> * rows;
  Half *const valueTile = keyTile + headPitch<D> * N;
  Half *const warpRows = queryTile + lane.thread() / warpSize * 16 * M * headPitch<D>;
  const int group = lane.thread() % warpSize / 4, part = lane.thread() % 4;
  const QueryTile block(args, rows, lane);
  const WarpQueries warp(args, block.first, 16 * M, lane);
  const HeadRows q(args.q, block.b, block.h, args.queries, args.size),
      k(args.k, block.b, block.g, args.keys, args.size);
  const HeadRows v(args.v, block.b, block.g, args.keys, args.size),
      out(args.out, block.b, block.h, args.queries, args.size);
  const float scale = static_cast<float>(args.scale), factor = scale * log2OfE;

  float result[M][D / 8][4], largest[M][2], sum[M][2];
  clear(result);
  forRows<M>([&](int m, int i) {
    largest[m][i] = -infinityOf(0.0f);
    sum[m][i] = 0;
  });

  int tile = block.begin / N * N;
  copyRows<D, rows>(q, block.first, queryTile, lane);
  copyRows<D, N>(k, tile, keyTile, lane);
  commitCopies(lane);
  waitForCopies<0>(lane);
  lane.sync();
  const TileAddress own = below<D>(addressOf(warpRows, lane), lane);
  for (; tile < block.end; tile += N) {
    copyRows<D, N>(v, tile, valueTile, lane);
    commitCopies(lane);
    const bool reads = warp.someRead(tile, N);
    float s[M][N / 8][4];
    clear(s);
    if (reads) {
      addScores<type, D, M, N>(s, own, keyTile, lane);
      if (!warp.allRead(tile, N))
        maskKeys(s, args, warp, tile, lane);
    }
    waitForCopies<0>(lane);
    lane.sync();
    if (tile + N < block.end) {
      copyRows<D, N>(k, tile + N, keyTile, lane);
      commitCopies(lane);
    }
    if (reads) {
      forRows<M>([&](int m, int i) {
        float most = largest[m][i];
        SLUICE_UNROLL
        for (int n = 0; n < N / 8; ++n)
          most = fmaxf(most, fmaxf(s[m][n][2 * i], s[m][n][2 * i + 1]));
        most = reduceRow(most, [](float a, float b) { return fmaxf(a, b); }, lane);
        // A row that has seen no key yet has no largest score.
        const float shift = most == -infinityOf(0.0f) ? 0.0f : most * factor;
        const float keep = powerOfTwo(largest[m][i] * factor - shift);
        largest[m][i] = most;
        float more = 0;
        SLUICE_UNROLL
        for (int n = 0; n < N / 8; ++n)
          SLUICE_UNROLL
        for (int e = 0; e < 2; ++e)
          more += s[m][n][2 * i + e] = powerOfTwo(s[m][n][2 * i + e] * factor - shift);
        sum[m][i] = sum[m][i] * keep + more;
        SLUICE_UNROLL
        for (int n = 0; n < D / 8; ++n)
          SLUICE_UNROLL
        for (int e = 0; e < 2; ++e)
          result[m][n][2 * i + e] *= keep;
      });
      addWeighted<type, D, M, N>(result, s, valueTile, lane);
    }
    waitForCopies<0>(lane);
    lane.sync();
  }

  forRows<M>([&](int m, int i) {
    const float total = reduceRow(sum[m][i], Add(), lane), inverse = total == 0 ? 0.0f : 1 / total;
    SLUICE_UNROLL
    for (int n = 0; n < D / 8; ++n)
      SLUICE_UNROLL
    for (int e = 0; e < 2; ++e)
      result[m][n][2 * i + e] *= inverse;
    const Index t = warp.first + m * 16 + i * 8 + group;
    if (part == 0 && t < args.queries)
      static_cast<float *>(args.lse.data)[statisticAt(args.lse, block.b, block.h, t)] =
          largest[m][i] * scale + logOf(total);
  });
  storeResult<type, D, M>(result, 1, warpRows, lane);
  lane.sync();
  writeRows<D, rows>(out, block.first, queryTile, lane);
}

} // namespace sluice::cuda

/// One kernel for each type: SLUICE_HALVES(X, symbol, function, its template arguments after the type).
#define SLUICE_HALVES(X, symbol, function, ...)                                                                        \
  X(sluice_##symbol##_bf16, (function<typeBf16, __VA_ARGS__>), AttentionArgs)                                          \
  X(sluice_##symbol##_f16, (function<typeF16, __VA_ARGS__>), AttentionArgs)

#define SLUICE_ATTENTION_TENSOR_KERNELS(X)                                                                             \
  SLUICE_HALVES(X, attentionTensor64, attentionTensor, headForms[0])                                                   \
  SLUICE_HALVES(X, attentionTensor96, attentionTensor, headForms[1])                                                   \
  SLUICE_HALVES(X, attentionTensor128, attentionTensor, headForms[2])                                                  \
  SLUICE_HALVES(X, attentionTensor256, attentionTensor, headForms[3])

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_ATTENTIONTENSOR_H
