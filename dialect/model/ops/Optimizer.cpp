//===- Optimizer.cpp - optimizer updates ----------------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

static SmallVector<StringRef> sgdStates(double momentum) {
  return momentum == 0 ? SmallVector<StringRef>() : SmallVector<StringRef>{"momentum_buffer"};
}
/// The names of the states that an update has for each parameter.
static SmallVector<StringRef> statesOf(SgdOp op) { return sgdStates(op.getMomentum().convertToDouble()); }
template <typename OpT> static SmallVector<StringRef> statesOf(OpT) { return OpT::getStateNames({}); }

/// Operands and results of one parameter of an update.
struct UpdatedParameter {
  ValueRange values, updated;
};
template <typename OpT> static SmallVector<UpdatedParameter> parametersOf(OpT op) {
  const unsigned states = statesOf(op).size();
  SmallVector<UpdatedParameter> parameters;
  for (unsigned i = 0; i < op.getUpdated().size() / (1 + states); ++i)
    parameters.push_back(
        {op.getValues().slice(i * (2 + states), 2 + states), op.getUpdated().slice(i * (1 + states), 1 + states)});
  return parameters;
}

//===----------------------------------------------------------------------===//
// Settings of the recipe
//===----------------------------------------------------------------------===//

static HyperParameter weightDecay(double defaultValue) { return {weightDecayName.str(), defaultValue, "weight decay"}; }

/// The operation; each result has the type of the parameter.
template <typename OpT, typename... Settings>
static Operation *makeUpdateOp(ImplicitLocOpBuilder &builder, const UpdateOperands &operands, unsigned states,
                               Settings... settings) {
  SmallVector<Type> types(1 + states, operands.values[0].getType());
  return OpT::create(builder, types, operands.values, operands.lr, operands.step, operands.coefficient, operands.guard,
                     settings...);
}

std::vector<HyperParameter> SgdOp::getHyperParameters() {
  return {weightDecay(0), {"momentum", 0.0, "momentum"}, {"nesterov", false, "Nesterov momentum"}};
}
SmallVector<StringRef> SgdOp::getStateNames(const OptimizerSettings &settings) {
  return sgdStates(settings.number("momentum"));
}
std::optional<SettingsConflict> SgdOp::findConflict(const OptimizerSettings &settings) {
  if (settings.flag("nesterov") && settings.number("momentum") == 0)
    return SettingsConflict{"nesterov", "expected 'optimizer.momentum' above 0 but got 0"};
  return std::nullopt;
}
Operation *SgdOp::buildUpdate(ImplicitLocOpBuilder &builder, const UpdateOperands &operands,
                              const OptimizerSettings &settings) {
  return makeUpdateOp<SgdOp>(
      builder, operands, getStateNames(settings).size(), builder.getF64FloatAttr(settings.number("momentum")),
      builder.getF64FloatAttr(settings.number(weightDecayName)), builder.getBoolAttr(settings.flag("nesterov")));
}

static std::vector<HyperParameter> adamParameters(double decay) {
  return {{"betas", std::vector<double>{0.9, 0.999}, "decay of the two moments"},
          {"eps", 1e-8, "added to the denominator"},
          weightDecay(decay)};
}
template <typename OpT>
static Operation *buildAdamLike(ImplicitLocOpBuilder &builder, const UpdateOperands &operands,
                                const OptimizerSettings &settings) {
  auto number = [&](double value) { return builder.getF64FloatAttr(value); };
  const std::vector<double> &betas = settings.numbers("betas");
  return makeUpdateOp<OpT>(builder, operands, 2, number(betas[0]), number(betas[1]), number(settings.number("eps")),
                           number(settings.number(weightDecayName)));
}

std::vector<HyperParameter> AdamOp::getHyperParameters() { return adamParameters(0); }
std::vector<HyperParameter> AdamwOp::getHyperParameters() { return adamParameters(0.01); }
SmallVector<StringRef> AdamOp::getStateNames(const OptimizerSettings &) { return {"exp_avg", "exp_avg_sq"}; }
SmallVector<StringRef> AdamwOp::getStateNames(const OptimizerSettings &) { return {"exp_avg", "exp_avg_sq"}; }
Operation *AdamOp::buildUpdate(ImplicitLocOpBuilder &builder, const UpdateOperands &operands,
                               const OptimizerSettings &settings) {
  return buildAdamLike<AdamOp>(builder, operands, settings);
}
Operation *AdamwOp::buildUpdate(ImplicitLocOpBuilder &builder, const UpdateOperands &operands,
                                const OptimizerSettings &settings) {
  return buildAdamLike<AdamwOp>(builder, operands, settings);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

template <typename OpT> static LogicalResult verifyUpdate(OpT op) {
  // update_c1
  const SmallVector<StringRef> names = statesOf(op);
  const unsigned states = names.size(), values = op.getValues().size(), updated = op.getUpdated().size();
  if (updated == 0 || updated % (1 + states) != 0 || values != updated / (1 + states) * (2 + states))
    return op.emitOpError() << "lists do not fit, expected " << 2 + states << " operands and " << 1 + states
                            << (states == 0 ? " result" : " results") << " for each parameter but got " << values
                            << " and " << updated;
  // update_c2
  for (const UpdatedParameter &each : parametersOf(op)) {
    Value parameter = each.values[0];
    if (failed(expectLike(op, "gradient", each.values[1], parameter)) ||
        failed(expectLike(op, "new parameter", each.updated[0], parameter)))
      return failure();
    for (unsigned s = 0; s < states; ++s)
      if (failed(expectLike(op, names[s], each.values[2 + s], parameter)) ||
          failed(expectLike(op, ("new " + names[s]).str(), each.updated[1 + s], parameter)))
        return failure();
  }
  return success();
}

LogicalResult SgdOp::verify() {
  // sgd_c1
  if (getNesterov() && getMomentum().isZero())
    return emitOpError("nesterov without momentum, expected momentum more than 0 but got 0");
  return verifyUpdate(*this);
}
LogicalResult AdamOp::verify() { return verifyUpdate(*this); }
LogicalResult AdamwOp::verify() { return verifyUpdate(*this); }

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// `flops` for each element of each parameter.
template <typename OpT> static OpCost updateCost(OpT op, uint64_t flops) {
  uint64_t elements = 0;
  for (const UpdatedParameter &each : parametersOf(op))
    elements += elementsOf(each.values[0]);
  return streamingCost(op, flops * elements);
}

// Per element: coefficient 1, update 2; weight decay 2, momentum 2, nesterov 2 where they are used.
OpCost SgdOp::getCost() {
  return updateCost(*this, 3 + 2 * !getWeightDecay().isZero() + 2 * !getMomentum().isZero() + 2 * getNesterov());
}
// Per element: coefficient 1, weight decay 2, first moment 3, second moment 4, bias corrections and root 3, update 3.
OpCost AdamOp::getCost() { return updateCost(*this, 16); }
OpCost AdamwOp::getCost() { return updateCost(*this, 16); }

} // namespace sluice::model
