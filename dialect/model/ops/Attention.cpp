//===- Attention.cpp - scaled dot-product attention ---------------------------------===//
//
// B batch, T rows, S columns, H heads, G heads of k and v, R = H / G heads that share one of them, D size of a head.
//
//===----------------------------------------------------------------------===//

#include "dialect/model/ops/Helpers.h"

#include <limits>

using namespace mlir;

namespace sluice::model {

namespace {
struct Extents {
  int64_t B, T, S, H, G, D;
  Extents(Value q, Value k)
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

static LogicalResult verifyHeads(Operation *op, Value q, Value k, Value v, bool causal,
                                 std::optional<uint64_t> window) {
  // attention_c2
  Extents e(q, k);
  if (failed(expectShape(op, "k", k, {e.B, e.S, e.G, e.D})) || failed(expectShape(op, "v", v, {e.B, e.S, e.G, e.D})))
    return failure();
  // attention_c3
  if (e.G == 0 || e.H % e.G != 0)
    return op->emitOpError() << "heads do not divide, expected heads of q to be a multiple of " << e.G << " but got "
                             << e.H;
  // attention_c4
  if (causal && e.S < e.T)
    return op->emitOpError() << "a causal row would see nothing, expected at least " << e.T << " columns but got "
                             << e.S;
  // attention_c5
  if (window && !causal)
    return op->emitOpError("'window' requires 'causal'");
  return success();
}

LogicalResult AttentionOp::verify() { return verifyHeads(*this, getQ(), getK(), getV(), getCausal(), getWindow()); }

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType q = typeOf(adaptor.getQ());
  if (q.getRank() != 4)
    return emitOptionalError(location, "attention: q has the wrong rank, expected 4 but got ", q.getRank());
  ArrayRef<int64_t> shape = q.getShape();
  types.append({q, tensorOf({shape[0], shape[2], shape[1]}, statisticsElement(q.getElementType()))});
  return success();
}

LogicalResult AttentionGradOp::verify() {
  // attention_grad_c1
  if (failed(verifyHeads(*this, getQ(), getK(), getV(), getCausal(), getWindow())))
    return failure();
  // attention_grad_c3
  Extents e(getQ(), getK());
  if (failed(expectShape(*this, "lse", getLse(), {e.B, e.H, e.T})))
    return failure();
  return expectElement(*this, "lse", getLse(), statisticsElement(elementOf(getQ())));
}

LogicalResult AttentionGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  types.append({adaptor.getQ().getType(), adaptor.getK().getType(), adaptor.getV().getType()});
  return success();
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::buildVjp(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>,
                                    SmallVectorImpl<Value> &gradients) {
  if (cotangents[1])
    return emitOpError("has no derivative through its lse, expected a use of out only");
  auto grad = AttentionGradOp::create(builder, getLoc(), cotangents[0], getQ(), getK(), getV(), getOut(), getLse(),
                                      getScaleAttr(), getCausalAttr(), getWindowAttr());
  gradients.append(grad->result_begin(), grad->result_end());
  return success();
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

// scores = scale q k^T, masked; lse over columns; out = exp(scores - lse) v
FailureOr<SmallVector<Value>> AttentionOp::decompose(OpBuilder &builder) {
  Location location = getLoc();
  Type element = statisticsElement(elementOf(getQ()));
  Extents e(getQ(), getK());
  int64_t shared = e.H / e.G;
  auto headsFirst = [&](Value value) -> Value {
    return TransposeOp::create(builder, location, makeCast(builder, location, value, element),
                               builder.getDenseI64ArrayAttr({0, 2, 1, 3}));
  };
  Value q = makeReshape(builder, location, headsFirst(getQ()), {e.B, e.G, shared, e.T, e.D});
  Value k = makeReshape(builder, location, headsFirst(getK()), {e.B, e.G, 1, e.S, e.D});
  Value v = makeReshape(builder, location, headsFirst(getV()), {e.B, e.G, 1, e.S, e.D});
  Value scores = makeScale(builder, location, MatmulOp::create(builder, location, q, k, false, true),
                           getScale().convertToDouble());
  if (getCausal()) {
    Type index = builder.getI64Type();
    Value rows = IotaOp::create(builder, location, tensorOf({e.T, 1}, index), builder.getI64IntegerAttr(0));
    Value offset = makeConstant(builder, location, e.S - e.T, tensorOf({}, index));
    Value last = AddOp::create(builder, location, rows, offset);
    Value columns = IotaOp::create(builder, location, tensorOf({e.S}, index), builder.getI64IntegerAttr(0));
    Value seen = CompareOp::create(builder, location, columns, last, ComparePredicate::le);
    Value nothing = makeConstant(builder, location, -std::numeric_limits<double>::infinity(), tensorOf({}, element));
    scores = SelectOp::create(builder, location, seen, scores, nothing);
    if (getWindow()) {
      Value width = makeConstant(builder, location, static_cast<double>(*getWindow()), tensorOf({}, index));
      Value before = SubtractOp::create(builder, location, last, width);
      Value near = CompareOp::create(builder, location, columns, before, ComparePredicate::gt);
      scores = SelectOp::create(builder, location, near, scores, nothing);
    }
  }
  auto columns = builder.getDenseI64ArrayAttr({4});
  Value largest = ReduceMaxOp::create(builder, location, scores, columns, builder.getUnitAttr());
  Value shifted = SubtractOp::create(builder, location, scores, largest);
  Value weights = ExpOp::create(builder, location, shifted);
  Value sum = ReduceSumOp::create(builder, location, weights, columns, builder.getUnitAttr());
  Value probabilities = DivideOp::create(builder, location, weights, sum);
  Value lse = AddOp::create(builder, location, LogOp::create(builder, location, sum).getResult(), largest);
  Value mixed = MatmulOp::create(builder, location, probabilities, v, false, false);
  Value heads = makeReshape(builder, location, mixed, {e.B, e.H, e.T, e.D});
  Value out = TransposeOp::create(builder, location, heads, builder.getDenseI64ArrayAttr({0, 2, 1, 3}));
  return SmallVector<Value>{makeCast(builder, location, out, elementOf(getQ())),
                            makeReshape(builder, location, lse, {e.B, e.H, e.T})};
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

namespace {
/// Batch and heads are parallel; rows, columns and the head's size are whole. The heads of q split in groups, and heads
/// in a group: a split of groups splits k and v alike.
struct HeadFactors {
  ShardingRule rule;
  TensorFactors q, k, lse;
  explicit HeadFactors(const Extents &e) {
    unsigned batch = rule.addFactor(e.B), rows = rule.addFactor(e.T, true), groups = rule.addFactor(e.G),
             shared = rule.addFactor(e.H / e.G), size = rule.addFactor(e.D, true), columns = rule.addFactor(e.S, true);
    q = {{batch}, {rows}, {groups, shared}, {size}};
    k = {{batch}, {columns}, {groups}, {size}};
    lse = {{batch}, {groups, shared}, {rows}};
  }
};
} // namespace

ShardingRule AttentionOp::getShardingRule() {
  HeadFactors f(Extents(getQ(), getK()));
  f.rule.operands.append({f.q, f.k, f.k});
  f.rule.results.append({f.q, f.lse});
  return f.rule;
}

// Gradients of k and v are sums over the heads that share them.
ShardingRule AttentionGradOp::getShardingRule() {
  HeadFactors f(Extents(getQ(), getK()));
  f.rule.reduction = PartialReduction::sum;
  f.rule.operands.append({f.q, f.q, f.k, f.k, f.q, f.lse});
  f.rule.results.append({f.q, f.k, f.k});
  return f.rule;
}

/// k or v with each head repeated for every head of q that shares it.
static Value repeatHeads(OpBuilder &builder, Location location, Value value, const Extents &e) {
  Value apart = makeReshape(builder, location, value, {e.B, e.S, e.G, 1, e.D});
  Value repeated =
      BroadcastOp::create(builder, location, tensorOf({e.B, e.S, e.G, e.H / e.G, e.D}, elementOf(value)), apart);
  return makeReshape(builder, location, repeated, {e.B, e.S, e.H, e.D});
}

// If there are more parts than heads of k and v, only the heads of q are split.
FailureOr<SmallVector<Value>> AttentionOp::buildShardableForm(OpBuilder &builder) {
  Extents e(getQ(), getK());
  if (e.G == e.H)
    return failure();
  auto op =
      AttentionOp::create(builder, getLoc(), getQ(), repeatHeads(builder, getLoc(), getK(), e),
                          repeatHeads(builder, getLoc(), getV(), e), getScaleAttr(), getCausalAttr(), getWindowAttr());
  return SmallVector<Value>(op->getResults());
}

// The gradient of a shared head is the sum over the heads of q that share it.
FailureOr<SmallVector<Value>> AttentionGradOp::buildShardableForm(OpBuilder &builder) {
  Extents e(getQ(), getK());
  if (e.G == e.H)
    return failure();
  Location location = getLoc();
  auto op = AttentionGradOp::create(builder, location, getDout(), getQ(), repeatHeads(builder, location, getK(), e),
                                    repeatHeads(builder, location, getV(), e), getOut(), getLse(), getScaleAttr(),
                                    getCausalAttr(), getWindowAttr());
  auto sumOfShared = [&](Value value) -> Value {
    Value apart = makeReshape(builder, location, value, {e.B, e.S, e.G, e.H / e.G, e.D});
    return ReduceSumOp::create(builder, location, apart, builder.getDenseI64ArrayAttr({3}), UnitAttr());
  };
  return SmallVector<Value>{op.getDq(), sumOfShared(op.getDk()), sumOfShared(op.getDv())};
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// Two products, and five operations of softmax for each unmasked pair of a row and a column.
OpCost AttentionOp::getCost() {
  Extents e(getQ(), getK());
  return streamingCost(*this, e.pairs(getCausal(), getWindow()) * (4 * e.D + 5));
}

// Five products (the scores again, dv, dp, dq, dk); per pair subtract, exp, scale, subtract, multiply.
OpCost AttentionGradOp::getCost() {
  Extents e(getQ(), getK());
  return streamingCost(*this, e.pairs(getCausal(), getWindow()) * (10 * e.D + 5) + 2 * elementsOf(getQ()));
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

template <typename Op> static KernelCall attentionCall(Op op, KernelId kernel) {
  SmallVector<NamedAttribute> attributes = {numberAttribute(op, "scale", op.getScale().convertToDouble()),
                                            integerAttribute(op, "causal", op.getCausal())};
  if (op.getWindow())
    attributes.push_back(integerAttribute(op, "window", static_cast<int64_t>(*op.getWindow())));
  return makeCall(op, kernel, attributes);
}

KernelCall AttentionOp::getKernelCall() { return attentionCall(*this, KernelId::attention); }
KernelCall AttentionGradOp::getKernelCall() { return attentionCall(*this, KernelId::attention_grad); }

} // namespace sluice::model
