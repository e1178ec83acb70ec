//===- KernelRulesTest.cpp - kernels on shards compute the shards that the rules state ------===//
//
// For each op of the table, and each factor by which the rule lets ranks divide it: the kernel runs on the shards of
// random operands, and its results are compared with the shards of its results on the unsharded operands.
//
//===----------------------------------------------------------------------===//
#include "EmptyParts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace sluice::test {
namespace {

using check::proof::FactorDim;
using check::proof::Factors;
using check::proof::Terms;

/// The number that the terms of all ranks complete.
double completed(Terms terms, const std::vector<double> &ofRanks) {
  double result = terms == Terms::maximum ? -std::numeric_limits<double>::infinity() : 0;
  for (double term : ofRanks)
    result = terms == Terms::maximum ? std::max(result, term) : result + (terms == Terms::sum ? term : std::exp(term));
  return terms == Terms::logSumExp ? std::log(result) : result;
}

/// Divides the op by the factor over `ranks`, and compares the results of each rank with its shards of the results on
/// the unsharded operands, and completed terms with those results. Returns the first difference; empty if there is
/// none.
std::string differenceOnShards(const RuleSample &sample, const std::vector<Tensor> &unsharded, const Factors &factors,
                               int factor, std::int64_t ranks, bool hasZeros = false) {
  const std::vector<Divided> operandDims = dividedBy(factors.operands, factor),
                             resultDims = dividedBy(factors.results, factor);
  Division division{0, ranks, 0, hasZeros};
  const auto count = [&](const Tensor &tensor, Divided divided) {
    if (divided.dim >= 0)
      division.units = tensor.operand.extent[divided.dim] / divided.inner / divided.segments;
  };
  for (std::size_t k = 0; k < operandDims.size(); ++k)
    count(sample.operands[k], operandDims[k]);
  for (std::size_t k = 0; k < resultDims.size(); ++k)
    count(unsharded[k], resultDims[k]);
  const auto hasSegments = [](const Divided &divided) { return divided.segments > 1; };
  if (!division.isEven() &&
      (std::ranges::any_of(operandDims, hasSegments) || std::ranges::any_of(resultDims, hasSegments)))
    return {};
  const auto what = [&](std::size_t result, std::int64_t i) {
    return "factor " + std::to_string(factor) + " over " + std::to_string(ranks) + (hasZeros ? ", with zeros" : "") +
           ", rank " + std::to_string(division.rank) + ", result " + std::to_string(result) + ", element " +
           std::to_string(i) + ": ";
  };
  // By result and element, the terms of the ranks.
  std::vector<std::vector<std::vector<double>>> terms(resultDims.size());
  for (; division.rank < ranks; ++division.rank) {
    std::vector<Tensor> operands, results;
    for (std::size_t k = 0; k < operandDims.size(); ++k)
      operands.push_back(division.shardOf(sample.operands[k], operandDims[k]));
    for (std::size_t k = 0; k < resultDims.size(); ++k)
      results.push_back(division.shardOf(sample.results[k], resultDims[k]));
    Result<std::vector<Tensor>> found = runKernel(sample, operands, results);
    // A kernel may refuse a rank's part that is empty: then the plan is rejected when it is loaded.
    const bool isEmpty = division.rank * division.chunk() >= division.units;
    if (!found.isOk() && isEmpty)
      continue;
    if (!found.isOk())
      return what(0, 0) + found.status().message();
    for (std::size_t k = 0; k < resultDims.size(); ++k) {
      const Tensor &own = (*found)[k];
      if (resultDims[k].dim < 0) {
        terms[k].resize(std::size_t(own.size()));
        for (std::int64_t i = 0; i < own.size(); ++i)
          terms[k][std::size_t(i)].push_back(own.at(i));
        continue;
      }
      const Tensor expected = division.shardOf(unsharded[k], resultDims[k]);
      for (std::int64_t i = 0; i < expected.size(); ++i)
        if (own.at(i) != expected.at(i))
          return what(k, i) + "expected " + std::to_string(expected.at(i)) + " but got " + std::to_string(own.at(i));
    }
  }
  for (std::size_t k = 0; k < resultDims.size(); ++k)
    for (std::size_t i = 0; i < terms[k].size(); ++i) {
      const double expected = unsharded[k].at(std::int64_t(i)), got = completed(*factors.terms, terms[k][i]);
      double size = std::abs(expected);
      for (double term : terms[k][i])
        size = std::max(size, std::isfinite(term) ? std::abs(term) : 0);
      // Additions in another order.
      if (!(std::abs(got - expected) <= 1e-12 * size))
        return what(k, std::int64_t(i)) + "expected " + std::to_string(expected) + " but got " + std::to_string(got);
    }
  return {};
}

class Rules : public testing::TestWithParam<RuleCase> {};

TEST_P(Rules, HoldOnShards) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const RuleSample made = sample(GetParam(), DType::f64, seed);
    ASSERT_NE(made.kernel, nullptr);
    EXPECT_EQ(check::proof::differingAttribute(made.kind, made.shapes, made.kernel->name, made.launch), "");
    Result<std::vector<Tensor>> unsharded = runKernel(made, made.operands, made.results);
    ASSERT_TRUE(unsharded.isOk()) << unsharded.status().message();
    const std::optional<Factors> factors = check::proof::factorsOf(made.kind, made.shapes, made.resultShapes);
    for (int factor = 0; factors && factor < int(factors->count); ++factor)
      // With 32 ranks most have an empty part.
      for (std::int64_t ranks : {2, 3, 4, 32}) {
        if (!mayDivide(*factors, factor))
          continue;
        EXPECT_EQ(differenceOnShards(made, *unsharded, *factors, factor, ranks), "");
        const auto results = dividedBy(factors->results, factor);
        if (factors->ignoresZeros && std::ranges::all_of(results, [](const Divided &one) { return one.dim < 0; })) {
          EXPECT_EQ(differenceOnShards(made, *unsharded, *factors, factor, ranks, true), "");
        }
      }
  }
}

/// A rank with an empty part has the terms that add nothing, also by the kernels for types of training.
TEST_P(Rules, EmptyPartsAddNothing) {
  for (const DType type : {DType::f64, DType::f32, DType::bf16})
    for (const EmptyPart &part : emptyParts(sample(GetParam(), type, 1)))
      for (const KernelFlavour flavour : {KernelFlavour::reference, KernelFlavour::fast}) {
        const Result<std::vector<Tensor>> found = runKernel(part.sample, part.operands, part.results, flavour);
        // A kernel may refuse an empty part, or a type: then the plan is rejected when it is loaded.
        if (found.isOk()) {
          EXPECT_EQ(part.difference(*found), "") << dtypeName(type) << (flavour == KernelFlavour::fast ? " fast" : "");
        }
      }
}

INSTANTIATE_TEST_SUITE_P(Rules, Rules, testing::ValuesIn(ruleCases()),
                         [](const auto &test) { return test.param.op.substr(6) + "_" + std::to_string(test.index); });

/// So zeros in the padding of all operands are zeros in that of the result.
TEST(LinearRules, HaveZerosForZeros) {
  int count = 0;
  for (const RuleCase &rule : ruleCases()) {
    RuleSample made = sample(rule, DType::f64, 1);
    if (!check::proof::isPointwiseOp(rule.op) || !check::proof::isLinear(made.kind))
      continue;
    ++count;
    for (Tensor &operand : made.operands)
      for (std::int64_t i = 0; i < operand.size(); ++i)
        operand.set(i, 0);
    Result<std::vector<Tensor>> found = runKernel(made, made.operands, made.results);
    ASSERT_TRUE(found.isOk()) << found.status().message();
    for (const Tensor &result : *found)
      for (std::int64_t i = 0; i < result.size(); ++i)
        EXPECT_EQ(result.at(i), 0) << rule.op;
  }
  EXPECT_GT(count, 0);
}

/// A rule that lets ranks divide the dim over which softmax adds is found.
TEST(WrongRules, HaveOtherResults) {
  const RuleSample made = sample({"model.softmax", "ab->ab"}, DType::f64, 1);
  Result<std::vector<Tensor>> unsharded = runKernel(made, made.operands, made.results);
  ASSERT_TRUE(unsharded.isOk());
  const std::vector<std::vector<FactorDim>> dims = {{{.factor = 0}, {.factor = 1}}};
  Factors factors;
  factors.operands = factors.results = dims;
  factors.count = 2;
  EXPECT_EQ(differenceOnShards(made, *unsharded, factors, 0, 2), "");
  EXPECT_NE(differenceOnShards(made, *unsharded, factors, 1, 2), "");
}

/// Kernels that no op has: the proof follows a combination as its parts, and these two by the values they keep.
TEST(RuleCases, HaveEachKernelOfAnOp) {
  std::set<KernelId> withCase;
  for (const RuleCase &rule : ruleCases())
    if (const KernelRecord *record = check::proof::recordOfOp(rule.op))
      withCase.insert(record->id);
  const std::set<std::string_view> followed = {"accumulate", "constant", "copy", "scale", "slice"};
  for (const KernelRecord &record : catalogue())
    if (record.parts.empty()) {
      EXPECT_NE(withCase.count(record.id), followed.count(record.name)) << record.name;
    }
}

} // namespace
} // namespace sluice::test
