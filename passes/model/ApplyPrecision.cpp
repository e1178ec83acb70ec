//===- ApplyPrecision.cpp - model-apply-precision -----------------------------------------===//

#include "dialect/model/ops/Helpers.h"
#include "passes/model/Common.h"
#include "passes/model/Passes.h"
#include "passes/recipe/ModelUnits.h"
#include "passes/recipe/RecipeAttr.h"

#include <optional>

namespace sluice {
#define GEN_PASS_DEF_APPLYPRECISION
#include "passes/model/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

using model::elementOf;

RankedTensorType withElement(Type type, Type element) { return cast<RankedTensorType>(type).clone(element); }

/// A cast in the block of `like`; outside blocks for null.
Value castTo(OpBuilder &builder, Value value, Type element, Operation *like) {
  auto cast = model::CastOp::create(builder, value.getLoc(), withElement(value.getType(), element), value);
  if (like)
    copyScope(cast.getOperation(), like);
  else
    cast->setAttr(model::blockName, builder.getStringAttr(""));
  return cast;
}

/// The element types of each unit.
class UnitTypes {
public:
  UnitTypes(MLIRContext *context, const Recipe::PrecisionSettings &precision, const ModelUnits *units)
      : context(context), precision(precision), units(units) {}

  /// False where one type is for all units.
  bool byUnit() const { return units != nullptr; }
  /// The unit of an op, or of the parameter that it reads; `root` for null, the producer of an argument.
  llvm::StringRef unitOf(Operation *op) const {
    if (!units)
      return "";
    auto read = dyn_cast_or_null<model::ReadOp>(op);
    return read ? units->ofParameter(read.getParameter()) : op ? units->ofOp(op) : units->root();
  }
  Type compute(llvm::StringRef unit) const { return elementType(context, precision.compute.at(unit)); }
  /// The type in which other units read values of the unit; null: as they are.
  Type output(llvm::StringRef unit) const {
    const Precision *found = precision.output.table ? findByName(*precision.output.table, unit) : nullptr;
    return found ? elementType(context, *found) : Type();
  }

private:
  MLIRContext *context;
  const Recipe::PrecisionSettings &precision;
  const ModelUnits *units;
};

struct Converter {
  /// The replaced element type.
  Type from;
  const UnitTypes &types;
  SymbolTable &symbols;
  /// Casts where a value leaves or enters a unit, by type and by the unit and invocation that reads it.
  llvm::DenseMap<std::tuple<Value, Type, std::pair<llvm::StringRef, std::int64_t>>, Value> casts{};

  /// Inputs of another precision are cast once, before all ops.
  void castInputs(func::FuncOp function) {
    Type to = types.compute(types.unitOf(nullptr));
    OpBuilder builder(function.getContext());
    builder.setInsertionPointToStart(&function.getBody().front());
    for (BlockArgument argument : function.getArguments()) {
      bool isCast = llvm::all_of(argument.getUsers(), [&](Operation *user) {
        auto cast = dyn_cast<model::CastOp>(user);
        return cast && elementOf(cast.getResult()) == to;
      });
      if (elementOf(argument) != from || isCast)
        continue;
      Value converted = castTo(builder, argument, to, nullptr);
      argument.replaceAllUsesExcept(converted, converted.getDefiningOp());
    }
  }

  /// Float operands that had one element type and no longer do are cast to the wider of the two.
  void reconcile(Operation &op, ArrayRef<Type> before) {
    OpBuilder builder(&op);
    Type widest;
    for (Value operand : op.getOperands())
      if (auto element = dyn_cast<FloatType>(elementOf(operand)))
        if (!widest || element.getIntOrFloatBitWidth() > widest.getIntOrFloatBitWidth())
          widest = element;
    for (OpOperand &operand : op.getOpOperands())
      if (before[operand.getOperandNumber()] == from && elementOf(operand.get()) != widest)
        operand.set(castTo(builder, operand.get(), widest, &op));
  }

  /// The value in another type, by one cast for a unit: after its op in its own unit, else before `reader`.
  Value castBetweenUnits(Value value, Type element, Operation *reader, llvm::StringRef unit) {
    Operation *producer = value.getDefiningOp();
    Operation *like = reader ? reader : producer;
    Value &cast = casts[{value, element, {unit, model::invocationOf(like)}}];
    if (!cast) {
      OpBuilder builder(like);
      if (!reader)
        builder.setInsertionPointAfter(producer);
      cast = castTo(builder, value, element, like);
      if (Attribute invocation = like->getAttr(model::invocationName))
        cast.getDefiningOp()->setAttr(model::invocationName, invocation);
    }
    return cast;
  }

  /// A value that leaves its unit, in the unit's output type.
  Value leaving(Value value) {
    Operation *producer = value.getDefiningOp();
    Type output = producer && !isa<model::ReadOp>(producer) ? types.output(types.unitOf(producer)) : Type();
    return output && output != elementOf(value) ? castBetweenUnits(value, output, nullptr, types.unitOf(producer))
                                                : value;
  }

  /// A running statistic, which is in no unit.
  bool readsState(Operation *op) const {
    auto read = dyn_cast_or_null<model::ReadOp>(op);
    auto parameter = read ? symbols.lookup<model::ParameterOp>(read.getParameter()) : model::ParameterOp();
    return parameter && parameter.isState();
  }

  /// Values of other units have the type of the unit that reads them.
  void castOperands(Operation &op, llvm::DenseMap<Value, Type> &elementBefore) {
    llvm::StringRef unit = types.unitOf(&op);
    Type to = types.compute(unit);
    for (OpOperand &operand : op.getOpOperands()) {
      Operation *producer = operand.get().getDefiningOp();
      llvm::StringRef source = types.unitOf(producer);
      if (source == unit || elementBefore.lookup(operand.get()) != from || readsState(producer))
        continue;
      Value value = leaving(operand.get());
      const bool differs = value != operand.get() || types.compute(source) != to;
      if (differs && elementOf(value) != to && !isa<model::CastOp>(op))
        value = castBetweenUnits(value, to, &op, unit);
      elementBefore[value] = from;
      operand.set(value);
    }
  }

  LogicalResult convert(Operation &op, llvm::DenseMap<Value, Type> &elementBefore) {
    Type to = types.compute(types.unitOf(&op));
    if (types.byUnit())
      castOperands(op, elementBefore);
    auto before = llvm::map_to_vector(op.getOperands(), [&](Value operand) { return elementBefore.lookup(operand); });
    for (Value result : op.getResults())
      elementBefore[result] = elementOf(result);

    if (auto read = dyn_cast<model::ReadOp>(op)) {
      auto parameter = symbols.lookup<model::ParameterOp>(read.getParameter());
      // A state has the type of the statistics that are added to it.
      if (parameter && parameter.isState()) {
        read.getValue().setType(parameter.getType());
        return success();
      }
      if (elementOf(read.getValue()) == from)
        read.getValue().setType(withElement(read.getValue().getType(), to));
      return success();
    }
    auto precision = dyn_cast<PrecisionOpInterface>(op);
    if (precision && precision.keepsResultTypes())
      return success();
    // Operands that the op requires in another type (f32 statistics of bf16 values) are not cast.
    bool oneType = llvm::all_of(op.getOperands(), [&](Value operand) {
      return !isa<FloatType>(elementOf(operand)) || elementBefore.lookup(operand) == from;
    });
    if (oneType)
      reconcile(op, before);

    if (auto infer = dyn_cast<InferTypeOpInterface>(op)) {
      SmallVector<Type> types;
      if (failed(infer.inferReturnTypes(op.getContext(), op.getLoc(), op.getOperands(), op.getAttrDictionary(),
                                        op.getPropertiesStorage(), op.getRegions(), types)))
        return op.emitError("cannot have its result types in precision ") << to;
      for (auto [result, type] : llvm::zip(op.getResults(), types))
        result.setType(type);
      return success();
    }
    const auto floats = llvm::make_filter_range(op.getOperands(), model::isFloat);
    Type element = floats.empty() ? to : elementOf(*floats.begin());
    for (Value result : op.getResults())
      if (elementOf(result) == from)
        result.setType(withElement(result.getType(), element));
    return success();
  }

  LogicalResult convert(func::FuncOp function) {
    castInputs(function);
    llvm::DenseMap<Value, Type> elementBefore;
    for (BlockArgument argument : function.getArguments())
      elementBefore[argument] = elementOf(argument);
    Block &body = function.getBody().front();
    for (Operation &op : body.without_terminator()) {
      // The cast of an input replaces the input.
      if (auto cast = dyn_cast<model::CastOp>(op); cast && isa<BlockArgument>(cast.getOperand()))
        elementBefore[cast.getResult()] = elementOf(cast.getOperand());
      else if (failed(convert(op, elementBefore)))
        return failure();
    }
    if (types.byUnit())
      for (OpOperand &operand : body.getTerminator()->getOpOperands())
        if (elementBefore.lookup(operand.get()) == from &&
            types.unitOf(operand.get().getDefiningOp()) != types.unitOf(nullptr))
          operand.set(leaving(operand.get()));
    return success();
  }
};

/// Float results of the function have the element type `output`; losses have no less than f32.
void castResults(func::FuncOp function, Type output) {
  Operation *terminator = function.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  bool hasLoss = model::entryOf(function) != EntryKind::forward;
  llvm::SmallVector<Type> types;
  for (auto [operand, declared] : llvm::zip(terminator->getOpOperands(), function.getResultTypes())) {
    Type type = declared;
    if (cast<ShapedType>(type).getElementType().isF32() && !(hasLoss && output.getIntOrFloatBitWidth() < 32))
      type = withElement(type, output);
    if (operand.get().getType() != type)
      operand.set(
          castTo(builder, operand.get(), cast<ShapedType>(type).getElementType(), operand.get().getDefiningOp()));
    types.push_back(type);
  }
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), types));
}

struct ApplyPrecisionPass : sluice::impl::ApplyPrecisionBase<ApplyPrecisionPass> {
  using ApplyPrecisionBase::ApplyPrecisionBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe =
        recipeFor(getOperation(), computeType, reduceType, parameterType, outputType, shardingUnits);
    if (failed(recipe))
      return signalPassFailure();
    const Recipe::PrecisionSettings &precision = recipe->precision;
    SymbolTable symbols(getOperation());
    std::optional<ModelUnits> units;
    if (precision.compute.table || precision.reduce.table || precision.output.table) {
      units.emplace(getOperation(), recipe->sharding);
      if (failed(checkNames(*recipe, units->plan())))
        return signalPassFailure();
    }
    UnitTypes types(&getContext(), precision, units ? &*units : nullptr);
    Type single = Float32Type::get(&getContext()), compute = types.compute(types.unitOf(nullptr));
    for (auto parameter : getOperation().getOps<model::ParameterOp>())
      if (cast<RankedTensorType>(parameter.getType()).getElementType() == single) {
        Type kept = elementType(&getContext(), precision.parameter), statistics = compute.isF64() ? compute : single;
        parameter.setType(withElement(parameter.getType(), parameter.isState() ? statistics : kept));
      }
    for (func::FuncOp function : entryFunctions(getOperation())) {
      // A function with phases has its precision already.
      if (hasPhase(function, Phase::forward) || hasPhase(function, Phase::loss))
        continue;
      Converter converter{single, types, symbols};
      if ((types.byUnit() || compute != single) && failed(converter.convert(function)))
        return signalPassFailure();
      castResults(function, elementType(&getContext(), precision.output.at(types.unitOf(nullptr))));
    }
  }

  /// spmd-assign-units reports an error of the units.
  LogicalResult checkNames(const Recipe &recipe, const UnitPlan &plan) {
    if (!plan.error.empty())
      return success();
    for (llvm::StringRef key : {"precision.compute", "precision.reduce", "precision.output"})
      if (Status status = recipe.checkNames(key, "unit", plan.units); !status.isOk())
        return emitError(UnknownLoc::get(&getContext())) << status.message();
    return success();
  }
};

} // namespace
