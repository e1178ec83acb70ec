//===- Embedding.cpp - rows of a table by token -------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// The padding row is a row of the unsharded table; on a shard only its lower bound can be verified.
static LogicalResult verifyPadding(Operation *op, std::optional<int64_t> padding, Value table) {
  if (!padding || (*padding >= 0 && (*padding < shapeOf(table).front() || hasShardedTensor(op))))
    return success();
  return op->emitOpError() << "padding " << *padding << " is not a row of the table, which has "
                           << shapeOf(table).front() << " rows";
}

LogicalResult EmbeddingOp::verify() {
  // embedding_c2
  return verifyPadding(*this, getPadding(), getTable());
}

LogicalResult EmbeddingGradOp::verify() {
  // embedding_grad_c2
  if (failed(verifyExtents(*this)))
    return failure();
  // embedding_grad_c3
  return verifyPadding(*this, getPadding(), getDtable());
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

FailureOrValues EmbeddingOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{EmbeddingGradOp::create(builder, tensorOf(shapeOf(getTable()), elementOf(getTable())),
                                                    cotangents[0], getIndices(), getPaddingAttr()),
                            Value()};
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

FailureOrValues EmbeddingOp::decompose(ImplicitLocOpBuilder &builder) {
  // No primitive reads a row and excludes it from the gradient.
  if (getPadding())
    return emitOpError() << "has no decomposition for padding row " << *getPadding();
  return SmallVector<Value>{GatherOp::create(builder, getTable(), getIndices())};
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// Only the indexed rows are read.
OpCost EmbeddingOp::getCost() { return {0, bytesOf(getIndices()) + 2 * bytesOf(getResult())}; }
// One addition per element of dy; the table's gradient is written once and each indexed row is read and written.
OpCost EmbeddingGradOp::getCost() {
  return {elementsOf(getDy()), bytesOf(getIndices()) + 3 * bytesOf(getDy()) + bytesOf(getDtable())};
}

} // namespace sluice::model
