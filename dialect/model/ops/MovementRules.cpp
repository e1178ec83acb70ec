//===- MovementRules.cpp - data movement: windows, sharding, cost, kernels --------------===//
//
// Most results are a window of the operand's memory and cost nothing. The kernel copies where no window exists.
//
//===----------------------------------------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

// Repeated dims have stride 0.
FailureOr<StridedLayout> BroadcastOp::getViewOf(unsigned, const StridedLayout &source) {
  ArrayRef<int64_t> to = shapeOf(getResult());
  size_t missing = to.size() - source.shape.size();
  StridedLayout layout{source.offset, SmallVector<int64_t>(to), SmallVector<int64_t>(to.size(), 0)};
  for (size_t d = 0; d < source.shape.size(); ++d)
    if (source.shape[d] == to[missing + d])
      layout.strides[missing + d] = source.strides[d];
  return layout;
}

// Dims of the source that follow one another in memory merge into runs; each dim of the result must be in one run.
FailureOr<StridedLayout> ReshapeOp::getViewOf(unsigned, const StridedLayout &source) {
  ArrayRef<int64_t> to = shapeOf(getResult());
  StridedLayout layout{source.offset, SmallVector<int64_t>(to), SmallVector<int64_t>(to.size(), 1)};
  if (typeOf(getResult()).getNumElements() == 0)
    return layout;
  struct Run {
    int64_t extent, stride;
  };
  SmallVector<Run> runs;
  for (auto [extent, stride] : llvm::zip(source.shape, source.strides)) {
    if (extent == 1)
      continue;
    if (!runs.empty() && runs.back().stride == stride * extent)
      runs.back() = {runs.back().extent * extent, stride};
    else
      runs.push_back({extent, stride});
  }
  // From the innermost run outwards.
  int64_t left = runs.empty() ? 1 : runs.back().extent, stride = runs.empty() ? 1 : runs.back().stride;
  for (size_t d = to.size(); d-- > 0;) {
    if (to[d] == 1) {
      layout.strides[d] = stride;
      continue;
    }
    while (left == 1 && runs.size() > 1) {
      runs.pop_back();
      left = runs.back().extent;
      stride = runs.back().stride;
    }
    if (left % to[d] != 0)
      return failure();
    layout.strides[d] = stride;
    stride *= to[d];
    left /= to[d];
  }
  return layout;
}

FailureOr<StridedLayout> TransposeOp::getViewOf(unsigned, const StridedLayout &source) {
  StridedLayout layout{source.offset, {}, {}};
  for (int64_t dim : getPermutation()) {
    layout.shape.push_back(source.shape[dim]);
    layout.strides.push_back(source.strides[dim]);
  }
  return layout;
}

FailureOr<StridedLayout> SliceOp::getViewOf(unsigned, const StridedLayout &source) {
  StridedLayout layout{source.offset, SmallVector<int64_t>(shapeOf(getResult())), {}};
  for (size_t d = 0; d < source.shape.size(); ++d) {
    layout.offset += getStart()[d] * source.strides[d];
    layout.strides.push_back(source.strides[d] * getStep()[d]);
  }
  return layout;
}

/// The window of part `index` of a tensor that consists of consecutive parts along `dim`.
static StridedLayout windowOf(ValueRange parts, unsigned index, int64_t dim, const StridedLayout &layout) {
  int64_t start = 0;
  for (Value part : parts.take_front(index))
    start += shapeOf(part)[dim];
  return {layout.offset + start * layout.strides[dim], SmallVector<int64_t>(shapeOf(parts[index])), layout.strides};
}

FailureOr<StridedLayout> SplitOp::getViewOf(unsigned result, const StridedLayout &source) {
  return windowOf(getResults(), result, getDim(), source);
}

StridedLayout ConcatOp::getOperandWindow(unsigned operand, const StridedLayout &result) {
  return windowOf(getOperands(), operand, getDim(), result);
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

ShardingRule BroadcastOp::getShardingRule() {
  ShardingRule rule = pointwiseRule(*this);
  rule.linear = true;
  return rule;
}

// Dims are divided into common factors from the outermost on: [a, b c] and [a b, c] share a, b and c. If two extents
// have no common factor, the dims up to the next position with equal products are replicated.
ShardingRule ReshapeOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> from = shapeOf(getOperand()), to = shapeOf(getResult());
  TensorFactors source(from.size()), target(to.size());
  if (llvm::is_contained(from, 0) || llvm::is_contained(to, 0)) {
    rule.operands.push_back(addFactors(rule, from, 0));
    rule.results.push_back(addFactors(rule, to, 0));
    return rule;
  }
  size_t i = 0, j = 0;
  int64_t left = 1, right = 1;
  while (true) {
    if (left == 1 && i < from.size()) {
      left = from[i++];
      continue;
    }
    if (right == 1 && j < to.size()) {
      right = to[j++];
      continue;
    }
    if (left == 1 && right == 1)
      break;
    if (left % right == 0 || right % left == 0) {
      int64_t cut = std::min(left, right);
      unsigned factor = rule.addFactor(cut);
      source[i - 1].push_back(factor);
      target[j - 1].push_back(factor);
      left /= cut;
      right /= cut;
      continue;
    }
    // No common factor: take dims of the side with the smaller product until the products are equal.
    source[i - 1].push_back(rule.addFactor(left, /*replicated=*/true));
    target[j - 1].push_back(rule.addFactor(right, /*replicated=*/true));
    while (left != right) {
      if (left < right) {
        source[i].push_back(rule.addFactor(from[i], /*replicated=*/true));
        left *= from[i++];
      } else {
        target[j].push_back(rule.addFactor(to[j], /*replicated=*/true));
        right *= to[j++];
      }
    }
    left = right = 1;
  }
  rule.operands.push_back(source);
  rule.results.push_back(target);
  rule.linear = true;
  return rule;
}

ShardingRule TransposeOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors source = addFactors(rule, shapeOf(getOperand()), typeOf(getOperand()).getRank()), target;
  for (int64_t dim : getPermutation())
    target.push_back(source[dim]);
  rule.operands.push_back(source);
  rule.results.push_back(target);
  rule.linear = true;
  return rule;
}

/// A dim that is unchanged is parallel; one that is sliced, concatenated or padded is replicated on both sides.
static ShardingRule windowRule(ValueRange operands, ValueRange results) {
  ShardingRule rule;
  Value first = operands.front();
  int64_t rank = typeOf(first).getRank();
  auto same = [&](int64_t dim) {
    auto equal = [&](Value value) { return shapeOf(value)[dim] == shapeOf(first)[dim]; };
    return llvm::all_of(operands, equal) && llvm::all_of(results, equal);
  };
  SmallVector<std::optional<unsigned>> shared(rank);
  for (int64_t d = 0; d < rank; ++d)
    if (same(d))
      shared[d] = rule.addFactor(shapeOf(first)[d]);
  auto map = [&](Value value) {
    TensorFactors factors;
    for (int64_t d = 0; d < rank; ++d)
      factors.push_back({shared[d] ? *shared[d] : rule.addFactor(shapeOf(value)[d], /*replicated=*/true)});
    return factors;
  };
  for (Value operand : operands)
    rule.operands.push_back(map(operand));
  for (Value result : results)
    rule.results.push_back(map(result));
  return rule;
}

/// Parts of one extent along `dim`: the dim of the concatenation has a factor for the number of parts, and one for the
/// extent, which all parts share.
static ShardingRule partsRule(Value concatenated, ValueRange parts, int64_t dim, bool isConcat) {
  if (parts.size() < 2 || !llvm::all_equal(llvm::map_range(parts, shapeOf)))
    return isConcat ? windowRule(parts, concatenated) : windowRule(concatenated, parts);
  ShardingRule rule;
  TensorFactors part = addFactors(rule, shapeOf(parts.front()), typeOf(concatenated).getRank()), all = part;
  all[dim].insert(all[dim].begin(), rule.addFactor(static_cast<int64_t>(parts.size()), /*replicated=*/true));
  (isConcat ? rule.results : rule.operands).push_back(all);
  (isConcat ? rule.operands : rule.results).assign(parts.size(), part);
  return rule;
}

ShardingRule SliceOp::getShardingRule() { return windowRule(getOperand(), getResult()); }
ShardingRule SplitOp::getShardingRule() { return partsRule(getOperand(), getResults(), getDim(), /*isConcat=*/false); }
ShardingRule ConcatOp::getShardingRule() { return partsRule(getResult(), getOperands(), getDim(), /*isConcat=*/true); }

// The limit of an unchanged dim is the operand's extent.
void SliceOp::adjustToTypes() {
  SmallVector<int64_t> limit(getLimit());
  for (size_t d = 0; d < limit.size(); ++d)
    if (getStart()[d] == 0 && getStep()[d] == 1 && limit[d] > shapeOf(getOperand())[d])
      limit[d] = shapeOf(getOperand())[d];
  setLimit(limit);
}
ShardingRule PadOp::getShardingRule() { return windowRule(getOperand(), getResult()); }

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

OpCost BroadcastOp::getCost() { return {}; }
OpCost ReshapeOp::getCost() { return {}; }
OpCost TransposeOp::getCost() { return {}; }
OpCost SliceOp::getCost() { return {}; }
OpCost SplitOp::getCost() { return {}; }
OpCost ConcatOp::getCost() { return streamingCost(*this, 0); }
OpCost PadOp::getCost() { return streamingCost(*this, 0); }
// Only the indexed rows are read.
OpCost GatherOp::getCost() { return {0, bytesOf(getIndices()) + 2 * bytesOf(getResult())}; }
OpCost ScatterAddOp::getCost() {
  return {elementsOf(getUpdates()), bytesOf(getIndices()) + 3 * bytesOf(getUpdates()) + bytesOf(getResult())};
}

} // namespace sluice::model
