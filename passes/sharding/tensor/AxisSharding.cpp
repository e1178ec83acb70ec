//===- AxisSharding.cpp - the sharding of a value along one mesh axis -------------------------===//

#include "passes/sharding/tensor/AxisSharding.h"

#include "dialect/model/Attributes.h"
#include "dialect/rules/Rules.h"
#include "dialect/spmd/Names.h"

using namespace mlir;

namespace sluice::tensor {

AxisSharding alongAxis(spmd::ShardingAttr sharding, StringRef axis) {
  if (!sharding)
    return {};
  if (PartialReduction reduction = sharding.reductionOver(axis); reduction != PartialReduction::none)
    return AxisSharding::partial(reduction);
  std::optional<std::int64_t> index = sharding.dimAlong(axis);
  if (!index)
    return {};
  spmd::DimShardingAttr dim = sharding.getDims()[*index];
  return AxisSharding::sharded(*index, dim.getSegments(), dim.getChunk(), dim.getPriority());
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
  if (!stated && along.isReplicated())
    return;
  auto list = llvm::map_to_vector(op->getResults(), [&](OpResult each) -> Attribute {
    auto type = cast<RankedTensorType>(each.getType());
    auto before = stated ? cast<spmd::ShardingAttr>(stated[each.getResultNumber()])
                         : spmd::ShardingAttr::replicated(op->getContext(), type.getRank());
    return each == result ? withAxis(before, along, axis, type) : before;
  });
  op->setAttr(spmd::shardingsName, ArrayAttr::get(op->getContext(), list));
}

AxisSharding operandSharding(OpOperand &use, StringRef axis) {
  auto stated = use.getOwner()->getAttrOfType<ArrayAttr>(spmd::operandShardingsName);
  return stated ? alongAxis(cast<spmd::ShardingAttr>(stated[use.getOperandNumber()]), axis)
                : shardingOf(use.get(), axis);
}

void setOperandShardings(Operation *op, ArrayRef<AxisSharding> required, StringRef axis) {
  auto stated = op->getAttrOfType<ArrayAttr>(spmd::operandShardingsName);
  if (!stated && llvm::all_of(llvm::zip(op->getOperands(), required), [&](auto pair) {
        return shardingOf(std::get<0>(pair), axis).isSamePlacement(std::get<1>(pair));
      }))
    return;
  SmallVector<Attribute> list;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    list.push_back(withAxis(stated ? cast<spmd::ShardingAttr>(stated[index]) : spmd::ShardingAttr(), required[index],
                            axis, cast<RankedTensorType>(operand.getType())));
  op->setAttr(spmd::operandShardingsName, ArrayAttr::get(op->getContext(), list));
}

spmd::ReshardOp createReshard(OpBuilder &builder, Value value, const AxisSharding &source,
                              const AxisSharding &destination, StringRef axis) {
  auto type = cast<RankedTensorType>(value.getType());
  return spmd::ReshardOp::create(builder, value.getLoc(), value, withAxis(nullptr, source, axis, type),
                                 withAxis(nullptr, destination, axis, type));
}

std::int64_t innerExtent(const ShardingRule &rule, ArrayRef<unsigned> dim, unsigned factor) {
  std::int64_t extent = 1;
  for (unsigned inner : dim.drop_front(llvm::find(dim, factor) - dim.begin() + 1))
    extent *= rule.factors[inner].size;
  return extent;
}

std::optional<FactorSharding> factorOf(const ShardingRule &rule, const TensorFactors &tensor,
                                       const AxisSharding &sharding) {
  std::int64_t outer = 1;
  for (unsigned index : tensor[sharding.dim]) {
    std::int64_t size = rule.factors[index].size;
    if (sharding.segments < outer * size) {
      std::int64_t segments = sharding.segments / outer, inner = innerExtent(rule, tensor[sharding.dim], index);
      if (sharding.segments % outer != 0 || size % segments != 0)
        return std::nullopt;
      return FactorSharding{index, segments, sharding.chunk % inner == 0 ? sharding.chunk / inner : 0};
    }
    outer *= size;
  }
  return std::nullopt;
}

std::optional<AxisSharding> shardingOf(const ShardingRule &rule, const TensorFactors &tensor,
                                       const FactorSharding &factor) {
  for (auto [dim, factors] : llvm::enumerate(tensor)) {
    std::int64_t outer = 1;
    for (unsigned index : factors) {
      if (index == factor.index)
        return AxisSharding::sharded(static_cast<std::int64_t>(dim), outer * factor.segments,
                                     factor.chunk * innerExtent(rule, factors, index));
      outer *= rule.factors[index].size;
    }
  }
  return std::nullopt;
}

Chunks chunksOf(const ShardingRule &rule, const FactorSharding &factor, std::int64_t ranks) {
  if (rule.factors[factor.index].size == factor.segments * ranks * factor.chunk)
    return Chunks::even;
  auto isInner = [&](const TensorFactors &tensor) {
    std::optional<AxisSharding> sharding = shardingOf(rule, tensor, factor);
    return sharding && sharding->segments != 1;
  };
  if (llvm::any_of(rule.operands, isInner) || llvm::any_of(rule.results, isInner))
    return Chunks::paddedInside;
  return factor.chunk != 0 ? Chunks::paddedAtEnd : Chunks::unaligned;
}

std::optional<ShardingRule> ruleOf(Operation *op) {
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  auto isLocal = [](Type type) { return spmd::shardingOf(type) != nullptr; };
  if (!ruled || llvm::any_of(op->getOperandTypes(), isLocal) || llvm::any_of(op->getResultTypes(), isLocal))
    return std::nullopt;
  return ruled.getShardingRule();
}

SmallVector<std::pair<Value, AxisSharding>> ForwardReader::resultsWith(const FactorSharding &factor) const {
  SmallVector<std::pair<Value, AxisSharding>> found;
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    if (std::optional<AxisSharding> sharding = shardingOf(rule, rule.results[index], factor))
      found.push_back({result, *sharding});
  return found;
}

std::vector<ForwardReader> forwardReadersOf(Value value) {
  std::vector<ForwardReader> readers;
  for (OpOperand &use : value.getUses()) {
    auto ruled = dyn_cast<ShardingRuleOpInterface>(use.getOwner());
    if (ruled && model::phaseOf(ruled) != Phase::backward && model::phaseOf(ruled) != Phase::update)
      readers.push_back({ruled, use.getOperandNumber(), ruled.getShardingRule()});
  }
  return readers;
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
