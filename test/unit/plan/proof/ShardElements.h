//===- ShardElements.h - the elements of a shard, by enumeration --------------------------===//
#ifndef SLUICE_TEST_UNIT_PLAN_PROOF_SHARDELEMENTS_H
#define SLUICE_TEST_UNIT_PLAN_PROOF_SHARDELEMENTS_H

#include "runtime/plan/check/proof/Sharding.h"

#include <string>
#include <vector>

namespace sluice::check::proof {

inline constexpr std::int64_t padding = -1;

/// For each element of the shard on one rank, in row-major order: its index in the root of `elements` elements, or
/// `padding`.
inline std::vector<std::int64_t> enumerate(const Shard &shard, const std::vector<std::uint32_t> &coordinates,
                                           std::int64_t elements) {
  struct Element {
    std::int64_t index = 0;
    /// The sum that each bound limits.
    std::vector<std::int64_t> sums;
  };
  std::vector<Element> all(1);
  all[0].index = shard.at.base;
  for (const Bound &bound : shard.bounds)
    all[0].sums.push_back(levelBase(shard.bounds, bound.end, shard.at.base));
  const auto expand = [&](std::int64_t first, std::int64_t count, std::int64_t step, const auto &item) {
    std::vector<Element> next;
    for (const Element &element : all)
      for (std::int64_t k = first; k < first + count; ++k) {
        next.push_back(element);
        next.back().index += k * step;
        for (std::size_t b = 0; b < shard.bounds.size(); ++b)
          if (shard.bounds[b].has(item))
            next.back().sums[b] += k * step;
      }
    all = std::move(next);
  };
  for (const AxisStep &step : shard.steps)
    expand(coordinates[step.axis], 1, step.step, step);
  for (const Digits &dim : shard.at.dims)
    for (const Digit &digit : dim)
      expand(0, digit.extent, digit.step, digit);
  std::vector<std::int64_t> indices;
  for (const Element &element : all) {
    bool isPadding = element.index >= elements;
    for (std::size_t b = 0; b < shard.bounds.size(); ++b)
      isPadding = isPadding || element.sums[b] >= shard.bounds[b].end;
    indices.push_back(isPadding ? padding : element.index);
  }
  return indices;
}

/// "base 0 | 2x3 4x1, axis 0 step 6, end 12 axes 1", for messages.
inline std::string describe(const Shard &shard) {
  std::string text = "base " + std::to_string(shard.at.base);
  for (const Digits &dim : shard.at.dims) {
    text += " |";
    for (const Digit &digit : dim)
      text += " " + std::to_string(digit.extent) + "x" + std::to_string(digit.step);
  }
  for (const AxisStep &step : shard.steps)
    text += ", axis " + std::to_string(step.axis) + " step " + std::to_string(step.step);
  for (const Bound &bound : shard.bounds)
    text += ", end " + std::to_string(bound.end) + " axes " + std::to_string(bound.axes);
  return text;
}

/// The coordinates of all ranks of a mesh of two axes.
inline std::vector<std::vector<std::uint32_t>> ranksOf(const std::vector<std::uint32_t> &sizes) {
  std::vector<std::vector<std::uint32_t>> ranks;
  for (std::uint32_t a = 0; a < sizes[0]; ++a)
    for (std::uint32_t b = 0; b < sizes[1]; ++b)
      ranks.push_back({a, b});
  return ranks;
}

} // namespace sluice::check::proof

#endif // SLUICE_TEST_UNIT_PLAN_PROOF_SHARDELEMENTS_H
