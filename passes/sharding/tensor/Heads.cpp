//===- Heads.cpp - heads are not cut, and several ranks may share one -----------------------===//

#include "passes/sharding/tensor/Heads.h"

#include "dialect/rules/Rules.h"

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
    std::optional<ShardingRule> rule = forwardRuleOf(use.getOwner());
    if (!rule)
      continue;
    const auto &factors = rule->operands[use.getOperandNumber()][dim];
    if (factors.empty())
      continue;
    unsigned factor = factors.front();
    for (auto [index, operand] : llvm::enumerate(rule->operands))
      if (index != use.getOperandNumber() && factors.size() == 1 && isDivided(*rule, operand, factor, ranks))
        return true;
    for (auto [index, result] : llvm::enumerate(rule->results))
      if (auto further = shardingOf(*rule, result, {factor, 1}); further && ops > 0)
        if (isSharedFrom(use.getOwner()->getResult(index), further->dim, ranks, ops - 1))
          return true;
  }
  return false;
}

} // namespace

bool isShared(Value value, std::int64_t dim, std::int64_t ranks) { return isSharedFrom(value, dim, ranks, mostOps); }

namespace {

/// Of the ops that read the value.
std::int64_t grainBehind(Value value, const AxisSharding &sharding, std::int64_t ranks, unsigned ops) {
  for (OpOperand &use : value.getUses()) {
    std::optional<ShardingRule> rule = forwardRuleOf(use.getOwner());
    if (!rule)
      continue;
    const TensorFactors &operand = rule->operands[use.getOperandNumber()];
    std::optional<FactorSplit> split = factorOf(*rule, operand, sharding);
    if (!split || rule->factors[split->factor].whole)
      continue;
    std::int64_t inner = inside(*rule, operand[sharding.dim], split->factor);
    std::int64_t pieces = rule->factors[split->factor].size / split->segments;
    if (inner != 1 && pieces % ranks == 0)
      return inner;
    for (auto [index, result] : llvm::enumerate(rule->results)) {
      std::optional<AxisSharding> further = shardingOf(*rule, result, *split);
      if (!further)
        continue;
      Value next = use.getOwner()->getResult(index);
      if (inner != 1 && isShared(next, further->dim, ranks))
        return 1;
      std::int64_t grain = ops > 0 ? grainBehind(next, *further, ranks, ops - 1) : 1;
      if (inner != 1 || grain != 1)
        return inner * grain;
    }
  }
  return 1;
}

/// Of the ops that make the value's dim.
std::int64_t grainAhead(Value value, std::int64_t dim, std::int64_t ranks, unsigned ops) {
  auto ruled = value.getDefiningOp<ShardingRuleOpInterface>();
  if (!ruled)
    return 1;
  ShardingRule rule = ruled.getShardingRule();
  const auto &factors = rule.results[cast<OpResult>(value).getResultNumber()][dim];
  auto first = llvm::find_if(factors, [&](unsigned factor) { return rule.factors[factor].size != 1; });
  if (first == factors.end() || rule.factors[*first].whole)
    return 1;
  std::int64_t inner = inside(rule, factors, *first);
  if (inner != 1 && rule.factors[*first].size % ranks == 0)
    return inner;
  std::int64_t grain = 1;
  for (auto [index, operand] : llvm::enumerate(rule.operands))
    for (auto [d, own] : llvm::enumerate(operand))
      if (grain == 1 && ops > 0 && own.size() == 1 && own.front() == *first)
        grain = grainAhead(ruled->getOperand(index), static_cast<std::int64_t>(d), ranks, ops - 1);
  return inner * grain;
}

} // namespace

std::int64_t grainOf(Value parameter, const AxisSharding &sharding, std::int64_t ranks) {
  if (std::int64_t grain = grainBehind(parameter, sharding, ranks, mostOps); grain != 1)
    return grain;
  // A dim that is summed over is split by the op that computes the other operand.
  for (OpOperand &use : parameter.getUses()) {
    std::optional<ShardingRule> rule = forwardRuleOf(use.getOwner());
    if (!rule)
      continue;
    std::optional<FactorSplit> split = factorOf(*rule, rule->operands[use.getOperandNumber()], sharding);
    if (!split)
      continue;
    if (llvm::any_of(rule->results, [&](const TensorFactors &result) { return hasFactor(result, split->factor); })) {
      // A cast, a transpose: as its result's.
      for (auto [index, result] : llvm::enumerate(rule->results))
        if (std::optional<AxisSharding> further = shardingOf(*rule, result, *split);
            further && use.getOwner()->getNumOperands() == 1)
          if (std::int64_t grain = grainOf(use.getOwner()->getResult(index), *further, ranks); grain != 1)
            return grain;
      continue;
    }
    for (auto [index, operand] : llvm::enumerate(rule->operands))
      for (auto [dim, factors] : llvm::enumerate(operand))
        if (index != use.getOperandNumber() && llvm::is_contained(factors, split->factor))
          if (std::int64_t grain =
                  grainAhead(use.getOwner()->getOperand(index), static_cast<std::int64_t>(dim), ranks, mostOps);
              grain != 1)
            return grain;
  }
  return 1;
}

} // namespace sluice::tensor
