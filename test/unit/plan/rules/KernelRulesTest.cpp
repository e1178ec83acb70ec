//===- KernelRulesTest.cpp - kernels on shards compute the shards that the rules state ------===//
//
// For each op of the table, and each factor by which the rule lets ranks divide it: the kernel runs on the shards of
// random operands, and its results are compared with the shards of its results on the unsharded operands.
//
//===----------------------------------------------------------------------===//
#include "RuleCase.h"

#include <algorithm>
#include <numeric>

namespace sluice::test {
namespace {

using check::proof::Factors;

/// A dim of each operand and result that a factor divides; -1: none.
using Dims = std::vector<int>;

/// Calls `visit` with the indices of each element of the tensor's extents.
template <typename Visit> void forEachIndex(const Operand &operand, Visit visit) {
  std::vector<std::int64_t> index(std::size_t(operand.rank));
  for (std::int64_t i = 0; i < operand.elements(); ++i) {
    visit(i, index);
    for (int d = operand.rank; d-- > 0 && ++index[std::size_t(d)] == operand.extent[d];)
      index[std::size_t(d)] = 0;
  }
}

/// The position of the shard's element in the unsharded tensor.
std::int64_t positionIn(const Operand &full, const Operand &shard, const std::vector<std::int64_t> &index) {
  std::int64_t position = 0;
  for (int d = 0; d < full.rank; ++d)
    position = position * full.extent[d] + index[std::size_t(d)] + shard.origin[d];
  return position;
}

/// A rank's part of a tensor whose dim is divided into chunks, with the padding of the last ones.
Tensor shardOf(const Tensor &full, int dim, std::int64_t chunk, std::int64_t rank) {
  if (dim < 0)
    return full;
  std::vector<std::int64_t> shape(full.operand.shape.begin(), full.operand.shape.begin() + full.operand.rank);
  const std::int64_t extent = shape[std::size_t(dim)];
  shape[std::size_t(dim)] = chunk;
  Tensor shard(full.operand.dtype, shape);
  shard.operand.extent[dim] = std::clamp<std::int64_t>(extent - rank * chunk, 0, chunk);
  shard.operand.origin[dim] = rank * chunk;
  shard.operand.global[dim] = extent;
  forEachIndex(shard.operand, [&](std::int64_t i, const std::vector<std::int64_t> &index) {
    shard.set(i, full.at(positionIn(full.operand, shard.operand, index)));
  });
  return shard;
}

Dims dimsOf(const std::vector<std::vector<int>> &factors, int factor) {
  Dims dims;
  for (const std::vector<int> &tensor : factors) {
    const auto found = std::ranges::find(tensor, factor);
    dims.push_back(found == tensor.end() ? -1 : int(found - tensor.begin()));
  }
  return dims;
}

/// Divides the op by the factor over `ranks`, and compares the results of each rank with its shards of the results on
/// the unsharded operands. Returns the first difference; empty if there is none.
std::string differenceOnShards(const RuleSample &sample, const std::vector<Tensor> &unsharded, const Factors &factors,
                               int factor, std::int64_t ranks) {
  const Dims dims = dimsOf(factors.operands, factor), resultDims = dimsOf(factors.results, factor);
  // Dims of different extents are divided into as many parts: heads of keys, and of queries.
  std::int64_t units = 0;
  const auto extentOf = [](const Tensor &tensor, int dim) { return dim < 0 ? 0 : tensor.operand.extent[dim]; };
  for (std::size_t k = 0; k < dims.size(); ++k)
    units = std::gcd(units, extentOf(sample.operands[k], dims[k]));
  for (std::size_t k = 0; k < resultDims.size(); ++k)
    units = std::gcd(units, extentOf(unsharded[k], resultDims[k]));
  if (units == 0)
    return {};
  const auto chunkOf = [&](const Tensor &tensor, int dim) {
    return (units + ranks - 1) / ranks * (extentOf(tensor, dim) / units);
  };
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    std::vector<Tensor> operands, results;
    for (std::size_t k = 0; k < dims.size(); ++k)
      operands.push_back(shardOf(sample.operands[k], dims[k], chunkOf(sample.operands[k], dims[k]), rank));
    for (std::size_t k = 0; k < resultDims.size(); ++k)
      results.push_back(shardOf(sample.results[k], resultDims[k], chunkOf(sample.results[k], resultDims[k]), rank));
    const std::string where =
        "factor " + std::to_string(factor) + ", rank " + std::to_string(rank) + " of " + std::to_string(ranks);
    Result<std::vector<Tensor>> found = runKernel(sample, operands, results);
    if (!found.isOk())
      return where + ": " + found.status().message();
    for (std::size_t k = 0; k < resultDims.size(); ++k) {
      const Tensor expected = shardOf(unsharded[k], resultDims[k], chunkOf(unsharded[k], resultDims[k]), rank);
      for (std::int64_t i = 0; i < expected.size(); ++i)
        if ((*found)[k].at(i) != expected.at(i))
          return where + ", result " + std::to_string(k) + ", element " + std::to_string(i) + ": expected " +
                 std::to_string(expected.at(i)) + " but got " + std::to_string((*found)[k].at(i));
    }
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
    for (std::size_t factor = 0; factors && factor < factors->count; ++factor)
      for (std::int64_t ranks = 2; ranks <= 4; ++ranks)
        EXPECT_EQ(differenceOnShards(made, *unsharded, *factors, int(factor), ranks), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, Rules, testing::ValuesIn(ruleCases()),
                         [](const auto &test) { return test.param.op.substr(6) + "_" + std::to_string(test.index); });

/// A rule that lets ranks divide the dim over which softmax adds is found.
TEST(WrongRules, HaveOtherResults) {
  const RuleSample made = sample({"model.softmax", "ab->ab"}, DType::f64, 1);
  Result<std::vector<Tensor>> unsharded = runKernel(made, made.operands, made.results);
  ASSERT_TRUE(unsharded.isOk());
  const Factors factors{{{0, 1}}, {{0, 1}}, 2};
  EXPECT_EQ(differenceOnShards(made, *unsharded, factors, 0, 2), "");
  EXPECT_NE(differenceOnShards(made, *unsharded, factors, 1, 2), "");
}

TEST(RuleCases, HaveEachOpOfTheTable) {
  for (const std::string_view op : check::proof::opsWithKernels())
    EXPECT_NE(std::ranges::find(ruleCases(), op, &RuleCase::op), ruleCases().end()) << "no case for " << op;
}

} // namespace
} // namespace sluice::test
