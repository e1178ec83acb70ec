//===- Heads.cpp - heads that several ranks share ------------------------------------------===//

#include "passes/sharding/tensor/Heads.h"

#include "dialect/spmd/Names.h"

using namespace mlir;

namespace sluice::tensor {

namespace {

/// Such a way is short: positions, norms of heads, transposes.
constexpr unsigned mostOps = 16;

bool isDivided(const ShardingRule &rule, const TensorFactors &tensor, unsigned factor, std::int64_t ranks) {
  return llvm::any_of(tensor, [&](const auto &dim) {
    std::int64_t extent = 1;
    for (unsigned each : dim)
      extent *= rule.factors[each].size;
    return llvm::is_contained(dim, factor) && extent != rule.factors[factor].size && extent % ranks == 0;
  });
}

bool isSharedFrom(Value value, std::int64_t dim, std::int64_t ranks, unsigned ops) {
  for (OpOperand &use : value.getUses()) {
    auto ruled = dyn_cast<ShardingRuleOpInterface>(use.getOwner());
    if (!ruled || spmd::phaseOf(use.getOwner()) == "backward" || spmd::phaseOf(use.getOwner()) == "update")
      continue;
    ShardingRule rule = ruled.getShardingRule();
    const auto &factors = rule.operands[use.getOperandNumber()][dim];
    if (factors.empty())
      continue;
    unsigned factor = factors.front();
    for (auto [index, operand] : llvm::enumerate(rule.operands))
      if (index != use.getOperandNumber() && factors.size() == 1 && isDivided(rule, operand, factor, ranks))
        return true;
    for (auto [index, result] : llvm::enumerate(rule.results))
      if (auto further = layoutOf(rule, result, {factor, 1}); further && ops > 0)
        if (isSharedFrom(use.getOwner()->getResult(index), further->dim, ranks, ops - 1))
          return true;
  }
  return false;
}

} // namespace

bool isShared(Value value, std::int64_t dim, std::int64_t ranks) { return isSharedFrom(value, dim, ranks, mostOps); }

} // namespace sluice::tensor
