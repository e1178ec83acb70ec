//===- Movement.cpp - data movement: verification, folding, derivatives ----------------===//
//
// Windows, sharding, cost and kernels of the family are in MovementRules.cpp.
//
//===----------------------------------------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  // broadcast_c1
  ArrayRef<int64_t> from = shapeOf(getOperand()), to = shapeOf(getResult());
  FailureOr<SmallVector<int64_t>> full = broadcastShapes({from, to});
  if (failed(full) || ArrayRef<int64_t>(*full) != to)
    return emitOpError() << "operand does not broadcast to the result, expected extents of " << shapeText(to)
                         << " or 1 but got " << shapeText(from);
  // broadcast_c2
  return expectElement(*this, "result", getResult(), elementOf(getOperand()));
}

LogicalResult ReshapeOp::verify() {
  // reshape_c1
  if (typeOf(getOperand()).getNumElements() != typeOf(getResult()).getNumElements())
    return emitOpError() << "result has the wrong number of elements, expected "
                         << typeOf(getOperand()).getNumElements() << " but got "
                         << typeOf(getResult()).getNumElements();
  // reshape_c2
  return expectElement(*this, "result", getResult(), elementOf(getOperand()));
}

LogicalResult TransposeOp::verify() {
  // transpose_c1
  int64_t rank = typeOf(getOperand()).getRank();
  SmallVector<int64_t> sorted(getPermutation());
  llvm::sort(sorted);
  if (sorted != llvm::to_vector(llvm::seq<int64_t>(rank)))
    return emitOpError() << "not a permutation, expected each of 0 to " << rank - 1 << " once but got ["
                         << getPermutation() << "]";
  return success();
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> from = shapeOf(adaptor.getOperand());
  SmallVector<int64_t> shape;
  for (int64_t dim : adaptor.getPermutation()) {
    if (dim < 0 || dim >= static_cast<int64_t>(from.size()))
      return emitOptionalError(location, "transpose: dim is out of range, expected less than ", from.size(),
                               " but got ", dim);
    shape.push_back(from[dim]);
  }
  types.push_back(tensorOf(shape, elementOf(adaptor.getOperand())));
  return success();
}

/// One number per dim in each list.
static LogicalResult expectLists(Operation *op, int64_t rank, ArrayRef<std::pair<StringRef, ArrayRef<int64_t>>> lists) {
  for (auto [name, list] : lists)
    if (static_cast<int64_t>(list.size()) != rank)
      return op->emitOpError() << name << " has the wrong length, expected " << rank << " but got " << list.size();
  return success();
}

LogicalResult SliceOp::verify() {
  // slice_c1
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  if (failed(expectLists(*this, shape.size(), {{"start", getStart()}, {"limit", getLimit()}, {"step", getStep()}})))
    return failure();
  // slice_c2
  for (size_t d = 0; d < shape.size(); ++d) {
    if (getStart()[d] < 0 || getStart()[d] > getLimit()[d] || getLimit()[d] > shape[d])
      return emitOpError() << "range is out of bounds in dim " << d << ", expected 0 <= start <= limit <= " << shape[d]
                           << " but got " << getStart()[d] << " and " << getLimit()[d];
    if (getStep()[d] < 1)
      return emitOpError() << "step is out of range in dim " << d << ", expected at least 1 but got " << getStep()[d];
  }
  return success();
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  size_t rank = typeOf(adaptor.getOperand()).getRank();
  if (adaptor.getStart().size() != rank || adaptor.getLimit().size() != rank || adaptor.getStep().size() != rank)
    return emitOptionalError(location, "slice: lists have the wrong length, expected ", rank);
  SmallVector<int64_t> shape;
  for (auto [start, limit, step] : llvm::zip(adaptor.getStart(), adaptor.getLimit(), adaptor.getStep()))
    shape.push_back((limit - start + step - 1) / step);
  types.push_back(tensorOf(shape, elementOf(adaptor.getOperand())));
  return success();
}

LogicalResult SplitOp::verify() {
  // split_c1
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  int64_t dim = getDim();
  if (failed(expectDims(*this, {dim}, shape.size())))
    return failure();
  // split_c2
  int64_t sum = 0;
  for (Value piece : getResults()) {
    SmallVector<int64_t> expected(shape);
    if (typeOf(piece).getRank() == static_cast<int64_t>(shape.size()))
      expected[dim] = shapeOf(piece)[dim];
    if (failed(expectShape(*this, "piece", piece, expected)) ||
        failed(expectElement(*this, "piece", piece, elementOf(getOperand()))))
      return failure();
    sum += expected[dim];
  }
  // split_c3
  if (sum != shape[dim])
    return emitOpError() << "pieces do not add up, expected " << shape[dim] << " but got " << sum;
  return success();
}

LogicalResult ConcatOp::verify() {
  // concat_c1
  if (getOperands().empty())
    return emitOpError("operands are missing, expected at least 1 but got 0");
  // concat_c2
  ArrayRef<int64_t> shape = shapeOf(getOperands().front());
  int64_t dim = getDim();
  if (failed(expectDims(*this, {dim}, shape.size())))
    return failure();
  // concat_c3
  for (Value piece : getOperands().drop_front()) {
    SmallVector<int64_t> expected(shape);
    if (typeOf(piece).getRank() == static_cast<int64_t>(shape.size()))
      expected[dim] = shapeOf(piece)[dim];
    if (failed(expectShape(*this, "piece", piece, expected)) ||
        failed(expectElement(*this, "piece", piece, elementOf(getOperands().front()))))
      return failure();
  }
  return success();
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  ValueRange pieces = adaptor.getOperands();
  if (pieces.empty() || adaptor.getDim() >= static_cast<uint64_t>(typeOf(pieces.front()).getRank()))
    return emitOptionalError(location, "concat: dim is out of range");
  SmallVector<int64_t> shape(shapeOf(pieces.front()));
  for (Value piece : pieces.drop_front())
    shape[adaptor.getDim()] += shapeOf(piece)[adaptor.getDim()];
  types.push_back(tensorOf(shape, elementOf(pieces.front())));
  return success();
}

LogicalResult PadOp::verify() {
  // pad_c1
  int64_t rank = typeOf(getOperand()).getRank();
  if (failed(expectLists(*this, rank, {{"low", getLow()}, {"high", getHigh()}, {"step", getStep()}})))
    return failure();
  // pad_c2
  for (int64_t d = 0; d < rank; ++d) {
    if (getLow()[d] < 0 || getHigh()[d] < 0)
      return emitOpError() << "padding is out of range in dim " << d << ", expected at least 0 but got " << getLow()[d]
                           << " and " << getHigh()[d];
    if (getStep()[d] < 1)
      return emitOpError() << "step is out of range in dim " << d << ", expected at least 1 but got " << getStep()[d];
  }
  return success();
}

/// Extent of `count` elements with stride `step`.
static int64_t spreadExtent(int64_t count, int64_t step) { return count == 0 ? 0 : (count - 1) * step + 1; }

LogicalResult PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> from = shapeOf(adaptor.getOperand());
  if (adaptor.getLow().size() != from.size() || adaptor.getHigh().size() != from.size() ||
      adaptor.getStep().size() != from.size())
    return emitOptionalError(location, "pad: lists have the wrong length, expected ", from.size());
  SmallVector<int64_t> shape;
  for (size_t d = 0; d < from.size(); ++d)
    shape.push_back(adaptor.getLow()[d] + spreadExtent(from[d], adaptor.getStep()[d]) + adaptor.getHigh()[d]);
  types.push_back(tensorOf(shape, elementOf(adaptor.getOperand())));
  return success();
}

LogicalResult GatherOp::verify() {
  // gather_c1
  if (typeOf(getTable()).getRank() < 1)
    return emitOpError("table has too few dims, expected rank 1 or more but got 0");
  return success();
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> table = shapeOf(adaptor.getTable());
  if (table.empty())
    return emitOptionalError(location, "gather: table has too few dims, expected rank 1 or more but got 0");
  SmallVector<int64_t> shape(shapeOf(adaptor.getIndices()));
  llvm::append_range(shape, table.drop_front());
  types.push_back(tensorOf(shape, elementOf(adaptor.getTable())));
  return success();
}

LogicalResult ScatterAddOp::verify() {
  // scatter_add_c1
  if (typeOf(getResult()).getRank() < 1)
    return emitOpError("result has too few dims, expected rank 1 or more but got 0");
  // scatter_add_c2
  SmallVector<int64_t> shape(shapeOf(getIndices()));
  llvm::append_range(shape, shapeOf(getResult()).drop_front());
  if (failed(expectShape(*this, "updates", getUpdates(), shape)))
    return failure();
  return expectElement(*this, "updates", getUpdates(), elementOf(getResult()));
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  return {};
}

// reshape of a reshape is the last one
OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<ReshapeOp>()) {
    if (inner.getOperand().getType() == getType())
      return inner.getOperand();
    getOperandMutable().assign(inner.getOperand());
    return getResult();
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                    SmallVectorImpl<Value> &gradients) {
  gradients.push_back(makeUnbroadcast(builder, getLoc(), cotangents[0], shapeOf(getOperand())));
  return success();
}

LogicalResult ReshapeOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                  SmallVectorImpl<Value> &gradients) {
  gradients.push_back(makeReshape(builder, getLoc(), cotangents[0], shapeOf(getOperand())));
  return success();
}

// The inverse permutation.
LogicalResult TransposeOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                    SmallVectorImpl<Value> &gradients) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [to, from] : llvm::enumerate(getPermutation()))
    inverse[from] = to;
  gradients.push_back(TransposeOp::create(builder, getLoc(), cotangents[0], builder.getDenseI64ArrayAttr(inverse)));
  return success();
}

// Zeros at the elements that the slice does not take.
LogicalResult SliceOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                SmallVectorImpl<Value> &gradients) {
  SmallVector<int64_t> high;
  for (size_t d = 0; d < getStart().size(); ++d)
    high.push_back(shapeOf(getOperand())[d] - getStart()[d] - spreadExtent(shapeOf(getResult())[d], getStep()[d]));
  gradients.push_back(PadOp::create(builder, getLoc(), cotangents[0], getStartAttr(),
                                    builder.getDenseI64ArrayAttr(high), getStepAttr(), builder.getF64FloatAttr(0)));
  return success();
}

// The concatenated cotangents of the results, zeros for a null one.
LogicalResult SplitOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                SmallVectorImpl<Value> &gradients) {
  SmallVector<Value> pieces(cotangents);
  for (auto [piece, result] : llvm::zip(pieces, getResults()))
    if (!piece)
      piece = makeConstant(builder, getLoc(), 0, tensorOf(shapeOf(result), elementOf(result)));
  gradients.push_back(ConcatOp::create(builder, getLoc(), pieces, getDimAttr()));
  return success();
}

LogicalResult ConcatOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                 SmallVectorImpl<Value> &gradients) {
  SmallVector<Type> types;
  for (Value operand : getOperands())
    types.push_back(tensorOf(shapeOf(operand), elementOf(operand)));
  auto split = SplitOp::create(builder, getLoc(), types, cotangents[0], getDimAttr());
  gradients.append(split->result_begin(), split->result_end());
  return success();
}

LogicalResult PadOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                              SmallVectorImpl<Value> &gradients) {
  SmallVector<int64_t> limit;
  for (size_t d = 0; d < getLow().size(); ++d)
    limit.push_back(getLow()[d] + spreadExtent(shapeOf(getOperand())[d], getStep()[d]));
  gradients.push_back(SliceOp::create(builder, getLoc(), cotangents[0], getLowAttr(),
                                      builder.getDenseI64ArrayAttr(limit), getStepAttr()));
  return success();
}

LogicalResult GatherOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                 SmallVectorImpl<Value> &gradients) {
  gradients.push_back(ScatterAddOp::create(builder, getLoc(), tensorOf(shapeOf(getTable()), elementOf(getTable())),
                                           cotangents[0], getIndices()));
  gradients.emplace_back();
  return success();
}

LogicalResult ScatterAddOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                     SmallVectorImpl<Value> &gradients) {
  gradients.push_back(GatherOp::create(builder, getLoc(), cotangents[0], getIndices()));
  gradients.emplace_back();
  return success();
}

} // namespace sluice::model
