//===- ApplyOptimizer.cpp - model-apply-optimizer -----------------------------------------------===//

#include "dialect/model/ops/Helpers.h"
#include "passes/model/Common.h"
#include "passes/model/Passes.h"
#include "passes/recipe/RecipeAttr.h"

#include "llvm/ADT/MapVector.h"

namespace sluice {
#define GEN_PASS_DEF_APPLYOPTIMIZER
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// True if the forward ops that read the value, through casts and views, take it as scale or bias, and there are some.
bool isOnlyScaleOrBias(Value value, bool &isRead) {
  for (OpOperand &use : value.getUses()) {
    Operation *op = use.getOwner();
    if (Phase phase = model::phaseOf(op); phase != Phase::forward && phase != Phase::loss)
      continue;
    if (isa<model::CastOp, ViewOpInterface>(op)) {
      if (!llvm::all_of(op->getResults(), [&](Value result) { return isOnlyScaleOrBias(result, isRead); }))
        return false;
      continue;
    }
    auto reader = dyn_cast<ScaleOrBiasOpInterface>(op);
    if (!reader || !reader.isScaleOrBias(use))
      return false;
    isRead = true;
  }
  return true;
}

/// The parameters that the ops of the forward only read as scales and biases.
llvm::StringSet<> scalesAndBiases(ModuleOp module) {
  llvm::StringMap<bool> found;
  for (func::FuncOp function : entryFunctions(module, EntryKind::train))
    function.walk([&](model::ReadOp read) {
      bool isRead = false;
      const bool isOnly = read.getState() || isOnlyScaleOrBias(read.getValue(), isRead);
      if (isRead || !isOnly)
        found.try_emplace(read.getParameter(), true).first->second &= isOnly;
    });
  llvm::StringSet<> names;
  for (const auto &[name, isOnly] : found)
    if (isOnly)
      names.insert(name);
  return names;
}

/// The update of one train function.
class Update {
public:
  Update(func::FuncOp function, const Recipe &recipe)
      : function(function), recipe(recipe), builder(function.getLoc(), function.getContext(), &recorder),
        scalar(RankedTensorType::get({}, builder.getF32Type())) {}

  void run(const llvm::StringSet<> &withoutDecay) {
    Block &body = function.getBody().front();
    Operation *terminator = body.getTerminator();
    llvm::StringMap<Value> gradientOf;
    llvm::SmallVector<Value> gradients;
    builder.setInsertionPoint(terminator);
    auto module = function->getParentOfType<ModuleOp>();
    SymbolTable symbols(module);
    llvm::MapVector<StringAttr, Value> means;
    for (auto gradient : body.getOps<model::GradientOp>()) {
      Value &mean = means[gradient.getParameterAttr().getAttr()];
      mean = mean ? addPass(mean, gradient) : gradient.getMean();
    }
    for (auto [name, mean] : means) {
      // The optimizer adds in the parameter's precision.
      auto parameter = symbols.lookup<model::ParameterOp>(name);
      Type element = cast<RankedTensorType>(parameter.getType()).getElementType();
      if (element.isF64())
        scalar = scalar.clone(element);
      builder.setLoc(mean.getLoc());
      Value value = model::makeCast(builder, mean, element);
      gradientOf[name] = value;
      gradients.push_back(value);
    }
    builder.setLoc(function.getLoc());
    lr = addInput(function, scalar, PortRole::learning_rate);
    step = findInput(function, PortRole::step);
    if (!step)
      step = addInput(function, RankedTensorType::get({}, builder.getI64Type()), PortRole::step);

    Value loss = terminator->getOperand(0);
    if (terminator->getNumOperands() == 2)
      loss = divideByCount(terminator);
    std::optional<double> clipNorm = recipe.gradient.clipNorm;
    FloatAttr p = builder.getF64FloatAttr(clipNorm ? recipe.gradient.clipType : 2.0);
    Value sum = model::PowerSumOp::create(builder, TypeRange{scalar}, ValueRange(gradients), p);
    Value norm = unscaled(model::NormRootOp::create(builder, scalar, sum, p));
    if (clipNorm)
      coefficient = model::ClipCoefficientOp::create(builder, scalar, norm, builder.getF64FloatAttr(*clipNorm));
    else
      coefficient = model::makeConstant(builder, 1.0, scalar);
    coefficient = unscaled(coefficient);
    auto flag = RankedTensorType::get({}, builder.getIntegerType(8, /*isSigned=*/false));
    const bool isGuarded = !recipe.optimizer.inBackward;
    // All numbers that every update reads. A gradient that is not finite has a norm that is not.
    if (isGuarded)
      guard = model::AllFiniteOp::create(builder, TypeRange{flag}, ValueRange{loss, norm, coefficient, lr});
    else
      guard = model::makeConstant(builder, 1.0, flag);

    for (auto parameter : module.getOps<model::ParameterOp>())
      if (Value gradient = gradientOf.lookup(parameter.getSymName())) {
        builder.setLoc(parameter.getLoc());
        update(parameter, gradient, !withoutDecay.contains(parameter.getSymName()));
      }

    addOutput(function, norm, nameOf(PortRole::gradient_norm));
    if (isGuarded)
      addOutput(function, guard, nameOf(PortRole::guard));
    setUpdatePhase(recorder.created);
  }

private:
  func::FuncOp function;
  const Recipe &recipe;
  InsertionRecorder recorder;
  ImplicitLocOpBuilder builder;
  RankedTensorType scalar;
  Value lr, step, coefficient, guard;
  /// The mean number of counted targets, if gradients are those of sums; else null.
  Value count;

  /// Adds the gradient of a later backward pass, in that pass.
  static Value addPass(Value sum, model::GradientOp gradient) {
    OpBuilder builder(gradient.getContext());
    builder.setInsertionPointAfter(gradient);
    auto added = model::AddOp::create(builder, gradient.getLoc(), sum, gradient.getMean());
    added->setDiscardableAttrs(gradient->getDiscardableAttrDictionary());
    return added.getResult();
  }

  /// The mean over all counted targets of the step, from the mean of sums.
  Value divideByCount(Operation *terminator) {
    Value mean = terminator->getOperand(1);
    Value loss = model::DivideOp::create(builder, terminator->getOperand(0), mean);
    count = model::makeCast(builder, mean, scalar.getElementType());
    terminator->setOperand(0, loss);
    terminator->eraseOperand(1);
    (void)function.eraseResult(1);
    return loss;
  }

  /// A number that is linear in the gradients, without loss scale and count.
  Value unscaled(Value value) {
    if (count)
      value = model::DivideOp::create(builder, value, count);
    if (Value scale = findInput(function, PortRole::loss_scale))
      value = model::DivideOp::create(builder, value, model::makeCast(builder, scale, scalar.getElementType()));
    else if (auto *constant = std::get_if<double>(&recipe.precision.lossScale))
      value = model::makeScale(builder, value, 1 / *constant);
    return value;
  }

  Value readOf(model::ParameterOp parameter, llvm::StringRef state) {
    return model::ReadOp::create(builder, parameter.getType(), FlatSymbolRefAttr::get(parameter.getSymNameAttr()),
                                 state.empty() ? StringAttr() : builder.getStringAttr(state));
  }

  void write(model::ParameterOp parameter, llvm::StringRef state, Value value) {
    model::WriteOp::create(builder, FlatSymbolRefAttr::get(parameter.getSymNameAttr()),
                           state.empty() ? StringAttr() : builder.getStringAttr(state), value);
  }

  void update(model::ParameterOp parameter, Value gradient, bool decays) {
    const OptimizerInfo &optimizer = *recipe.optimizer.info();
    OptimizerSettings settings = recipe.optimizer.settings;
    if (auto decay = settings.find(weightDecayName); !decays && decay != settings.end())
      decay->second = 0.0;
    llvm::SmallVector<llvm::StringRef> states = optimizer.states(settings);
    UpdateOperands operands{{readOf(parameter, ""), gradient}, lr, step, coefficient, guard};
    for (llvm::StringRef state : states)
      operands.values.push_back(readOf(parameter, state));
    Operation *op = optimizer.build(builder, operands, settings);
    write(parameter, "", op->getResult(0));
    for (auto [index, state] : llvm::enumerate(states))
      write(parameter, state, op->getResult(1 + index));
  }
};

struct ApplyOptimizerPass : sluice::impl::ApplyOptimizerBase<ApplyOptimizerPass> {
  using ApplyOptimizerBase::ApplyOptimizerBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe =
        recipeFor(getOperation(), optimizerName, hyperParameters, noDecay, inBackward, clipNorm, clipType, lossScale);
    if (failed(recipe))
      return signalPassFailure();
    const auto *globs = std::get_if<Strings>(&recipe->optimizer.noDecay);
    const llvm::StringSet<> withoutDecay =
        globs ? parametersMatching(getOperation(), *globs, "optimizer.no_decay") : scalesAndBiases(getOperation());
    for (func::FuncOp function : entryFunctions(getOperation(), EntryKind::train)) {
      if (hasPhase(function, Phase::update))
        continue;
      if (function.getBody().front().getOps<model::GradientOp>().empty()) {
        function.emitError("function '@") << function.getName() << "' has no gradients";
        return signalPassFailure();
      }
      Update(function, *recipe).run(withoutDecay);
    }
  }
};

} // namespace
