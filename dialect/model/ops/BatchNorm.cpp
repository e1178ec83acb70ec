//===- BatchNorm.cpp - batch norm in training, and its running statistics ----------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Scales and biases
//===----------------------------------------------------------------------===//

bool BatchNormOp::isScaleOrBias(OpOperand &operand) { return operand.getOperandNumber() > 0; }

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

FailureOrValues BatchNormOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  if (cotangents[1] || cotangents[2])
    return emitOpError("has no derivative through its mean and variance, expected a use of y only");
  Type vector = getWeight().getType();
  auto grad = BatchNormGradOp::create(builder, TypeRange{getX().getType(), vector, vector}, cotangents[0], getX(),
                                      getWeight(), getMean(), getVariance(), getEpsilonAttr());
  return SmallVector<Value>(grad->getResults());
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

FailureOrValues BatchNormOp::decompose(ImplicitLocOpBuilder &builder) {
  Type element = statisticsElement(elementOf(getX()));
  auto dims = builder.getDenseI64ArrayAttr(llvm::to_vector(llvm::seq<int64_t>(0, typeOf(getX()).getRank() - 1)));
  auto meanOf = [&](Value value) -> Value { return ReduceMeanOp::create(builder, value, dims, /*keep=*/UnitAttr()); };
  Value x = makeCast(builder, getX(), element);
  Value mean = meanOf(x);
  Value centred = SubtractOp::create(builder, x, mean);
  Value variance = meanOf(MultiplyOp::create(builder, centred, centred));
  Value y = makeNormalized(builder, centred, variance, getEpsilon(), getWeight(), getBias()).first;
  return SmallVector<Value>{y, mean, variance};
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

/// The running average that a statistic updates; null if no op reads the statistic.
static Value runningAverageOf(Value statistic) {
  for (Operation *user : statistic.getUsers())
    if (auto average = dyn_cast<RunningAverageOp>(user); average && average.getValue() == statistic)
      return average.getOld();
  return {};
}

/// Normalizes by the running statistics; without them by the statistics of the rows, as in training.
FailureOrValues BatchNormOp::evaluate(ImplicitLocOpBuilder &builder) {
  Value mean = runningAverageOf(getMean()), variance = runningAverageOf(getVariance());
  if (!mean || !variance)
    return SmallVector<Value>(builder.clone(**this)->getResults());
  // The reads of the running statistics are after the op: read them here.
  auto readHere = [&](Value value) -> Value {
    Operation *producer = value.getDefiningOp();
    if (!producer || producer->getBlock() != (*this)->getBlock() || producer->isBeforeInBlock(*this) ||
        producer->getNumOperands() != 0)
      return value;
    return builder.clone(*producer)->getResult(0);
  };
  mean = readHere(mean), variance = readHere(variance);
  Value x = makeCast(builder, getX(), elementOf(mean));
  Value centred = SubtractOp::create(builder, x, mean);
  Value y = makeNormalized(builder, centred, variance, getEpsilon(), getWeight(), getBias()).first;
  return SmallVector<Value>{y, mean, variance};
}

// Outside training the running average keeps its value.
FailureOrValues RunningAverageOp::evaluate(ImplicitLocOpBuilder &) { return SmallVector<Value>{getOld()}; }
FailureOrValues CountUpOp::evaluate(ImplicitLocOpBuilder &) { return SmallVector<Value>{getOld()}; }

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// Per element: mean 1, variance 3, normalize 2, weight and bias 2.
OpCost BatchNormOp::getCost() { return streamingCost(*this, 8 * elementsOf(getX())); }
// Per element: normalized x 2, dbias 1, dweight 2, dx 5.
OpCost BatchNormGradOp::getCost() { return streamingCost(*this, 10 * elementsOf(getX())); }

} // namespace sluice::model
