//===- Attention.h - attention without a T x T buffer -----------------------------------------===//
//
// A block computes eight rows of one head, one warp per row. Tiles of 32 keys and values (in the kernel for dk and dv:
// queries and output gradients) pass through shared memory; lane j has the score of row j of the tile, and lane d the
// elements d, d + 32, ... of the result. Sums run over tiles upwards, within a tile in order: no sum uses atomics.
//
//   p[t, s] = exp(scale q[t].k[s] + bias[t, s] - lse[t]),   out[t] = sum_s p d v[s]
//   ds[t, s] = p (d dout[t].v[s] - dout[t].out[t]),   dq[t] = scale sum_s ds k[s],   dk[s] = scale sum_t ds q[t]
//
// with d[t, s] the factor of dropout, 1 without dropout.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_ATTENTION_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_ATTENTION_H

#include "runtime/kernel/cuda/device/Philox.h"

namespace sluice::cuda {

/// Rows of a block.
inline constexpr int attentionWarps = 8;

struct AttentionArgs {
  /// [B, T, H, D], [B, S, G, D], [B, S, G, D], [B, T, H, D], [B, H, T].
  View q, k, v, out, lse;
  View dout, dq, dk, dv;
  /// Of the scores, [B, H, T, S]; a dim of one position has stride 0.
  View mask, bias, dbias;
  /// The document of each token, [B, T].
  View documents;
  Index batch = 0, queries = 0, keys = 0, heads = 0, keyHeads = 0;
  int size = 0;
  double scale = 1;
  int causal = 0, masked = 0, biased = 0, packed = 0;
  Index window = 0;
  /// dout.out of each query, [B, H, T].
  void *delta = nullptr;
  /// Dropout: seed, step and row, i64 scalars, null without dropout; the key; numbers below the threshold are dropped;
  /// the factor of the others. Strides of a query's index in [B, H, T] of all ranks, and the index of the first.
  const Index *seed = nullptr, *step = nullptr, *row = nullptr;
  Key key = 0;
  Word threshold = 0;
  double kept = 1;
  Index global[3] = {};
  Key first = 0;

  /// Keys that query t reads: [firstKey(t), endKey(t)).
  SLUICE_DEVICE Index endKey(Index t) const { return causal ? t + 1 + keys - queries : keys; }
  SLUICE_DEVICE Index firstKey(Index t) const {
    const Index first = endKey(t) - window;
    return first > 0 ? first : 0;
  }
  /// Queries that read key s: [firstQuery(s), endQuery(s)).
  SLUICE_DEVICE Index firstQuery(Index s) const {
    const Index first = s + queries - keys;
    return causal && first > 0 ? first : 0;
  }
  SLUICE_DEVICE Index endQuery(Index s) const {
    const Index end = s + queries - keys + window;
    return causal && end < queries ? end : queries;
  }
};

/// Bytes of shared memory: two tiles, two rows a warp, a tile's weights twice and row numbers twice.
constexpr int attentionShared(int size, int bytes) {
  return (2 * 32 * (size + 1) + 2 * attentionWarps * size + 2 * 32 * attentionWarps + 64) * bytes;
}

SLUICE_DEVICE Index rowAt(const View &view, Index b, Index t, Index h) {
  return b * view.strides[0] + t * view.strides[1] + h * view.strides[2];
}
SLUICE_DEVICE Index statisticAt(const View &view, Index b, Index h, Index t) {
  return b * view.strides[0] + h * view.strides[1] + t * view.strides[2];
}

SLUICE_DEVICE Index scoreAt(const View &view, Index b, Index h, Index t, Index s) {
  return b * view.strides[0] + h * view.strides[1] + t * view.strides[2] + s * view.strides[3];
}
/// True if the mask does not hide the key, and it is of the query's document.
SLUICE_DEVICE bool isVisible(const AttentionArgs &args, Index b, Index h, Index t, Index s) {
  if (args.packed != 0 &&
      readInteger(args.documents, b * args.documents.strides[0] + t * args.documents.strides[1]) !=
          readInteger(args.documents, b * args.documents.strides[0] + s * args.documents.strides[1]))
    return false;
  return args.masked == 0 || static_cast<const unsigned char *>(args.mask.data)[scoreAt(args.mask, b, h, t, s)] != 0;
}
template <typename T>
SLUICE_DEVICE T scoreOf(const AttentionArgs &args, T product, Index b, Index h, Index t, Index s) {
  const T score = product * static_cast<T>(args.scale);
  return args.biased == 0 ? score : score + static_cast<T>(readAny(args.bias, scoreAt(args.bias, b, h, t, s)));
}
/// The factor of a probability.
template <typename T> SLUICE_DEVICE T dropoutOf(const AttentionArgs &args, Index b, Index h, Index t, Index s) {
  if (!args.seed)
    return T(1);
  const Index query = (*args.row + b) * args.global[0] + h * args.global[1] + t * args.global[2];
  const Key index = (args.first + static_cast<Key>(query)) * static_cast<Key>(args.keys) + static_cast<Key>(s);
  const Key stream = static_cast<Key>(*args.step) << 32 | args.key;
  const bool isKept =
      philoxWords(static_cast<Key>(*args.seed), stream, index / 4).words[index % 4] >> 8 >= args.threshold;
  return isKept ? static_cast<T>(args.kept) : T(0);
}
/// The saved statistic of a row; 0 for a row without keys, whose scores are -infinity.
template <typename T> SLUICE_DEVICE T readLse(const AttentionArgs &args, Index b, Index h, Index t) {
  const T lse = static_cast<T>(readAny(args.lse, statisticAt(args.lse, b, h, t)));
  return lse == -infinityOf(T()) ? T(0) : lse;
}

/// Rows [begin, begin + 32) of a head, as many as there are before `end`, to shared memory with one element of slack a
/// row.
template <typename E, typename T>
SLUICE_DEVICE void loadTile(const View &view, Index b, Index h, Index begin, Index end, int size, T *tile, Lane lane) {
  for (int i = lane.thread(); i < 32 * size; i += lane.threads()) {
    const int row = i / size, d = i % size;
    tile[row * (size + 1) + d] =
        begin + row < end ? E::read(view, rowAt(view, b, begin + row, h) + d * view.strides[3]) : T(0);
  }
}
/// One row by its warp.
template <typename E, typename T> SLUICE_DEVICE void loadRow(const View &view, Index at, int size, T *row, Lane lane) {
  for (int d = lane.thread() % warpSize; d < size; d += warpSize)
    row[d] = E::read(view, at + d * view.strides[3]);
}
template <typename T> SLUICE_DEVICE T dot(const T *a, const T *b, int size) {
  T sum = 0;
  for (int d = 0; d < size; ++d)
    sum += a[d] * b[d];
  return sum;
}

/// A lane's elements of a row.
template <typename E, int N, typename T>
SLUICE_DEVICE void writeRow(const View &view, Index to, int size, const T *result, Lane lane) {
  for (int n = 0; n < N; ++n)
    if (const int d = n * warpSize + lane.thread() % warpSize; d < size)
      E::write(view, to + d * view.strides[3], result[n]);
}
/// result[d] += sum over j of weights[j] tile[j][d], one after the other.
template <int N, typename T>
SLUICE_DEVICE void addTile(T *result, const T *weights, const T *tile, int size, Lane lane) {
  for (int n = 0; n < N; ++n) {
    const int d = n * warpSize + lane.thread() % warpSize;
    if (d >= size)
      break;
    for (int j = 0; j < 32; ++j)
      result[n] += weights[j] * tile[j * (size + 1) + d];
  }
}

/// The division of a block's shared memory: two tiles, two rows and 64 weights per warp.
template <typename T> struct AttentionMemory {
  T *firstTile, *secondTile, *firstRow, *secondRow, *weights;
  SLUICE_DEVICE AttentionMemory(int size, Lane lane) {
    const int warp = lane.thread() / warpSize;
    firstTile = lane.shared<T>();
    secondTile = firstTile + 32 * (size + 1);
    T *const rows = secondTile + 32 * (size + 1);
    firstRow = rows + warp * size;
    secondRow = rows + (attentionWarps + warp) * size;
    weights = rows + 2 * attentionWarps * size + warp * 64;
  }
};

/// Eight queries of a head, a warp each, and the keys that they read.
struct AttentionQuery {
  Index b, h, g, t, first, last, begin, end;
  bool real;
  SLUICE_DEVICE AttentionQuery(const AttentionArgs &args, Lane lane) {
    const Index blocksOfHead = (args.queries + attentionWarps - 1) / attentionWarps, head = lane.block() / blocksOfHead;
    b = head / args.heads;
    h = head % args.heads;
    g = h / (args.heads / args.keyHeads);
    first = lane.block() % blocksOfHead * attentionWarps;
    last = first + attentionWarps - 1 < args.queries ? first + attentionWarps - 1 : args.queries - 1;
    t = first + lane.thread() / warpSize;
    real = t < args.queries;
    begin = real ? args.firstKey(t) : 0;
    end = real ? args.endKey(t) : 0;
  }
  /// body(this lane's key, true if the query reads it) for each tile of keys and values that the warp's query reads.
  template <typename E, typename T, typename Body>
  SLUICE_DEVICE void forTiles(const AttentionArgs &args, const AttentionMemory<T> &memory, Lane lane, Body body) const {
    for (Index tile = args.firstKey(first) / 32 * 32; tile < args.endKey(last); tile += 32) {
      lane.sync();
      loadTile<E>(args.k, b, g, tile, args.keys, args.size, memory.firstTile, lane);
      loadTile<E>(args.v, b, g, tile, args.keys, args.size, memory.secondTile, lane);
      lane.sync();
      const Index key = tile + lane.thread() % warpSize;
      if (tile < end && tile + 32 > begin)
        body(key, key >= begin && key < end && isVisible(args, b, h, t, key));
    }
  }
};

template <typename E, int N> SLUICE_DEVICE void attentionForward(const AttentionArgs &args, Lane lane) {
  using T = typename E::Real;
  const int size = args.size, at = lane.thread() % warpSize;
  const AttentionMemory<T> memory(size, lane);
  const AttentionQuery query(args, lane);
  if (query.real)
    loadRow<E>(args.q, rowAt(args.q, query.b, query.t, query.h), size, memory.firstRow, lane);
  T largest = -infinityOf(T()), sum = 0, result[N];
  for (int n = 0; n < N; ++n)
    result[n] = 0;
  query.forTiles<E>(args, memory, lane, [&](Index key, bool seen) {
    const T score = seen ? scoreOf(args, dot(memory.firstRow, memory.firstTile + at * (size + 1), size), query.b,
                                   query.h, query.t, key)
                         : -infinityOf(T());
    const T next = maxOf(largest, lane.warpReduce(score, MaxOf()));
    const T weight = score == -infinityOf(T()) ? T(0) : expOf(score - next);
    const T keep = largest == next ? T(1) : expOf(largest - next);
    sum = sum * keep + lane.warpReduce(weight, Add());
    largest = next;
    memory.weights[at] = seen ? weight * dropoutOf<T>(args, query.b, query.h, query.t, key) : T(0);
    lane.syncWarp();
    for (int n = 0; n < N; ++n) {
      const int d = n * warpSize + at;
      if (d >= size)
        break;
      T more = 0;
      for (int j = 0; j < 32; ++j)
        more += memory.weights[j] * memory.secondTile[j * (size + 1) + d];
      result[n] = result[n] * keep + more;
    }
    lane.syncWarp();
  });
  if (!query.real)
    return;
  for (int n = 0; n < N; ++n)
    result[n] = sum == 0 ? T(0) : result[n] / sum;
  writeRow<E, N>(args.out, rowAt(args.out, query.b, query.t, query.h), size, result, lane);
  if (at == 0)
    writeAny(args.lse, statisticAt(args.lse, query.b, query.h, query.t), largest + logOf(sum));
}

/// dq, and dout.out for the other kernel.
template <typename E, int N> SLUICE_DEVICE void attentionQueries(const AttentionArgs &args, Lane lane) {
  using T = typename E::Real;
  const int size = args.size, at = lane.thread() % warpSize;
  const AttentionMemory<T> memory(size, lane);
  const AttentionQuery query(args, lane);
  T delta = 0, lse = 0;
  if (query.real) {
    loadRow<E>(args.q, rowAt(args.q, query.b, query.t, query.h), size, memory.firstRow, lane);
    loadRow<E>(args.dout, rowAt(args.dout, query.b, query.t, query.h), size, memory.secondRow, lane);
    const Index out = rowAt(args.out, query.b, query.t, query.h);
    lane.syncWarp();
    for (int d = at; d < size; d += warpSize)
      delta += memory.secondRow[d] * E::read(args.out, out + d * args.out.strides[3]);
    delta = lane.warpReduce(delta, Add());
    lse = readLse<T>(args, query.b, query.h, query.t);
    if (at == 0)
      static_cast<T *>(args.delta)[(query.b * args.heads + query.h) * args.queries + query.t] = delta;
  }
  T result[N];
  for (int n = 0; n < N; ++n)
    result[n] = 0;
  query.forTiles<E>(args, memory, lane, [&](Index key, bool seen) {
    T weight = 0;
    if (seen) {
      const T product = dot(memory.firstRow, memory.firstTile + at * (size + 1), size);
      const T p = expOf(scoreOf(args, product, query.b, query.h, query.t, key) - lse);
      const T dp = dot(memory.secondRow, memory.secondTile + at * (size + 1), size);
      weight = static_cast<T>(args.scale) * p * (dp * dropoutOf<T>(args, query.b, query.h, query.t, key) - delta);
    }
    memory.weights[at] = weight;
    lane.syncWarp();
    addTile<N>(result, memory.weights, memory.firstTile, size, lane);
    lane.syncWarp();
  });
  if (query.real)
    writeRow<E, N>(args.dq, rowAt(args.dq, query.b, query.t, query.h), size, result, lane);
}

/// dk and dv: one warp per key, over the queries of all heads of its group in order.
template <typename E, int N> SLUICE_DEVICE void attentionKeys(const AttentionArgs &args, Lane lane) {
  using T = typename E::Real;
  const int size = args.size, at = lane.thread() % warpSize;
  const AttentionMemory<T> memory(size, lane);
  T *const ofKey = memory.weights, *const ofValue = ofKey + 32;
  const Index blocksOfHead = (args.keys + attentionWarps - 1) / attentionWarps;
  const Index head = lane.block() / blocksOfHead, b = head / args.keyHeads, g = head % args.keyHeads;
  const Index group = args.heads / args.keyHeads, firstKey = lane.block() % blocksOfHead * attentionWarps;
  const Index s = firstKey + lane.thread() / warpSize, shift = args.keys - args.queries;
  const bool real = s < args.keys;
  // Queries that read a key of this block.
  const Index earliest = firstKey - shift, latest = firstKey + attentionWarps - 1 - shift + args.window;
  const Index from = args.causal ? (earliest > 0 ? earliest : 0) : 0;
  const Index to = args.causal && latest < args.queries ? latest : args.queries;
  if (real) {
    loadRow<E>(args.k, rowAt(args.k, b, s, g), size, memory.firstRow, lane);
    loadRow<E>(args.v, rowAt(args.v, b, s, g), size, memory.secondRow, lane);
  }
  T dk[N], dv[N];
  for (int n = 0; n < N; ++n)
    dk[n] = dv[n] = 0;
  for (Index h = g * group; h < (g + 1) * group; ++h)
    for (Index tile = from / 32 * 32; tile < to; tile += 32) {
      lane.sync();
      loadTile<E>(args.q, b, h, tile, args.queries, size, memory.firstTile, lane);
      loadTile<E>(args.dout, b, h, tile, args.queries, size, memory.secondTile, lane);
      lane.sync();
      const Index t = tile + at;
      T p = 0, ds = 0;
      if (real && t < args.queries && s >= args.firstKey(t) && s < args.endKey(t) && isVisible(args, b, h, t, s)) {
        const T lse = readLse<T>(args, b, h, t);
        const T delta = static_cast<const T *>(args.delta)[(b * args.heads + h) * args.queries + t];
        const T product = dot(memory.firstRow, memory.firstTile + at * (size + 1), size);
        p = expOf(scoreOf(args, product, b, h, t, s) - lse);
        const T dp = dot(memory.secondRow, memory.secondTile + at * (size + 1), size);
        const T factor = dropoutOf<T>(args, b, h, t, s);
        ds = static_cast<T>(args.scale) * p * (dp * factor - delta);
        p *= factor;
      }
      ofKey[at] = ds;
      ofValue[at] = p;
      lane.syncWarp();
      addTile<N>(dk, ofKey, memory.firstTile, size, lane);
      addTile<N>(dv, ofValue, memory.secondTile, size, lane);
      lane.syncWarp();
    }
  if (!real)
    return;
  writeRow<E, N>(args.dk, rowAt(args.dk, b, s, g), size, dk, lane);
  writeRow<E, N>(args.dv, rowAt(args.dv, b, s, g), size, dv, lane);
}

/// dbias, after attentionQueries: a lane per key. A block adds the terms of 32 keys and of the queries of eight rows of
/// the bias, a warp each; of the only row a warp adds each eighth query, and the sums of the warps are added in order.
template <typename E> SLUICE_DEVICE void attentionBias(const AttentionArgs &args, Lane lane) {
  using T = typename E::Real;
  const int size = args.size, at = lane.thread() % warpSize, warp = lane.thread() / warpSize;
  const AttentionMemory<T> memory(size, lane);
  const View &dbias = args.dbias;
  const bool isOneRow = dbias.extent[2] == 1;
  const Index keyTiles = (args.keys + 31) / 32,
              tiles = isOneRow ? 1 : (args.queries + attentionWarps - 1) / attentionWarps;
  const Index tile = lane.block() % keyTiles * 32, key = tile + at, rest = lane.block() / keyTiles;
  const Index first = rest % tiles * attentionWarps, last = isOneRow ? args.queries : first + 1;
  const Index x = rest / tiles / dbias.extent[1], y = rest / tiles % dbias.extent[1];
  const bool allRows = dbias.extent[0] == 1, allHeads = dbias.extent[1] == 1;
  const Index group = args.heads / args.keyHeads;
  T sum = 0;
  for (Index b = allRows ? 0 : x; b < (allRows ? args.batch : x + 1); ++b)
    for (Index h = allHeads ? 0 : y; h < (allHeads ? args.heads : y + 1); ++h)
      for (Index from = first; from < last; from += attentionWarps) {
        const Index t = from + warp;
        const bool real = t < args.queries;
        lane.sync();
        loadTile<E>(args.k, b, h / group, tile, args.keys, size, memory.firstTile, lane);
        loadTile<E>(args.v, b, h / group, tile, args.keys, size, memory.secondTile, lane);
        if (real) {
          loadRow<E>(args.q, rowAt(args.q, b, t, h), size, memory.firstRow, lane);
          loadRow<E>(args.dout, rowAt(args.dout, b, t, h), size, memory.secondRow, lane);
        }
        lane.sync();
        if (!real || key < args.firstKey(t) || key >= args.endKey(t) || !isVisible(args, b, h, t, key))
          continue;
        const T product = dot(memory.firstRow, memory.firstTile + at * (size + 1), size);
        const T p = expOf(scoreOf(args, product, b, h, t, key) - readLse<T>(args, b, h, t));
        const T delta = static_cast<const T *>(args.delta)[(b * args.heads + h) * args.queries + t];
        const T dp = dot(memory.secondRow, memory.secondTile + at * (size + 1), size);
        sum += p * (dp * dropoutOf<T>(args, b, h, t, key) - delta);
      }
  if (isOneRow) {
    memory.weights[at] = sum;
    lane.sync();
    for (int w = 1; warp == 0 && w < attentionWarps; ++w)
      sum += memory.weights[w * 64 + at];
  }
  if (key < args.keys && (isOneRow ? warp == 0 : first + warp < args.queries))
    writeAny(dbias, scoreAt(dbias, x, y, isOneRow ? 0 : first + warp, key), sum);
}

} // namespace sluice::cuda

/// One kernel for each policy, for heads of at most 128 elements and of at most 512: 4 and 16 elements a lane.
#define SLUICE_HEADS(X, name)                                                                                          \
  SLUICE_HEADS_OF(X, name, 128, 4)                                                                                     \
  SLUICE_HEADS_OF(X, name, 512, 16)
#define SLUICE_HEADS_OF(X, name, size, N)                                                                              \
  X(sluice_##name##size##_f32, (name<F32, N>), AttentionArgs)                                                          \
  X(sluice_##name##size##_bf16, (name<B16, N>), AttentionArgs)                                                         \
  X(sluice_##name##size##_mixed, (name<Mixed, N>), AttentionArgs)                                                      \
  X(sluice_##name##size##_wide, (name<Wide, N>), AttentionArgs)

#define SLUICE_ATTENTION_KERNELS(X)                                                                                    \
  SLUICE_HEADS(X, attentionForward)                                                                                    \
  SLUICE_HEADS(X, attentionQueries)                                                                                    \
  SLUICE_HEADS(X, attentionKeys)                                                                                       \
  X(sluice_attentionBias_f32, (attentionBias<F32>), AttentionArgs)                                                     \
  X(sluice_attentionBias_bf16, (attentionBias<B16>), AttentionArgs)                                                    \
  X(sluice_attentionBias_mixed, (attentionBias<Mixed>), AttentionArgs)                                                 \
  X(sluice_attentionBias_wide, (attentionBias<Wide>), AttentionArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_ATTENTION_H
