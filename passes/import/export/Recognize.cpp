//===- Recognize.cpp - composite ops from the primitives of an imported graph -------------===//
//
// What needs no constant is recognised by the op families. Here are those that do: attention under a mask, and rotary
// positions, whose tables are compared with the angles that they should have.
//
//===----------------------------------------------------------------------===//

#include "passes/import/export/Recognize.h"

#include "passes/import/export/Layout.h"
#include "passes/import/export/Rotation.h"

#include "dialect/model/Patterns.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>
#include <limits>
#include <map>

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace {

llvm::ArrayRef<std::int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

Value transposed(OpBuilder &builder, Location location, Value value, llvm::ArrayRef<std::int64_t> permutation) {
  return model::TransposeOp::create(builder, location, value, builder.getDenseI64ArrayAttr(permutation));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// dropout(softmax(scale q k^T + bias where a mask allows it)) v ==> attention
struct RecognizeAttention : OpRewritePattern<model::MatmulOp> {
  RecognizeAttention(MLIRContext *context, Importer &importer) : OpRewritePattern(context), importer(importer) {}

  Importer &importer;

  struct Scores {
    Value value;
    std::optional<MaskKind> mask;
  };
  /// True for one number that hides the score in whose place it is.
  bool hides(Value value) const {
    constexpr double most = -1e4;
    if (auto op = value.getDefiningOp<model::ConstantOp>())
      return op.getValue().convertToDouble() <= most;
    const ConstantPtr constant = importer.constantOf(value);
    bool isHidden = constant && constant->elements() > 0;
    if (isHidden)
      constant->forEachRow([&](Index, llvm::ArrayRef<double> row) {
        isHidden = llvm::all_of(row, [](double each) { return each <= most; });
        return isHidden;
      });
    return isHidden;
  }
  /// The scores before a mask.
  Scores unmasked(Value x) const {
    const std::int64_t keys = shapeOf(x).back(), queries = shapeOf(x)[shapeOf(x).size() - 2];
    if (auto select = x.getDefiningOp<model::SelectOp>()) {
      const ConstantPtr mask = importer.constantOf(select.getCondition());
      const bool isInverse = hides(select.getOnTrue());
      if (!mask || (!isInverse && !hides(select.getOnFalse())))
        return {};
      const ConstantPtr seen =
          isInverse ? makePointwise({mask}, mask->shape, ScalarType::boolean, [](auto value) { return value[0] == 0; })
                    : mask;
      return {isInverse ? select.getOnFalse() : select.getOnTrue(), importer.maskKind(seen, queries, keys)};
    }
    if (auto sum = x.getDefiningOp<model::AddOp>())
      for (unsigned side = 0; side < 2; ++side)
        if (const ConstantPtr mask = importer.constantOf(sum->getOperand(side)))
          return {sum->getOperand(1 - side), importer.maskKind(mask, queries, keys)};
    return {x, MaskKind{}};
  }

  /// The product of queries and keys, and the ops up to the softmax.
  struct Pieces {
    model::MatmulOp product;
    double scale = 1;
    MaskKind kind;
    /// Null: none. An inverse mask is true where the key is hidden.
    Value mask, bias;
    bool isInverse = false;
  };
  /// The mask or bias with 4 dims, without dims that only repeat it; null if it does not broadcast to `scores`.
  static Value inFourDims(PatternRewriter &rewriter, Value value, llvm::ArrayRef<std::int64_t> scores) {
    while (auto repeated = value.getDefiningOp<model::BroadcastOp>()) {
      if (shapeOf(repeated.getOperand()).empty() || shapeOf(repeated.getOperand()).back() != scores.back())
        break;
      value = repeated.getOperand();
    }
    llvm::SmallVector<std::int64_t> shape(shapeOf(value));
    if (shape.empty() || shape.size() > 4 || shape.back() != scores.back())
      return {};
    shape.insert(shape.begin(), 4 - shape.size(), 1);
    for (auto [own, full] : llvm::zip(shape, scores))
      if (own != 1 && own != full)
        return {};
    if (shapeOf(value) == llvm::ArrayRef<std::int64_t>(shape))
      return value;
    auto type = RankedTensorType::get(shape, cast<RankedTensorType>(value.getType()).getElementType());
    return model::ReshapeOp::create(rewriter, value.getLoc(), type, value);
  }
  /// The scores `x` without their outermost mask or bias, which is added to `pieces`; null if it is neither.
  Value peeled(Value x, Pieces &pieces) const {
    if (const auto [inner, kind] = unmasked(x); kind && inner != x && !pieces.kind.causal) {
      pieces.kind = *kind;
      return inner;
    }
    if (auto select = x.getDefiningOp<model::SelectOp>(); select && !pieces.mask) {
      const bool isInverse = hides(select.getOnTrue());
      if (!isInverse && !hides(select.getOnFalse()))
        return {};
      pieces.mask = select.getCondition();
      pieces.isInverse = isInverse;
      return isInverse ? select.getOnFalse() : select.getOnTrue();
    }
    auto sum = x.getDefiningOp<model::AddOp>();
    for (unsigned side = 0; sum && !pieces.bias && side < 2; ++side)
      if (Value scores = sum->getOperand(side); shapeOf(scores) == shapeOf(x) && isOfProduct(scores)) {
        pieces.bias = sum->getOperand(1 - side);
        return scores;
      }
    return {};
  }
  /// True for a product, scaled or masked or with a bias.
  static bool isOfProduct(Value x) {
    if (auto sum = x.getDefiningOp<model::AddOp>())
      return isOfProduct(sum->getOperand(0)) || isOfProduct(sum->getOperand(1));
    if (auto select = x.getDefiningOp<model::SelectOp>())
      return isOfProduct(select.getOnTrue()) || isOfProduct(select.getOnFalse());
    if (auto scaled = x.getDefiningOp<model::ScaleOp>())
      x = scaled.getOperand();
    return x.getDefiningOp<model::MatmulOp>() != nullptr;
  }
  std::optional<Pieces> piecesOf(Value x) const {
    Pieces pieces;
    while (x && !x.getDefiningOp<model::MatmulOp>() && !x.getDefiningOp<model::ScaleOp>())
      x = peeled(x, pieces);
    if (auto scaled = x ? x.getDefiningOp<model::ScaleOp>() : model::ScaleOp()) {
      pieces.scale = scaled.getFactor().convertToDouble();
      x = scaled.getOperand();
    }
    pieces.product = x ? x.getDefiningOp<model::MatmulOp>() : model::MatmulOp();
    return pieces.product ? std::optional(pieces) : std::nullopt;
  }

  LogicalResult matchAndRewrite(model::MatmulOp outer, PatternRewriter &rewriter) const override {
    auto dropout = outer.getLhs().getDefiningOp<model::DropoutOp>();
    // Another reader of the weights would draw them a second time.
    if (dropout && !dropout->hasOneUse())
      return failure();
    auto softmax = (dropout ? dropout.getX() : outer.getLhs()).getDefiningOp<model::SoftmaxOp>();
    if (!softmax || shapeOf(outer.getLhs()).size() != 4 || outer.getTransposeLhs() || outer.getTransposeRhs() ||
        outer.getBias() || outer.getResidual())
      return failure();
    std::optional<Pieces> pieces = piecesOf(softmax.getX());
    if (!pieces)
      return failure();
    model::MatmulOp inner = pieces->product;
    if (inner.getTransposeLhs() || inner.getBias() || inner.getResidual())
      return failure();
    Value q = inner.getLhs(), k = inner.getRhs(), v = outer.getRhs();
    if (shapeOf(q).size() != 4 || shapeOf(k).size() != 4 || shapeOf(v).size() != 4)
      return failure();
    const Location location = outer.getLoc();
    // Keys as [B, H, S, D].
    llvm::SmallVector<std::int64_t> keys(shapeOf(k));
    if (!inner.getTransposeRhs())
      std::swap(keys[2], keys[3]);
    if (llvm::ArrayRef<std::int64_t>(keys) != shapeOf(v) || shapeOf(q)[3] != keys[3] || shapeOf(q)[0] != keys[0] ||
        shapeOf(q)[1] != keys[1])
      return failure();
    const auto scores = shapeOf(softmax.getX());
    llvm::SmallVector<Value> options;
    for (Value each : {pieces->mask, pieces->bias})
      if (each) {
        options.push_back(inFourDims(rewriter, each, scores));
        if (!options.back())
          return failure();
      }
    if (pieces->mask && pieces->isInverse) {
      Value &mask = options.front();
      Value zero = model::ConstantOp::create(
          rewriter, location, RankedTensorType::get({}, cast<RankedTensorType>(mask.getType()).getElementType()),
          rewriter.getF64FloatAttr(0));
      mask = model::CompareOp::create(rewriter, location, mask, zero, ComparePredicate::eq);
    }
    if (!inner.getTransposeRhs())
      k = transposed(rewriter, location, k, {0, 1, 3, 2});
    const auto sequenceFirst = [&](Value value) { return transposed(rewriter, location, value, {0, 2, 1, 3}); };
    const auto flag = [&](bool isSet) { return isSet ? rewriter.getUnitAttr() : UnitAttr(); };
    const MaskKind &kind = pieces->kind;
    if (dropout)
      options.append({dropout.getSeed(), dropout.getStep(), dropout.getRow()});
    Value out = model::AttentionOp::create(rewriter, location, sequenceFirst(q), sequenceFirst(k), sequenceFirst(v),
                                           options, rewriter.getF64FloatAttr(pieces->scale), flag(kind.causal),
                                           kind.window > 0 ? rewriter.getI64IntegerAttr(kind.window) : IntegerAttr(),
                                           flag(pieces->mask != nullptr), flag(pieces->bias != nullptr),
                                           /*packed=*/UnitAttr(), dropout ? dropout.getRateAttr() : FloatAttr(),
                                           dropout ? dropout.getKeyAttr() : IntegerAttr())
                    .getOut();
    rewriter.replaceOp(outer, sequenceFirst(out));
    return success();
  }
};

/// Where a causal mask, with a window or without, is left: a comparison of positions in place of its values.
template <typename Op> struct ComparePositions : OpRewritePattern<Op> {
  ComparePositions(MLIRContext *context, Importer &importer) : OpRewritePattern<Op>(context), importer(importer) {}

  Importer &importer;

  /// `scores` where the key is seen, else -infinity.
  static Value masked(PatternRewriter &rewriter, Location location, Value scores, const MaskKind &mask) {
    const auto shape = shapeOf(scores);
    auto type = RankedTensorType::get(shape.take_back(2), rewriter.getI32Type());
    const auto number = [&](double value, Type element) -> Value {
      return model::ConstantOp::create(rewriter, location, RankedTensorType::get({}, element),
                                       rewriter.getF64FloatAttr(value));
    };
    Value row = model::IotaOp::create(rewriter, location, type, rewriter.getI64IntegerAttr(0));
    Value column = model::IotaOp::create(rewriter, location, type, rewriter.getI64IntegerAttr(1));
    Value nothing =
        number(-std::numeric_limits<double>::infinity(), cast<RankedTensorType>(scores.getType()).getElementType());
    const auto keep = [&](Value limit, ComparePredicate predicate) {
      Value seen = model::CompareOp::create(rewriter, location, limit, column, predicate);
      scores = model::SelectOp::create(rewriter, location, seen, scores, nothing);
    };
    keep(row, ComparePredicate::ge);
    if (mask.window > 0)
      keep(model::SubtractOp::create(rewriter, location, row,
                                     number(static_cast<double>(mask.window), rewriter.getI32Type())),
           ComparePredicate::lt);
    return scores;
  }

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    const RecognizeAttention attention(rewriter.getContext(), importer);
    if (shapeOf(op.getResult()).size() < 2)
      return failure();
    const auto [scores, mask] = attention.unmasked(op.getResult());
    const auto shape = shapeOf(op.getResult());
    if (!mask || !scores || scores == op.getResult() || shapeOf(scores) != shape ||
        shape.back() != shape[shape.size() - 2])
      return failure();
    rewriter.replaceOp(op, mask->causal ? masked(rewriter, op.getLoc(), scores, *mask) : scores);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Rotary positions
//===----------------------------------------------------------------------===//

/// x cos + (rotation of x's halves) sin ==> rope, where cos and sin are tables of position times frequency.
struct RecognizeRope : OpRewritePattern<model::AddOp> {
  /// Of tables that are known: layers share them.
  using Rotations = std::map<std::pair<const Constant *, const Constant *>, std::optional<RotaryTables>>;
  RecognizeRope(MLIRContext *context, Importer &importer, Rotations &rotations)
      : OpRewritePattern(context), importer(importer), rotations(rotations) {}

  Importer &importer;
  Rotations &rotations;

  /// x in (-second half of x, first half of x); null for another value.
  static Value beforeTurn(Value turned) {
    auto joined = turned.getDefiningOp<model::ConcatOp>();
    if (!joined || joined.getOperands().size() != 2)
      return {};
    auto negative = joined.getOperands()[0].getDefiningOp<model::NegateOp>();
    if (!negative)
      return {};
    const auto part = [](Value value) -> std::tuple<Value, std::int64_t, std::int64_t> {
      if (auto slice = value.getDefiningOp<model::SliceOp>()) {
        const auto shape = shapeOf(slice.getOperand());
        for (std::size_t dim = 0; dim + 1 < shape.size(); ++dim)
          if (slice.getStart()[dim] != 0 || slice.getLimit()[dim] != shape[dim])
            return {};
        if (slice.getStep().back() != 1)
          return {};
        return {slice.getOperand(), slice.getStart().back(), slice.getLimit().back()};
      }
      if (auto split = value.getDefiningOp<model::SplitOp>();
          split && split.getNumResults() == 2 &&
          static_cast<std::size_t>(split.getDim()) + 1 == shapeOf(value).size()) {
        const std::int64_t first = shapeOf(split.getResult(0)).back(), all = shapeOf(split.getOperand()).back();
        return value == split.getResult(0) ? std::tuple(split.getOperand(), std::int64_t(0), first)
                                           : std::tuple(split.getOperand(), first, all);
      }
      return {};
    };
    const auto [second, secondStart, secondEnd] = part(negative.getOperand());
    const auto [first, firstStart, firstEnd] = part(joined.getOperands()[1]);
    if (!first || first != second || static_cast<std::size_t>(joined.getDim()) + 1 != shapeOf(first).size())
      return {};
    const std::int64_t size = shapeOf(first).back();
    return firstStart == 0 && firstEnd * 2 == size && secondStart == firstEnd && secondEnd == size ? first : Value();
  }

  /// x in (-x[1], x[0], -x[3], x[2], ...): neighbours are rotated, not halves; null for another value.
  static Value beforePairTurn(Value turned) {
    auto flat = turned.getDefiningOp<model::ReshapeOp>();
    auto joined = flat ? flat.getOperand().getDefiningOp<model::ConcatOp>() : model::ConcatOp();
    if (!joined || joined.getOperands().size() != 2 || shapeOf(joined).back() != 2 ||
        static_cast<std::size_t>(joined.getDim()) + 1 != shapeOf(joined).size())
      return {};
    // Every second element of a value, from the first or the second on.
    const auto half = [&](Value column, std::int64_t first, bool isNegative) -> Value {
      auto reshape = column.getDefiningOp<model::ReshapeOp>();
      Value value = reshape ? reshape.getOperand() : Value();
      if (isNegative) {
        auto negative = value ? value.getDefiningOp<model::NegateOp>() : model::NegateOp();
        value = negative ? negative.getOperand() : Value();
      }
      auto slice = value ? value.getDefiningOp<model::SliceOp>() : model::SliceOp();
      if (!slice)
        return {};
      const auto shape = shapeOf(slice.getOperand());
      for (std::size_t dim = 0; dim + 1 < shape.size(); ++dim)
        if (slice.getStart()[dim] != 0 || slice.getLimit()[dim] != shape[dim])
          return {};
      const bool isHalf = slice.getStart().back() == first && slice.getStep().back() == 2 &&
                          shapeOf(slice.getResult()).back() * 2 == shape.back();
      return isHalf ? slice.getOperand() : Value();
    };
    Value x = half(joined.getOperands()[0], 1, true);
    return x && x == half(joined.getOperands()[1], 0, false) && shapeOf(x) == shapeOf(turned) ? x : Value();
  }

  /// The table of halves whose elements are those of pairs: i is 2i, and i + D/2 is 2i + 1.
  static ConstantPtr halvesOf(const ConstantPtr &pairs) {
    const std::int64_t size = pairs->shape.empty() ? 0 : pairs->shape.back();
    return makeView(pairs, pairs->shape, [size](Index index) {
      Shape source(index);
      source.back() = source.back() % (size / 2) * 2 + source.back() / (size / 2);
      return source;
    });
  }

  LogicalResult matchAndRewrite(model::AddOp sum, PatternRewriter &rewriter) const override {
    const auto factors = [&](Value value) -> std::pair<Value, ConstantPtr> {
      auto product = value.getDefiningOp<model::MultiplyOp>();
      for (unsigned side = 0; product && side < 2; ++side)
        if (ConstantPtr table = importer.constantOf(product->getOperand(side)))
          return {product->getOperand(1 - side), table};
      return {};
    };
    for (unsigned side = 0; side < 2; ++side) {
      const auto [x, cosines] = factors(sum->getOperand(side));
      const auto [turned, sines] = factors(sum->getOperand(1 - side));
      if (!x || !turned || shapeOf(x).size() != 4)
        continue;
      const bool isOfPairs = beforePairTurn(turned) == x;
      if (!isOfPairs && beforeTurn(turned) != x)
        continue;
      // [B, H, T, D] with tables [.., T, D], or [B, T, H, D] with [.., T, 1, D].
      const std::size_t rank = cosines->shape.size();
      const bool isHeadFirst =
          rank >= 2 && cosines->shape[rank - 2] == shapeOf(x)[2] && (rank < 3 || cosines->shape[rank - 3] == 1);
      const std::int64_t size = shapeOf(x)[3], positions = shapeOf(x)[isHeadFirst ? 2 : 1];
      ConstantPtr cosTable = cosines, sinTable = sines;
      if (!isHeadFirst) {
        if (rank < 3 || cosines->shape[rank - 2] != 1 || sines->shape != cosines->shape)
          continue;
        const auto drop = [](const ConstantPtr &table) {
          Shape shape = table->shape;
          shape.erase(shape.end() - 2);
          return makeRowView(table, shape, [](Index index) {
            Shape source(index);
            source.push_back(0);
            return source;
          });
        };
        cosTable = drop(cosines), sinTable = drop(sines);
      }
      auto [known, isNew] = rotations.try_emplace({cosines.get(), sines.get()});
      if (isNew && isOfPairs && size % 2 == 0) {
        cosTable = halvesOf(cosTable), sinTable = halvesOf(sinTable);
      }
      if (isNew && cosTable && sinTable)
        known->second = fitRotation(*cosTable, *sinTable, positions, size);
      const std::optional<RotaryTables> &tables = known->second;
      if (!tables)
        continue;
      const Location location = sum.getLoc();
      Value source = isHeadFirst ? transposed(rewriter, location, x, {0, 2, 1, 3}) : x;
      // The op rotates halves: the first ones of the pairs before the second ones.
      const SmallVector<std::int64_t> whole(shapeOf(source));
      const auto reshaped = [&](Value value, llvm::ArrayRef<std::int64_t> shape) -> Value {
        auto type = RankedTensorType::get(shape, cast<RankedTensorType>(value.getType()).getElementType());
        return model::ReshapeOp::create(rewriter, location, type, value);
      };
      if (isOfPairs)
        source = reshaped(transposed(rewriter, location, reshaped(source, {whole[0], whole[1], whole[2], size / 2, 2}),
                                     {0, 1, 2, 4, 3}),
                          whole);
      const auto number = [&](double value) { return rewriter.getF64FloatAttr(value); };
      Value y = model::RopeOp::create(
          rewriter, location, source, /*documents=*/Value(), number(tables->theta), rewriter.getI64IntegerAttr(0),
          rewriter.getAttr<model::RopeScalingAttr>(RopeScaling::unscaled), number(1), number(1), number(1), number(1),
          tables->divisors.empty() ? DenseI64ArrayAttr() : rewriter.getDenseI64ArrayAttr(tables->divisors), UnitAttr(),
          UnitAttr());
      if (std::fabs(tables->factor - 1) > 1e-7)
        y = model::ScaleOp::create(rewriter, location, y, number(tables->factor));
      if (isOfPairs)
        y = reshaped(
            transposed(rewriter, location, reshaped(y, {whole[0], whole[1], whole[2], 2, size / 2}), {0, 1, 2, 4, 3}),
            whole);
      rewriter.replaceOp(sum, isHeadFirst ? transposed(rewriter, location, y, {0, 2, 1, 3}) : y);
      return success();
    }
    return failure();
  }
};

} // namespace

void exported::recognize(func::FuncOp function, Importer &importer) {
  IRRewriter rewriter(function.getContext());
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
  RewritePatternSet patterns(function.getContext());
  model::populateMovementRecognitionPatterns(patterns);
  model::populatePointwiseRecognitionPatterns(patterns);
  model::populateActivationRecognitionPatterns(patterns);
  model::populateRmsNormRecognitionPatterns(patterns);
  model::populateAttentionRecognitionPatterns(patterns);
  model::populateMatmulRecognitionPatterns(patterns);
  model::populateLossRecognitionPatterns(patterns);
  RecognizeRope::Rotations rotations;
  patterns.add<RecognizeAttention>(function.getContext(), importer);
  patterns.add<RecognizeRope>(function.getContext(), importer, rotations);
  (void)applyPatternsGreedily(function, std::move(patterns));
  RewritePatternSet layouts(function.getContext());
  populateLayoutPatterns(layouts);
  (void)applyPatternsGreedily(function, std::move(layouts));
  RewritePatternSet masks(function.getContext());
  masks.add<ComparePositions<model::AddOp>, ComparePositions<model::SelectOp>>(function.getContext(), importer);
  (void)applyPatternsGreedily(function, std::move(masks));
}
