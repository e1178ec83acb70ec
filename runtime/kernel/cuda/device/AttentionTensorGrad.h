//===- AttentionTensorGrad.h - the derivative of attention on tensor cores ----------------------------------------===//
//
// As AttentionTensor.h. The first kernel has a block for each tile of queries; it computes dq and stores dout.out for
// the second. The second has a block for each tile of keys; it computes dk and dv over the queries of all heads of its
// group, in order. Both compute the scores again, so nothing is added by atomics. Tiles of the other side are double
// buffered. For heads of more than 128 elements, dv and dk are computed by two kernels.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_ATTENTIONTENSORGRAD_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_ATTENTIONTENSORGRAD_H

#include "runtime/kernel/cuda/device/AttentionTensor.h"

namespace sluice::cuda {

inline constexpr HeadForm queryForms[] = {{64, 2, 32}, {96, 1, 32}, {128, 1, 32}, {256, 1, 16}};
inline constexpr HeadForm keyForms[] = {{64, 1, 32}, {96, 1, 32}, {128, 1, 32}, {256, 1, 32}};

/// Two tiles of own rows and two of the other side, twice.
constexpr int queriesTensorShared(HeadForm form) {
  return 2 * headTile(form.D, form.rows()) + 4 * headTile(form.D, form.N);
}
/// In addition lse and dout.out of the queries, twice.
constexpr int keysTensorShared(HeadForm form) { return queriesTensorShared(form) + 4 * form.N * 4; }

template <int type, HeadForm form> SLUICE_DEVICE void attentionTensorQueries(const AttentionArgs &args, Lane lane) {
  constexpr int D = form.D, M = form.M, N = form.N, rows = headWarps * 16 * M, tileSize = headPitch<D> * N;
  Half *const queryTile = lane.shared<Half>(), *const gradTile = queryTile + headPitch<D> * rows;
  Half *const otherTiles = gradTile + headPitch<D> * rows;
  const int warpRow = lane.thread() / warpSize * 16 * M, group = lane.thread() % warpSize / 4, part = lane.thread() % 4;
  const QueryTile block(args, rows, lane);
  const WarpQueries warp(args, block.first, 16 * M, lane);
  const HeadRows q(args.q, block.b, block.h, args.queries, args.size),
      dout(args.dout, block.b, block.h, args.queries, args.size);
  const HeadRows k(args.k, block.b, block.g, args.keys, args.size), v(args.v, block.b, block.g, args.keys, args.size);
  const HeadRows out(args.out, block.b, block.h, args.queries, args.size),
      dq(args.dq, block.b, block.h, args.queries, args.size);
  const float scale = static_cast<float>(args.scale), factor = scale * log2OfE;

  int tile = block.begin / N * N;
  copyRows<D, rows>(q, block.first, queryTile, lane);
  copyRows<D, rows>(dout, block.first, gradTile, lane);
  copyRows<D, N>(k, tile, otherTiles, lane);
  copyRows<D, N>(v, tile, otherTiles + tileSize, lane);
  commitCopies(lane);
  waitForCopies<0>(lane);
  lane.sync();
  const TileAddress own = below<D>(addressOf(queryTile + warpRow * headPitch<D>, lane), lane),
                    grads = below<D>(addressOf(gradTile + warpRow * headPitch<D>, lane), lane);

  float delta[M][2], lse[M][2];
  forRows<M>([&](int m, int i) {
    const Index t = warp.first + m * 16 + i * 8 + group;
    lse[m][i] = t < args.queries
                    ? static_cast<const float *>(args.lse.data)[statisticAt(args.lse, block.b, block.h, t)] * log2OfE
                    : 0.0f;
    delta[m][i] = 0;
    for (int r = 0; r < 8; ++r) {
      const int row = m * 16 + i * 8 + r;
      const Index from = warp.first + row;
      if (from >= args.queries)
        break;
      float sum = 0;
      for (int d = lane.thread() % warpSize; d < args.size; d += warpSize)
        sum += widened<type>(gradTile[(warpRow + row) * headPitch<D> + d]) *
               widened<type>(out.data[from * out.stride + d * out.elementStride]);
      sum = lane.warpReduce(sum, Add());
      if (r == group)
        delta[m][i] = sum;
    }
    if (part == 0 && t < args.queries)
      static_cast<float *>(args.delta)[(block.b * args.heads + block.h) * args.queries + t] = delta[m][i];
  });

  float result[M][D / 8][4];
  clear(result);
  for (int at = 0; tile < block.end; tile += N, at ^= 1) {
    const Half *const keyTile = otherTiles + at * 2 * tileSize, *const valueTile = keyTile + tileSize;
    if (tile + N < block.end) {
      Half *const next = otherTiles + (at ^ 1) * 2 * tileSize;
      copyRows<D, N>(k, tile + N, next, lane);
      copyRows<D, N>(v, tile + N, next + tileSize, lane);
      commitCopies(lane);
    }
    if (warp.someRead(tile, N)) {
      float s[M][N / 8][4], ds[M][N / 8][4];
      clear(s);
      clear(ds);
      addScores<type, D, M, N>(s, own, keyTile, lane);
      if (!warp.allRead(tile, N))
        maskKeys(s, args, warp, tile, lane);
      addScores<type, D, M, N>(ds, grads, valueTile, lane);
      forNumbers<M, N / 8>([&](int m, int n, int i) {
        s[m][n][i] = powerOfTwo(s[m][n][i] * factor - lse[m][i / 2]) * (ds[m][n][i] - delta[m][i / 2]);
      });
      addWeighted<type, D, M, N>(result, s, keyTile, lane);
    }
    waitForCopies<0>(lane);
    lane.sync();
  }
  storeResult<type, D, M>(result, scale, queryTile + warpRow * headPitch<D>, lane);
  lane.sync();
  writeRows<D, rows>(dq, block.first, queryTile, lane);
}

/// dk, dv, or both.
template <int type, HeadForm form, bool makesKeys, bool makesValues>
SLUICE_DEVICE void attentionTensorKeys(const AttentionArgs &args, Lane lane) {
  constexpr int D = form.D, M = form.M, N = form.N, rows = headWarps * 16 * M, tileSize = headPitch<D> * N;
  Half *const keyTile = lane.shared<Half>(), *const valueTile = keyTile + headPitch<D> * rows;
  Half *const otherTiles = valueTile + headPitch<D> * rows;
  float *const statistics = reinterpret_cast<float *>(otherTiles + 4 * tileSize);
  const int warpRow = lane.thread() / warpSize * 16 * M, part = lane.thread() % 4;
  const Index blocksOfHead = (args.keys + rows - 1) / rows, head = lane.block() / blocksOfHead;
  const Index b = head / args.keyHeads, g = head % args.keyHeads, heads = args.heads / args.keyHeads;
  const int first = static_cast<int>(lane.block() % blocksOfHead) * rows, warpFirst = first + warpRow,
            warpLast = warpFirst + 16 * M - 1;
  const Index last = first + rows < args.keys ? first + rows - 1 : args.keys - 1;
  const HeadRows k(args.k, b, g, args.keys, args.size), v(args.v, b, g, args.keys, args.size);
  const float scale = static_cast<float>(args.scale), factor = scale * log2OfE;

  // The tiles of queries that read these keys, once for each head of the group.
  const int begin = static_cast<int>(args.firstQuery(first)) / N * N, end = static_cast<int>(args.endQuery(last));
  const int tiles = end > begin ? (end - begin + N - 1) / N : 0;
  // The tile that is copied next, and its head.
  Index nextHead = g * heads;
  int nextTile = begin;
  const Index endHead = tiles > 0 ? nextHead + heads : nextHead;
  const auto copyNext = [&](Half *to, float *lse) {
    const Index h = nextHead;
    const int tile = nextTile;
    copyRows<D, N>(HeadRows(args.q, b, h, args.queries, args.size), tile, to, lane);
    copyRows<D, N>(HeadRows(args.dout, b, h, args.queries, args.size), tile, to + tileSize, lane);
    if (lane.thread() < N) {
      const bool real = tile + lane.thread() < args.queries;
      const Index t = real ? tile + lane.thread() : 0;
      copyWord(lse + lane.thread(), static_cast<const float *>(args.lse.data) + statisticAt(args.lse, b, h, t), real,
               lane);
      copyWord(lse + N + lane.thread(),
               static_cast<const float *>(args.delta) + (b * args.heads + h) * args.queries + t, real, lane);
    }
    nextTile += N;
    if (nextTile >= end) {
      nextTile = begin;
      ++nextHead;
    }
  };

  copyRows<D, rows>(k, first, keyTile, lane);
  if constexpr (makesKeys)
    copyRows<D, rows>(v, first, valueTile, lane);
  if (nextHead < endHead)
    copyNext(otherTiles, statistics);
  commitCopies(lane);
  waitForCopies<0>(lane);
  lane.sync();
  const TileAddress keys = below<D>(addressOf(keyTile + warpRow * headPitch<D>, lane), lane),
                    values = below<D>(addressOf(valueTile + warpRow * headPitch<D>, lane), lane);
  float dk[M][makesKeys ? D / 8 : 1][4], dv[M][makesValues ? D / 8 : 1][4];
  clear(dk);
  clear(dv);
  int tile = begin;
  // The first tile is in flight at the start; nothing follows the last one.
  for (Index left = heads * tiles, at = 0; left > 0; --left, at ^= 1) {
    const Half *const queryTile = otherTiles + at * 2 * tileSize, *const gradTile = queryTile + tileSize;
    const float *const lse = statistics + at * 2 * N, *const delta = lse + N;
    if (nextHead < endHead) {
      copyNext(otherTiles + (at ^ 1) * 2 * tileSize, statistics + (at ^ 1) * 2 * N);
      commitCopies(lane);
    }
    if (tile < args.endQuery(warpLast) && tile + N > args.firstQuery(warpFirst)) {
      float s[M][N / 8][4];
      clear(s);
      addScores<type, D, M, N>(s, keys, queryTile, lane);
      if (tile < args.firstQuery(warpLast) || tile + N > args.endQuery(warpFirst))
        maskScores(
            s, warpFirst, tile, [&](Index key) { return args.firstQuery(key); },
            [&](Index key) { return args.endQuery(key); }, lane);
      forNumbers<M, N / 8>([&](int m, int n, int i) {
        s[m][n][i] = powerOfTwo(s[m][n][i] * factor - lse[n * 8 + 2 * part + i % 2] * log2OfE);
      });
      if constexpr (makesValues)
        addWeighted<type, D, M, N>(dv, s, gradTile, lane);
      if constexpr (makesKeys) {
        float ds[M][N / 8][4];
        clear(ds);
        addScores<type, D, M, N>(ds, values, gradTile, lane);
        forNumbers<M, N / 8>([&](int m, int n, int i) { s[m][n][i] *= ds[m][n][i] - delta[n * 8 + 2 * part + i % 2]; });
        addWeighted<type, D, M, N>(dk, s, queryTile, lane);
      }
    }
    tile = tile + N < end ? tile + N : begin;
    waitForCopies<0>(lane);
    lane.sync();
  }
  if constexpr (makesKeys)
    storeResult<type, D, M>(dk, scale, keyTile + warpRow * headPitch<D>, lane);
  if constexpr (makesValues)
    storeResult<type, D, M>(dv, 1, valueTile + warpRow * headPitch<D>, lane);
  lane.sync();
  if constexpr (makesKeys)
    writeRows<D, rows>(HeadRows(args.dk, b, g, args.keys, args.size), first, keyTile, lane);
  if constexpr (makesValues)
    writeRows<D, rows>(HeadRows(args.dv, b, g, args.keys, args.size), first, valueTile, lane);
}

} // namespace sluice::cuda

#define SLUICE_ATTENTION_TENSOR_GRAD_KERNELS(X)                                                                        \
  SLUICE_HALVES(X, attentionTensorQueries64, attentionTensorQueries, queryForms[0])                                    \
  SLUICE_HALVES(X, attentionTensorQueries96, attentionTensorQueries, queryForms[1])                                    \
  SLUICE_HALVES(X, attentionTensorQueries128, attentionTensorQueries, queryForms[2])                                   \
  SLUICE_HALVES(X, attentionTensorQueries256, attentionTensorQueries, queryForms[3])                                   \
  SLUICE_HALVES(X, attentionTensorKeys64, attentionTensorKeys, keyForms[0], true, true)                                \
  SLUICE_HALVES(X, attentionTensorKeys96, attentionTensorKeys, keyForms[1], true, true)                                \
  SLUICE_HALVES(X, attentionTensorKeys128, attentionTensorKeys, keyForms[2], true, true)                               \
  SLUICE_HALVES(X, attentionTensorKeys256, attentionTensorKeys, keyForms[3], true, false)                              \
  SLUICE_HALVES(X, attentionTensorValues256, attentionTensorKeys, keyForms[3], false, true)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_ATTENTIONTENSORGRAD_H
