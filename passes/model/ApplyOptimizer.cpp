//===- ApplyOptimizer.cpp - model-apply-optimizer -----------------------------------------------===//

#include "passes/model/Common.h"
#include "passes/model/Passes.h"
#include "passes/recipe/RecipeAttr.h"

namespace sluice {
#define GEN_PASS_DEF_APPLYOPTIMIZER
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

/// The update of one train function.
class Update {
public:
  Update(func::FuncOp function, const Recipe &recipe)
      : function(function), recipe(recipe), builder(function.getContext(), &recorder), location(function.getLoc()),
        scalar(RankedTensorType::get({}, builder.getF32Type())) {}

  unsigned run(const llvm::StringSet<> &withoutDecay) {
    Block &body = function.getBody().front();
    Operation *terminator = body.getTerminator();
    llvm::StringMap<Value> gradientOf;
    llvm::SmallVector<Value> gradients;
    builder.setInsertionPoint(terminator);
    auto module = function->getParentOfType<ModuleOp>();
    SymbolTable symbols(module);
    for (auto gradient : llvm::to_vector(body.getOps<model::GradientOp>())) {
      // The optimizer adds in the parameter's precision.
      auto parameter = symbols.lookup<model::ParameterOp>(gradient.getParameter());
      Type element = cast<RankedTensorType>(parameter.getType()).getElementType();
      if (element.isF64())
        scalar = scalar.clone(element);
      Value value = inElement(gradient.getMean(), element);
      gradientOf[gradient.getParameter()] = value;
      gradients.push_back(value);
    }
    lr = addInput(function, scalar, "lr");
    step = findInput(function, "step");
    if (!step)
      step = addInput(function, RankedTensorType::get({}, builder.getI64Type()), "step");

    Value loss = terminator->getOperand(0);
    if (terminator->getNumOperands() == 2)
      loss = divideByCount(terminator);
    std::optional<double> clipNorm = recipe.gradient.clipNorm;
    FloatAttr p = builder.getF64FloatAttr(clipNorm ? recipe.gradient.clipType : 2.0);
    Value sum = model::PowerSumOp::create(builder, location, TypeRange{scalar}, ValueRange(gradients), p).getResult();
    Value norm = unscaled(model::NormRootOp::create(builder, location, scalar, sum, p).getNorm());
    if (clipNorm)
      coefficient =
          model::ClipCoefficientOp::create(builder, location, scalar, norm, builder.getF64FloatAttr(*clipNorm))
              .getCoefficient();
    else
      coefficient = model::ConstantOp::create(builder, location, scalar, builder.getF64FloatAttr(1.0)).getResult();
    coefficient = unscaled(coefficient);
    auto flag = RankedTensorType::get({}, builder.getIntegerType(8, /*isSigned=*/false));
    guard = model::AllFiniteOp::create(builder, location, TypeRange{flag}, ValueRange{loss, norm}).getGuard();

    unsigned updates = 0;
    for (auto parameter : module.getOps<model::ParameterOp>())
      if (Value gradient = gradientOf.lookup(parameter.getSymName())) {
        location = parameter.getLoc();
        update(parameter, gradient, !withoutDecay.contains(parameter.getSymName()));
        ++updates;
      }

    returnAlso(norm, "grad_norm");
    returnAlso(guard, "guard");
    for (Operation *op : recorder.made) {
      model::setPhase(op, Phase::update);
      op->setAttr(model::blockName, builder.getStringAttr(""));
    }
    return updates;
  }

private:
  func::FuncOp function;
  const Recipe &recipe;
  InsertionRecorder recorder;
  OpBuilder builder;
  Location location;
  RankedTensorType scalar;
  Value lr, step, coefficient, guard;
  /// The mean number of counted targets, if gradients are those of sums; else null.
  Value count;

  Value inElement(Value value, Type element) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getElementType() == element
               ? value
               : model::CastOp::create(builder, value.getLoc(), type.clone(element), value).getResult();
  }

  /// The mean over all counted targets of the step, from the mean of sums.
  Value divideByCount(Operation *terminator) {
    Value mean = terminator->getOperand(1);
    Value loss = model::DivideOp::create(builder, location, terminator->getOperand(0), mean).getResult();
    count = inElement(mean, scalar.getElementType());
    terminator->setOperand(0, loss);
    terminator->eraseOperand(1);
    (void)function.eraseResult(1);
    return loss;
  }

  /// A number that is linear in the gradients, without loss scale and count.
  Value unscaled(Value value) {
    if (count)
      value = model::DivideOp::create(builder, location, value, count).getResult();
    if (Value scale = findInput(function, "loss_scale"))
      value = model::DivideOp::create(builder, location, value, inElement(scale, scalar.getElementType())).getResult();
    else if (auto *constant = std::get_if<double>(&recipe.precision.lossScale))
      value =
          model::ScaleOp::create(builder, location, scalar, value, builder.getF64FloatAttr(1 / *constant)).getResult();
    return value;
  }

  void returnAlso(Value value, llvm::StringRef name) {
    Operation *terminator = function.getBody().front().getTerminator();
    auto attributes = builder.getDictionaryAttr(builder.getNamedAttr(model::outputName, builder.getStringAttr(name)));
    (void)function.insertResult(function.getNumResults(), value.getType(), attributes);
    terminator->insertOperands(terminator->getNumOperands(), value);
  }

  Value readOf(model::ParameterOp parameter, llvm::StringRef state) {
    return model::ReadOp::create(builder, location, parameter.getType(),
                                 FlatSymbolRefAttr::get(parameter.getSymNameAttr()),
                                 state.empty() ? StringAttr() : builder.getStringAttr(state))
        .getValue();
  }

  void write(model::ParameterOp parameter, llvm::StringRef state, Value value) {
    model::WriteOp::create(builder, location, FlatSymbolRefAttr::get(parameter.getSymNameAttr()),
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
    Operation *op = optimizer.build(builder, location, operands, settings);
    write(parameter, "", op->getResult(0));
    for (auto [index, state] : llvm::enumerate(states))
      write(parameter, state, op->getResult(1 + index));
  }
};

struct ApplyOptimizerPass : sluice::impl::ApplyOptimizerBase<ApplyOptimizerPass> {
  using ApplyOptimizerBase::ApplyOptimizerBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe =
        recipeFor(getOperation(), optimizerName, hyperParameters, noDecay, clipNorm, clipType, lossScale);
    if (failed(recipe))
      return signalPassFailure();
    auto withoutDecay = parametersMatching(getOperation(), recipe->optimizer.noDecay, "optimizer.no_decay");
    if (failed(withoutDecay))
      return signalPassFailure();
    for (func::FuncOp function : entryFunctions(getOperation(), EntryKind::train)) {
      if (hasPhase(function, Phase::update))
        continue;
      if (function.getBody().front().getOps<model::GradientOp>().empty()) {
        function.emitError("function '@") << function.getName() << "' has no gradients";
        return signalPassFailure();
      }
      updates += Update(function, *recipe).run(*withoutDecay);
    }
  }
};

} // namespace
