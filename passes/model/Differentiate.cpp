//===- Differentiate.cpp - model-differentiate ------------------------------------------------===//

#include "passes/model/Gradient.h"

#include "dialect/model/ops/Helpers.h"
#include "passes/model/Passes.h"
#include "passes/recipe/RecipeAttr.h"

#include "llvm/ADT/MapVector.h"

namespace sluice {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// The derivative of one train function.
class TrainDerivative {
public:
  TrainDerivative(func::FuncOp function, const Recipe &recipe)
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
      return function.emitError("loss of '@") << function.getName() << "' depends on no parameter";
    tagForward();

    builder.setInsertionPoint(terminator);
    llvm::SmallVector<Value> means = meansOf(terminator, builder);
    reverse.accumulate(loss, seedOf(loss));
    setAttributesOfNewOps(lossOp, Phase::loss);

    reverse.takeLeaf = [&](Value leaf, Value gradient) { addToParameter(leaf, gradient); };
    reverse.afterOp = [&](Operation *op) {
      buildGradients(op);
      setAttributesOfNewOps(op, op == lossOp ? Phase::loss : Phase::backward);
    };
    if (failed(reverse.run(forward)))
      return failure();
    terminator->setOperands(means);
    eraseDead(backward);
    return success();
  }

  /// The means over the step of the loss and of its count.
  static llvm::SmallVector<Value> meansOf(Operation *terminator, OpBuilder &builder) {
    llvm::SmallVector<Value> means;
    for (Value value : terminator->getOperands())
      means.push_back(model::StepMeanOp::create(builder, value.getLoc(), value.getType(), value).getMean());
    return means;
  }

private:
  struct Parameter {
    /// The first op in program order that uses a read of the parameter: the last one to add a gradient.
    Operation *firstUser = nullptr;
    Value gradient;
    bool done = false;
    bool isDouble = false;
  };

  func::FuncOp function;
  const Recipe &recipe;
  InsertionRecorder recorder;
  OpBuilder builder;
  ReverseMode reverse;
  Operation *lossOp = nullptr;
  llvm::SmallVector<Operation *> forward, backward;
  llvm::MapVector<StringAttr, Parameter> parameters;

  /// The cotangent of a micro-batch's loss: its weight in the step, times the loss scale.
  Value seedOf(Value loss) {
    double part = 1.0 / static_cast<double>(recipe.gradient.microbatches);
    if (auto *scale = std::get_if<double>(&recipe.precision.lossScale))
      part *= *scale;
    Value seed = model::ConstantOp::create(builder, loss.getLoc(), loss.getType(), builder.getF64FloatAttr(part));
    if (!std::holds_alternative<LossScaling>(recipe.precision.lossScale))
      return seed;
    Value scale = addInput(function, loss.getType(), "loss_scale");
    return model::MultiplyOp::create(builder, loss.getLoc(), seed, scale);
  }

  void findParameters() {
    SymbolTable symbols(function->getParentOfType<ModuleOp>());
    for (Operation *op : forward) {
      auto read = dyn_cast<model::ReadOp>(op);
      if (!read || read.getState())
        continue;
      auto parameter = symbols.lookup<model::ParameterOp>(read.getParameter());
      if (!parameter || parameter.getFrozen() || parameter.isState())
        continue;
      parameters[parameter.getSymNameAttr()].isDouble =
          cast<RankedTensorType>(parameter.getType()).getElementType().isF64();
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
      model::setPhase(op, isLoss ? Phase::loss : Phase::forward);
    }
  }

  /// The ops created since the last call belong to the module of `source`.
  void setAttributesOfNewOps(Operation *source, Phase phase) {
    copyScope(recorder.created, source);
    for (Operation *op : recorder.created) {
      model::setPhase(op, phase);
      model::copyAttribute(source, model::invocationName, op);
    }
    backward.append(recorder.created);
    recorder.created.clear();
  }

  Value castTo(Value gradient, Type element) {
    ImplicitLocOpBuilder atGradient(gradient.getLoc(), builder);
    return model::makeCast(atGradient, gradient, element);
  }

  void addToParameter(Value leaf, Value gradient) {
    Parameter &parameter = parameters[leaf.getDefiningOp<model::ReadOp>().getParameterAttr().getAttr()];
    Type element = elementType(builder.getContext(), recipe.precision.reduce);
    // Wider first, so that reads of one parameter add up in the precision of the reduction.
    if (model::elementOf(gradient).getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
      gradient = castTo(gradient, element);
    parameter.gradient = parameter.gradient
                             ? Value(model::AddOp::create(builder, gradient.getLoc(), parameter.gradient, gradient))
                             : gradient;
  }

  /// Gradients that are complete once the derivative of `op` is built.
  void buildGradients(Operation *op) {
    for (Value operand : op->getOperands()) {
      auto read = operand.getDefiningOp<model::ReadOp>();
      auto it = read ? parameters.find(read.getParameterAttr().getAttr()) : parameters.end();
      if (it == parameters.end() || it->second.firstUser != op || it->second.done)
        continue;
      it->second.done = true;
      Value gradient = it->second.gradient;
      if (!gradient)
        continue;
      Type element = elementType(builder.getContext(), recipe.precision.reduce);
      // Parameters of type f64 have f64 gradients.
      if (!(element.isF32() && it->second.isDouble && model::elementOf(gradient).isF64()))
        gradient = castTo(gradient, element);
      model::GradientOp::create(builder, gradient.getLoc(), gradient.getType(), FlatSymbolRefAttr::get(it->first),
                                gradient);
    }
  }
};

struct DifferentiatePass : sluice::impl::DifferentiateBase<DifferentiatePass> {
  using DifferentiateBase::DifferentiateBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), microbatches, reduceType, lossScale);
    if (failed(recipe))
      return signalPassFailure();
    Builder builder(&getContext());
    for (func::FuncOp function : entryFunctions(getOperation())) {
      if (hasPhase(function, Phase::forward) || hasPhase(function, Phase::loss))
        continue;
      if (model::entryOf(function) != EntryKind::train) {
        for (Operation &op : function.getBody().front().without_terminator())
          model::setPhase(&op, Phase::forward);
        if (model::entryOf(function) == EntryKind::eval)
          meanLoss(function);
        continue;
      }
      if (failed(TrainDerivative(function, *recipe).run()))
        return signalPassFailure();
    }
  }

  /// An evaluation returns the mean of its loss over the ranks.
  static void meanLoss(func::FuncOp function) {
    Operation *terminator = function.getBody().front().getTerminator();
    InsertionRecorder recorder;
    OpBuilder builder(terminator, &recorder);
    llvm::SmallVector<Value> means = TrainDerivative::meansOf(terminator, builder);
    if (means.size() == 2) {
      means[0] = model::DivideOp::create(builder, function.getLoc(), means[0], means[1]);
      means.pop_back();
      (void)function.eraseResult(1);
    }
    terminator->setOperands(means);
    setUpdatePhase(recorder.created);
  }
};

} // namespace
