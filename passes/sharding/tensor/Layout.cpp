//===- Layout.cpp - how a value lies over the ranks of an axis ----------------------------===//

#include "passes/sharding/tensor/Layout.h"

#include "dialect/model/Attributes.h"
#include "dialect/rules/Rules.h"
#include "dialect/spmd/Names.h"

using namespace mlir;

namespace sluice::tensor {

StringRef axisOf(DictionaryAttr split) {
  auto axis = split.getAs<StringAttr>(splitAxisName);
  return axis ? axis.getValue() : StringRef(tensorAxis);
}

std::optional<FactorSplit> factorOf(const ShardingRule &rule, const TensorFactors &tensor, const Layout &layout) {
  std::int64_t outer = 1, inner = 1;
  for (unsigned factor : tensor[layout.dim])
    inner *= rule.factors[factor].size;
  for (unsigned factor : tensor[layout.dim]) {
    std::int64_t size = rule.factors[factor].size;
    inner /= size;
    if (layout.segments < outer * size) {
      std::int64_t segments = layout.segments / outer;
      if (layout.segments % outer != 0 || size % segments != 0)
        return std::nullopt;
      return FactorSplit{factor, segments, layout.chunk % inner == 0 ? layout.chunk / inner : 0};
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

std::optional<Layout> layoutOf(const ShardingRule &rule, const TensorFactors &tensor, const FactorSplit &split) {
  for (auto [dim, factors] : llvm::enumerate(tensor)) {
    std::int64_t outer = 1;
    for (unsigned factor : factors) {
      if (factor == split.factor) {
        Layout layout;
        layout.kind = Layout::Kind::split;
        layout.dim = static_cast<std::int64_t>(dim);
        layout.segments = outer * split.segments;
        layout.chunk = split.chunk * inside(rule, factors, factor);
        return layout;
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

bool hasFactor(const TensorFactors &tensor, unsigned factor) {
  return llvm::any_of(tensor, [&](const auto &dim) { return llvm::is_contained(dim, factor); });
}

bool isPadded(RankedTensorType whole, const Layout &layout, std::int64_t ranks) {
  return layout.isSplit() && whole.getDimSize(layout.dim) != layout.segments * ranks * layout.chunk;
}

RankedTensorType localType(RankedTensorType type, const Layout &layout) {
  if (!layout.isSplit())
    return type;
  SmallVector<std::int64_t> shape(type.getShape());
  shape[layout.dim] = layout.segments * layout.chunk;
  return RankedTensorType::get(shape, type.getElementType(), type.getEncoding());
}

} // namespace sluice::tensor
