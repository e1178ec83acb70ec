//===- DataOrder.cpp - the assignment of sequences to rows -------------------------===//
#include "runtime/train/DataOrder.h"

#include <bit>

namespace sluice {

/// A bijection of [0, count) keyed by `key`: a Feistel network over the smallest even number of bits that holds count,
/// repeated until the result is less than count (fewer than three of four values are outside, so this is quick).
static std::uint64_t permute(std::uint64_t index, std::uint64_t count, std::uint64_t key) {
  int half = (std::bit_width(count - 1) + 1) / 2;
  std::uint64_t mask = (std::uint64_t(1) << half) - 1;
  do {
    std::uint64_t left = index >> half, right = index & mask;
    for (std::uint64_t round = 0; round < 6; ++round) {
      std::uint64_t next = left ^ (mixBits(right ^ mixBits(key + round)) & mask);
      left = right;
      right = next;
    }
    index = (left << half) | right;
  } while (index >= count);
  return index;
}

std::uint64_t DataOrder::sequence(std::uint64_t position, std::uint64_t sequences) const {
  std::uint64_t index = position % sequences;
  if (!shuffled || sequences == 1)
    return index;
  std::uint64_t epoch = position / sequences;
  return permute(index, sequences, mixBits(seed) ^ mixBits(~epoch));
}

} // namespace sluice
