//===- Optimizer.cpp - optimizer updates ----------------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Scalars of the step have no dims.
template <typename OpT> static LogicalResult verifyScalars(OpT op) {
  return success(succeeded(expectShape(op, "lr", op.getLr(), {})) &&
                 succeeded(expectShape(op, "step", op.getStep(), {})) &&
                 succeeded(expectShape(op, "coefficient", op.getCoefficient(), {})) &&
                 succeeded(expectShape(op, "guard", op.getGuard(), {})));
}

LogicalResult SgdOp::verify() {
  // sgd_c1
  if (failed(expectLike(*this, "gradient", getGradient(), getParameter())) ||
      failed(expectLike(*this, "new_parameter", getNewParameter(), getParameter())))
    return failure();
  // sgd_c2
  bool hasBuffer = getMomentumBuffer() != nullptr, needsBuffer = !getMomentum().isZero();
  if (hasBuffer != needsBuffer || getNewStates().size() != hasBuffer)
    return emitOpError() << "momentum buffers do not fit momentum " << getMomentum().convertToDouble() << ", expected "
                         << needsBuffer << " operand and " << needsBuffer << " result but got " << hasBuffer << " and "
                         << getNewStates().size();
  if (hasBuffer && (failed(expectLike(*this, "momentum_buffer", getMomentumBuffer(), getParameter())) ||
                    failed(expectLike(*this, "new momentum_buffer", getNewStates()[0], getParameter()))))
    return failure();
  // sgd_c3
  if (getNesterov() && !needsBuffer)
    return emitOpError("nesterov without momentum, expected momentum more than 0 but got 0");
  // sgd_c4
  return verifyScalars(*this);
}

template <typename OpT> static LogicalResult verifyAdamLike(OpT op) {
  // adam_c1
  for (auto [name, value] : {std::pair<StringRef, Value>("gradient", op.getGradient()),
                             {"exp_avg", op.getExpAvg()},
                             {"exp_avg_sq", op.getExpAvgSq()},
                             {"new_parameter", op.getNewParameter()},
                             {"new_exp_avg", op.getNewExpAvg()},
                             {"new_exp_avg_sq", op.getNewExpAvgSq()}})
    if (failed(expectLike(op, name, value, op.getParameter())))
      return failure();
  // adam_c2
  return verifyScalars(op);
}

LogicalResult AdamOp::verify() { return verifyAdamLike(*this); }
LogicalResult AdamwOp::verify() { return verifyAdamLike(*this); }

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

ShardingRule SgdOp::getShardingRule() { return pointwiseRule(*this); }
ShardingRule AdamOp::getShardingRule() { return pointwiseRule(*this); }
ShardingRule AdamwOp::getShardingRule() { return pointwiseRule(*this); }

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

// Per element: coefficient 1, update 2; weight decay 2, momentum 2, nesterov 2 where they are used.
OpCost SgdOp::getCost() {
  return pointwiseCost(*this, 3 + 2 * !getWeightDecay().isZero() + 2 * !getMomentum().isZero() + 2 * getNesterov());
}
// Per element: coefficient 1, weight decay 2, first moment 3, second moment 4, bias corrections and root 3, update 3.
OpCost AdamOp::getCost() { return pointwiseCost(*this, 16); }
OpCost AdamwOp::getCost() { return pointwiseCost(*this, 16); }

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

/// New parameter and states lie where the old ones lay: operand 0, then states from operand 2.
static KernelCall makeUpdate(Operation *op, StringRef kernel, ArrayRef<NamedAttribute> attributes) {
  KernelCall call = makeCall(op, kernel, attributes);
  call.mustAlias.push_back({0, 0});
  for (unsigned state = 1; state < op->getNumResults(); ++state)
    call.mustAlias.push_back({state + 1, state});
  return call;
}

KernelCall SgdOp::getKernelCall() {
  return makeUpdate(*this, "sgd",
                    {numberAttribute(*this, "momentum", getMomentum().convertToDouble()),
                     numberAttribute(*this, "weight_decay", getWeightDecay().convertToDouble()),
                     integerAttribute(*this, "nesterov", getNesterov())});
}

template <typename OpT> static KernelCall makeAdamLike(OpT op, StringRef kernel) {
  return makeUpdate(op, kernel,
                    {numberAttribute(op, "beta1", op.getBeta1().convertToDouble()),
                     numberAttribute(op, "beta2", op.getBeta2().convertToDouble()),
                     numberAttribute(op, "epsilon", op.getEpsilon().convertToDouble()),
                     numberAttribute(op, "weight_decay", op.getWeightDecay().convertToDouble())});
}

KernelCall AdamOp::getKernelCall() { return makeAdamLike(*this, "adam"); }
KernelCall AdamwOp::getKernelCall() { return makeAdamLike(*this, "adamw"); }

} // namespace sluice::model
