//===- KernelFactors.cpp - by which dims kernels may be divided -----------------------------===//
//
// The factors of an op are those of its kernel's signature, with the attributes of the op. Kernels whose parallel dims
// depend on extents have a rule here.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/KernelRules.h"

#include "runtime/kernel/catalogue/Catalogue.h"
#include "runtime/plan/check/proof/Numbering.h"

#include <algorithm>

namespace sluice::check::proof {
namespace {

using Dims = std::vector<FactorDim>;
using Shapes = std::span<const Shape>;

constexpr FactorDim full{fullDim}, repeated{repeatedDim};

/// Dims of equal extents are parallel.
std::optional<Factors> unchanged(Shapes operands, Shapes results) {
  Factors factors;
  const Shape &all = results.front();
  if (!std::ranges::all_of(operands, [&](const Shape &shape) { return shape.size() == all.size(); }))
    return std::nullopt;
  Dims dims;
  for (std::size_t d = 0; d < all.size(); ++d) {
    const bool isEqual = std::ranges::all_of(operands, [&](const Shape &shape) { return shape[d] == all[d]; });
    dims.push_back(isEqual ? FactorDim{int(factors.count++)} : full);
  }
  factors.operands.assign(operands.size(), dims);
  factors.results = {dims};
  return factors;
}

/// result[.., i, ..] = table[.., indices[.., i, ..], ..] along a dim, and the reverse: zeros for indices of other
/// ranks.
std::optional<Factors> along(std::size_t dim, const Shape &table, const Shape &indices, bool takes) {
  if (table.size() != indices.size() || dim >= table.size())
    return std::nullopt;
  Factors factors;
  Dims all, part;
  for (std::size_t d = 0; d < table.size(); ++d) {
    const bool isParallel = d != dim && table[d] == indices[d], isRead = d == dim && takes;
    all.push_back(isParallel || isRead ? FactorDim{int(factors.count++), isRead} : full);
    part.push_back(isParallel ? all.back() : indices[d] == 1 ? repeated : full);
  }
  factors.operands = {takes ? all : part, part};
  factors.results = {takes ? part : all};
  if (takes)
    factors.terms = Terms::sum;
  return factors;
}

/// A convolution without groups may be divided by channels: `out` of y and the weight, and `in` of x and the weight.
void divideChannels(Factors &factors, KernelId kernel) {
  const FactorDim out{int(factors.count++)}, in{int(factors.count++)};
  // The channels of images are their last dim, those of a weight its first two.
  const auto setWeight = [&](Dims &weight) {
    weight[0] = out;
    weight[1] = in;
  };
  Dims &first = factors.operands[0], &second = factors.operands[1], &result = factors.results[0];
  first.back() = kernel == KernelId::conv2d ? in : out;
  if (kernel == KernelId::conv2d_weight_grad) {
    second.back() = in;
    setWeight(result);
  } else {
    setWeight(second);
    result.back() = kernel == KernelId::conv2d ? out : in;
  }
  if (factors.operands.size() > 2) {
    factors.operands[2] = {out};
    factors.firstAddend = 2;
  }
  factors.terms = Terms::sum;
}

/// The factors of a launch that ranks may divide, with new numbers.
class Divisible {
public:
  explicit Divisible(const LaunchDims &dims) : dims(dims), numbers(dims.factors.size(), -1) {}

  Factors factors() {
    for (const auto &operand : dims.inputs)
      result.operands.push_back(convert(operand));
    for (const auto &own : dims.outputs)
      result.results.push_back(convert(own));
    if (dims.terms != KernelTerms::none)
      result.terms = dims.terms == KernelTerms::sum       ? Terms::sum
                     : dims.terms == KernelTerms::maximum ? Terms::maximum
                                                          : Terms::logSumExp;
    result.firstAddend = dims.firstAddend;
    return std::move(result);
  }

private:
  int numberOf(int factor) {
    int &number = numbers[std::size_t(factor)];
    if (number < 0)
      number = int(result.count++);
    return number;
  }
  Dims convert(const std::vector<LaunchDim> &operand) {
    Dims own;
    for (const LaunchDim &dim : operand) {
      const auto factorAt = [&](std::size_t k) { return dims.factors[std::size_t(dim.factors[k])]; };
      if (dim.factors.empty()) {
        own.push_back(repeated);
      } else if (factorAt(0).isFull) {
        own.push_back(full);
      } else {
        own.push_back({numberOf(dim.factors[0]), dim.isPositioned});
        if (dim.factors.size() > 1 && factorAt(1).size != 1) {
          own.back().innerFactor = factorAt(1).isFull ? -1 : numberOf(dim.factors[1]);
          own.back().outer = factorAt(0).size;
          own.back().inner = factorAt(1).size;
        }
      }
    }
    return own;
  }

  const LaunchDims &dims;
  std::vector<int> numbers;
  Factors result;
};

} // namespace

std::optional<Factors> factorsOf(const plan::ProgramKindT &kind, Shapes operands, Shapes results) {
  const KernelRecord *record = recordOfOp(kind.op);
  if (!record)
    return std::nullopt;
  const Attributes attributes = attributesOfOp(kind, operands, *record);
  const OperandCounts counts = expectedOperands(*record, attributes, operands.size(), results.size());
  if (results.empty() || results.size() != counts.outputs ||
      (counts.isAtLeast ? operands.size() < counts.inputs : operands.size() != counts.inputs))
    return std::nullopt;
  switch (record->id) {
  case KernelId::concat:
  case KernelId::pad:
    return unchanged(operands, results);
  case KernelId::take_along:
    return along(std::size_t(attributes.integer("dim", 0)), operands[0], operands[1], true);
  case KernelId::add_along:
    return along(std::size_t(attributes.integer("dim", 0)), results[0], operands[1], false);
  default:
    break;
  }
  const std::vector<Extents> inputs(operands.begin(), operands.end()), outputs(results.begin(), results.end());
  const std::optional<LaunchDims> dims = launchDims(*record, attributes, inputs, outputs);
  if (!dims)
    return std::nullopt;
  Factors factors = Divisible(*dims).factors();
  factors.ignoresZeros = record->ignoresZeros;
  const bool isConvolution = record->id == KernelId::conv2d || record->id == KernelId::conv2d_input_grad ||
                             record->id == KernelId::conv2d_weight_grad;
  if (isConvolution && attributes.integer("groups", 1) == 1)
    divideChannels(factors, record->id);
  return factors;
}

} // namespace sluice::check::proof
