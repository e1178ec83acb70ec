//===- Movement.cpp - data movement: verification, folding, derivatives ----------------===//
//
// Windows, sharding, cost and kernels of the family are in MovementRules.cpp.
//
//===----------------------------------------------------------------------===//

#include "dialect/model/Patterns.h"
#include "dialect/model/ops/Helpers.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/PatternMatch.h"

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
  const int64_t rank = typeOf(getOperand()).getRank();
  if (getPermutation().size() != static_cast<size_t>(rank) || !isPermutationVector(getPermutation()))
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

/// The shape with the extent of `part` along `dim`, if the ranks are equal.
static SmallVector<int64_t> withExtentOf(Value part, ArrayRef<int64_t> shape, int64_t dim) {
  SmallVector<int64_t> expected(shape);
  if (shapeOf(part).size() == shape.size())
    expected[dim] = shapeOf(part)[dim];
  return expected;
}

LogicalResult SplitOp::verify() {
  // split_c1
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  int64_t dim = getDim();
  if (failed(expectDims(*this, {dim}, shape.size())))
    return failure();
  // split_c2
  int64_t sum = 0;
  for (Value part : getResults()) {
    SmallVector<int64_t> expected = withExtentOf(part, shape, dim);
    if (failed(expectType(*this, "result", part, expected, elementOf(getOperand()))))
      return failure();
    sum += expected[dim];
  }
  // split_c3
  if (sum != shape[dim])
    return emitOpError() << "sum of the results' extents along dim " << dim << ", expected " << shape[dim]
                         << " but got " << sum;
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
  for (Value part : getOperands().drop_front())
    if (failed(expectType(*this, "operand", part, withExtentOf(part, shape, dim), elementOf(getOperands().front()))))
      return failure();
  return success();
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  ValueRange parts = adaptor.getOperands();
  if (parts.empty() || adaptor.getDim() >= shapeOf(parts.front()).size())
    return emitOptionalError(location, "concat: dim is out of range");
  SmallVector<int64_t> shape(shapeOf(parts.front()));
  for (Value part : parts.drop_front())
    shape[adaptor.getDim()] += shapeOf(part)[adaptor.getDim()];
  types.push_back(tensorOf(shape, elementOf(parts.front())));
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

FailureOrValues BroadcastOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{makeUnbroadcast(builder, cotangents[0], shapeOf(getOperand()))};
}

FailureOrValues StopGradientOp::buildVjp(ImplicitLocOpBuilder &, ArrayRef<Value>) {
  return SmallVector<Value>{Value()};
}
FailureOrValues ReshapeOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{makeReshape(builder, cotangents[0], shapeOf(getOperand()))};
}

// The inverse permutation.
FailureOrValues TransposeOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  auto inverse = invertPermutationVector(getPermutation());
  return SmallVector<Value>{TransposeOp::create(builder, cotangents[0], builder.getDenseI64ArrayAttr(inverse))};
}

// Zeros at the elements that the slice does not take.
FailureOrValues SliceOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  SmallVector<int64_t> high;
  for (size_t d = 0; d < getStart().size(); ++d)
    high.push_back(shapeOf(getOperand())[d] - getStart()[d] - spreadExtent(shapeOf(getResult())[d], getStep()[d]));
  return SmallVector<Value>{PadOp::create(builder, cotangents[0], getStartAttr(), builder.getDenseI64ArrayAttr(high),
                                          getStepAttr(), builder.getF64FloatAttr(0))};
}

// The concatenated cotangents of the results, zeros for a null one.
FailureOrValues SplitOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  SmallVector<Value> parts(cotangents);
  for (auto [part, result] : llvm::zip(parts, getResults()))
    if (!part)
      part = makeConstant(builder, 0, tensorOf(shapeOf(result), elementOf(result)));
  return SmallVector<Value>{ConcatOp::create(builder, parts, getDimAttr())};
}

FailureOrValues ConcatOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  SmallVector<Type> types;
  for (Value operand : getOperands())
    types.push_back(tensorOf(shapeOf(operand), elementOf(operand)));
  auto split = SplitOp::create(builder, types, cotangents[0], getDimAttr());
  return SmallVector<Value>(split->getResults());
}

FailureOrValues PadOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  SmallVector<int64_t> limit;
  for (size_t d = 0; d < getLow().size(); ++d)
    limit.push_back(getLow()[d] + spreadExtent(shapeOf(getOperand())[d], getStep()[d]));
  return SmallVector<Value>{
      SliceOp::create(builder, cotangents[0], getLowAttr(), builder.getDenseI64ArrayAttr(limit), getStepAttr())};
}

FailureOrValues GatherOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{
      ScatterAddOp::create(builder, tensorOf(shapeOf(getTable()), elementOf(getTable())), cotangents[0], getIndices()),
      Value()};
}

FailureOrValues ScatterAddOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{GatherOp::create(builder, cotangents[0], getIndices()), Value()};
}

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

namespace {
/// A transpose of a transpose is one; one that changes nothing is none.
struct JoinTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    const ArrayRef<int64_t> permutation = op.getPermutation();
    if (llvm::equal(permutation, llvm::seq<int64_t>(0, static_cast<int64_t>(permutation.size())))) {
      rewriter.replaceOp(op, op.getOperand());
      return success();
    }
    auto inner = op.getOperand().getDefiningOp<TransposeOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> joined;
    for (int64_t dim : permutation)
      joined.push_back(inner.getPermutation()[static_cast<size_t>(dim)]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, inner.getOperand(), rewriter.getDenseI64ArrayAttr(joined));
    return success();
  }
};
} // namespace

void populateMovementRecognitionPatterns(RewritePatternSet &patterns) {
  patterns.add<JoinTransposes>(patterns.getContext());
}

} // namespace sluice::model
