//===- Differentiate.cpp - loss derivative and backward of train functions --------------------===//

#include "passes/model/Gradient.h"
#include "passes/model/Passes.h"
#include "passes/recipe/RecipeAttr.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSwitch.h"

namespace sluice {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

Type elementNamed(MLIRContext *context, llvm::StringRef name) {
  Builder builder(context);
  return llvm::StringSwitch<Type>(name)
      .Case("bf16", builder.getBF16Type())
      .Case("f16", builder.getF16Type())
      .Case("f64", builder.getF64Type())
      .Default(builder.getF32Type());
}

/// The derivative of one train function.
class TrainDerivative {
public:
  TrainDerivative(func::FuncOp function, const RecipeView &recipe)
      : function(function), recipe(recipe), builder(function.getContext(), &recorder), reverse(builder) {}

  LogicalResult run() {
    Block &body = function.getBody().front();
    Operation *terminator = body.getTerminator();
    Value loss = terminator->getOperand(0);
    lossOp = loss.getDefiningOp();
    for (Operation &op : body.without_terminator())
      forward.push_back(&op);
    findParameters();
    reverse.markActive(forward);
    if (!lossOp || !reverse.isActive(loss))
      return function.emitError("loss of '@") << function.getName() << "', expected one that depends on a parameter";
    tagForward();

    builder.setInsertionPoint(terminator);
    Value mean = model::StepMeanOp::create(builder, loss.getLoc(), loss.getType(), loss).getMean();
    double seed = 1.0 / static_cast<double>(recipe.integer("gradient.microbatches"));
    Value cotangent =
        model::ConstantOp::create(builder, loss.getLoc(), loss.getType(), builder.getF64FloatAttr(seed)).getResult();
    reverse.accumulate(loss, cotangent);
    tagMade(lossOp, phases::loss);

    reverse.takeLeaf = [&](Value leaf, Value gradient) { addToParameter(leaf, gradient); };
    reverse.afterOp = [&](Operation *op) {
      handOver(op);
      tagMade(op, op == lossOp ? phases::loss : phases::backward);
    };
    if (failed(reverse.run(forward)))
      return failure();
    terminator->setOperand(0, mean);
    eraseDead(made);
    return success();
  }

  unsigned gradients = 0;

private:
  struct Parameter {
    /// The first op in program order that uses a read of it: the last one that gives a gradient.
    Operation *firstUser = nullptr;
    Value gradient;
    bool done = false;
  };

  func::FuncOp function;
  const RecipeView &recipe;
  InsertionRecorder recorder;
  OpBuilder builder;
  ReverseMode reverse;
  Operation *lossOp = nullptr;
  llvm::SmallVector<Operation *> forward;
  llvm::SmallVector<Operation *> made;
  llvm::MapVector<StringAttr, Parameter> parameters;

  void findParameters() {
    auto module = function->getParentOfType<ModuleOp>();
    for (Operation *op : forward) {
      auto read = dyn_cast<model::ReadOp>(op);
      if (!read || read.getState())
        continue;
      auto parameter = SymbolTable::lookupNearestSymbolFrom<model::ParameterOp>(module, read.getParameterAttr());
      if (!parameter || parameter.getFrozen())
        continue;
      parameters[parameter.getSymNameAttr()];
      reverse.addLeaf(read.getValue());
    }
    for (Operation *op : forward)
      for (Value operand : op->getOperands())
        if (auto read = operand.getDefiningOp<model::ReadOp>())
          if (auto it = parameters.find(read.getParameterAttr().getAttr()); it != parameters.end())
            if (!it->second.firstUser)
              it->second.firstUser = op;
  }

  void tagForward() {
    bool isLoss = false;
    for (Operation *op : forward) {
      isLoss |= op == lossOp;
      op->setAttr(names::phase, builder.getStringAttr(isLoss ? phases::loss : phases::forward));
    }
  }

  /// The ops made since the last call belong to the module of `source`.
  void tagMade(Operation *source, llvm::StringRef phase) {
    for (Operation *op : recorder.made) {
      op->setAttr(names::phase, builder.getStringAttr(phase));
      op->setAttr(names::block, builder.getStringAttr(textAttribute(source, names::block)));
      if (Attribute checkpoint = source->getAttr(names::checkpoint))
        op->setAttr(names::checkpoint, checkpoint);
      made.push_back(op);
    }
    recorder.made.clear();
  }

  void addToParameter(Value leaf, Value gradient) {
    Parameter &parameter = parameters[leaf.getDefiningOp<model::ReadOp>().getParameterAttr().getAttr()];
    Type element = elementNamed(builder.getContext(), recipe.string("precision.reduce"));
    auto type = cast<RankedTensorType>(gradient.getType());
    // Wider first, so that reads of one parameter add up in the precision of the reduction.
    if (type.getElementType() != element && type.getElementTypeBitWidth() < element.getIntOrFloatBitWidth())
      gradient = model::CastOp::create(builder, gradient.getLoc(), type.clone(element), gradient).getResult();
    parameter.gradient = parameter.gradient ? model::AddOp::create(builder, gradient.getLoc(), gradient.getType(),
                                                                   parameter.gradient, gradient)
                                                  .getResult()
                                            : gradient;
  }

  /// Gradients that are whole once the derivative of `op` is built.
  void handOver(Operation *op) {
    for (Value operand : op->getOperands()) {
      auto read = operand.getDefiningOp<model::ReadOp>();
      auto it = read ? parameters.find(read.getParameterAttr().getAttr()) : parameters.end();
      if (it == parameters.end() || it->second.firstUser != op || it->second.done)
        continue;
      it->second.done = true;
      if (!it->second.gradient)
        continue;
      model::GradientOp::create(builder, it->second.gradient.getLoc(), it->second.gradient.getType(),
                                FlatSymbolRefAttr::get(it->first), it->second.gradient);
      ++gradients;
    }
  }
};

struct DifferentiatePass : sluice::impl::DifferentiateBase<DifferentiatePass> {
  void runOnOperation() override {
    RecipeView recipe(getOperation());
    Builder builder(&getContext());
    for (func::FuncOp function : entryFunctions(getOperation())) {
      if (hasPhase(function, phases::forward) || hasPhase(function, phases::loss))
        continue;
      if (textAttribute(function, names::entry) != "train") {
        for (Operation &op : function.getBody().front().without_terminator())
          op.setAttr(names::phase, builder.getStringAttr(phases::forward));
        continue;
      }
      TrainDerivative derivative(function, recipe);
      if (failed(derivative.run()))
        return signalPassFailure();
      gradients += derivative.gradients;
    }
  }
};

} // namespace
