//===- ApplyOptimizer.cpp - the update of a train step ------------------------------------------===//

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
  Update(func::FuncOp function, const RecipeView &recipe)
      : function(function), recipe(recipe), builder(function.getContext(), &recorder), location(function.getLoc()),
        scalar(RankedTensorType::get({}, builder.getF32Type())) {}

  unsigned run() {
    Block &body = function.getBody().front();
    Operation *terminator = body.getTerminator();
    llvm::StringMap<Value> gradientOf;
    llvm::SmallVector<Value> gradients;
    builder.setInsertionPoint(terminator);
    for (auto gradient : llvm::to_vector(body.getOps<model::GradientOp>())) {
      Value value = widened(gradient.getMean());
      gradientOf[gradient.getParameter()] = value;
      gradients.push_back(value);
    }
    lr = addInput(scalar, "lr");
    step = addInput(RankedTensorType::get({}, builder.getI64Type()), "step");

    Value loss = terminator->getOperand(0);
    bool clips = recipe.has("gradient.clip_norm");
    FloatAttr p = builder.getF64FloatAttr(clips ? recipe.number("gradient.clip_type") : 2.0);
    Value sum = model::PowerSumOp::create(builder, location, TypeRange{scalar}, ValueRange(gradients), p).getResult();
    Value norm = model::NormRootOp::create(builder, location, scalar, sum, p).getNorm();
    if (clips)
      coefficient = model::ClipCoefficientOp::create(builder, location, scalar, norm,
                                                     builder.getF64FloatAttr(recipe.number("gradient.clip_norm")))
                        .getCoefficient();
    else
      coefficient =
          model::ConstantOp::create(builder, location, scalar, builder.getF64FloatAttr(1.0)).getResult();
    auto flag = RankedTensorType::get({}, builder.getIntegerType(8, /*isSigned=*/false));
    guard = model::AllFiniteOp::create(builder, location, TypeRange{flag}, ValueRange{loss, norm}).getGuard();

    unsigned updates = 0;
    noDecay = recipe.strings("optimizer.no_decay");
    for (auto parameter : function->getParentOfType<ModuleOp>().getOps<model::ParameterOp>())
      if (Value gradient = gradientOf.lookup(parameter.getSymName())) {
        location = parameter.getLoc();
        update(parameter, gradient);
        ++updates;
      }

    returnAlso(norm, "grad_norm");
    returnAlso(guard, "guard");
    for (Operation *op : recorder.made) {
      op->setAttr(names::phase, builder.getStringAttr(phases::update));
      op->setAttr(names::block, builder.getStringAttr(""));
    }
    return updates;
  }

private:
  func::FuncOp function;
  const RecipeView &recipe;
  InsertionRecorder recorder;
  OpBuilder builder;
  Location location;
  RankedTensorType scalar;
  Value lr, step, coefficient, guard;
  std::vector<std::string> noDecay;

  /// The optimizer adds in the parameters' precision.
  Value widened(Value gradient) {
    auto type = cast<RankedTensorType>(gradient.getType());
    if (type.getElementTypeBitWidth() >= 32)
      return gradient;
    return model::CastOp::create(builder, gradient.getLoc(), type.clone(builder.getF32Type()), gradient).getResult();
  }

  Value addInput(Type type, llvm::StringRef name) {
    unsigned index = function.getNumArguments();
    auto attributes = builder.getDictionaryAttr(builder.getNamedAttr(names::input, builder.getStringAttr(name)));
    (void)function.insertArgument(index, type, attributes, function.getLoc());
    return function.getArgument(index);
  }

  void returnAlso(Value value, llvm::StringRef name) {
    Operation *terminator = function.getBody().front().getTerminator();
    auto attributes = builder.getDictionaryAttr(builder.getNamedAttr(names::output, builder.getStringAttr(name)));
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

  void update(model::ParameterOp parameter, Value gradient) {
    std::string name = recipe.string("optimizer.name");
    auto number = [&](llvm::StringRef key) { return builder.getF64FloatAttr(recipe.number(key)); };
    bool decays = llvm::none_of(noDecay, [&](llvm::StringRef glob) { return matchesGlob(glob, parameter.getSymName()); });
    // What a module without a resolved recipe lacks is torch's default of the optimizer.
    double decay = recipe.has("optimizer.weight_decay") ? recipe.number("optimizer.weight_decay")
                                                        : (name == "adamw" ? 0.01 : 0.0);
    FloatAttr weightDecay = builder.getF64FloatAttr(decays ? decay : 0.0);
    Type type = parameter.getType();
    llvm::SmallVector<llvm::StringRef> states;
    if (name == "sgd") {
      if (recipe.number("optimizer.momentum") != 0)
        states.push_back("momentum_buffer");
    } else {
      states = {"exp_avg", "exp_avg_sq"};
    }
    Value value = readOf(parameter, "");
    llvm::SmallVector<Value> old;
    for (llvm::StringRef state : states)
      old.push_back(readOf(parameter, state));

    Operation *op;
    if (name == "sgd") {
      llvm::SmallVector<Type> stateTypes(states.size(), type);
      op = model::SgdOp::create(builder, location, type, stateTypes, value, gradient, old.empty() ? Value() : old[0],
                                lr, step, coefficient, guard, number("optimizer.momentum"), weightDecay,
                                builder.getBoolAttr(recipe.boolean("optimizer.nesterov")));
    } else {
      std::vector<double> betas = recipe.numbers("optimizer.betas");
      FloatAttr beta1 = builder.getF64FloatAttr(betas[0]), beta2 = builder.getF64FloatAttr(betas[1]);
      if (name == "adam")
        op = model::AdamOp::create(builder, location, type, type, type, value, gradient, old[0], old[1], lr, step,
                                   coefficient, guard, beta1, beta2, number("optimizer.eps"), weightDecay);
      else
        op = model::AdamwOp::create(builder, location, type, type, type, value, gradient, old[0], old[1], lr, step,
                                    coefficient, guard, beta1, beta2, number("optimizer.eps"), weightDecay);
    }
    write(parameter, "", op->getResult(0));
    for (auto [index, state] : llvm::enumerate(states))
      write(parameter, state, op->getResult(1 + index));
  }
};

struct ApplyOptimizerPass : sluice::impl::ApplyOptimizerBase<ApplyOptimizerPass> {
  void runOnOperation() override {
    RecipeView recipe(getOperation());
    for (func::FuncOp function : entryFunctions(getOperation(), "train")) {
      if (hasPhase(function, phases::update))
        continue;
      if (function.getBody().front().getOps<model::GradientOp>().empty()) {
        function.emitError("'@") << function.getName() << "' without gradients, expected a differentiated function";
        return signalPassFailure();
      }
      updates += Update(function, recipe).run();
    }
  }
};

} // namespace
