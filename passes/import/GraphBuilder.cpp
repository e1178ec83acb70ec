//===- GraphBuilder.cpp - helpers of the model families ----------------------------------===//

#include "passes/import/GraphBuilder.h"

#include "dialect/model/Attributes.h"

#include "passes/import/DroppedAttention.h"

using namespace mlir;
using namespace sluice;

OwningOpRef<ModuleOp> GraphBuilder::build(llvm::StringRef name, llvm::StringRef configText) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(at(""));
  module.get()->setAttr(model::nameName, builder.getStringAttr(name));
  module.get()->setAttr(model::configName, builder.getStringAttr(configText));
  module.get()->setAttr(model::batchName, builder.getI64IntegerAttr(batch));
  module.get()->setAttr(model::sequenceName, builder.getI64IntegerAttr(sequence));
  builder.setInsertionPointToStart(module->getBody());
  declareParameters();
  buildTrainStep();
  builder.setInsertionPointToEnd(module->getBody());
  if (!trainOnly)
    buildLogits();
  return module;
}

Location GraphBuilder::at(llvm::StringRef path) {
  return NameLoc::get(builder.getStringAttr(path.empty() ? "model" : path));
}

RankedTensorType GraphBuilder::tensor(llvm::ArrayRef<std::int64_t> shape) {
  return RankedTensorType::get(shape, builder.getF32Type());
}

void GraphBuilder::declare(const llvm::Twine &twine, llvm::ArrayRef<std::int64_t> shape, llvm::StringRef init,
                           double deviation, llvm::StringRef alias, std::optional<std::int64_t> padding) {
  std::string name = twine.str();
  parameters[name] = tensor(shape);
  ArrayAttr aliases = alias.empty() ? ArrayAttr() : builder.getStrArrayAttr({alias});
  model::ParameterOp::create(builder, at(name), builder.getStringAttr(name), TypeAttr::get(tensor(shape)),
                             builder.getAttr<model::InitializerKindAttr>(*symbolizeInitializerKind(init)),
                             builder.getF64FloatAttr(0.0), builder.getF64FloatAttr(deviation), aliases,
                             /*frozen=*/UnitAttr(), padding ? builder.getI64IntegerAttr(*padding) : IntegerAttr());
}

Value GraphBuilder::read(const llvm::Twine &twine) {
  std::string name = twine.str();
  return model::ReadOp::create(builder, location, parameters.at(name),
                               FlatSymbolRefAttr::get(builder.getContext(), name), StringAttr())
      .getValue();
}

Value GraphBuilder::reshape(Value value, llvm::ArrayRef<std::int64_t> shape) {
  return model::ReshapeOp::create(builder, location, tensor(shape), value).getResult();
}

Value GraphBuilder::add(llvm::StringRef name, Value a, Value b) {
  location = at(name);
  return model::AddOp::create(builder, location, a, b).getResult();
}

Value GraphBuilder::drop(Value x, double rate) {
  if (!row || rate == 0)
    return x;
  return model::DropoutOp::create(builder, location, x, seed, step, row, builder.getF64FloatAttr(rate),
                                  builder.getI64IntegerAttr(nextKey++))
      .getY();
}

Value GraphBuilder::attend(Value q, Value k, Value v, double scale, std::int64_t window, double dropout) {
  // A window of the whole sequence is no window.
  if (window >= sequence)
    window = 0;
  if (row && dropout != 0)
    return buildDroppedAttention(builder, location, q, k, v, scale, {/*causal=*/true, window},
                                 [&](Value weights) { return drop(weights, dropout); });
  return model::AttentionOp::create(builder, location, q, k, v, builder.getF64FloatAttr(scale), builder.getUnitAttr(),
                                    window > 0 ? builder.getI64IntegerAttr(window) : IntegerAttr())
      .getOut();
}

Value GraphBuilder::block(llvm::StringRef name, Type result, llvm::function_ref<Value()> body) {
  OpBuilder::InsertionGuard guard(builder);
  auto region = model::BlockOp::create(builder, at(name), TypeRange{result}, builder.getStringAttr(name));
  builder.createBlock(&region.getBody());
  Value out = body();
  model::YieldOp::create(builder, location, ValueRange{out});
  return region.getResults()[0];
}

func::FuncOp GraphBuilder::function(llvm::StringRef name, EntryKind kind, llvm::ArrayRef<llvm::StringRef> inputs,
                                    Type result, llvm::StringRef output) {
  Type tokens = RankedTensorType::get({batch, sequence}, builder.getI32Type());
  llvm::SmallVector<Type> types(inputs.size(), tokens);
  auto made = func::FuncOp::create(builder, at(""), name, builder.getFunctionType(types, {result}));
  made->setAttr(model::entryName, builder.getAttr<model::EntryKindAttr>(kind));
  for (auto [index, input] : llvm::enumerate(inputs)) {
    made.setArgAttr(index, model::inputName, builder.getStringAttr(input));
    made.setArgAttr(index, model::limitName, builder.getI64IntegerAttr(vocabulary));
  }
  made.setResultAttr(0, model::outputName, builder.getStringAttr(output));
  builder.setInsertionPointToStart(made.addEntryBlock());
  return made;
}

void GraphBuilder::addStepInputs(func::FuncOp function) {
  Type scalar = RankedTensorType::get({}, builder.getI64Type());
  for (auto [name, value] : {std::pair("seed", &seed), {"step", &step}, {"row", &row}}) {
    auto attributes = builder.getDictionaryAttr(builder.getNamedAttr(model::inputName, builder.getStringAttr(name)));
    unsigned index = function.getNumArguments();
    (void)function.insertArgument(index, scalar, attributes, location);
    *value = function.getArgument(index);
  }
}

void GraphBuilder::buildTrainStep() {
  func::FuncOp made = function("train_step", EntryKind::train, {"tokens", "targets"}, tensor({}), "loss");
  if (drops())
    addStepInputs(made);
  Value logits = forward(made.getArgument(0));
  seed = step = row = Value();
  location = at("loss");
  Value loss = model::CrossEntropyOp::create(builder, location, logits, made.getArgument(1),
                                             builder.getAttr<model::LossReductionAttr>(LossReduction::mean),
                                             builder.getI64IntegerAttr(-100), FloatAttr())
                   .getLoss();
  func::ReturnOp::create(builder, location, ValueRange{loss});
}

void GraphBuilder::buildLogits() {
  func::FuncOp made =
      function("logits", EntryKind::forward, {"tokens"}, tensor({batch, sequence, vocabulary}), "logits");
  Value logits = forward(made.getArgument(0));
  func::ReturnOp::create(builder, location, ValueRange{logits});
}
