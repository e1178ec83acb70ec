//===- AxisSharding.cpp - how a value is sharded along one axis -------------------------------===//

#include "passes/sharding/tensor/AxisSharding.h"

#include "dialect/rules/Rules.h"
#include "dialect/spmd/Names.h"

using namespace mlir;

namespace sluice::tensor {

AxisSharding AxisSharding::partial(PartialReduction reduction) {
  AxisSharding sharding;
  sharding.kind = Kind::partial;
  sharding.reduction = reduction;
  return sharding;
}

AxisSharding alongAxis(spmd::ShardingAttr sharding, StringRef axis) {
  if (!sharding)
    return {};
  if (PartialReduction reduction = sharding.reductionOver(axis); reduction != PartialReduction::none)
    return AxisSharding::partial(reduction);
  AxisSharding along;
  if (std::optional<std::int64_t> dim = sharding.dimAlong(axis)) {
    spmd::DimShardingAttr split = sharding.getDims()[*dim];
    along.kind = AxisSharding::Kind::sharded;
    along.dim = *dim;
    along.segments = split.getSegments();
    along.chunk = split.getChunk();
    along.priority = split.getPriority();
  }
  return along;
}

spmd::ShardingAttr withAxis(spmd::ShardingAttr others, const AxisSharding &along, StringRef axis,
                            RankedTensorType global) {
  MLIRContext *context = global.getContext();
  StringAttr name = StringAttr::get(context, axis);
  if (!others)
    others = spmd::ShardingAttr::replicated(context, global.getRank());
  SmallVector<spmd::DimShardingAttr> dims(others.getDims());
  for (spmd::DimShardingAttr &dim : dims)
    if (llvm::is_contained(dim.getAxes(), name))
      dim = spmd::DimShardingAttr::replicated(context);
  SmallVector<spmd::PartialAxis> partialAxes(others.getPartialAxes());
  llvm::erase_if(partialAxes, [&](const spmd::PartialAxis &partial) { return partial.axis == name; });
  if (along.isSharded()) {
    dims[along.dim] = spmd::DimShardingAttr::get(context, ArrayRef<StringAttr>(name), along.segments, along.chunk,
                                                 global.getDimSize(along.dim), along.priority);
  } else if (along.isPartial()) {
    partialAxes.push_back({name, along.reduction});
  }
  return spmd::ShardingAttr::get(context, dims, partialAxes);
}

AxisSharding shardingOf(Value value, StringRef axis) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return {};
  if (auto reshard = dyn_cast<spmd::ReshardOp>(result.getOwner()))
    return alongAxis(cast<spmd::ShardingAttr>(reshard.getDestinations()[result.getResultNumber()]), axis);
  auto stated = result.getOwner()->getAttrOfType<ArrayAttr>(spmd::shardingsName);
  return stated ? alongAxis(cast<spmd::ShardingAttr>(stated[result.getResultNumber()]), axis) : AxisSharding();
}

void setSharding(OpResult result, const AxisSharding &along, StringRef axis) {
  Operation *op = result.getOwner();
  auto stated = op->getAttrOfType<ArrayAttr>(spmd::shardingsName);
  if (!stated && along.kind == AxisSharding::Kind::replicated)
    return;
  SmallVector<Attribute> list;
  for (OpResult each : op->getResults()) {
    auto type = cast<RankedTensorType>(each.getType());
    auto before = stated ? cast<spmd::ShardingAttr>(stated[each.getResultNumber()])
                         : spmd::ShardingAttr::replicated(op->getContext(), type.getRank());
    list.push_back(each == result ? withAxis(before, along, axis, type) : before);
  }
  op->setAttr(spmd::shardingsName, ArrayAttr::get(op->getContext(), list));
}

AxisSharding takenSharding(OpOperand &use, StringRef axis) {
  auto stated = use.getOwner()->getAttrOfType<ArrayAttr>(spmd::operandShardingsName);
  return stated ? alongAxis(cast<spmd::ShardingAttr>(stated[use.getOperandNumber()]), axis)
                : shardingOf(use.get(), axis);
}

void setTakenShardings(Operation *op, ArrayRef<AxisSharding> taken, StringRef axis) {
  auto stated = op->getAttrOfType<ArrayAttr>(spmd::operandShardingsName);
  if (!stated && llvm::all_of(llvm::zip(op->getOperands(), taken), [&](auto pair) {
        return shardingOf(std::get<0>(pair), axis).isSamePlacement(std::get<1>(pair));
      }))
    return;
  SmallVector<Attribute> list;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    auto type = cast<RankedTensorType>(operand.getType());
    list.push_back(
        withAxis(stated ? cast<spmd::ShardingAttr>(stated[index]) : spmd::ShardingAttr(), taken[index], axis, type));
  }
  op->setAttr(spmd::operandShardingsName, ArrayAttr::get(op->getContext(), list));
}

std::optional<FactorSplit> factorOf(const ShardingRule &rule, const TensorFactors &tensor,
                                    const AxisSharding &sharding) {
  std::int64_t outer = 1, inner = 1;
  for (unsigned factor : tensor[sharding.dim])
    inner *= rule.factors[factor].size;
  for (unsigned factor : tensor[sharding.dim]) {
    std::int64_t size = rule.factors[factor].size;
    inner /= size;
    if (sharding.segments < outer * size) {
      std::int64_t segments = sharding.segments / outer;
      if (sharding.segments % outer != 0 || size % segments != 0)
        return std::nullopt;
      return FactorSplit{factor, segments, sharding.chunk % inner == 0 ? sharding.chunk / inner : 0};
    }
    outer *= size;
  }
  return std::nullopt;
}

std::int64_t inside(const ShardingRule &rule, ArrayRef<unsigned> dim, unsigned factor) {
  std::int64_t inner = 1;
  for (unsigned each : llvm::reverse(dim)) {
    if (each == factor)
      break;
    inner *= rule.factors[each].size;
  }
  return inner;
}

std::optional<AxisSharding> shardingOf(const ShardingRule &rule, const TensorFactors &tensor,
                                       const FactorSplit &split) {
  for (auto [dim, factors] : llvm::enumerate(tensor)) {
    std::int64_t outer = 1;
    for (unsigned factor : factors) {
      if (factor == split.factor) {
        AxisSharding sharding;
        sharding.kind = AxisSharding::Kind::sharded;
        sharding.dim = static_cast<std::int64_t>(dim);
        sharding.segments = outer * split.segments;
        sharding.chunk = split.chunk * inside(rule, factors, factor);
        return sharding;
      }
      outer *= rule.factors[factor].size;
    }
  }
  return std::nullopt;
}

Cut cutOf(const ShardingRule &rule, const FactorSplit &split, std::int64_t ranks) {
  std::int64_t size = rule.factors[split.factor].size;
  if (size == split.segments * ranks * split.chunk)
    return Cut::even;
  bool isInside = split.segments != 1;
  for (const auto *tensors : {&rule.operands, &rule.results})
    for (const TensorFactors &tensor : *tensors)
      for (const auto &dim : tensor) {
        if (!llvm::is_contained(dim, split.factor))
          continue;
        for (unsigned factor : dim) {
          if (factor == split.factor)
            break;
          isInside |= rule.factors[factor].size != 1;
        }
      }
  return isInside ? Cut::merged : split.chunk != 0 ? Cut::padded : Cut::unaligned;
}

std::optional<ShardingRule> forwardRuleOf(Operation *op) {
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!ruled || model::phaseOf(op) == Phase::backward || model::phaseOf(op) == Phase::update)
    return std::nullopt;
  return ruled.getShardingRule();
}

std::optional<ShardingRule> ruleOf(Operation *op) {
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  auto isLocal = [](Type type) { return spmd::shardingOf(type) != nullptr; };
  if (!ruled || llvm::any_of(op->getOperandTypes(), isLocal) || llvm::any_of(op->getResultTypes(), isLocal))
    return std::nullopt;
  return ruled.getShardingRule();
}

bool hasFactor(const TensorFactors &tensor, unsigned factor) {
  return llvm::any_of(tensor, [&](const auto &dim) { return llvm::is_contained(dim, factor); });
}

bool isPadded(RankedTensorType global, const AxisSharding &sharding, std::int64_t ranks) {
  return sharding.isSharded() && global.getDimSize(sharding.dim) != sharding.segments * ranks * sharding.chunk;
}

RankedTensorType localType(RankedTensorType global, const AxisSharding &sharding) {
  if (!sharding.isSharded())
    return global;
  SmallVector<std::int64_t> shape(global.getShape());
  shape[sharding.dim] = sharding.segments * sharding.chunk;
  return RankedTensorType::get(shape, global.getElementType());
}

} // namespace sluice::tensor
