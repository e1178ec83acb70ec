//===- Packing.cpp - documents in rows of one length ----------------------------------===//
#include "runtime/train/Packing.h"
#include "runtime/train/DataOrder.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace sluice {

namespace {

/// The free tokens of rows: a binary tree of the largest number below each node, so that the first row with room is
/// found from the root. Rows are added as they are needed.
class FreeTokens {
public:
  FreeTokens(std::uint64_t mostRows, std::uint64_t rowLength)
      : leaves(std::bit_ceil(std::max<std::uint64_t>(mostRows, 1))), tree(2 * leaves, rowLength) {}

  /// The first row with `count` free tokens, which are taken.
  std::uint64_t take(std::uint64_t count) {
    std::uint64_t node = 1;
    while (node < leaves)
      node = tree[2 * node] >= count ? 2 * node : 2 * node + 1;
    const std::uint64_t row = node - leaves;
    tree[node] -= count;
    for (node /= 2; node >= 1; node /= 2)
      tree[node] = std::max(tree[2 * node], tree[2 * node + 1]);
    return row;
  }

private:
  std::uint64_t leaves;
  std::vector<std::uint64_t> tree;
};

} // namespace

/// Adds the parts of a document, of which none is longer than a row.
static void addParts(std::uint64_t document, std::uint64_t length, std::uint64_t rowLength, LongDocuments policy,
                     std::vector<PackedPart> &parts) {
  if (policy == LongDocuments::truncate)
    length = std::min(length, rowLength);
  for (std::uint64_t first = 0; first < length; first += rowLength)
    parts.push_back({document, first, std::min(rowLength, length - first)});
}

/// The parts of the documents, in the order keyed by the seed.
static std::vector<PackedPart> orderedParts(std::span<const std::uint64_t> lengths, std::uint64_t rowLength,
                                            LongDocuments policy, std::uint64_t seed) {
  DataOrder order;
  order.shuffled = true;
  order.seed = seed;
  std::vector<PackedPart> parts;
  parts.reserve(lengths.size());
  for (std::uint64_t position = 0; position < lengths.size(); ++position) {
    const std::uint64_t document = order.sequence(position, lengths.size());
    addParts(document, lengths[document], rowLength, policy, parts);
  }
  return parts;
}

PackedRows packRows(std::span<const std::uint64_t> lengths, std::uint64_t rowLength, LongDocuments policy,
                    std::uint64_t seed) {
  const std::vector<PackedPart> ordered = orderedParts(lengths, rowLength, policy, seed);
  FreeTokens free(ordered.size(), rowLength);
  std::vector<std::uint64_t> rowOf(ordered.size());
  PackedRows rows;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    rowOf[i] = free.take(ordered[i].count);
    rows.begins.resize(std::max<std::size_t>(rows.begins.size(), rowOf[i] + 2));
    ++rows.begins[rowOf[i] + 1];
  }
  std::partial_sum(rows.begins.begin(), rows.begins.end(), rows.begins.begin());
  // Parts of a row keep their order.
  std::vector<std::uint64_t> next(rows.begins.begin(), rows.begins.end() - 1);
  rows.parts.resize(ordered.size());
  for (std::size_t i = 0; i < ordered.size(); ++i)
    rows.parts[next[rowOf[i]]++] = ordered[i];
  return rows;
}

PackedRows separateRows(std::span<const std::uint64_t> lengths, LengthBucket bucket, LongDocuments policy) {
  PackedRows rows;
  for (std::uint64_t document = 0; document < lengths.size(); ++document)
    addParts(document, lengths[document], bucket.longest, policy, rows.parts);
  std::erase_if(rows.parts,
                [&](const PackedPart &part) { return part.count <= bucket.over || part.count > bucket.most; });
  rows.begins.resize(rows.parts.size() + 1);
  std::iota(rows.begins.begin(), rows.begins.end(), std::uint64_t(0));
  return rows;
}

} // namespace sluice
