//===- EmptyParts.cpp - the operands of a rank with an empty part, and what it computes -------===//
//
// See EmptyParts.h.
//
//===----------------------------------------------------------------------===//
#include "EmptyParts.h"

#include <limits>

namespace sluice::test {

std::vector<Divided> dividedBy(const std::vector<std::vector<check::proof::FactorDim>> &factors, int factor) {
  std::vector<Divided> all;
  for (const std::vector<check::proof::FactorDim> &tensor : factors) {
    Divided divided;
    for (std::size_t d = 0; d < tensor.size(); ++d)
      if (tensor[d].factor == factor)
        divided = {int(d), 1, tensor[d].inner, tensor[d].isPositioned};
      else if (tensor[d].innerFactor == factor)
        divided = {int(d), tensor[d].outer, 1};
    all.push_back(divided);
  }
  return all;
}

bool mayDivide(const check::proof::Factors &factors, int factor) {
  const std::vector<Divided> results = dividedBy(factors.results, factor);
  const bool isReduced = std::ranges::any_of(results, [](const Divided &result) { return result.dim < 0; });
  return !isReduced || (factors.terms && factors.operands.size() <= factors.firstAddend);
}

std::string EmptyPart::difference(const std::vector<Tensor> &found) const {
  for (std::size_t term : terms)
    for (std::int64_t i = 0; i < found[term].size(); ++i)
      if (const double got = found[term].at(i); got != nothing)
        return sample.kind.op + ", factor " + std::to_string(factor) + ", result " + std::to_string(term) +
               ", element " + std::to_string(i) + ": expected " + std::to_string(nothing) + " but got " +
               std::to_string(got);
  return {};
}

std::vector<EmptyPart> emptyParts(const RuleSample &sample) {
  std::vector<EmptyPart> parts;
  const auto factors = check::proof::factorsOf(sample.kind, sample.shapes, sample.resultShapes);
  for (int factor = 0; factors && factor < int(factors->count); ++factor) {
    const std::vector<Divided> operandDims = dividedBy(factors->operands, factor),
                               resultDims = dividedBy(factors->results, factor);
    EmptyPart part{sample, {}, {}, {}, 0, factor};
    for (std::size_t k = 0; k < resultDims.size(); ++k)
      if (resultDims[k].dim < 0)
        part.terms.push_back(k);
    if (!mayDivide(*factors, factor) || part.terms.empty())
      continue;
    part.nothing = *factors->terms == check::proof::Terms::sum ? 0 : -std::numeric_limits<double>::infinity();
    const auto take = [&](const Tensor &full, const Divided &divided, std::vector<Tensor> &to) {
      Division division{0, 32, 31};
      division.units = divided.dim < 0 ? 0 : full.operand.extent[divided.dim] / divided.inner / divided.segments;
      if (divided.dim >= 0 && divided.segments > 1) {
        std::vector<std::int64_t> shape(full.operand.shape.begin(), full.operand.shape.begin() + full.operand.rank);
        shape[std::size_t(divided.dim)] = 0;
        to.emplace_back(full.operand.dtype, shape);
      } else {
        to.push_back(division.shardOf(full, divided));
      }
    };
    for (std::size_t k = 0; k < operandDims.size(); ++k)
      take(sample.operands[k], operandDims[k], part.operands);
    for (std::size_t k = 0; k < resultDims.size(); ++k)
      take(sample.results[k], resultDims[k], part.results);
    parts.push_back(std::move(part));
  }
  return parts;
}

} // namespace sluice::test
