//===- SortedPositions.h - a stable sort of positions by their index ---------------------------===//
//
// Each step sorts by 8 bits of the index, from the lowest: countPositions counts the digits of each block's share of
// the list, and sortPositions moves the share to the places that the counts of all blocks give. SortedRows.h has the
// sums.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_SORTEDPOSITIONS_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_SORTEDPOSITIONS_H

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
  /// [block of the sort][digit]
  unsigned *counts = nullptr;
  /// [tile][2][elements of a row]: of the run that began before the tile, and of the one that goes on after it.
  void *parts = nullptr;
  /// Positions, local rows of the table, elements of a row, and tiles.
  unsigned count = 0, rows = 0, elements = 0, tiles = 0;
  /// True if the table holds a sum, to which the rows are added.
  bool adds = false;
  /// Steps of the sort, and the step of this launch.
  int digits = 1, step = 0;
  /// Blocks of the sort, and the positions of each; a multiple of `sortThreads`.
  unsigned shares = 1, share = 0;

  /// The list that a step writes; the first step reads the indices.
  SLUICE_DEVICE SortedPosition *listAfter(int of) const { return (digits - of) % 2 ? sorted : other; }
};

inline constexpr int sortThreads = 1024, sortWarps = sortThreads / warpSize;
inline constexpr unsigned sortDigits = 256;
/// [warp][digit], then two lists of one number for each digit.
inline constexpr int sortShared = static_cast<int>(sortDigits) * (sortWarps + 2) * 4;
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

/// The positions of a warp in the block's share of a step's list.
struct WarpShare {
  const SortedRowsArgs &args;
  const SortedPosition *list;
  unsigned begin, end, inWarp;

  SLUICE_DEVICE WarpShare(const SortedRowsArgs &args, Lane lane)
      : args(args), list(args.step == 0 ? nullptr : args.listAfter(args.step - 1)),
        inWarp(static_cast<unsigned>(lane.thread()) % warpSize) {
    const unsigned length = args.share / sortWarps;
    const unsigned at =
        static_cast<unsigned>(lane.block()) * args.share + static_cast<unsigned>(lane.thread()) / warpSize * length;
    begin = at < args.count ? at : args.count;
    end = args.count - begin < length ? args.count : begin + length;
  }
  SLUICE_DEVICE bool isReal(unsigned first) const { return first + inWarp < end; }
  SLUICE_DEVICE SortedPosition item(unsigned first) const {
    return !isReal(first) ? 0 : list ? list[first + inWarp] : positionOf(args, first + inWarp);
  }
  SLUICE_DEVICE unsigned digit(SortedPosition item) const { return tableRow(item) >> 8 * args.step & (sortDigits - 1); }
};

/// Counts the digits of each warp's share to counts, [warp][digit].
SLUICE_DEVICE void countDigits(const WarpShare &share, unsigned *counts, Lane lane) {
  const auto thread = static_cast<unsigned>(lane.thread());
  for (unsigned i = thread; i < sortDigits * sortWarps; i += sortThreads)
    counts[i] = 0;
  lane.sync();
  unsigned *own = counts + thread / warpSize * sortDigits;
  for (unsigned first = share.begin; first < share.end; first += warpSize) {
    const unsigned digit = share.digit(share.item(first)), same = lanesWithDigit(digit, share.isReal(first), lane);
    if (share.isReal(first) && (same & ((1u << share.inWarp) - 1)) == 0)
      own[digit] += countOfBits(same);
    lane.syncWarp();
  }
  lane.sync();
}

SLUICE_DEVICE void countPositions(const SortedRowsArgs &args, Lane lane) {
  unsigned *counts = lane.shared<unsigned>();
  countDigits(WarpShare(args, lane), counts, lane);
  const auto thread = static_cast<unsigned>(lane.thread());
  if (thread >= sortDigits)
    return;
  unsigned sum = 0;
  for (unsigned w = 0; w < sortWarps; ++w)
    sum += counts[w * sortDigits + thread];
  args.counts[static_cast<unsigned>(lane.block()) * sortDigits + thread] = sum;
}

SLUICE_DEVICE void sortPositions(const SortedRowsArgs &args, Lane lane) {
  const unsigned thread = static_cast<unsigned>(lane.thread()), block = static_cast<unsigned>(lane.block());
  const WarpShare share(args, lane);
  unsigned *counts = lane.shared<unsigned>(), *sums = counts + sortDigits * sortWarps, *next = sums + sortDigits;
  countDigits(share, counts, lane);
  // Of a digit: the positions in all blocks, and in the blocks before this one. Counts become the first places in the
  // block's positions of the digit.
  unsigned all = 0, before = 0;
  if (thread < sortDigits) {
    unsigned own = 0;
    for (unsigned w = 0; w < sortWarps; ++w) {
      const unsigned count = counts[w * sortDigits + thread];
      counts[w * sortDigits + thread] = own;
      own += count;
    }
    all = own;
    if (args.shares > 1) {
      constexpr unsigned together = 16;
      all = 0;
      for (unsigned first = 0; first < args.shares; first += together) {
        unsigned loaded[together];
        for (unsigned i = 0; i < together; ++i)
          loaded[i] = first + i < args.shares ? args.counts[(first + i) * sortDigits + thread] : 0;
        for (unsigned i = 0; i < together; ++i) {
          all += loaded[i];
          before += first + i < block ? loaded[i] : 0;
        }
      }
    }
    sums[thread] = all;
  }
  lane.sync();
  for (unsigned distance = 1; distance < sortDigits; distance *= 2) {
    if (thread < sortDigits)
      next[thread] = sums[thread] + (thread >= distance ? sums[thread - distance] : 0);
    lane.sync();
    unsigned *last = sums;
    sums = next;
    next = last;
  }
  if (thread < sortDigits)
    next[thread] = sums[thread] - all + before;
  lane.sync();
  unsigned *own = counts + thread / warpSize * sortDigits;
  SortedPosition *to = args.listAfter(args.step);
  for (unsigned first = share.begin; first < share.end; first += warpSize) {
    const bool real = share.isReal(first);
    const SortedPosition item = share.item(first);
    const unsigned digit = share.digit(item), same = lanesWithDigit(digit, real, lane);
    const unsigned earlier = countOfBits(same & ((1u << share.inWarp) - 1));
    const unsigned place = real ? next[digit] + own[digit] + earlier : 0;
    lane.syncWarp();
    if (real) {
      if (earlier == 0)
        own[digit] += countOfBits(same);
      to[place] = item;
    }
    lane.syncWarp();
  }
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_SORTEDPOSITIONS_H
