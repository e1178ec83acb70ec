//===- Packing.h - documents in rows of one length ------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_PACKING_H
#define SLUICE_RUNTIME_TRAIN_PACKING_H

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice {

/// The treatment of a document longer than a row.
enum class LongDocuments : std::uint8_t {
  /// It becomes several documents of the length of a row, and a shorter one.
  split,
  /// Its first tokens remain.
  truncate,
  /// It is an error.
  error
};

/// A document or a part of one, in a row.
struct PackedPart {
  std::uint64_t document = 0;
  /// Its tokens are those from `first` to before `first + count` of the document.
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// The documents of more than `over` and at most `most` tokens. `longest`: the tokens of the longest rows of all
/// buckets.
struct LengthBucket {
  std::uint64_t over = 0, most = 0, longest = 0;
};

/// Rows of several parts, which follow one another from the row's first token.
class PackedRows {
public:
  std::uint64_t size() const { return begins.size() - 1; }
  std::span<const PackedPart> row(std::uint64_t index) const {
    return std::span(parts).subspan(begins[index], begins[index + 1] - begins[index]);
  }

private:
  friend PackedRows packRows(std::span<const std::uint64_t> lengths, std::uint64_t rowLength, LongDocuments policy,
                             std::uint64_t seed);
  friend PackedRows separateRows(std::span<const std::uint64_t> lengths, LengthBucket bucket, LongDocuments policy);
  std::vector<PackedPart> parts;
  /// Row i has the parts from begins[i] to before begins[i + 1].
  std::vector<std::uint64_t> begins = {0};
};

/// First fit: in an order keyed by `seed`, each document of these lengths is put in the first row that has room for it.
/// The result depends on nothing else. Empty documents have no part. With LongDocuments::error documents are at most as
/// long as a row, which is at least 1. Time is O(n log n) for n parts; memory is 24 bytes for each part and 8 for each
/// row in the result, and up to 104 bytes for each part until it returns.
PackedRows packRows(std::span<const std::uint64_t> lengths, std::uint64_t rowLength, LongDocuments policy,
                    std::uint64_t seed);

/// One row for each document of these lengths that the bucket has, in their order. A document longer than the longest
/// rows is split or cut off first, so that each of its parts is in a bucket; with LongDocuments::error no document is
/// longer.
PackedRows separateRows(std::span<const std::uint64_t> lengths, LengthBucket bucket, LongDocuments policy);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_PACKING_H
