//===- Pointwise.cpp - elementwise primitives --------------------------------------===//
//
// Pointwise.td gives the sharding rules, costs and kernels.
//
//===----------------------------------------------------------------------===//

#include "dialect/model/Patterns.h"
#include "dialect/model/ops/Helpers.h"

#include "mlir/IR/PatternMatch.h"

#include <numbers>

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

ParseResult parseUnaryTypes(OpAsmParser &parser, Type &operand, Type &result) {
  SMLoc location = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  operand = result = type;
  auto function = dyn_cast<FunctionType>(type);
  if (!function)
    return success();
  if (function.getNumInputs() != 1 || function.getNumResults() != 1)
    return parser.emitError(location)
           << "types of an op with one operand and one result, expected a type or a function "
              "type of one operand and one result but got "
           << type;
  operand = function.getInput(0);
  result = function.getResult(0);
  return success();
}

void printUnaryTypes(OpAsmPrinter &printer, Operation *, Type operand, Type result) {
  if (operand == result)
    printer << operand;
  else
    printer.printFunctionalType(TypeRange(operand), TypeRange(result));
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  return inferBroadcast(location, "compare", adaptor.getOperands(), IntegerType::get(context, 8, IntegerType::Unsigned),
                        types);
}

LogicalResult SelectOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  return inferBroadcast(location, "select", adaptor.getOperands(), elementOf(adaptor.getOnTrue()), types);
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  return {};
}

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  if (getFactor().convertToDouble() == 1.0)
    return getOperand();
  return {};
}

OpFoldResult PowerOp::fold(FoldAdaptor) {
  if (getExponent().convertToDouble() == 1.0)
    return getOperand();
  return {};
}

//===----------------------------------------------------------------------===//
// Scales and biases
//===----------------------------------------------------------------------===//

// A vector that is added to each row.
bool AddOp::isScaleOrBias(OpOperand &operand) {
  return shapeOf(operand.get()).size() == 1 && shapeOf(getResult()).size() > 1;
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

// d(a + b) = da + db
FailureOrValues AddOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{makeUnbroadcast(builder, cotangents[0], shapeOf(getLhs())),
                            makeUnbroadcast(builder, cotangents[0], shapeOf(getRhs()))};
}

// d(a - b) = da - db
FailureOrValues SubtractOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  Value da = makeUnbroadcast(builder, cotangents[0], shapeOf(getLhs()));
  Value negated = NegateOp::create(builder, cotangents[0]);
  return SmallVector<Value>{da, makeUnbroadcast(builder, negated, shapeOf(getRhs()))};
}

// d(a b) = b da + a db
FailureOrValues MultiplyOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  SmallVector<Value> gradients;
  for (unsigned i = 0; i < 2; ++i) {
    Value product = MultiplyOp::create(builder, cotangents[0], getOperand(1 - i));
    gradients.push_back(makeUnbroadcast(builder, product, shapeOf(getOperand(i))));
  }
  return gradients;
}

// y = a / b: da = dy / b, db = -dy y / b
FailureOrValues DivideOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  Value quotient = DivideOp::create(builder, cotangents[0], getRhs());
  Value da = makeUnbroadcast(builder, quotient, shapeOf(getLhs()));
  Value product = MultiplyOp::create(builder, quotient, getResult());
  Value negated = NegateOp::create(builder, product);
  return SmallVector<Value>{da, makeUnbroadcast(builder, negated, shapeOf(getRhs()))};
}

// The larger side takes dy; on a tie each takes half.
FailureOrValues MaximumOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  Value dy = cotangents[0];
  Value zero = makeConstant(builder, 0, tensorOf({}, elementOf(dy)));
  Value half = makeScale(builder, dy, 0.5);
  Value tie = CompareOp::create(builder, getLhs(), getRhs(), ComparePredicate::eq);
  Value shared = SelectOp::create(builder, tie, half, zero);
  SmallVector<Value> gradients;
  for (unsigned i = 0; i < 2; ++i) {
    Value wins = CompareOp::create(builder, getOperand(i), getOperand(1 - i), ComparePredicate::gt);
    Value part = SelectOp::create(builder, wins, dy, shared);
    gradients.push_back(makeUnbroadcast(builder, part, shapeOf(getOperand(i))));
  }
  return gradients;
}

FailureOrValues NegateOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{NegateOp::create(builder, cotangents[0])};
}

// y = exp x: dx = dy y
FailureOrValues ExpOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{MultiplyOp::create(builder, cotangents[0], getResult())};
}

// dx = dy / x
FailureOrValues LogOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{DivideOp::create(builder, cotangents[0], getOperand())};
}

// y = tanh x: dx = dy - dy y y
FailureOrValues TanhOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  Value square = MultiplyOp::create(builder, getResult(), getResult());
  Value product = MultiplyOp::create(builder, cotangents[0], square);
  return SmallVector<Value>{SubtractOp::create(builder, cotangents[0], product)};
}

// dx = dy cos x
FailureOrValues SinOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  Value slope = CosOp::create(builder, getOperand());
  return SmallVector<Value>{MultiplyOp::create(builder, cotangents[0], slope)};
}

// dx = -dy sin x
FailureOrValues CosOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  Value slope = NegateOp::create(builder, SinOp::create(builder, getOperand()).getResult());
  return SmallVector<Value>{MultiplyOp::create(builder, cotangents[0], slope)};
}

// dx = dy 2/sqrt(pi) exp(-x x)
FailureOrValues ErfOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  Value square = MultiplyOp::create(builder, getOperand(), getOperand());
  Value slope = ExpOp::create(builder, NegateOp::create(builder, square).getResult());
  Value scaled = makeScale(builder, slope, 2.0 * std::numbers::inv_sqrtpi);
  return SmallVector<Value>{MultiplyOp::create(builder, cotangents[0], scaled)};
}

// y = sqrt x: dx = dy / (2 y)
FailureOrValues SqrtOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  Value half = makeScale(builder, cotangents[0], 0.5);
  return SmallVector<Value>{DivideOp::create(builder, half, getResult())};
}

// y = 1 / sqrt x: dx = -dy y / (2 x)
FailureOrValues RsqrtOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  Value product = MultiplyOp::create(builder, cotangents[0], getResult());
  Value scaled = makeScale(builder, product, -0.5);
  return SmallVector<Value>{DivideOp::create(builder, scaled, getOperand())};
}

// dx = dy where y > 0: the result is read, so that x need not be kept
FailureOrValues ReluOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{ReluGradOp::create(builder, cotangents[0], getResult())};
}

// y = 1 / (1 + exp(-x)): dx = dy (y - y y)
FailureOrValues SigmoidOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  Value square = MultiplyOp::create(builder, getResult(), getResult());
  Value slope = SubtractOp::create(builder, getResult(), square);
  return SmallVector<Value>{MultiplyOp::create(builder, cotangents[0], slope)};
}

// dx = dy sigmoid(x)
FailureOrValues SoftplusOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  Value slope = SigmoidOp::create(builder, getOperand());
  return SmallVector<Value>{MultiplyOp::create(builder, cotangents[0], slope)};
}

// dx = dy e x^(e - 1)
FailureOrValues PowerOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  double exponent = getExponent().convertToDouble();
  if (exponent == 0)
    return SmallVector<Value>{Value()};
  Value power = PowerOp::create(builder, getOperand(), builder.getF64FloatAttr(exponent - 1));
  Value slope = makeScale(builder, power, exponent);
  return SmallVector<Value>{MultiplyOp::create(builder, cotangents[0], slope)};
}

FailureOrValues ScaleOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  return SmallVector<Value>{makeScale(builder, cotangents[0], getFactor().convertToDouble())};
}

// Each side takes dy where the condition selects it; the condition is not differentiable.
FailureOrValues SelectOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  Value dy = cotangents[0];
  Value zero = makeConstant(builder, 0, tensorOf({}, elementOf(dy)));
  Value toTrue = SelectOp::create(builder, getCondition(), dy, zero);
  Value dTrue = makeUnbroadcast(builder, toTrue, shapeOf(getOnTrue()));
  Value toFalse = SelectOp::create(builder, getCondition(), zero, dy);
  return SmallVector<Value>{Value(), dTrue, makeUnbroadcast(builder, toFalse, shapeOf(getOnFalse()))};
}

// Casts back; an integer on either side stops the derivative.
FailureOrValues CastOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  bool active = isFloat(getOperand()) && isFloat(getResult());
  return SmallVector<Value>{active ? makeCast(builder, cotangents[0], elementOf(getOperand())) : Value()};
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

namespace {

/// True for a cast of a cotangent: in the backward, or of the loss, whose gradient is in its phase.
bool isOfCotangent(CastOp cast, Operation *producer) {
  auto op = dyn_cast<VjpOpInterface>(producer);
  return isOfPhase(cast, Phase::backward) || (isOfPhase(cast, Phase::loss) && op && !op.isDifferentiable());
}

/// cast(op(..)) of the backward to a wider type ==> op(..) with that type, where the result of the op has no other use.
struct WidenResult : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CastOp cast, PatternRewriter &rewriter) const override {
    auto narrow = dyn_cast<OpResult>(cast.getOperand());
    auto producer = narrow ? dyn_cast<PrecisionOpInterface>(narrow.getOwner()) : PrecisionOpInterface();
    if (!producer || !narrow.hasOneUse() || !isOfCotangent(cast, producer) || !sharesScope(producer, cast) ||
        !isFloat(narrow) || elementOf(narrow).getIntOrFloatBitWidth() != 16 || !elementOf(cast.getResult()).isF32())
      return failure();
    rewriter.startOpModification(producer);
    if (failed(producer.widenResult(narrow.getResultNumber(), elementOf(cast.getResult())))) {
      rewriter.cancelOpModification(producer);
      return failure();
    }
    rewriter.finalizeOpModification(producer);
    rewriter.replaceOp(cast, narrow);
    return success();
  }
};

} // namespace

void populateCastFusionPatterns(RewritePatternSet &patterns) { patterns.add<WidenResult>(patterns.getContext()); }

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

namespace {
/// x + broadcast(y) ==> x + y, which broadcasts itself; likewise for the other ops of two operands.
template <typename Op> struct DropBroadcast : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    for (OpOperand &operand : op->getOpOperands()) {
      auto repeated = operand.get().template getDefiningOp<BroadcastOp>();
      // The other operand has the shape of the result, so that the result keeps it.
      if (!repeated || shapeOf(op->getOperand(1 - operand.getOperandNumber())) != shapeOf(op.getResult()))
        continue;
      rewriter.modifyOpInPlace(op, [&] { operand.set(repeated.getOperand()); });
      return success();
    }
    return failure();
  }
};
} // namespace

void populatePointwiseRecognitionPatterns(RewritePatternSet &patterns) {
  patterns.add<DropBroadcast<AddOp>, DropBroadcast<SubtractOp>, DropBroadcast<MultiplyOp>, DropBroadcast<DivideOp>>(
      patterns.getContext());
}

} // namespace sluice::model
