//===- Rows.cpp - the dim of each value that has the rows of inputs -------------------------===//

#include "passes/sharding/tensor/Rows.h"

#include "dialect/model/Attributes.h"

using namespace mlir;

namespace sluice::tensor {

llvm::SmallVector<BlockArgument> inputsOfRows(func::FuncOp function) {
  llvm::SmallVector<BlockArgument> inputs;
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!function.getArgAttr(argument.getArgNumber(), model::inputName) || !type || type.getRank() == 0)
      continue;
    if (inputs.empty() || cast<RankedTensorType>(inputs.front().getType()).getDimSize(0) == type.getDimSize(0))
      inputs.push_back(argument);
  }
  return inputs;
}

/// The outermost factor of a dim of a size above 1; nothing for one that must not be sharded.
static std::optional<unsigned> outermost(const ShardingRule &rule, ArrayRef<unsigned> dim) {
  for (unsigned factor : dim)
    if (rule.factors[factor].size != 1)
      return rule.factors[factor].replicated ? std::nullopt : std::optional<unsigned>(factor);
  return std::nullopt;
}

llvm::DenseMap<Value, std::int64_t> findRows(func::FuncOp function) {
  llvm::DenseMap<Value, std::int64_t> rows;
  for (BlockArgument input : inputsOfRows(function))
    rows[input] = 0;
  for (Operation &op : function.getBody().front()) {
    auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
    if (!ruled || llvm::none_of(op.getOperands(), [&](Value operand) { return rows.contains(operand); }))
      continue;
    ShardingRule rule = ruled.getShardingRule();
    for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
      auto found = rows.find(operand);
      if (found == rows.end())
        continue;
      std::optional<unsigned> factor = outermost(rule, rule.operands[index][found->second]);
      if (!factor)
        continue;
      for (auto [number, result] : llvm::enumerate(op.getResults()))
        for (auto [dim, factors] : llvm::enumerate(rule.results[number]))
          if (outermost(rule, factors) == factor)
            rows.insert({result, static_cast<std::int64_t>(dim)});
    }
  }
  return rows;
}

} // namespace sluice::tensor
