//===- DataOrder.h - the assignment of sequences to rows ---------------------------===//
//
// A stateless map from (step, micro-batch, rank, row) to the index of a sequence in the data: a run can start at any
// step, and any rank can read any row.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_DATAORDER_H
#define SLUICE_RUNTIME_TRAIN_DATAORDER_H

#include <cstdint>

namespace sluice {

/// A 64-bit hash of its argument (splitmix64's finalizer), the base of all counter-based random numbers of the trainer.
constexpr std::uint64_t mixBits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

struct DataOrder {
  std::uint64_t microbatches = 1;
  /// Data-parallel ranks.
  std::uint64_t ranks = 1;
  /// Rows of one rank's micro-batch.
  std::uint64_t rows = 1;
  bool shuffled = false;
  std::uint64_t seed = 0;
  /// The step that reads the row at position `firstRow`, and the steps after it the following rows.
  std::uint64_t firstStep = 0, firstRow = 0;

  /// The index before it is wrapped: firstRow + (((step - firstStep) * microbatches + microbatch) * ranks + rank) *
  /// rows
  /// + row. Steps count from 0.
  std::uint64_t position(std::uint64_t step, std::uint64_t microbatch, std::uint64_t rank, std::uint64_t row) const {
    return firstRow + (((step - firstStep) * microbatches + microbatch) * ranks + rank) * rows + row;
  }
  /// The sequence at that position in data of `sequences` complete sequences (at least 1). Sequential order wraps;
  /// shuffled order is a different permutation in every epoch.
  std::uint64_t sequence(std::uint64_t position, std::uint64_t sequences) const;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_DATAORDER_H
