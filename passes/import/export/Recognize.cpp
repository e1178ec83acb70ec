//===- Recognize.cpp - composite ops from the primitives of an imported graph -------------===//
//
// What needs no constant is recognised by the op families. Here are those that do: attention under a mask, and rotary
// positions, whose tables are compared with the angles that they should have.
//
//===----------------------------------------------------------------------===//

#include "passes/import/export/Recognize.h"

#include "passes/import/export/Mask.h"

#include "dialect/model/Patterns.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>
#include <numbers>

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

/// softmax(scale q k^T where a constant mask allows it) v ==> attention
struct RecognizeAttention : OpRewritePattern<model::MatmulOp> {
  RecognizeAttention(MLIRContext *context, Importer &importer) : OpRewritePattern(context), importer(importer) {}

  Importer &importer;

  struct Scores {
    Value value;
    std::optional<MaskKind> mask;
  };
  /// The scores behind a mask.
  Scores unmasked(Value x) const {
    const std::int64_t keys = shapeOf(x).back(), queries = shapeOf(x)[shapeOf(x).size() - 2];
    if (auto select = x.getDefiningOp<model::SelectOp>()) {
      const ConstantPtr mask = importer.constantOf(select.getCondition());
      auto hidden = select.getOnTrue().getDefiningOp<model::ConstantOp>();
      const bool isInverse = hidden != nullptr;
      if (!hidden)
        hidden = select.getOnFalse().getDefiningOp<model::ConstantOp>();
      if (!mask || !hidden || !(hidden.getValue().convertToDouble() <= -1e4))
        return {};
      const ConstantPtr seen =
          isInverse ? makePointwise({mask}, mask->shape, ScalarType::boolean, [](auto value) { return value[0] == 0; })
                    : mask;
      return {isInverse ? select.getOnFalse() : select.getOnTrue(), classifyMask(*seen, queries, keys)};
    }
    if (auto sum = x.getDefiningOp<model::AddOp>())
      for (unsigned side = 0; side < 2; ++side)
        if (const ConstantPtr mask = importer.constantOf(sum->getOperand(side)))
          return {sum->getOperand(1 - side), classifyMask(*mask, queries, keys)};
    return {x, MaskKind{}};
  }

  LogicalResult matchAndRewrite(model::MatmulOp outer, PatternRewriter &rewriter) const override {
    auto softmax = outer.getLhs().getDefiningOp<model::SoftmaxOp>();
    if (!softmax || shapeOf(outer.getLhs()).size() != 4 || outer.getTransposeLhs() || outer.getTransposeRhs() ||
        outer.getBias() || outer.getResidual())
      return failure();
    auto [scores, mask] = unmasked(softmax.getX());
    if (!mask)
      return failure();
    double scale = 1;
    if (auto scaled = scores.getDefiningOp<model::ScaleOp>()) {
      scale = scaled.getFactor().convertToDouble();
      scores = scaled.getOperand();
    }
    auto inner = scores.getDefiningOp<model::MatmulOp>();
    if (!inner || inner.getTransposeLhs() || inner.getBias() || inner.getResidual())
      return failure();
    Value q = inner.getLhs(), k = inner.getRhs(), v = outer.getRhs();
    if (shapeOf(q).size() != 4 || shapeOf(k).size() != 4 || shapeOf(v).size() != 4)
      return failure();
    const Location location = outer.getLoc();
    // Keys as [B, H, S, D].
    if (!inner.getTransposeRhs())
      k = transposed(rewriter, location, k, {0, 1, 3, 2});
    if (shapeOf(k) != shapeOf(v) || shapeOf(q)[3] != shapeOf(k)[3] || shapeOf(q)[0] != shapeOf(k)[0] ||
        shapeOf(q)[1] != shapeOf(k)[1])
      return failure();
    const auto sequenceFirst = [&](Value value) { return transposed(rewriter, location, value, {0, 2, 1, 3}); };
    Value out =
        model::AttentionOp::create(rewriter, location, sequenceFirst(q), sequenceFirst(k), sequenceFirst(v),
                                   rewriter.getF64FloatAttr(scale), mask->causal ? rewriter.getUnitAttr() : UnitAttr(),
                                   mask->window > 0 ? rewriter.getI64IntegerAttr(mask->window) : IntegerAttr())
            .getOut();
    rewriter.replaceOp(outer, sequenceFirst(out));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Rotary positions
//===----------------------------------------------------------------------===//

/// The frequencies of the two halves of a head, and the factor of cosines and sines.
struct Rotation {
  std::vector<double> frequencies;
  double factor = 1;
};

/// The number of dims after which cosines repeat: the tables are [.., T, D].
std::optional<Rotation> readRotation(const Constant &cosines, const Constant &sines, std::int64_t positions,
                                     std::int64_t size) {
  const std::size_t rank = cosines.shape.size();
  if (rank < 2 || cosines.shape != sines.shape || cosines.shape[rank - 1] != size ||
      cosines.shape[rank - 2] != positions || size % 2 != 0)
    return std::nullopt;
  const auto half = static_cast<std::size_t>(size / 2);
  std::vector<std::vector<double>> rows;
  std::vector<double> row(static_cast<std::size_t>(size)), other(row.size());
  Shape index(rank - 1, 0);
  const auto read = [&](std::int64_t position) {
    index.back() = position;
    cosines.row(index, row);
    sines.row(index, other);
  };
  // Position 0 has the factor, position 1 the frequencies.
  Rotation rotation;
  read(0);
  rotation.factor = row[0];
  if (!(rotation.factor > 0))
    return std::nullopt;
  rotation.frequencies.assign(half, 1);
  if (positions > 1) {
    read(1);
    for (std::size_t i = 0; i < half; ++i)
      rotation.frequencies[i] = std::atan2(other[i], row[i]);
  }
  // A later position gives more digits: the number of turns up to it is known by the digits so far.
  for (std::int64_t position = 2; position < positions; position *= 2) {
    read(position);
    for (std::size_t i = 0; i < half; ++i) {
      double &frequency = rotation.frequencies[i];
      const double expected = frequency * static_cast<double>(position),
                   rest = std::remainder(std::atan2(other[i], row[i]) - expected, 2 * std::numbers::pi);
      if (std::fabs(rest) < 1)
        frequency = (expected + rest) / static_cast<double>(position);
    }
  }
  return rotation;
}

/// True if the tables are those of the frequencies, for every leading index.
bool agrees(const Constant &cosines, const Constant &sines, const Rotation &rotation,
            llvm::ArrayRef<double> frequencies) {
  bool isEqual = true;
  const std::size_t half = frequencies.size();
  std::vector<double> other(2 * half);
  cosines.forEachRow([&](Index index, llvm::ArrayRef<double> row) {
    sines.row(index, other);
    for (std::size_t i = 0; i < 2 * half && isEqual; ++i) {
      const double angle = static_cast<double>(index.back()) * frequencies[i % half];
      const double tolerance = 1e-6 * rotation.factor * std::max(1.0, std::fabs(angle));
      isEqual = std::fabs(row[i] - rotation.factor * std::cos(angle)) <= tolerance &&
                std::fabs(other[i] - rotation.factor * std::sin(angle)) <= tolerance;
    }
    return isEqual;
  });
  return isEqual;
}

/// x cos + (rotation of x's halves) sin ==> rope, where cos and sin are tables of position times frequency.
struct RecognizeRope : OpRewritePattern<model::AddOp> {
  RecognizeRope(MLIRContext *context, Importer &importer) : OpRewritePattern(context), importer(importer) {}

  Importer &importer;

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
      if (!x || !turned || beforeTurn(turned) != x || shapeOf(x).size() != 4)
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
      std::optional<Rotation> rotation = readRotation(*cosTable, *sinTable, positions, size);
      if (!rotation)
        continue;
      const std::size_t half = rotation->frequencies.size();
      // theta^(-2i/D), if a theta gives all frequencies; else a divisor for each.
      double theta = 10000;
      if (half > 1) {
        const double fitted =
            std::pow(rotation->frequencies[half - 1], -static_cast<double>(half) / static_cast<double>(half - 1));
        const double whole = std::round(fitted);
        theta = std::fabs(fitted - whole) <= 1e-4 * fitted ? whole : fitted;
      }
      std::vector<double> fitted(half);
      for (std::size_t i = 0; i < half; ++i)
        fitted[i] = std::pow(theta, -static_cast<double>(i) / static_cast<double>(half));
      llvm::SmallVector<std::int64_t> divisors;
      if (!agrees(*cosTable, *sinTable, *rotation, fitted)) {
        if (!agrees(*cosTable, *sinTable, *rotation, rotation->frequencies))
          continue;
        theta = 10000;
        bool fits = true;
        for (std::size_t i = 0; i < half; ++i) {
          const double divisor = std::pow(theta, -static_cast<double>(i) / static_cast<double>(half)) /
                                 rotation->frequencies[i] * model::RopeOp::divisorUnit;
          fits &= divisor >= 1 && divisor < 0x1p62;
          divisors.push_back(fits ? std::llround(divisor) : 1);
        }
        if (!fits)
          continue;
      }
      const Location location = sum.getLoc();
      Value source = isHeadFirst ? transposed(rewriter, location, x, {0, 2, 1, 3}) : x;
      const auto number = [&](double value) { return rewriter.getF64FloatAttr(value); };
      Value y = model::RopeOp::create(
          rewriter, location, source, number(theta), rewriter.getI64IntegerAttr(0),
          rewriter.getAttr<model::RopeScalingAttr>(RopeScaling::unscaled), number(1), number(1), number(1), number(1),
          divisors.empty() ? DenseI64ArrayAttr() : rewriter.getDenseI64ArrayAttr(divisors), UnitAttr());
      if (std::fabs(rotation->factor - 1) > 1e-7)
        y = model::ScaleOp::create(rewriter, location, y, number(rotation->factor));
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
  model::populateActivationRecognitionPatterns(patterns);
  model::populateRmsNormRecognitionPatterns(patterns);
  model::populateMatmulRecognitionPatterns(patterns);
  model::populateLossRecognitionPatterns(patterns);
  patterns.add<RecognizeAttention, RecognizeRope>(function.getContext(), importer);
  (void)applyPatternsGreedily(function, std::move(patterns));
}
