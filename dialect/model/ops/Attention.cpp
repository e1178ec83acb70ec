//===- Attention.cpp - scaled dot-product attention ---------------------------------===//
//
// B batch, T rows, S columns, H heads, G heads of k and v, R = H / G heads that share one of them, D size of a head.
//
//===----------------------------------------------------------------------===//

#include "dialect/model/Patterns.h"
#include "dialect/model/ops/Helpers.h"

#include "mlir/IR/PatternMatch.h"

#include <limits>

using namespace mlir;

namespace sluice::model {

namespace {
struct AttentionExtents {
  int64_t B, T, S, H, G, D;
  AttentionExtents(Value q, Value k)
      : B(shapeOf(q)[0]), T(shapeOf(q)[1]), S(shapeOf(k)[1]), H(shapeOf(q)[2]), G(shapeOf(k)[2]), D(shapeOf(q)[3]) {}
  /// Unmasked pairs of a row and a column, over batch and heads.
  uint64_t pairs(bool causal, std::optional<uint64_t> window) const {
    auto rows = static_cast<uint64_t>(T), columns = static_cast<uint64_t>(S);
    uint64_t seen = rows * columns;
    if (causal)
      seen = rows * (columns - rows) + rows * (rows + 1) / 2;
    // Only the last rows have more columns than the window; the last row has `columns - *window` too many.
    if (window && *window < columns) {
      uint64_t most = columns - *window, cut = std::min(most, rows);
      seen -= cut * most - cut * (cut - 1) / 2;
    }
    return static_cast<uint64_t>(B * H) * seen;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static LogicalResult verifyHeads(Operation *op, Value q, Value k, bool causal, std::optional<uint64_t> window) {
  // attention_c2, attention_c3, attention_c12
  if (failed(verifyExtents(op)))
    return failure();
  // attention_c4
  AttentionExtents e(q, k);
  if (causal && e.S < e.T)
    return op->emitOpError() << "columns of causal attention, expected at least " << e.T << " but got " << e.S;
  // attention_c5
  if (window && !causal)
    return op->emitOpError("'window' requires 'causal'");
  return success();
}

/// The mask and the bias of an op; null if it has none.
template <typename OpT> static Value maskOf(OpT op) { return op.getMasked() ? op.getOptions().front() : Value(); }
template <typename OpT> static Value biasOf(OpT op) {
  return op.getBiased() ? op.getOptions()[op.getMasked()] : Value();
}
/// The documents of packed rows; null without them.
template <typename OpT> static Value documentsOf(OpT op) {
  return op.getPacked() ? op.getOptions()[op.getMasked() + op.getBiased()] : Value();
}
/// Seed, step and row of dropout; empty without dropout.
template <typename OpT> static ValueRange drawnBy(OpT op) {
  return op.getDropout() ? ValueRange(op.getOptions().take_back(3)) : ValueRange();
}

template <typename OpT> static LogicalResult verifyOptions(OpT op) {
  // attention_c10
  if (op.getDropout().has_value() != op.getKey().has_value())
    return op.emitOpError("'dropout' requires 'key', and 'key' requires 'dropout'");
  // attention_c6
  const size_t expected =
                   static_cast<size_t>(op.getMasked()) + op.getBiased() + op.getPacked() + (op.getDropout() ? 3 : 0),
               actual = op.getOptions().size();
  if (actual != expected)
    return op.emitOpError() << "operands of 'masked', 'biased', 'packed' and 'dropout', expected " << expected
                            << " but got " << actual;
  // attention_c9
  for (Value number : drawnBy(op))
    if (!elementOf(number).isInteger(64))
      return op.emitOpError() << "seed, step and row are i64 scalars, not of element type " << elementOf(number);
  // attention_c8
  if (Value mask = maskOf(op); mask && !isUnsignedByte(elementOf(mask)))
    return op.emitOpError() << "mask has the wrong element type, expected ui8 but got " << elementOf(mask);
  if (Value bias = biasOf(op); bias && !hasGradientOf(bias, op.getQ()))
    return op.emitOpError() << "bias has the wrong element type, expected that of q or its statistics type but got "
                            << elementOf(bias);
  // attention_c11
  if (op.getPacked() && (op.getMasked() || op.getBiased()))
    return op.emitOpError("'packed' cannot be combined with 'masked' or 'biased'");
  AttentionExtents e(op.getQ(), op.getK());
  if (op.getPacked() && e.S != e.T)
    return op.emitOpError() << "columns of packed attention, expected " << e.T << " but got " << e.S;
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyOptions(*this)))
    return failure();
  return verifyHeads(*this, getQ(), getK(), getCausal(), getWindow());
}

// attention_grad_c1
LogicalResult AttentionGradOp::verify() {
  if (failed(verifyOptions(*this)))
    return failure();
  // attention_grad_c4
  if (getBiasGrad() && !getBiased())
    return emitOpError("'bias_grad' requires 'biased'");
  return verifyHeads(*this, getQ(), getK(), getCausal(), getWindow());
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

/// Launches without mask and bias have no attribute for them.
static KernelCall callOf(Operation *op, KernelId kernel) {
  KernelCall call = recordedCall(op, kernel);
  llvm::erase_if(call.attributes, [op](NamedAttribute attribute) {
    const StringRef name = attribute.getName();
    return (name == "masked" || name == "biased" || name == "bias_grad") && !*op->getInherentAttr(name);
  });
  return call;
}

KernelCall AttentionOp::getKernelCall() { return callOf(*this, KernelId::attention); }
KernelCall AttentionGradOp::getKernelCall() { return callOf(*this, KernelId::attention_grad); }

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

FailureOrValues AttentionOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  if (cotangents[1])
    return emitOpError("has no derivative through its lse, expected a use of out only");
  auto grad =
      AttentionGradOp::create(builder, cotangents[0], getQ(), getK(), getV(), getOut(), getLse(), getOptions(),
                              getScaleAttr(), getCausalAttr(), getWindowAttr(), getMaskedAttr(), getBiasedAttr(),
                              getBiasedAttr(), getPackedAttr(), getDropoutAttr(), getKeyAttr());
  SmallVector<Value> gradients{grad.getDq(), grad.getDk(), grad.getDv()};
  if (getMasked())
    gradients.push_back(Value());
  if (getBiased())
    gradients.push_back(grad.getDbias());
  if (getPacked())
    gradients.push_back(Value());
  gradients.append(drawnBy(*this).size(), Value());
  return gradients;
}

namespace {
/// The gradient of a bias that is no function of parameters has no use.
struct DropBiasGradient : OpRewritePattern<AttentionGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionGradOp op, PatternRewriter &rewriter) const override {
    if (!op.getBiasGrad() || !op.getDbias().use_empty())
      return failure();
    NamedAttrList attributes(op->getAttrs());
    attributes.erase(op.getBiasGradAttrName());
    auto without = AttentionGradOp::create(rewriter, op.getLoc(),
                                           TypeRange{op.getDq().getType(), op.getDk().getType(), op.getDv().getType()},
                                           op->getOperands(), attributes.getAttrs());
    rewriter.replaceAllUsesWith(op->getResults().drop_back(), without->getResults());
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void populateAttentionFusionPatterns(RewritePatternSet &patterns) {
  patterns.add<DropBiasGradient>(patterns.getContext());
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

FailureOrValues AttentionOp::evaluate(ImplicitLocOpBuilder &builder) {
  auto op = AttentionOp::create(builder, getQ(), getK(), getV(), getOptions().drop_back(drawnBy(*this).size()),
                                getScaleAttr(), getCausalAttr(), getWindowAttr(), getMaskedAttr(), getBiasedAttr(),
                                getPackedAttr(), /*dropout=*/FloatAttr(), /*key=*/IntegerAttr());
  return SmallVector<Value>(op->getResults());
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

/// A mask or bias [b, h, t, S] with the heads in groups, so that it broadcasts to [B, G, R, T, S].
static Value withGroups(ImplicitLocOpBuilder &builder, Value value, const AttentionExtents &e) {
  ArrayRef<int64_t> shape = shapeOf(value);
  const bool repeats = shape[1] == 1;
  return makeReshape(builder, value, {shape[0], repeats ? 1 : e.G, repeats ? 1 : e.H / e.G, shape[2], shape[3]});
}

// scores = scale q k^T + bias, masked; lse over columns; out = exp(scores - lse) v
FailureOrValues AttentionOp::decompose(ImplicitLocOpBuilder &builder) {
  Type element = statisticsElement(elementOf(getQ()));
  AttentionExtents e(getQ(), getK());
  int64_t shared = e.H / e.G;
  auto headsFirst = [&](Value value) -> Value {
    return TransposeOp::create(builder, makeCast(builder, value, element), builder.getDenseI64ArrayAttr({0, 2, 1, 3}));
  };
  Value q = makeReshape(builder, headsFirst(getQ()), {e.B, e.G, shared, e.T, e.D});
  Value k = makeReshape(builder, headsFirst(getK()), {e.B, e.G, 1, e.S, e.D});
  Value v = makeReshape(builder, headsFirst(getV()), {e.B, e.G, 1, e.S, e.D});
  Value scores = makeScale(builder, MatmulOp::create(builder, q, k, false, true), getScale().convertToDouble());
  if (Value bias = biasOf(*this))
    scores = AddOp::create(builder, scores, withGroups(builder, makeCast(builder, bias, element), e));
  const auto hidden = [&] {
    return makeConstant(builder, -std::numeric_limits<double>::infinity(), tensorOf({}, element));
  };
  if (Value mask = maskOf(*this))
    scores = SelectOp::create(builder, withGroups(builder, mask, e), scores, hidden());
  if (getCausal()) {
    Type index = builder.getI64Type();
    Value rows = IotaOp::create(builder, tensorOf({e.T, 1}, index), builder.getI64IntegerAttr(0));
    Value offset = makeConstant(builder, e.S - e.T, tensorOf({}, index));
    Value last = AddOp::create(builder, rows, offset);
    Value columns = IotaOp::create(builder, tensorOf({e.S}, index), builder.getI64IntegerAttr(0));
    Value seen = CompareOp::create(builder, columns, last, ComparePredicate::le);
    Value nothing = hidden();
    scores = SelectOp::create(builder, seen, scores, nothing);
    if (getWindow()) {
      Value width = makeConstant(builder, static_cast<double>(*getWindow()), tensorOf({}, index));
      Value before = SubtractOp::create(builder, last, width);
      Value near = CompareOp::create(builder, columns, before, ComparePredicate::gt);
      scores = SelectOp::create(builder, near, scores, nothing);
    }
  }
  if (Value documents = documentsOf(*this)) {
    Value ofRows = makeReshape(builder, documents, {e.B, 1, 1, e.T, 1}),
          ofColumns = makeReshape(builder, documents, {e.B, 1, 1, 1, e.S});
    Value isSame = CompareOp::create(builder, ofRows, ofColumns, ComparePredicate::eq);
    scores = SelectOp::create(builder, isSame, scores, hidden());
  }
  const bool mayBeHidden = getMasked() || getBiased();
  RowExponentials columns(builder, scores, mayBeHidden);
  Value sum = columns.sum;
  if (mayBeHidden) {
    Value zero = makeConstant(builder, 0, tensorOf({}, element)), one = makeConstant(builder, 1, tensorOf({}, element));
    sum = SelectOp::create(builder, CompareOp::create(builder, sum, zero, ComparePredicate::gt), sum, one);
  }
  Value probabilities = DivideOp::create(builder, columns.powers, sum);
  Value lse = columns.logSum(builder);
  if (ValueRange numbers = drawnBy(*this); !numbers.empty())
    probabilities =
        DropoutOp::create(builder, probabilities, numbers[0], numbers[1], numbers[2], getDropoutAttr(), getKeyAttr());
  Value mixed = MatmulOp::create(builder, probabilities, v, false, false);
  Value heads = makeReshape(builder, mixed, {e.B, e.H, e.T, e.D});
  Value out = TransposeOp::create(builder, heads, builder.getDenseI64ArrayAttr({0, 2, 1, 3}));
  return SmallVector<Value>{makeCast(builder, out, elementOf(getQ())), makeReshape(builder, lse, {e.B, e.H, e.T})};
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

/// k or v with each head repeated for every head of q that shares it.
static Value repeatHeads(ImplicitLocOpBuilder &builder, Value value, const AttentionExtents &e) {
  Value groups = makeReshape(builder, value, {e.B, e.S, e.G, 1, e.D});
  Value repeated = BroadcastOp::create(builder, tensorOf({e.B, e.S, e.G, e.H / e.G, e.D}, elementOf(value)), groups);
  return makeReshape(builder, repeated, {e.B, e.S, e.H, e.D});
}

// If there are more parts than heads of k and v, only the heads of q are split.
FailureOrValues AttentionOp::buildShardableForm(ImplicitLocOpBuilder &builder) {
  AttentionExtents e(getQ(), getK());
  if (e.G == e.H)
    return failure();
  auto op = AttentionOp::create(builder, getQ(), repeatHeads(builder, getK(), e), repeatHeads(builder, getV(), e),
                                getOptions(), getScaleAttr(), getCausalAttr(), getWindowAttr(), getMaskedAttr(),
                                getBiasedAttr(), getPackedAttr(), getDropoutAttr(), getKeyAttr());
  return SmallVector<Value>(op->getResults());
}

// The gradient of a shared head is the sum over the heads of q that share it.
FailureOrValues AttentionGradOp::buildShardableForm(ImplicitLocOpBuilder &builder) {
  AttentionExtents e(getQ(), getK());
  if (e.G == e.H)
    return failure();
  auto op = AttentionGradOp::create(builder, getDout(), getQ(), repeatHeads(builder, getK(), e),
                                    repeatHeads(builder, getV(), e), getOut(), getLse(), getOptions(), getScaleAttr(),
                                    getCausalAttr(), getWindowAttr(), getMaskedAttr(), getBiasedAttr(),
                                    getBiasGradAttr(), getPackedAttr(), getDropoutAttr(), getKeyAttr());
  auto sumOfShared = [&](Value value) -> Value {
    Value groups = makeReshape(builder, value, {e.B, e.S, e.G, e.H / e.G, e.D});
    return ReduceSumOp::create(builder, groups, builder.getDenseI64ArrayAttr({3}), UnitAttr());
  };
  SmallVector<Value> gradients{op.getDq(), sumOfShared(op.getDk()), sumOfShared(op.getDv())};
  if (getBiasGrad())
    gradients.push_back(op.getDbias());
  return gradients;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// Of one probability, as of an element of model.dropout.
constexpr uint64_t dropoutFlops = 22;

// Two products, and five operations of softmax for each unmasked pair of a row and a column; one of the bias, and those
// of dropout. The pairs of one document are an upper bound for a packed row.
OpCost AttentionOp::getCost() {
  AttentionExtents e(getQ(), getK());
  return streamingCost(*this, e.pairs(getCausal(), getWindow()) *
                                  (4 * e.D + 5 + getBiased() + (getDropout() ? dropoutFlops : 0)));
}

// Five products (the scores again, dv, dp, dq, dk); per pair subtract, exp, scale, subtract, multiply. The kernels
// compute scores and dp a second time for the gradient of the bias.
OpCost AttentionGradOp::getCost() {
  AttentionExtents e(getQ(), getK());
  const uint64_t ofDropout = getDropout() ? dropoutFlops : 0;
  const uint64_t ofBias = getBiased() + (getBiasGrad() ? 4 * e.D + 5 + ofDropout : 0);
  return streamingCost(*this, e.pairs(getCausal(), getWindow()) * (10 * e.D + 5 + ofBias + ofDropout) +
                                  2 * elementsOf(getQ()));
}

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

namespace {
AttentionOp attentionOf(PatternRewriter &rewriter, AttentionOp op, Value q, Value k, Value v) {
  SmallVector<Value> operands{q, k, v};
  llvm::append_range(operands, op.getOptions());
  return rewriter.replaceOpWithNewOp<AttentionOp>(op, op->getResultTypes(), operands, op->getAttrs());
}

Value reshaped(PatternRewriter &rewriter, Location location, Value value, ArrayRef<int64_t> shape) {
  return ReshapeOp::create(rewriter, location, tensorOf(shape, elementOf(value)), value);
}

/// Keys and values whose heads were repeated have fewer heads: the op shares them.
struct ShareHeads : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  /// [B, S, G, D] in [B, S, H, D], where each head is there H / G times, or in [B, H, S, D] before a transpose; null
  /// for another value.
  static Value beforeRepetition(Value value, PatternRewriter &rewriter) {
    auto transpose = value.getDefiningOp<TransposeOp>();
    if (transpose && transpose.getPermutation() != ArrayRef<int64_t>{0, 2, 1, 3})
      return {};
    auto merged = (transpose ? transpose.getOperand() : value).getDefiningOp<ReshapeOp>();
    auto repeated = merged ? merged.getOperand().getDefiningOp<BroadcastOp>() : BroadcastOp();
    if (!repeated || shapeOf(repeated).size() != 5 || shapeOf(repeated.getOperand()).size() != 5)
      return {};
    // Of the broadcast: the heads, and their repetitions after them.
    const size_t heads = transpose ? 1 : 2;
    SmallVector<int64_t> whole(shapeOf(repeated)), once(whole);
    once[heads + 1] = 1;
    if (shapeOf(repeated.getOperand()) != ArrayRef<int64_t>(once))
      return {};
    whole[heads] *= whole[heads + 1];
    whole.erase(whole.begin() + static_cast<ptrdiff_t>(heads) + 1);
    once.erase(once.begin() + static_cast<ptrdiff_t>(heads) + 1);
    if (shapeOf(merged) != ArrayRef<int64_t>(whole))
      return {};
    Value source = reshaped(rewriter, value.getLoc(), repeated.getOperand(), once);
    return transpose ? Value(TransposeOp::create(rewriter, value.getLoc(), source, transpose.getPermutationAttr()))
                     : source;
  }

  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    Value k = beforeRepetition(op.getK(), rewriter), v = k ? beforeRepetition(op.getV(), rewriter) : Value();
    if (!v || shapeOf(k) != shapeOf(v))
      return failure();
    attentionOf(rewriter, op, op.getQ(), k, v);
    return success();
  }
};

/// Scores do not change if the elements of each head of q and of k are in another order.
struct DropEqualPermutations : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  /// The value [B, T, H, D] whose heads, as [a, b], were transposed, and a; null for another value.
  static std::pair<Value, int64_t> beforePermutation(Value value) {
    auto merged = value.getDefiningOp<ReshapeOp>();
    auto transpose = merged ? merged.getOperand().getDefiningOp<TransposeOp>() : TransposeOp();
    auto split = transpose ? transpose.getOperand().getDefiningOp<ReshapeOp>() : ReshapeOp();
    if (!split || transpose.getPermutation() != ArrayRef<int64_t>{0, 1, 2, 4, 3} ||
        shapeOf(split).take_front(3) != shapeOf(value).take_front(3) || shapeOf(split.getOperand()) != shapeOf(value))
      return {};
    return {split.getOperand(), shapeOf(split)[3]};
  }

  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    const auto [q, first] = beforePermutation(op.getQ());
    const auto [k, second] = beforePermutation(op.getK());
    if (!q || !k || first != second)
      return failure();
    attentionOf(rewriter, op, q, k, op.getV());
    return success();
  }
};
} // namespace

void populateAttentionRecognitionPatterns(RewritePatternSet &patterns) {
  patterns.add<ShareHeads, DropEqualPermutations>(patterns.getContext());
}

} // namespace sluice::model
