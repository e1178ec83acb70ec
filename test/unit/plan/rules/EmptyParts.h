//===- EmptyParts.h - the operands of a rank with an empty part, and what it computes ---------===//
//
// A factor that ranks divide over more ranks than it has values is empty on some of them. Their terms add nothing: zero
// in a sum, the smallest number in a maximum and in a logarithm of a sum of exponentials. Each of their results is
// written.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_PLAN_RULES_EMPTYPARTS_H
#define SLUICE_TEST_UNIT_PLAN_RULES_EMPTYPARTS_H

#include "Division.h"

namespace sluice::test {

struct EmptyPart {
  RuleSample sample;
  std::vector<Tensor> operands;
  /// Without values.
  std::vector<Tensor> results;
  /// The results without the factor, and each of their elements.
  std::vector<std::size_t> terms;
  double nothing = 0;
  int factor = 0;

  /// The first element with another number than `nothing`; empty: all elements have it.
  std::string difference(const std::vector<Tensor> &found) const;
};

/// One for each factor that ranks may divide and that some result does not have.
std::vector<EmptyPart> emptyParts(const RuleSample &sample);

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_PLAN_RULES_EMPTYPARTS_H
