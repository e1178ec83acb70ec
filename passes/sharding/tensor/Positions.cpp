//===- Positions.cpp - which rows of a factor the kernel of an op works on ------------------===//

#include "passes/sharding/tensor/Positions.h"

#include "dialect/spmd/Names.h"

using namespace mlir;

namespace sluice::tensor {

/// The shardings to state to the op's kernel; empty where it needs none.
static SmallVector<spmd::ShardingAttr> positionsOf(Operation *op, const ShardingRule &rule, const FactorSplit &split,
                                                   bool isLocal, const Axis &axis) {
  Cut cut = cutOf(rule, split, axis.ranks);
  bool hasPadding = cut == Cut::padded && model::phaseOf(op) != Phase::update;
  if (cut == Cut::merged ||
      (!rule.factors[split.factor].positioned && !hasPadding && !(isLocal && split.segments == 1)))
    return {};
  SmallVector<spmd::ShardingAttr> positions;
  auto add = [&](const TensorFactors &tensor) {
    SmallVector<std::int64_t> shape;
    for (const auto &dim : tensor) {
      shape.push_back(1);
      for (unsigned factor : dim)
        shape.back() *= rule.factors[factor].size;
    }
    std::optional<AxisSharding> sharding = shardingOf(rule, tensor, split);
    positions.push_back(withAxis(nullptr, sharding.value_or(AxisSharding()), axis.name,
                                 RankedTensorType::get(shape, Float32Type::get(op->getContext()))));
  };
  for (const TensorFactors &tensor : rule.operands)
    add(tensor);
  for (const TensorFactors &tensor : rule.results)
    add(tensor);
  return positions;
}

bool canPosition(Operation *op, const ShardingRule &rule, const FactorSplit &split, bool isLocal, const Axis &axis) {
  auto stated = op->getAttrOfType<ArrayAttr>(spmd::localShardingsName);
  return !stated || llvm::none_of(llvm::zip(stated, positionsOf(op, rule, split, isLocal, axis)), [](auto pair) {
    return cast<spmd::ShardingAttr>(std::get<0>(pair)).isSharded() && std::get<1>(pair).isSharded();
  });
}

void setPositions(Operation *op, const ShardingRule &rule, const FactorSplit &split, bool isLocal, const Axis &axis) {
  SmallVector<spmd::ShardingAttr> positions = positionsOf(op, rule, split, isLocal, axis);
  if (positions.empty())
    return;
  SmallVector<Attribute> list(positions.begin(), positions.end());
  if (auto stated = op->getAttrOfType<ArrayAttr>(spmd::localShardingsName))
    for (auto [index, before] : llvm::enumerate(stated))
      if (cast<spmd::ShardingAttr>(before).isSharded())
        list[index] = before;
  op->setAttr(spmd::localShardingsName, ArrayAttr::get(op->getContext(), list));
}

} // namespace sluice::tensor
