//===- Layout.cpp - fewer transposes of images ----------------------------------------------===//

#include "passes/import/export/Layout.h"

#include "dialect/model/Model.h"
#include "dialect/model/Patterns.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::layout {

using Dims = llvm::SmallVector<std::int64_t>;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
llvm::ArrayRef<std::int64_t> shapeOf(Value value) { return typeOf(value).getShape(); }

/// The dim of [N, ..., C] that is dim `dim` of [N, C, ...].
std::int64_t lastDimOf(std::int64_t dim, std::int64_t rank) { return dim == 0 ? 0 : dim == 1 ? rank - 1 : dim - 1; }

/// A list for the dims of [N, C, ...] as one for those of [N, ..., C].
Dims channelsLast(llvm::ArrayRef<std::int64_t> first) {
  Dims last(first.size());
  for (auto [dim, each] : llvm::enumerate(first))
    last[static_cast<std::size_t>(lastDimOf(static_cast<std::int64_t>(dim), static_cast<std::int64_t>(first.size())))] =
        each;
  return last;
}

/// The permutation from [N, ..., C] to [N, C, ...].
Dims toFirst(std::int64_t rank) {
  Dims permutation;
  for (std::int64_t dim = 0; dim < rank; ++dim)
    permutation.push_back(lastDimOf(dim, rank));
  return permutation;
}

Value transposed(PatternRewriter &rewriter, Location location, Value value) {
  return model::TransposeOp::create(rewriter, location, value,
                                    rewriter.getDenseI64ArrayAttr(toFirst(typeOf(value).getRank())));
}

Value reshaped(PatternRewriter &rewriter, Location location, Value value, llvm::ArrayRef<std::int64_t> shape) {
  return model::ReshapeOp::create(rewriter, location, RankedTensorType::get(shape, typeOf(value).getElementType()),
                                  value);
}

/// [N, ..., C] of which a value is the transpose [N, C, ...]; null for another value.
Value beforeTranspose(Value value) {
  auto op = value.getDefiningOp<model::TransposeOp>();
  return op && op.getPermutation().size() >= 3 &&
                 op.getPermutation() == llvm::ArrayRef<std::int64_t>(toFirst(typeOf(value).getRank()))
             ? op.getOperand()
             : Value();
}

/// True if the elements of [N, C, ...] are in the order of [N, ..., C].
bool keepsOrder(llvm::ArrayRef<std::int64_t> first) {
  return first[1] == 1 || llvm::all_of(first.drop_front(2), [](std::int64_t size) { return size == 1; });
}

/// A shape that broadcasts to one of `rank` dims, with all of them.
Dims padded(llvm::ArrayRef<std::int64_t> shape, std::int64_t rank) {
  Dims full(static_cast<std::size_t>(rank) - shape.size(), 1);
  full.append(shape.begin(), shape.end());
  return full;
}

/// True for an operand of an op with `result` that has lastForm() at no cost, or at the cost of a transpose of fewer
/// elements.
bool hasLastForm(Value value, RankedTensorType result) {
  const std::int64_t rank = result.getRank();
  if (typeOf(value).getRank() == 0 || value.getDefiningOp<model::ConstantOp>() ||
      (beforeTranspose(value) && typeOf(value).getRank() == rank))
    return true;
  if (auto repeated = value.getDefiningOp<model::BroadcastOp>())
    return hasLastForm(repeated.getOperand(), result);
  return keepsOrder(padded(shapeOf(value), rank)) || typeOf(value).getNumElements() < result.getNumElements();
}

/// An operand that broadcasts to [N, C, ...] in the form that broadcasts to [N, ..., C].
Value lastForm(PatternRewriter &rewriter, Location location, Value value, std::int64_t rank) {
  if (typeOf(value).getRank() == 0)
    return value;
  if (Value last = beforeTranspose(value); last && typeOf(value).getRank() == rank)
    return last;
  const Dims first = padded(shapeOf(value), rank), last = channelsLast(first);
  const auto type = RankedTensorType::get(last, typeOf(value).getElementType());
  if (auto constant = value.getDefiningOp<model::ConstantOp>())
    return model::ConstantOp::create(rewriter, location, type, constant.getValueAttr());
  if (auto repeated = value.getDefiningOp<model::BroadcastOp>())
    return model::BroadcastOp::create(rewriter, location, type,
                                      lastForm(rewriter, location, repeated.getOperand(), rank));
  if (keepsOrder(first))
    return reshaped(rewriter, location, value, last);
  Dims toLast(first.size());
  for (auto [index, dim] : llvm::enumerate(toFirst(rank)))
    toLast[static_cast<std::size_t>(dim)] = static_cast<std::int64_t>(index);
  return model::TransposeOp::create(rewriter, location, reshaped(rewriter, location, value, first),
                                    rewriter.getDenseI64ArrayAttr(toLast));
}

bool isElementwise(Operation *op) {
  return isa<model::AddOp, model::SubtractOp, model::MultiplyOp, model::DivideOp, model::MaximumOp, model::NegateOp,
             model::ExpOp, model::LogOp, model::TanhOp, model::SinOp, model::CosOp, model::ErfOp, model::SqrtOp,
             model::RsqrtOp, model::ReluOp, model::SigmoidOp, model::SoftplusOp, model::PowerOp, model::ScaleOp,
             model::CompareOp, model::SelectOp, model::CastOp, model::GeluOp, model::SiluOp, model::SwigluOp,
             model::DropoutOp, model::StopGradientOp>(op);
}

/// An op on transposes is a transpose of the op. `change` gives the clone the attributes for channels last.
struct MoveTranspose : RewritePattern {
  explicit MoveTranspose(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  static DenseI64ArrayAttr listLast(PatternRewriter &rewriter, DenseI64ArrayAttr first) {
    return rewriter.getDenseI64ArrayAttr(channelsLast(first.asArrayRef()));
  }

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!llvm::any_of(op->getOperands(), beforeTranspose))
      return failure();
    const Location location = op->getLoc();
    if (auto reduction = dyn_cast<model::ReduceSumOp>(op))
      return moveReduction(reduction, rewriter);
    if (auto reduction = dyn_cast<model::ReduceMeanOp>(op))
      return moveReduction(reduction, rewriter);
    if (auto reduction = dyn_cast<model::ReduceMaxOp>(op))
      return moveReduction(reduction, rewriter);
    if (auto reshape = dyn_cast<model::ReshapeOp>(op))
      return moveReshape(reshape, rewriter);
    if (!isElementwise(op) && !isa<model::ConcatOp, model::SplitOp, model::SliceOp, model::PadOp>(op))
      return failure();
    const RankedTensorType type = typeOf(op->getResult(0));
    const std::int64_t rank = type.getRank();
    const bool isOfTranspose = llvm::any_of(op->getOperands(), [&](Value operand) {
      return beforeTranspose(operand) && typeOf(operand).getRank() == rank;
    });
    if (!isOfTranspose || !llvm::all_of(op->getOperands(), [&](Value operand) { return hasLastForm(operand, type); }))
      return failure();
    llvm::SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(lastForm(rewriter, location, operand, rank));
    Operation *moved = rewriter.clone(*op);
    moved->setOperands(operands);
    if (isa<model::ConcatOp, model::SplitOp>(op)) {
      const std::int64_t dim = op->getAttrOfType<IntegerAttr>("dim").getInt();
      moved->setAttr("dim", rewriter.getI64IntegerAttr(lastDimOf(dim, rank)));
    }
    if (isa<model::SliceOp>(op))
      for (llvm::StringRef name : {"start", "limit", "step"})
        moved->setAttr(name, listLast(rewriter, op->getAttrOfType<DenseI64ArrayAttr>(name)));
    if (isa<model::PadOp>(op))
      for (llvm::StringRef name : {"low", "high", "step"})
        moved->setAttr(name, listLast(rewriter, op->getAttrOfType<DenseI64ArrayAttr>(name)));
    llvm::SmallVector<Value> results;
    for (Value result : moved->getResults()) {
      result.setType(RankedTensorType::get(channelsLast(shapeOf(result)), typeOf(result).getElementType()));
      results.push_back(transposed(rewriter, location, result));
    }
    rewriter.replaceOp(op, results);
    return success();
  }

  template <typename Op> LogicalResult moveReduction(Op op, PatternRewriter &rewriter) const {
    Value x = beforeTranspose(op.getOperand());
    const std::int64_t rank = typeOf(x).getRank();
    const auto has = [&](std::int64_t dim) { return llvm::is_contained(op.getDims(), dim); };
    const bool hasPositions =
        llvm::all_of(llvm::seq<std::int64_t>(2, rank), [&](std::int64_t dim) { return has(dim); });
    // Without rows the channels are not the second dim of the result.
    if (!op.getKeep() && has(0) && !has(1) && !hasPositions)
      return failure();
    Dims dims;
    for (std::int64_t dim : op.getDims())
      dims.push_back(lastDimOf(dim, rank));
    llvm::sort(dims);
    auto moved = cast<Op>(rewriter.clone(*op));
    moved->setOperand(0, x);
    moved.setDims(dims);
    Value result = moved.getResult();
    const auto type = cast<RankedTensorType>(op.getType());
    if (!op.getKeep() && (has(1) || hasPositions)) {
      rewriter.replaceOp(op, moved);
      return success();
    }
    result.setType(RankedTensorType::get(channelsLast(type.getShape()), type.getElementType()));
    rewriter.replaceOp(op, transposed(rewriter, op.getLoc(), result));
    return success();
  }

  /// Where the reshape joins or separates positions alone.
  LogicalResult moveReshape(model::ReshapeOp op, PatternRewriter &rewriter) const {
    Value x = beforeTranspose(op.getOperand());
    const auto from = shapeOf(op.getOperand()), to = shapeOf(op.getResult());
    if (to.size() < 2 || from[0] != to[0] || from[1] != to[1])
      return failure();
    Value moved = reshaped(rewriter, op.getLoc(), x, channelsLast(to));
    rewriter.replaceOp(op, to.size() == 2 ? moved : transposed(rewriter, op.getLoc(), moved));
    return success();
  }
};

/// A transpose that keeps the order of the elements is a reshape.
struct TransposeAsReshape : OpRewritePattern<model::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(model::TransposeOp op, PatternRewriter &rewriter) const override {
    const std::int64_t rank = typeOf(op.getResult()).getRank();
    if (rank < 3)
      return failure();
    const Dims first = toFirst(rank);
    const bool isToFirst = op.getPermutation() == llvm::ArrayRef(first), isToLast = [&] {
      for (auto [index, dim] : llvm::enumerate(op.getPermutation()))
        if (first[static_cast<std::size_t>(dim)] != static_cast<std::int64_t>(index))
          return false;
      return true;
    }();
    if ((!isToFirst || !keepsOrder(shapeOf(op.getResult()))) && (!isToLast || !keepsOrder(shapeOf(op.getOperand()))))
      return failure();
    rewriter.replaceOp(op, reshaped(rewriter, op.getLoc(), op.getOperand(), shapeOf(op.getResult())));
    return success();
  }
};

} // namespace sluice::exported::layout

void exported::populateLayoutPatterns(RewritePatternSet &patterns) {
  model::populateMovementRecognitionPatterns(patterns);
  patterns.add<layout::MoveTranspose, layout::TransposeAsReshape>(patterns.getContext());
}
