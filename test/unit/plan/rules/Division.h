//===- Division.h - a rank's parts of the operands of an op, by a factor of the rule ---------===//
#ifndef SLUICE_TEST_UNIT_PLAN_RULES_DIVISION_H
#define SLUICE_TEST_UNIT_PLAN_RULES_DIVISION_H

#include "RuleCase.h"

#include <algorithm>

namespace sluice::test {

/// The dim of a tensor that a factor divides: `segments` times the values of the factor, each of `inner` elements; dim
/// -1: none.
struct Divided {
  int dim = -1;
  std::int64_t segments = 1, inner = 1;
  bool isPositioned = false;
};

/// Calls `visit` with the indices of each element of the tensor's extents.
template <typename Visit> void forEachIndex(const Operand &operand, Visit visit) {
  std::vector<std::int64_t> index(std::size_t(operand.rank));
  for (std::int64_t i = 0; i < operand.elements(); ++i) {
    visit(i, index);
    for (int d = operand.rank; d-- > 0 && ++index[std::size_t(d)] == operand.extent[d];)
      index[std::size_t(d)] = 0;
  }
}

/// The parts of an op on one rank of `ranks` that divide a factor of `units` values.
struct Division {
  std::int64_t units = 0, ranks = 1, rank = 0;
  /// Padding is in the extents, as zeros.
  bool hasZeros = false;

  std::int64_t chunk() const { return (units + ranks - 1) / ranks; }
  bool isEven() const { return units % ranks == 0; }
  /// A rank's part of a tensor. With several segments the division is even.
  Tensor shardOf(const Tensor &full, Divided divided) const {
    if (divided.dim < 0)
      return full;
    const auto dim = std::size_t(divided.dim);
    std::vector<std::int64_t> shape(full.operand.shape.begin(), full.operand.shape.begin() + full.operand.rank);
    const std::int64_t extent = shape[dim], part = chunk() * divided.inner;
    shape[dim] = divided.segments * part;
    Tensor shard(full.operand.dtype, shape);
    for (std::int64_t i = 0; hasZeros && i < shard.size(); ++i)
      shard.set(i, 0);
    Operand &operand = shard.operand;
    if (divided.segments == 1)
      operand.extent[dim] = std::clamp<std::int64_t>(extent - rank * part, 0, part);
    forEachIndex(operand, [&](std::int64_t i, const std::vector<std::int64_t> &index) {
      std::int64_t position = 0;
      for (std::size_t d = 0; d < index.size(); ++d) {
        const std::int64_t own =
            d == dim ? index[d] / part * units * divided.inner + rank * part + index[d] % part : index[d];
        position = position * full.operand.extent[d] + own;
      }
      shard.set(i, full.at(position));
    });
    if (hasZeros) {
      operand.extent[dim] = part;
    } else if (divided.isPositioned) {
      operand.origin[dim] = rank * part;
      operand.global[dim] = extent;
    }
    return shard;
  }
};

/// By tensor, the dim that has the factor.
std::vector<Divided> dividedBy(const std::vector<std::vector<check::proof::FactorDim>> &factors, int factor);

/// True if the rule lets ranks divide the factor.
bool mayDivide(const check::proof::Factors &factors, int factor);

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_PLAN_RULES_DIVISION_H
