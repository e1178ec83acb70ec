//===- VariantReport.h - compares compiled variants -------------------------------------------===//
#ifndef SLUICE_PASSES_DRIVER_VARIANTREPORT_H
#define SLUICE_PASSES_DRIVER_VARIANTREPORT_H

#include "passes/driver/VariantCompiler.h"
#include "runtime/base/Json.h"

#include <span>

namespace sluice {

/// The position of the best feasible variant: with the largest value of `fitted` (empty: any), then the shortest
/// predicted step, then the lowest peak; the first of equals. nullopt if none is feasible.
std::optional<std::size_t> bestVariant(std::span<const CompiledVariant> rows, const std::string &fitted);

/// For each row: feasible, with a predicted time, and no other row needs less memory in the same time or less time with
/// the same memory. Of equal rows only the first.
std::vector<bool> paretoFront(std::span<const CompiledVariant> rows);

struct VariantReport {
  std::vector<CompiledVariant> rows;
  std::optional<std::size_t> best;
  /// Parallel to `rows`, or empty.
  std::vector<bool> front;

  Json toJson() const;
  /// A table; below it the reasons of rows that are not feasible.
  std::string toText() const;
  /// 0 if a row is feasible; else 3 if one is over a budget or the memory of the machine, else 1. 70 if a row is an
  /// internal error.
  int exitCode() const;
};

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_VARIANTREPORT_H
