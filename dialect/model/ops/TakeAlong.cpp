//===- TakeAlong.cpp - argmax, take_along, add_along ----------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult ArgmaxOp::verify() {
  // argmax_c1
  int64_t dim = getDim();
  if (failed(expectDims(*this, {dim}, typeOf(getOperand()).getRank())))
    return failure();
  // argmax_c2
  if (shapeOf(getOperand())[dim] == 0)
    return emitOpError("dim has no maximum, expected an extent of at least 1 but got 0");
  return success();
}

LogicalResult ArgmaxOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> shape(shapeOf(adaptor.getOperand()));
  if (adaptor.getDim() >= shape.size())
    return emitOptionalError(location, "argmax: dim is out of range, expected less than ", shape.size(), " but got ",
                             static_cast<int64_t>(adaptor.getDim()));
  shape.erase(shape.begin() + adaptor.getDim());
  types.push_back(tensorOf(shape, IntegerType::get(context, 64)));
  return success();
}

/// `few` has the extents of `many` in dim `dim` or any, and no more than those in others.
static LogicalResult expectWithin(Operation *op, ArrayRef<int64_t> few, ArrayRef<int64_t> many, int64_t dim) {
  // take_along_c1, add_along_c1
  if (few.size() != many.size())
    return op->emitOpError() << "indices have the wrong rank, expected " << many.size() << " but got " << few.size();
  // take_along_c2, add_along_c2
  if (failed(expectDims(op, {dim}, many.size())))
    return failure();
  // take_along_c3, add_along_c3
  for (auto [d, extents] : llvm::enumerate(llvm::zip(few, many)))
    if (static_cast<int64_t>(d) != dim && std::get<0>(extents) > std::get<1>(extents))
      return op->emitOpError() << "indices are too long in dim " << d << ", expected at most " << std::get<1>(extents)
                               << " but got " << std::get<0>(extents);
  return success();
}

LogicalResult TakeAlongOp::verify() {
  return expectWithin(*this, shapeOf(getIndices()), shapeOf(getOperand()), getDim());
}

LogicalResult TakeAlongOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  types.push_back(tensorOf(shapeOf(adaptor.getIndices()), elementOf(adaptor.getOperand())));
  return success();
}

LogicalResult AddAlongOp::verify() {
  if (failed(expectWithin(*this, shapeOf(getIndices()), shapeOf(getResult()), getDim())))
    return failure();
  // add_along_c4
  return verifyExtents(*this);
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

FailureOrValues TakeAlongOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{AddAlongOp::create(builder, tensorOf(shapeOf(getOperand()), elementOf(getOperand())),
                                               cotangents[0], getIndices(), getDimAttr()),
                            Value()};
}

FailureOrValues AddAlongOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{TakeAlongOp::create(builder, cotangents[0], getIndices(), getDimAttr()), Value()};
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

/// Dims of equal extents are parallel, except the indexed one; the others are replicated. If the indexed dim is split,
/// the kernel reads the local indices and returns zeros for the others.
static ShardingRule alongRule(ArrayRef<int64_t> table, ArrayRef<int64_t> indices, int64_t dim, bool takes) {
  ShardingRule rule;
  TensorFactors all, part;
  for (auto [d, extents] : llvm::enumerate(llvm::zip(table, indices))) {
    auto [many, few] = extents;
    if (static_cast<int64_t>(d) != dim && many == few) {
      all.push_back({rule.addFactor(many)});
      part.push_back(all.back());
    } else {
      bool isRead = takes && static_cast<int64_t>(d) == dim;
      all.push_back({rule.addFactor(many, /*replicated=*/!isRead, /*positioned=*/isRead)});
      part.push_back({rule.addFactor(few, /*replicated=*/true)});
    }
  }
  rule.operands.append({takes ? all : part, part});
  if (takes)
    rule.reduction = PartialReduction::sum;
  rule.results.push_back(takes ? part : all);
  return rule;
}

ShardingRule TakeAlongOp::getShardingRule() {
  return alongRule(shapeOf(getOperand()), shapeOf(getIndices()), getDim(), true);
}
ShardingRule AddAlongOp::getShardingRule() {
  return alongRule(shapeOf(getResult()), shapeOf(getIndices()), getDim(), false);
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

OpCost ArgmaxOp::getCost() { return streamingCost(*this, elementsOf(getOperand())); }
// Only the indexed elements are read.
OpCost TakeAlongOp::getCost() { return {0, bytesOf(getIndices()) + 2 * bytesOf(getResult())}; }
OpCost AddAlongOp::getCost() {
  return {elementsOf(getUpdates()), bytesOf(getIndices()) + 3 * bytesOf(getUpdates()) + bytesOf(getResult())};
}

} // namespace sluice::model
