//===- Positions.cpp - the position of a rank's chunk, for kernels that read it ------------===//

#include "passes/sharding/tensor/Positions.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"

using namespace mlir;

namespace sluice::tensor {

/// The shardings for the op's kernel; empty where it reads none.
static SmallVector<Attribute> positionsOf(Operation *op, const ShardingRule &rule, const FactorSharding &factor,
                                          bool isComputed, const Axis &axis) {
  Chunks chunks = chunksOf(rule, factor, axis.ranks);
  bool hasPadding = chunks == Chunks::paddedAtEnd && model::phaseOf(op) != Phase::update;
  if (chunks == Chunks::paddedInside ||
      (!rule.factors[factor.index].positioned && !hasPadding && !(isComputed && factor.segments == 1)))
    return {};
  SmallVector<Attribute> positions;
  for (const auto *tensors : {&rule.operands, &rule.results})
    for (const TensorFactors &tensor : *tensors) {
      auto shape = llvm::map_to_vector(tensor, [&](const auto &dim) {
        std::int64_t extent = 1;
        for (unsigned each : dim)
          extent *= rule.factors[each].size;
        return extent;
      });
      positions.push_back(withAxis(nullptr, shardingOf(rule, tensor, factor).value_or(AxisSharding()), axis.name,
                                   RankedTensorType::get(shape, Float32Type::get(op->getContext()))));
    }
  return positions;
}

bool canPosition(Operation *op, const ShardingRule &rule, const FactorSharding &factor, bool isComputed,
                 const Axis &axis) {
  auto stated = op->getAttrOfType<ArrayAttr>(spmd::localShardingsName);
  return !stated || llvm::none_of(llvm::zip(stated, positionsOf(op, rule, factor, isComputed, axis)), [](auto pair) {
    return cast<spmd::ShardingAttr>(std::get<0>(pair)).isSharded() &&
           cast<spmd::ShardingAttr>(std::get<1>(pair)).isSharded();
  });
}

void setPositions(Operation *op, const ShardingRule &rule, const FactorSharding &factor, bool isComputed,
                  const Axis &axis) {
  SmallVector<Attribute> positions = positionsOf(op, rule, factor, isComputed, axis);
  if (positions.empty())
    return;
  if (auto stated = op->getAttrOfType<ArrayAttr>(spmd::localShardingsName))
    for (auto [position, other] : llvm::zip(positions, stated))
      if (cast<spmd::ShardingAttr>(other).isSharded())
        position = other;
  op->setAttr(spmd::localShardingsName, ArrayAttr::get(op->getContext(), positions));
}

} // namespace sluice::tensor
