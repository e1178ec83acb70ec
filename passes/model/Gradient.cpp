//===- Gradient.cpp - reverse mode over a list of flat ops ------------------------------------===//

#include "passes/model/Gradient.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace sluice;

static bool hasFloatElements(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

static bool stopsGradient(Operation *op) {
  auto vjp = dyn_cast<VjpOpInterface>(op);
  return vjp && vjp.stopsGradient();
}

void ReverseMode::markActive(llvm::ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    if (!stopsGradient(op) && llvm::any_of(op->getOperands(), [&](Value operand) { return active.contains(operand); }))
      for (Value result : op->getResults())
        if (hasFloatElements(result))
          active.insert(result);
}

void ReverseMode::accumulate(Value value, Value cotangent) {
  Value &sum = cotangents[value];
  sum =
      sum ? model::AddOp::create(builder, cotangent.getLoc(), value.getType(), sum, cotangent).getResult() : cotangent;
}

LogicalResult ReverseMode::run(llvm::ArrayRef<Operation *> ops) {
  for (Operation *op : llvm::reverse(ops)) {
    llvm::SmallVector<Value> results;
    for (Value result : op->getResults())
      results.push_back(cotangents.lookup(result));
    const auto isNeeded = [&](Value operand) { return active.contains(operand); };
    if (llvm::any_of(results, [](Value value) { return value != nullptr; }) &&
        llvm::any_of(op->getOperands(), isNeeded)) {
      auto vjp = dyn_cast<VjpOpInterface>(op);
      if (!vjp || !vjp.isDifferentiable())
        return op->emitError("op '") << op->getName() << "' between parameters and loss has no derivative";
      ImplicitLocOpBuilder atOp(op->getLoc(), builder);
      FailureOr<llvm::SmallVector<Value>> gradients = vjp.buildVjp(atOp, results);
      if (failed(gradients))
        return failure();
      if (gradients->size() != op->getNumOperands())
        llvm::reportFatalInternalError("buildVjp must return a gradient or null for each operand");
      for (auto [operand, gradient] : llvm::zip(op->getOperands(), *gradients)) {
        if (!gradient || !isNeeded(operand))
          continue;
        if (gradient.getType() != operand.getType())
          llvm::reportFatalInternalError("buildVjp must return gradients of the operands' types");
        if (takeLeaf && leaves.contains(operand))
          takeLeaf(op, operand, gradient);
        else
          accumulate(operand, gradient);
      }
    }
    if (afterOp)
      afterOp(op);
  }
  return success();
}

void sluice::eraseDead(llvm::ArrayRef<Operation *> ops) {
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op) && !isa<model::GradientOp>(op))
      op->erase();
}
