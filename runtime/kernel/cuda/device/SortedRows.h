//===- SortedRows.h - rows added to a table by index ---------------------------------------------------===//
//
// A stable sort of the positions by their index, then sums of runs of equal indices. Work is linear in the number of
// positions. Steps, each a launch:
//
//   countPositions  for 8 bits of the index at a time: a block counts the digits of its share of the list
//   sortPositions   for the same 8 bits: a block moves its share to the places that the counts of all blocks give. One
//                   block, for few positions, needs no counts of other blocks
//   sumTiles        a block adds the values of 64 neighbours of the sorted list in order. The sum of a run within the
//                   64 is written to the table; a run that began before them or goes on after them gives a part. More
//                   blocks write 0 to the rows of the table that no index names, unless the table holds a sum
//   sumParts        adds the parts of a run in order
//
// A position whose index is not of a local row, or is `skipped`, is sorted after all others and adds nothing.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_SORTEDROWS_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_SORTEDROWS_H

#include "runtime/base/cuda/Vector.h"
#include "runtime/kernel/cuda/device/SortedPositions.h"
#include "runtime/kernel/cuda/device/WriteResult.h"

namespace sluice::cuda {

/// Positions of a tile.
inline constexpr unsigned tilePositions = 64;
inline constexpr int sumTilesShared = (tilePositions + 2) * 8;

/// Rows of dense values and of a dense table.
template <typename V, typename T> struct DenseRows {
  using Real = float;
  static constexpr int n = vectorWidth<V, T>;
  using Raw = RawOf<V, n>;
  const SortedRowsArgs &args;
  SLUICE_DEVICE Raw load(unsigned position, unsigned vector) const {
    const void *row =
        static_cast<const typename V::Memory *>(args.indexed.values.data) + std::uint64_t(position) * args.elements;
    return static_cast<const Raw *>(row)[vector];
  }
  SLUICE_DEVICE static void widen(Raw raw, float (&to)[n]) { widenVector<V>(raw, to); }
  SLUICE_DEVICE void store(unsigned row, unsigned vector, const float (&from)[n]) const {
    auto *to = static_cast<typename T::Memory *>(args.indexed.table.data) + std::uint64_t(row) * args.elements;
    float sum[n] = {};
    if (args.adds)
      loadVector<T>(to, vector, sum);
    for (int k = 0; k < n; ++k)
      sum[k] = args.adds ? sum[k] + from[k] : from[k];
    storeVector<T>(to, vector, sum);
  }
};
/// Rows with any strides.
template <typename E> struct StridedRows {
  using Real = typename E::Real;
  static constexpr int n = 1;
  using Raw = Real;
  const SortedRowsArgs &args;
  SLUICE_DEVICE Raw load(unsigned position, unsigned element) const {
    const IndexedArgs &indexed = args.indexed;
    return E::read(indexed.values, offsetIn(indexed.values, indexed.indices.rank, position) +
                                       offsetIn(indexed.valueRow, indexed.valueRow.rank, element));
  }
  SLUICE_DEVICE static void widen(Raw raw, Real (&to)[1]) { to[0] = raw; }
  SLUICE_DEVICE void store(unsigned row, unsigned element, const Real (&from)[1]) const {
    const IndexedArgs &indexed = args.indexed;
    writeResult(indexed.table, row * indexed.table.strides[0] + offsetIn(indexed.row, indexed.row.rank, element),
                from[0], args.adds);
  }
};

/// Part `which` of a tile.
template <typename Rows>
SLUICE_DEVICE typename Rows::Real *partOf(const SortedRowsArgs &args, unsigned tile, unsigned which) {
  return static_cast<typename Rows::Real *>(args.parts) + (std::uint64_t(tile) * 2 + which) * args.elements;
}
/// A vector of a part: the first four elements of all vectors, then the next four, so that neighbours are stored
/// together.
template <int n> SLUICE_DEVICE void storePart(float *part, unsigned vector, unsigned vectors, const float (&from)[n]) {
  if constexpr (n % 4 == 0)
    for (unsigned k = 0; k < n; k += 4) {
      const float four[4] = {from[k], from[k + 1], from[k + 2], from[k + 3]};
      storeVector<StoredF32>(part, k / 4 * vectors + vector, four);
    }
  else
    part[vector] = from[0];
}
SLUICE_DEVICE void storePart(double *part, unsigned vector, unsigned, const double (&from)[1]) {
  part[vector] = from[0];
}
template <int n> SLUICE_DEVICE void loadPart(const float *part, unsigned vector, unsigned vectors, float (&to)[n]) {
  if constexpr (n % 4 == 0)
    for (unsigned k = 0; k < n; k += 4) {
      float four[4];
      loadVector<StoredF32>(part, k / 4 * vectors + vector, four);
      for (unsigned i = 0; i < 4; ++i)
        to[k + i] = four[i];
    }
  else
    to[0] = part[vector];
}
SLUICE_DEVICE void loadPart(const double *part, unsigned vector, unsigned, double (&to)[1]) { to[0] = part[vector]; }

/// Writes 0 to the rows that no index names; 32 rows for warp `warp` of all.
template <typename Rows> SLUICE_DEVICE void clearOtherRows(const SortedRowsArgs &args, unsigned warp, Lane lane) {
  const Rows table{args};
  const unsigned inWarp = static_cast<unsigned>(lane.thread()) % warpSize, row = warp * warpSize + inWarp;
  unsigned low = 0, high = row < args.rows ? args.count : 0;
  while (low < high) {
    const unsigned middle = low + (high - low) / 2;
    if (tableRow(args.sorted[middle]) < row)
      low = middle + 1;
    else
      high = middle;
  }
  const unsigned vectors = args.elements / Rows::n;
  const typename Rows::Real zero[Rows::n] = {};
  for (unsigned rest = lane.ballot(row < args.rows && (low == args.count || tableRow(args.sorted[low]) != row)); rest;
       rest &= rest - 1) {
    const unsigned bit = countOfBits((rest & (0 - rest)) - 1);
    for (unsigned v = inWarp; v < vectors; v += warpSize)
      table.store(warp * warpSize + bit, v, zero);
  }
}

template <typename Rows> SLUICE_DEVICE void sumTileRows(const SortedRowsArgs &args, Lane lane) {
  const Rows rows{args};
  const unsigned tile = static_cast<unsigned>(lane.block()), first = tile * tilePositions;
  if (tile >= args.tiles) {
    const unsigned warps = static_cast<unsigned>(lane.threads()) / warpSize;
    clearOtherRows<Rows>(args, (tile - args.tiles) * warps + static_cast<unsigned>(lane.thread()) / warpSize, lane);
    return;
  }
  const unsigned count = args.count - first < tilePositions ? args.count - first : tilePositions;
  // The tile with its neighbours; before the first and after the last position a row that no index names.
  SortedPosition *list = lane.shared<SortedPosition>();
  const SortedPosition none = sortedPosition(args.rows + 1, 0);
  for (unsigned i = static_cast<unsigned>(lane.thread()); i < count + 2; i += static_cast<unsigned>(lane.threads()))
    list[i] = (i == 0 && first == 0) || first + i > args.count ? none : args.sorted[first + i - 1];
  lane.sync();
  const unsigned vectors = args.elements / Rows::n;
  for (unsigned v = static_cast<unsigned>(lane.thread()); v < vectors; v += static_cast<unsigned>(lane.threads())) {
    typename Rows::Real sum[Rows::n] = {};
    // Loads of several positions are under way together.
    constexpr unsigned together = 8;
    for (unsigned first = 1, begin = 1; first <= count && tableRow(list[first]) < args.rows; first += together) {
      typename Rows::Raw raw[together] = {};
      for (unsigned i = 0; i < together; ++i)
        if (first + i <= count && tableRow(list[first + i]) < args.rows)
          raw[i] = rows.load(static_cast<unsigned>(list[first + i]), v);
      for (unsigned at = 0; at < together; ++at) {
        const unsigned i = first + at;
        if (i > count || tableRow(list[i]) >= args.rows)
          break;
        const unsigned row = tableRow(list[i]);
        typename Rows::Real values[Rows::n];
        Rows::widen(raw[at], values);
        for (int k = 0; k < Rows::n; ++k)
          sum[k] += values[k];
        const bool goesOn = i == count && tableRow(list[i + 1]) == row;
        if (!goesOn && tableRow(list[i + 1]) == row)
          continue;
        const bool continues = begin == 1 && tableRow(list[0]) == row;
        if (!continues && !goesOn)
          rows.store(row, v, sum);
        else
          storePart(partOf<Rows>(args, tile, continues ? 0 : 1), v, vectors, sum);
        begin = i + 1;
        for (int k = 0; k < Rows::n; ++k)
          sum[k] = 0;
      }
    }
  }
}

/// A block for each tile; it has work if a run begins in the tile and goes on after it.
template <typename Rows> SLUICE_DEVICE void sumPartRows(const SortedRowsArgs &args, Lane lane) {
  const Rows rows{args};
  const unsigned tile = static_cast<unsigned>(lane.block()), first = tile * tilePositions, next = first + tilePositions;
  if (next >= args.count)
    return;
  const unsigned row = tableRow(args.sorted[next - 1]);
  if (row >= args.rows || tableRow(args.sorted[next]) != row)
    return;
  if (first > 0 && tableRow(args.sorted[first]) == row && tableRow(args.sorted[first - 1]) == row)
    return;
  const unsigned vectors = args.elements / Rows::n;
  for (unsigned v = static_cast<unsigned>(lane.thread()); v < vectors; v += static_cast<unsigned>(lane.threads())) {
    typename Rows::Real sum[Rows::n];
    loadPart(partOf<Rows>(args, tile, 1), v, vectors, sum);
    // Loads of several tiles are in flight together.
    constexpr unsigned together = 4;
    const auto goesOn = [&](unsigned t) { return t < args.tiles && tableRow(args.sorted[t * tilePositions]) == row; };
    for (unsigned t = tile + 1, some = together; some == together; t += together) {
      bool all = true, does[together];
      for (unsigned i = 0; i < together; ++i)
        does[i] = goesOn(t + i);
      some = 0;
      for (unsigned i = 0; i < together; ++i)
        some += all = all && does[i];
      typename Rows::Real parts[together][Rows::n] = {};
      for (unsigned i = 0; i < together; ++i)
        if (i < some)
          loadPart(partOf<Rows>(args, t + i, 0), v, vectors, parts[i]);
      for (unsigned i = 0; i < some; ++i)
        for (int k = 0; k < Rows::n; ++k)
          sum[k] += parts[i][k];
    }
    rows.store(row, v, sum);
  }
}

template <typename E> SLUICE_DEVICE void sumTiles(const SortedRowsArgs &args, Lane lane) {
  sumTileRows<StridedRows<E>>(args, lane);
}
template <typename E> SLUICE_DEVICE void sumParts(const SortedRowsArgs &args, Lane lane) {
  sumPartRows<StridedRows<E>>(args, lane);
}
template <typename V, typename T> SLUICE_DEVICE void sumTilesDense(const SortedRowsArgs &args, Lane lane) {
  sumTileRows<DenseRows<V, T>>(args, lane);
}
template <typename V, typename T> SLUICE_DEVICE void sumPartsDense(const SortedRowsArgs &args, Lane lane) {
  sumPartRows<DenseRows<V, T>>(args, lane);
}

/// values[i] = table[indices[i]] of dense rows of any type, a warp for each row.
struct TakeRowsArgs {
  IndexedArgs indexed;
  unsigned count = 0, vectors = 0, elements = 0;
};
SLUICE_DEVICE void takeRowsDense(const TakeRowsArgs &args, Lane lane) {
  using Raw = RawVector<vectorBytes>::Type;
  const IndexedArgs &indexed = args.indexed;
  const unsigned warps = static_cast<unsigned>(lane.threads()) / warpSize,
                 inWarp = static_cast<unsigned>(lane.thread()) % warpSize;
  const auto *table = static_cast<const Raw *>(indexed.table.data);
  auto *values = static_cast<Raw *>(indexed.values.data);
  for (unsigned i = static_cast<unsigned>(lane.block()) * warps + static_cast<unsigned>(lane.thread()) / warpSize;
       i < args.count; i += static_cast<unsigned>(lane.blocks()) * warps) {
    const Index index = readInteger(indexed.indices, i), place = indexed.placeOf(index);
    const std::uint64_t to = std::uint64_t(i) * args.vectors;
    if (!indexed.isValid(index)) {
      for (unsigned c = inWarp; c < args.elements; c += warpSize)
        writeMissing(indexed.values, static_cast<Index>(i) * args.elements + c);
      continue;
    }
    const Raw zero = {};
    for (unsigned v = inWarp; v < args.vectors; v += warpSize)
      values[to + v] = place < 0 ? zero : table[static_cast<std::uint64_t>(place) * args.vectors + v];
  }
}

} // namespace sluice::cuda

#define SLUICE_SORTED_ROWS_KERNELS(X)                                                                                  \
  X(sluice_countPositions, countPositions, SortedRowsArgs)                                                             \
  X(sluice_sortPositions, sortPositions, SortedRowsArgs)                                                               \
  X(sluice_takeRowsDense, takeRowsDense, TakeRowsArgs)                                                                 \
  SLUICE_POLICIES(X, sumTiles, SortedRowsArgs)                                                                         \
  SLUICE_POLICIES(X, sumParts, SortedRowsArgs)                                                                         \
  SLUICE_STORED_PAIRS(X, sumTilesDense, SortedRowsArgs)                                                                \
  SLUICE_STORED_PAIRS(X, sumPartsDense, SortedRowsArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_SORTEDROWS_H
