//===- Fit.cpp - the largest batch or sequence that fits ------------------------------------===//
#include "passes/driver/Fit.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr std::int64_t mostRows = 1 << 20, sequenceStep = 64;

CompiledVariant failed(const Variant &variant, Status status) {
  CompiledVariant result;
  result.variant = variant;
  result.status = std::move(status);
  return result;
}

} // namespace

std::vector<CompiledVariant> fitExtent(VariantCompiler &compiler, const Variant &variant, const std::string &key) {
  std::vector<CompiledVariant> rows;
  const Result<bool> isLimited = compiler.isLimited(variant);
  if (!isLimited.isOk() || !*isLimited) {
    rows.push_back(failed(variant, isLimited.isOk()
                                       ? inputError("--fit " + key + ": there is no limit")
                                             .withNote("set 'memory.budget', or give --machine a file with the memory "
                                                       "of a device")
                                       : isLimited.status()));
    return rows;
  }
  const std::int64_t given = compiler.extent(key),
                     step = key == "sequence" && given % sequenceStep == 0 ? sequenceStep : 1;
  // In steps: the largest feasible value and the smallest that is not; 0: not found yet.
  std::int64_t fits = 0, exceeds = 0;
  CompiledVariant largest, next;
  for (std::int64_t value = std::max<std::int64_t>(1, given / step); value * step <= mostRows;) {
    Variant extended = variant;
    extended.push_back({key, std::to_string(value * step)});
    CompiledVariant row = compiler.compile(extended);
    const bool isFeasible = row.isFeasible();
    (isFeasible ? fits : exceeds) = value;
    (isFeasible ? largest : next) = std::move(row);
    if (exceeds == fits + 1)
      break;
    value = exceeds == 0 ? 2 * fits : (fits + exceeds) / 2;
  }
  if (fits > 0)
    rows.push_back(std::move(largest));
  if (exceeds > 0)
    rows.push_back(std::move(next));
  return rows;
}

} // namespace sluice
