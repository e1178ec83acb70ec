//===- Mask.cpp - what a constant mask of attention lets through --------------------------===//

#include "passes/import/export/Mask.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::exported;

namespace {

/// A number to add to a score that hides it: beyond it no score of a float of 16 bits matters.
constexpr double hides = -1e4;

/// The seen keys of one row, if they are consecutive.
struct Seen {
  std::int64_t first = 0, end = 0;
};
std::optional<Seen> seenKeys(llvm::ArrayRef<double> row, bool isAdded, std::int64_t keys) {
  const auto isSeen = [&](double value) { return isAdded ? value == 0 : value != 0; };
  const auto isHidden = [&](double value) { return isAdded ? value <= hides : value == 0; };
  const auto *first = llvm::find_if(row, isSeen);
  const auto *end = std::find_if_not(first, row.end(), isSeen);
  if (first == end || !std::all_of(row.begin(), first, isHidden) || !std::all_of(end, row.end(), isHidden))
    return std::nullopt;
  return row.size() == 1 ? Seen{0, keys} : Seen{first - row.begin(), end - row.begin()};
}

} // namespace

std::optional<MaskKind> exported::classifyMask(const Constant &mask, std::int64_t queries, std::int64_t keys) {
  const std::size_t rank = mask.shape.size();
  const bool isAdded = isFloat(mask.type), hasRows = rank >= 2 && mask.shape[rank - 2] == queries;
  const std::int64_t offset = keys - queries;
  if (mask.elements() == 0 || (mask.rowSize() != keys && mask.rowSize() != 1) ||
      (!hasRows && rank >= 2 && mask.shape[rank - 2] != 1))
    return std::nullopt;
  bool all = true, causal = offset >= 0, isRegular = true;
  // The keys that the last query sees, if it sees fewer than all.
  std::optional<std::int64_t> window;
  std::int64_t longest = 0;
  mask.forEachRow([&](Index index, llvm::ArrayRef<double> row) {
    const std::optional<Seen> seen = seenKeys(row, isAdded, keys);
    if (!seen)
      return isRegular = false;
    all &= seen->first == 0 && seen->end == keys;
    const std::int64_t from = hasRows ? index.back() : 0, to = hasRows ? from + 1 : queries;
    for (std::int64_t query = from; query < to; ++query) {
      causal &= seen->end == query + offset + 1;
      // A query that does not see the first key has a full window.
      const std::int64_t count = seen->end - seen->first;
      longest = std::max(longest, count);
      if (seen->first > 0) {
        causal &= !window || *window == count;
        window = count;
      }
    }
    return all || causal;
  });
  if (!isRegular)
    return std::nullopt;
  if (all)
    return MaskKind{};
  // Queries that see the first key see no more than the window.
  causal &= !window || longest <= *window;
  return causal ? std::optional(MaskKind{true, window.value_or(0)}) : std::nullopt;
}
