//===- Layout.cpp - how a value lies over the ranks of the tensor axis --------------------===//

#include "passes/sharding/tensor/Layout.h"

#include "dialect/spmd/Mesh.h"

using namespace mlir;

namespace sluice::tensor {

std::optional<FactorSplit> factorOf(const ShardingRule &rule, const TensorFactors &tensor, const Layout &layout) {
  std::int64_t outer = 1;
  for (unsigned factor : tensor[layout.dim]) {
    std::int64_t size = rule.factors[factor].size;
    if (layout.segments < outer * size) {
      std::int64_t segments = layout.segments / outer;
      if (layout.segments % outer != 0 || size % segments != 0)
        return std::nullopt;
      return FactorSplit{factor, segments};
    }
    outer *= size;
  }
  return std::nullopt;
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
        return layout;
      }
      outer *= rule.factors[factor].size;
    }
  }
  return std::nullopt;
}

Cut cutOf(const ShardingRule &rule, const FactorSplit &split, std::int64_t ranks) {
  std::int64_t size = rule.factors[split.factor].size;
  if (size % (split.segments * ranks) == 0)
    return Cut::even;
  bool isInside = split.segments != 1, isAligned = true;
  for (const auto *tensors : {&rule.operands, &rule.results})
    for (const TensorFactors &tensor : *tensors)
      for (const auto &dim : tensor) {
        if (!llvm::is_contained(dim, split.factor))
          continue;
        std::int64_t extent = 1;
        for (unsigned factor : dim)
          extent *= rule.factors[factor].size;
        for (unsigned factor : dim) {
          if (factor == split.factor)
            break;
          isInside |= rule.factors[factor].size != 1;
        }
        isAligned &= spmd::chunkOf(size, ranks) * (extent / size) == spmd::chunkOf(extent, ranks);
      }
  return isInside ? Cut::merged : isAligned ? Cut::padded : Cut::unaligned;
}

bool hasFactor(const TensorFactors &tensor, unsigned factor) {
  return llvm::any_of(tensor, [&](const auto &dim) { return llvm::is_contained(dim, factor); });
}

bool isPadded(RankedTensorType whole, const Layout &layout, std::int64_t ranks) {
  return layout.isSplit() && whole.getDimSize(layout.dim) % (layout.segments * ranks) != 0;
}

RankedTensorType localType(RankedTensorType type, const Layout &layout, std::int64_t ranks) {
  if (!layout.isSplit())
    return type;
  SmallVector<std::int64_t> shape(type.getShape());
  shape[layout.dim] = spmd::chunkOf(shape[layout.dim], ranks);
  return RankedTensorType::get(shape, type.getElementType(), type.getEncoding());
}

} // namespace sluice::tensor
