//===- Differentiate.cpp - model-differentiate ------------------------------------------------===//

#include "passes/model/Gradient.h"

#include "dialect/model/ops/Helpers.h"
#include "passes/model/Passes.h"
#include "passes/recipe/Keys.h"
#include "passes/recipe/ModelUnits.h"
#include "passes/recipe/RecipeAttr.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

#include <optional>

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
  /// `units` is null where the type of reductions is one for all units.
  TrainDerivative(func::FuncOp function, const Recipe &recipe, const ModelUnits *units)
      : function(function), recipe(recipe), units(units), builder(function.getContext(), &recorder), reverse(builder) {}

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
    Value seed = seedOf(loss);
    setAttributesOfNewOps(lossOp, Phase::loss, passOf(lossOp));
    if (failed(runPasses(loss, seed)))
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
    /// By backward pass, in order, if each is reduced; else one sum over all.
    llvm::MapVector<std::int64_t, Value> gradients;
    bool done = false;
    bool isDouble = false;
  };

  func::FuncOp function;
  const Recipe &recipe;
  const ModelUnits *units;
  InsertionRecorder recorder;
  OpBuilder builder;
  ReverseMode reverse;
  Operation *lossOp = nullptr;
  llvm::SmallVector<Operation *> forward, backward;
  llvm::MapVector<StringAttr, Parameter> parameters;
  /// The number of later backward passes that visit an op.
  llvm::DenseMap<Operation *, std::int64_t> laterVisits;
  std::int64_t invocations = 1;

  /// The terms of a loss that is a sum.
  static void findTerms(Value loss, llvm::SmallVector<Value> &terms) {
    auto sum = loss.getDefiningOp<model::AddOp>();
    if (!sum)
      return terms.push_back(loss);
    findTerms(sum.getLhs(), terms);
    findTerms(sum.getRhs(), terms);
  }

  /// The ops that a value depends on.
  llvm::SmallVector<Operation *> opsOf(Value value) const {
    llvm::DenseSet<Operation *> reached = {value.getDefiningOp()};
    llvm::SmallVector<Operation *> ops;
    for (Operation *op : llvm::reverse(forward))
      if (reached.contains(op)) {
        ops.push_back(op);
        for (Value operand : op->getOperands())
          reached.insert(operand.getDefiningOp());
      }
    return ops;
  }

  /// One backward pass, or one for each term of the loss, the last term first.
  LogicalResult runPasses(Value loss, Value seed) {
    llvm::SmallVector<Value> terms;
    if (recipe.gradient.reducePerPass)
      findTerms(loss, terms);
    else
      terms.push_back(loss);
    llvm::SmallVector<llvm::SmallVector<Operation *>> visited;
    for (Value term : terms) {
      visited.push_back(opsOf(term));
      for (Operation *op : visited.back())
        ++laterVisits[op];
    }
    bool isLast = false;
    reverse.takeLeaf = [&](Operation *op, Value leaf, Value gradient) { addToParameter(op, leaf, gradient); };
    reverse.afterOp = [&](Operation *op) {
      Phase phase = op == lossOp ? Phase::loss : Phase::backward;
      setAttributesOfNewOps(op, phase, passOf(op));
      if (isLast)
        buildGradients(op, phase);
    };
    for (; !terms.empty(); terms.pop_back(), visited.pop_back()) {
      isLast = terms.size() == 1;
      for (Operation *op : visited.back())
        --laterVisits[op];
      reverse.clear();
      reverse.accumulate(terms.back(), seed);
      if (failed(reverse.run(forward)))
        return failure();
    }
    return success();
  }

  /// The number of the backward pass of an op's block: the invocation for the last pass that visits it, a larger number
  /// for each earlier one.
  std::int64_t passOf(Operation *op) const { return model::invocationOf(op) + laterVisits.lookup(op) * invocations; }

  /// The cotangent of a micro-batch's loss: its weight in the step, times the loss scale.
  Value seedOf(Value loss) {
    double part = 1.0 / static_cast<double>(recipe.gradient.microbatches.at(function.getSymName()));
    if (auto *scale = std::get_if<double>(&recipe.precision.lossScale))
      part *= *scale;
    Value seed = model::ConstantOp::create(builder, loss.getLoc(), loss.getType(), builder.getF64FloatAttr(part));
    if (!std::holds_alternative<LossScaling>(recipe.precision.lossScale))
      return seed;
    Value scale = addInput(function, loss.getType(), PortRole::loss_scale);
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
      invocations = std::max(invocations, model::invocationOf(op) + 1);
      model::setPhase(op, isLoss ? Phase::loss : Phase::forward);
    }
  }

  /// The ops created since the last call belong to the module of `source`.
  void setAttributesOfNewOps(Operation *source, Phase phase, std::int64_t pass) {
    copyScope(recorder.created, source);
    for (Operation *op : recorder.created) {
      model::setPhase(op, phase);
      if (pass > 0)
        op->setAttr(model::invocationName, builder.getI64IntegerAttr(pass));
    }
    backward.append(recorder.created);
    recorder.created.clear();
  }

  Value castTo(Value gradient, Type element) {
    ImplicitLocOpBuilder atGradient(gradient.getLoc(), builder);
    return model::makeCast(atGradient, gradient, element);
  }

  /// The type in which the gradient of a parameter is reduced.
  Type reduceTypeOf(StringAttr parameter) const {
    return elementType(builder.getContext(),
                       recipe.precision.reduce.at(units ? units->ofParameter(parameter) : llvm::StringRef()));
  }

  void addToParameter(Operation *op, Value leaf, Value gradient) {
    StringAttr name = leaf.getDefiningOp<model::ReadOp>().getParameterAttr().getAttr();
    Parameter &parameter = parameters[name];
    Type element = reduceTypeOf(name);
    // Wider first, so that reads of one parameter add up in the precision of the reduction.
    if (model::elementOf(gradient).getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
      gradient = castTo(gradient, element);
    Value &sum = parameter.gradients[recipe.gradient.reducePerPass ? passOf(op) : 0];
    sum = sum ? Value(model::AddOp::create(builder, gradient.getLoc(), sum, gradient)) : gradient;
  }

  /// Gradients that are complete once the derivative of `op` is built.
  void buildGradients(Operation *op, Phase phase) {
    for (Value operand : op->getOperands()) {
      auto read = operand.getDefiningOp<model::ReadOp>();
      auto it = read ? parameters.find(read.getParameterAttr().getAttr()) : parameters.end();
      if (it == parameters.end() || it->second.firstUser != op || it->second.done)
        continue;
      it->second.done = true;
      for (auto [pass, gradient] : it->second.gradients) {
        Type element = reduceTypeOf(it->first);
        // Parameters of type f64 have f64 gradients.
        if (!(element.isF32() && it->second.isDouble && model::elementOf(gradient).isF64()))
          gradient = castTo(gradient, element);
        model::GradientOp::create(builder, gradient.getLoc(), gradient.getType(), FlatSymbolRefAttr::get(it->first),
                                  gradient);
        setAttributesOfNewOps(op, phase, recipe.gradient.reducePerPass ? pass : passOf(op));
      }
    }
  }
};

struct DifferentiatePass : sluice::impl::DifferentiateBase<DifferentiatePass> {
  using DifferentiateBase::DifferentiateBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe =
        recipeFor(getOperation(), microbatches, reducePerPass, reduceType, shardingUnits, lossScale);
    if (failed(recipe))
      return signalPassFailure();
    Strings names;
    for (func::FuncOp function : entryFunctions(getOperation(), EntryKind::train))
      names.push_back(function.getSymName().str());
    if (const Status checked = recipe->checkNames(keys::microbatches, "train entry point", names); !checked.isOk()) {
      emitError(UnknownLoc::get(&getContext())) << checked.message();
      return signalPassFailure();
    }
    std::optional<ModelUnits> units;
    llvm::SmallVector<func::FuncOp> trained;
    if (recipe->precision.reduce.table)
      units.emplace(getOperation(), recipe->sharding);
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
      TrainDerivative derivative(function, *recipe, units ? &*units : nullptr);
      if (failed(derivative.run()))
        return signalPassFailure();
      trained.push_back(function);
    }
    freezeStopped(trained);
    getOperation().walk([](VjpOpInterface op) {
      if (!op.stopsGradient())
        return;
      op->replaceAllUsesWith(op->getOperands());
      op->erase();
    });
  }

  /// Freezes the parameters that a train function reads and that get no gradient, because the loss does not depend on
  /// them or depends on them only through values whose derivative is stopped.
  void freezeStopped(llvm::ArrayRef<func::FuncOp> trained) {
    llvm::StringSet<> read, withGradient;
    for (func::FuncOp function : trained)
      function.walk([&](Operation *op) {
        if (auto own = dyn_cast<model::ReadOp>(op); own && !own.getState())
          read.insert(own.getParameter());
        else if (auto gradient = dyn_cast<model::GradientOp>(op))
          withGradient.insert(gradient.getParameter());
      });
    for (auto parameter : getOperation().getOps<model::ParameterOp>()) {
      llvm::StringRef name = parameter.getSymName();
      if (parameter.getFrozen() || parameter.isState() || !read.contains(name) || withGradient.contains(name))
        continue;
      parameter.setFrozen(true);
      parameter.emitRemark() << "'" << name << "' gets no gradient: the loss depends on it only through values whose "
                             << "derivative is stopped, or not at all; it is frozen";
    }
  }

  /// An evaluation returns the mean of its loss over the ranks, and the mean of its count, by which the losses of
  /// batches are weighted.
  static void meanLoss(func::FuncOp function) {
    Operation *terminator = function.getBody().front().getTerminator();
    InsertionRecorder recorder;
    OpBuilder builder(terminator, &recorder);
    llvm::SmallVector<Value> means = TrainDerivative::meansOf(terminator, builder);
    if (means.size() == 2)
      means[0] = model::DivideOp::create(builder, function.getLoc(), means[0], means[1]);
    terminator->setOperands(means);
    setUpdatePhase(recorder.created);
  }
};

} // namespace
