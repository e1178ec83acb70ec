//===- SortedRows.h - rows added to a table by index ---------------------------------------------------===//
//
// A stable sort of the positions by their index, then sums of runs of equal indices. Work is linear in the number of
// positions. Steps, each a launch:
//
//   sortPositions   one block sorts (index, position) by 8 bits at a time, and marks the rows of the table that occur
//   clearUnmarked   writes 0 to all other rows
//   sumTiles        a block adds the values of 64 neighbours of the sorted list in order. The sum of a run within the
//                   64 is written to the table; a run that began before them or goes on after them gives a part
//   sumParts        adds the parts of a run in order
//
// A position whose index is not of a local row, or is `skipped`, is sorted after all others and adds nothing.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_SORTEDROWS_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_SORTEDROWS_H

#include "runtime/base/cuda/Vector.h"
#include "runtime/kernel/cuda/device/Indexed.h"

namespace sluice::cuda {

/// A row of the table, in the upper half, and a position that adds to it.
using SortedPosition = unsigned long long;
SLUICE_DEVICE SortedPosition sortedPosition(unsigned row, unsigned position) {
  return static_cast<SortedPosition>(row) << 32 | position;
}
SLUICE_DEVICE unsigned tableRow(SortedPosition item) { return static_cast<unsigned>(item >> 32); }

struct SortedRowsArgs {
  IndexedArgs indexed;
  /// The indices with their dims joined.
  View indices;
  /// The sorted list, and memory for the list of every second step of the sort.
  SortedPosition *sorted = nullptr, *other = nullptr;
  /// Of each row of the table: 1 if an index names it.
  unsigned char *marks = nullptr;
  /// [tile][2][elements of a row]: of the run that began before the tile, and of the one that goes on after it.
  void *parts = nullptr;
  /// Positions, local rows of the table, elements of a row, and tiles.
  unsigned count = 0, rows = 0, elements = 0, tiles = 0;
  /// Steps of the sort.
  int digits = 1;
};

inline constexpr int sortThreads = 512, sortWarps = sortThreads / warpSize;
inline constexpr unsigned sortDigits = 256;
inline constexpr int sortShared = reduceBytes + static_cast<int>(sortDigits) * (sortWarps + 1) * 4;
/// Positions of a tile.
inline constexpr unsigned tilePositions = 64;
inline constexpr int sumTilesShared = (tilePositions + 2) * 8;

/// Lanes of the warp with the same digit.
SLUICE_DEVICE unsigned lanesWithDigit(unsigned digit, bool real, Lane lane) {
  unsigned lanes = lane.ballot(real);
  for (unsigned bit = 1; bit < sortDigits; bit <<= 1) {
    const unsigned set = lane.ballot((digit & bit) != 0);
    lanes &= digit & bit ? set : ~set;
  }
  return lanes;
}

SLUICE_DEVICE SortedPosition positionOf(const SortedRowsArgs &args, unsigned position) {
  const IndexedArgs &indexed = args.indexed;
  const Index index = readInteger(args.indices, offsetIn(args.indices, args.indices.rank, position));
  const Index place = index == indexed.skipped ? -1 : indexed.placeOf(index);
  return sortedPosition(place < 0 ? args.rows : static_cast<unsigned>(place), position);
}

SLUICE_DEVICE void sortPositions(const SortedRowsArgs &args, Lane lane) {
  const unsigned thread = static_cast<unsigned>(lane.thread()), warp = thread / warpSize, inWarp = thread % warpSize;
  // [warp][digit], then one total for each digit.
  unsigned *counts = lane.shared<unsigned>() + reduceBytes / 4, *totals = counts + sortDigits * sortWarps;
  // Each warp has a run of the list.
  const unsigned length = ((args.count + sortWarps - 1) / sortWarps + warpSize - 1) / warpSize * warpSize;
  const unsigned begin = warp * length < args.count ? warp * length : args.count;
  const unsigned end = begin + length < args.count ? begin + length : args.count;
  for (unsigned row = thread; row < args.rows; row += sortThreads)
    args.marks[row] = 0;
  SortedPosition *from = args.digits % 2 ? args.other : args.sorted, *to = args.digits % 2 ? args.sorted : args.other;
  for (unsigned i = begin + inWarp; i < end; i += warpSize)
    from[i] = positionOf(args, i);
  for (int step = 0; step < args.digits; ++step) {
    const int shift = 8 * step;
    for (unsigned i = thread; i < sortDigits * sortWarps; i += sortThreads)
      counts[i] = 0;
    lane.sync();
    for (unsigned first = begin; first < end; first += warpSize) {
      const bool real = first + inWarp < end;
      const unsigned digit = real ? tableRow(from[first + inWarp]) >> shift & (sortDigits - 1) : 0;
      const unsigned same = lanesWithDigit(digit, real, lane);
      if (real && (same & ((1u << inWarp) - 1)) == 0)
        counts[warp * sortDigits + digit] += countOfBits(same);
      lane.syncWarp();
    }
    lane.sync();
    // Counts become the first places: over the warps of a digit, then over the digits.
    if (thread < sortDigits) {
      unsigned sum = 0;
      for (unsigned w = 0; w < sortWarps; ++w) {
        const unsigned own = counts[w * sortDigits + thread];
        counts[w * sortDigits + thread] = sum;
        sum += own;
      }
      totals[thread] = sum;
    }
    lane.sync();
    if (thread == 0) {
      unsigned sum = 0;
      for (unsigned d = 0; d < sortDigits; ++d) {
        const unsigned own = totals[d];
        totals[d] = sum;
        sum += own;
      }
    }
    lane.sync();
    for (unsigned first = begin; first < end; first += warpSize) {
      const bool real = first + inWarp < end;
      const SortedPosition item = real ? from[first + inWarp] : 0;
      const unsigned digit = tableRow(item) >> shift & (sortDigits - 1), same = lanesWithDigit(digit, real, lane);
      const unsigned before = countOfBits(same & ((1u << inWarp) - 1));
      const unsigned place = real ? totals[digit] + counts[warp * sortDigits + digit] + before : 0;
      lane.syncWarp();
      if (real) {
        if (before == 0)
          counts[warp * sortDigits + digit] += countOfBits(same);
        to[place] = item;
      }
      lane.syncWarp();
    }
    lane.sync();
    SortedPosition *last = from;
    from = to;
    to = last;
  }
  for (unsigned i = thread; i < args.count; i += sortThreads) {
    const unsigned row = tableRow(args.sorted[i]);
    if (row < args.rows && (i == 0 || tableRow(args.sorted[i - 1]) != row))
      args.marks[row] = 1;
  }
}

/// Rows of dense values and of a dense table.
template <typename V, typename T> struct DenseRows {
  using Real = float;
  static constexpr int n = vectorWidth<V, T>;
  const SortedRowsArgs &args;
  SLUICE_DEVICE void load(unsigned position, unsigned vector, float (&to)[n]) const {
    loadVector<V>(static_cast<const typename V::Memory *>(args.indexed.values.data) +
                      std::uint64_t(position) * args.elements,
                  vector, to);
  }
  SLUICE_DEVICE void store(unsigned row, unsigned vector, const float (&from)[n]) const {
    storeVector<T>(static_cast<typename T::Memory *>(args.indexed.table.data) + std::uint64_t(row) * args.elements,
                   vector, from);
  }
};
/// Rows with any strides.
template <typename E> struct StridedRows {
  using Real = typename E::Real;
  static constexpr int n = 1;
  const SortedRowsArgs &args;
  SLUICE_DEVICE void load(unsigned position, unsigned element, Real (&to)[1]) const {
    const IndexedArgs &indexed = args.indexed;
    to[0] = E::read(indexed.values, offsetIn(indexed.values, indexed.indices.rank, position) +
                                        offsetIn(indexed.valueRow, indexed.valueRow.rank, element));
  }
  SLUICE_DEVICE void store(unsigned row, unsigned element, const Real (&from)[1]) const {
    const IndexedArgs &indexed = args.indexed;
    E::write(indexed.table, row * indexed.table.strides[0] + offsetIn(indexed.row, indexed.row.rank, element), from[0]);
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

/// A warp for each row.
template <typename Rows> SLUICE_DEVICE void clearUnmarkedRows(const SortedRowsArgs &args, Lane lane) {
  const Rows table{args};
  const unsigned warps = static_cast<unsigned>(lane.threads()) / warpSize, vectors = args.elements / Rows::n;
  const typename Rows::Real zero[Rows::n] = {};
  for (unsigned row = static_cast<unsigned>(lane.block()) * warps + static_cast<unsigned>(lane.thread()) / warpSize;
       row < args.rows; row += static_cast<unsigned>(lane.blocks()) * warps)
    if (!args.marks[row])
      for (unsigned v = static_cast<unsigned>(lane.thread()) % warpSize; v < vectors; v += warpSize)
        table.store(row, v, zero);
}

template <typename Rows> SLUICE_DEVICE void sumTileRows(const SortedRowsArgs &args, Lane lane) {
  const Rows rows{args};
  const unsigned tile = static_cast<unsigned>(lane.block()), first = tile * tilePositions;
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
    constexpr unsigned together = 4;
    for (unsigned first = 1, begin = 1; first <= count && tableRow(list[first]) < args.rows; first += together) {
      typename Rows::Real values[together][Rows::n];
      for (unsigned i = 0; i < together; ++i)
        if (first + i <= count && tableRow(list[first + i]) < args.rows)
          rows.load(static_cast<unsigned>(list[first + i]), v, values[i]);
      for (unsigned i = first; i < first + together && i <= count && tableRow(list[i]) < args.rows; ++i) {
        const unsigned row = tableRow(list[i]);
        for (int k = 0; k < Rows::n; ++k)
          sum[k] += values[i - first][k];
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
    for (unsigned t = tile + 1; t < args.tiles && tableRow(args.sorted[t * tilePositions]) == row; ++t) {
      typename Rows::Real part[Rows::n];
      loadPart(partOf<Rows>(args, t, 0), v, vectors, part);
      for (int k = 0; k < Rows::n; ++k)
        sum[k] += part[k];
    }
    rows.store(row, v, sum);
  }
}

template <typename E> SLUICE_DEVICE void clearUnmarked(const SortedRowsArgs &args, Lane lane) {
  clearUnmarkedRows<StridedRows<E>>(args, lane);
}
template <typename E> SLUICE_DEVICE void sumTiles(const SortedRowsArgs &args, Lane lane) {
  sumTileRows<StridedRows<E>>(args, lane);
}
template <typename E> SLUICE_DEVICE void sumParts(const SortedRowsArgs &args, Lane lane) {
  sumPartRows<StridedRows<E>>(args, lane);
}
template <typename V, typename T> SLUICE_DEVICE void clearUnmarkedDense(const SortedRowsArgs &args, Lane lane) {
  clearUnmarkedRows<DenseRows<V, T>>(args, lane);
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
  X(sluice_sortPositions, sortPositions, SortedRowsArgs)                                                               \
  X(sluice_takeRowsDense, takeRowsDense, TakeRowsArgs)                                                                 \
  SLUICE_POLICIES(X, clearUnmarked, SortedRowsArgs)                                                                    \
  SLUICE_POLICIES(X, sumTiles, SortedRowsArgs)                                                                         \
  SLUICE_POLICIES(X, sumParts, SortedRowsArgs)                                                                         \
  SLUICE_STORED_PAIRS(X, clearUnmarkedDense, SortedRowsArgs)                                                           \
  SLUICE_STORED_PAIRS(X, sumTilesDense, SortedRowsArgs)                                                                \
  SLUICE_STORED_PAIRS(X, sumPartsDense, SortedRowsArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_SORTEDROWS_H
