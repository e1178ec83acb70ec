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

LogicalResult EmbeddingOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType table = typeOf(adaptor.getTable());
  if (table.getRank() != 2)
    return emitOptionalError(location, "embedding: table has the wrong rank, expected 2 but got ", table.getRank());
  SmallVector<int64_t> shape(shapeOf(adaptor.getIndices()));
  shape.push_back(table.getDimSize(1));
  types.push_back(tensorOf(shape, table.getElementType()));
  return success();
}

LogicalResult EmbeddingGradOp::verify() {
  // embedding_grad_c2
  SmallVector<int64_t> shape(shapeOf(getIndices()));
  shape.push_back(shapeOf(getDtable()).back());
  if (failed(expectShape(*this, "dy", getDy(), shape)))
    return failure();
  Type element = elementOf(getDtable());
  if (element != statisticsElement(elementOf(getDy())) && failed(expectElement(*this, "dy", getDy(), element)))
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
