//===- SortedIndices.h - positions of the indices of each row, in order --------===//
//
// A list of indices sorted by row and, within a row, by position: the order in which scattered rows are added, so that
// it does not depend on threads. The list is in the kernel's workspace.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_SORTEDINDICES_H
#define SLUICE_RUNTIME_KERNEL_CPU_SORTEDINDICES_H

#include "runtime/base/Text.h"
#include "runtime/kernel/cpu/Walk.h"

#include <algorithm>
#include <string>

namespace sluice::cpu {

inline Status indexError(std::string_view kernel, std::int64_t position, std::int64_t index, std::int64_t rows) {
  return failedError(concat("index ", position, " of ", kernel, ", expected 0 to ", rows - 1, " but got ", index));
}

/// The rows of a sharded table that are on one rank. An index of a row on another rank is valid, but not local.
struct LocalRows {
  std::int64_t first = 0, count = 0, total = 0;
  explicit LocalRows(const Operand &table, int dim = 0)
      : first(table.origin[dim]), count(table.extent[dim]), total(std::max(table.global[dim], table.extent[dim])) {}
  bool isValid(std::int64_t index) const { return index >= 0 && index < total; }
  bool isLocal(std::int64_t index) const { return index >= first && index < first + count; }
};

class SortedIndices {
public:
  /// Workspace for `count` indices.
  static std::uint64_t bytes(std::int64_t count) { return static_cast<std::uint64_t>(count) * 8; }

  explicit SortedIndices(void *workspace) : words(static_cast<std::uint64_t *>(workspace)) {}

  /// Rows (counted from the first local one) and positions are below 2^32. Fails on an index outside all rows; the
  /// index `skipped` is left out.
  Status sort(std::string_view kernel, const Operand &indices, const LocalRows &rows, std::int64_t skipped) {
    count = 0;
    for (std::int64_t i = 0, all = indices.elements(); i < all; ++i) {
      std::int64_t index = integerAt(indices, i);
      if (!rows.isValid(index))
        return indexError(kernel, i, index, rows.total);
      if (rows.isLocal(index) && index != skipped)
        words[count++] = static_cast<std::uint64_t>(index - rows.first) << 32 | static_cast<std::uint64_t>(i);
    }
    // Distinct words: any sorting algorithm gives the same order, and this one needs no memory.
    std::sort(words, words + count);
    return Status::ok();
  }
  std::int64_t row(std::int64_t i) const { return static_cast<std::int64_t>(words[i] >> 32); }
  /// The first entry of `row`, or its insertion point.
  std::int64_t firstOf(std::int64_t row) const {
    return std::lower_bound(words, words + count, static_cast<std::uint64_t>(row) << 32) - words;
  }
  std::int64_t position(std::int64_t i) const { return static_cast<std::int64_t>(words[i] & 0xffffffffu); }

  std::int64_t count = 0;

private:
  std::uint64_t *words;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_SORTEDINDICES_H
