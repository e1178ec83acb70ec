//===- ModelBuilder.cpp - builds the modules of models ------------------------------------===//

#include "passes/import/ModelBuilder.h"

#include <limits>

using namespace mlir;
using namespace sluice;

ModelBuilder::ModelBuilder(Location location, llvm::StringRef name, std::int64_t batch)
    : builder(location, location.getContext()), module(ModuleOp::create(location)), rows(batch),
      declarations(OpBuilder::atBlockBegin(module->getBody())) {
  module.get()->setAttr(model::nameName, builder.getStringAttr(name));
  module.get()->setAttr(model::batchName, builder.getI64IntegerAttr(batch));
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

llvm::SmallVector<Value> ModelBuilder::beginEntry(Location location, llvm::StringRef entry, EntryKind kind,
                                                  llvm::ArrayRef<Input> inputs, Type result, llvm::StringRef output) {
  llvm::SmallVector<Type> types;
  for (const Input &input : inputs) {
    Shape shape = {rows};
    shape.append(input.shape);
    types.push_back(RankedTensorType::get(shape, input.limit ? Type(builder.getI32Type()) : builder.getF32Type()));
  }
  builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(static_cast<OpBuilder &>(builder), location, entry,
                                  builder.getFunctionType(types, {result}));
  function->setAttr(model::entryName, builder.getAttr<model::EntryKindAttr>(kind));
  if (const auto ofModule = module.get()->getAttrOfType<IntegerAttr>(model::batchName); ofModule.getInt() != rows)
    function->setAttr(model::batchName, builder.getI64IntegerAttr(rows));
  for (auto [index, input] : llvm::enumerate(inputs)) {
    function.setArgAttr(index, model::inputName, builder.getStringAttr(input.name));
    if (input.limit)
      function.setArgAttr(index, model::limitName, builder.getI64IntegerAttr(input.limit));
  }
  function.setResultAttr(0, model::outputName, builder.getStringAttr(output));
  builder.setInsertionPointToStart(function.addEntryBlock());
  seed = step = row = Value();
  nextKey = 0;
  return llvm::SmallVector<Value>(function.getArguments());
}

void ModelBuilder::beginDropout() {
  Type scalar = RankedTensorType::get({}, builder.getI64Type());
  for (auto [name, value] : {std::pair("seed", &seed), {"step", &step}, {"row", &row}}) {
    auto attributes = builder.getDictionaryAttr(builder.getNamedAttr(model::inputName, builder.getStringAttr(name)));
    unsigned index = function.getNumArguments();
    (void)function.insertArgument(index, scalar, attributes, builder.getLoc());
    *value = function.getArgument(index);
  }
}

void ModelBuilder::finishEntry(Value output) { func::ReturnOp::create(builder, ValueRange{output}); }

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

/// Builds `body` in the region of an op whose result types are known afterwards.
template <typename Op, typename... Arguments>
static Value buildRegion(ImplicitLocOpBuilder &builder, llvm::function_ref<Value()> body, Arguments... arguments) {
  const Location location = builder.getLoc();
  auto probe = Op::create(builder, TypeRange{}, arguments...);
  Value inner;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&probe.getBody());
    inner = body();
    model::YieldOp::create(builder, ValueRange{inner});
  }
  auto region = Op::create(static_cast<OpBuilder &>(builder), location, TypeRange{inner.getType()}, arguments...);
  region.getBody().takeBody(probe.getBody());
  probe.erase();
  return region.getResults()[0];
}

Value ModelBuilder::block(const llvm::Twine &name, llvm::function_ref<Value()> body) {
  StringAttr attribute = builder.getStringAttr(name);
  at(attribute.getValue());
  return buildRegion<model::BlockOp>(builder, body, attribute);
}

Value ModelBuilder::checkpoint(llvm::function_ref<Value()> body) {
  return buildRegion<model::CheckpointOp>(builder, body);
}

model::ParameterOp ModelBuilder::declareOnce(llvm::StringRef name, RankedTensorType type, Initial initial) {
  if (!parameters.insert({name, type}).second)
    return {};
  return model::ParameterOp::create(
      declarations, locationOf(name), builder.getStringAttr(name), TypeAttr::get(type),
      builder.getAttr<model::InitializerKindAttr>(*symbolizeInitializerKind(initial.kind)),
      builder.getF64FloatAttr(initial.a), builder.getF64FloatAttr(initial.b), /*aliases=*/ArrayAttr(),
      /*frozen=*/UnitAttr(), /*padding=*/IntegerAttr(), /*state=*/UnitAttr());
}

void ModelBuilder::declare(const llvm::Twine &name, llvm::ArrayRef<std::int64_t> shape, Initial initial,
                           llvm::ArrayRef<llvm::StringRef> aliases, std::optional<std::int64_t> padding) {
  model::ParameterOp parameter = declareOnce(name.str(), tensor(shape), initial);
  if (parameter && !aliases.empty())
    parameter.setAliasesAttr(builder.getStrArrayAttr(aliases));
  if (parameter && padding)
    parameter.setPadding(*padding);
}

void ModelBuilder::declareState(const llvm::Twine &name, RankedTensorType type, llvm::StringRef initial) {
  if (model::ParameterOp state = declareOnce(name.str(), type, {initial}))
    state.setState(true);
}

Value ModelBuilder::read(const llvm::Twine &name) {
  StringAttr symbol = builder.getStringAttr(name);
  return model::ReadOp::create(builder, parameters.lookup(symbol), FlatSymbolRefAttr::get(symbol), StringAttr());
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Value ModelBuilder::layerNorm(const llvm::Twine &twine, Value x, bool bias, double epsilon) {
  std::string name = twine.str();
  at(name);
  std::int64_t width = shapeOf(x).back();
  declare(name + ".weight", {width}, {"ones"});
  if (bias)
    declare(name + ".bias", {width}, {"zeros"});
  Value weight = read(name + ".weight");
  Value shift = bias ? read(name + ".bias") : constant(0, {width});
  return model::LayerNormOp::create(builder, x, weight, shift, builder.getF64FloatAttr(epsilon)).getY();
}

Value ModelBuilder::rmsNorm(const llvm::Twine &twine, Value x, double epsilon) {
  std::string name = twine.str();
  at(name);
  declare(name + ".weight", {shapeOf(x).back()}, {"ones"});
  return model::RmsNormOp::create(builder, x, read(name + ".weight"), builder.getF64FloatAttr(epsilon)).getY();
}

Value ModelBuilder::embedding(const llvm::Twine &twine, Value tokens, std::int64_t count, std::int64_t width,
                              std::optional<std::int64_t> padding) {
  std::string name = twine.str();
  at(name);
  declare(name + ".weight", {count, width}, {"normal", 0, 1});
  return model::EmbeddingOp::create(builder, read(name + ".weight"), tokens,
                                    padding ? builder.getI64IntegerAttr(*padding) : IntegerAttr());
}

Value ModelBuilder::matmul(Value a, Value b, bool transposeB) {
  return model::MatmulOp::create(builder, a, b, false, transposeB);
}

Value ModelBuilder::add(Value a, Value b) { return model::AddOp::create(builder, a, b); }

Value ModelBuilder::relu(Value x) { return model::ReluOp::create(builder, x); }

Value ModelBuilder::gelu(Value x, GeluApproximation approximation) {
  return model::GeluOp::create(builder, x, approximation);
}

Value ModelBuilder::reshape(Value x, llvm::ArrayRef<std::int64_t> shape) {
  return model::ReshapeOp::create(builder, tensor(shape), x);
}

Value ModelBuilder::transpose(Value x, llvm::ArrayRef<std::int64_t> permutation) {
  return model::TransposeOp::create(builder, x, builder.getDenseI64ArrayAttr(permutation));
}

Value ModelBuilder::constant(double value, llvm::ArrayRef<std::int64_t> shape) {
  return model::ConstantOp::create(builder, tensor(shape), builder.getF64FloatAttr(value));
}

Value ModelBuilder::sliceRows(Value x, std::int64_t first, std::int64_t count) {
  Shape limit(shapeOf(x)), start(limit.size(), 0), step(limit.size(), 1);
  if (first == 0 && limit.front() == count)
    return x;
  start.front() = first;
  limit.front() = first + count;
  return model::SliceOp::create(builder, x, builder.getDenseI64ArrayAttr(start), builder.getDenseI64ArrayAttr(limit),
                                builder.getDenseI64ArrayAttr(step));
}

Value ModelBuilder::crossEntropy(Value logits, Value targets, LossReduction reduction) {
  return model::CrossEntropyOp::create(builder, logits, targets, builder.getAttr<model::LossReductionAttr>(reduction),
                                       builder.getI64IntegerAttr(-100), /*label_smoothing=*/FloatAttr())
      .getLoss();
}

Value ModelBuilder::dropout(Value x, double rate) {
  if (!row || rate == 0)
    return x;
  return model::DropoutOp::create(builder, x, seed, step, row, builder.getF64FloatAttr(rate),
                                  builder.getI64IntegerAttr(nextKey++));
}

Value ModelBuilder::capped(Value x, double cap) {
  if (cap == 0)
    return x;
  auto scaled = [&](Value value, double factor) -> Value {
    return model::ScaleOp::create(builder, value, builder.getF64FloatAttr(factor));
  };
  return scaled(model::TanhOp::create(builder, scaled(x, 1 / cap)), cap);
}

Value ModelBuilder::attend(Value q, Value k, Value v, double scale, AttentionMask mask, double dropoutRate,
                           double cap) {
  if (cap != 0)
    return attendByParts(q, k, v, scale, mask, dropoutRate, cap);
  const bool drops = row && dropoutRate != 0;
  llvm::SmallVector<Value> options;
  if (mask.documents)
    options.push_back(mask.documents);
  if (drops)
    options.append({seed, step, row});
  return model::AttentionOp::create(builder, q, k, v, options, builder.getF64FloatAttr(scale),
                                    mask.causal ? builder.getUnitAttr() : UnitAttr(),
                                    mask.window > 0 ? builder.getI64IntegerAttr(mask.window) : IntegerAttr(),
                                    /*masked=*/UnitAttr(), /*biased=*/UnitAttr(),
                                    mask.documents ? builder.getUnitAttr() : UnitAttr(),
                                    drops ? builder.getF64FloatAttr(dropoutRate) : FloatAttr(),
                                    drops ? builder.getI64IntegerAttr(nextKey++) : IntegerAttr())
      .getOut();
}

/// As separate ops: model.attention has no cap.
Value ModelBuilder::attendByParts(Value q, Value k, Value v, double scale, AttentionMask mask, double dropoutRate,
                                  double cap) {
  std::int64_t queries = shapeOf(q)[1], heads = shapeOf(q)[2], size = shapeOf(q)[3], keys = shapeOf(k)[1],
               groups = shapeOf(k)[2];
  const auto exchangeHeads = [&](Value value) { return transpose(value, {0, 2, 1, 3}); };
  q = exchangeHeads(q), k = exchangeHeads(k), v = exchangeHeads(v);
  // The heads of a group share its keys and values: they are broadcast along an additional dim.
  if (heads != groups) {
    q = reshape(q, {rows, groups, heads / groups, queries, size});
    k = reshape(k, {rows, groups, 1, keys, size});
    v = reshape(v, {rows, groups, 1, keys, size});
  }
  Value scores = capped(model::ScaleOp::create(builder, matmul(q, k, true), builder.getF64FloatAttr(scale)), cap);
  if (mask.causal) {
    Type i32 = builder.getI32Type();
    auto index = [&](std::int64_t dim) -> Value {
      return model::IotaOp::create(builder, RankedTensorType::get({queries, keys}, i32),
                                   builder.getI64IntegerAttr(dim));
    };
    Value nothing = constant(-std::numeric_limits<double>::infinity(), {});
    Value column = index(1), row = index(0);
    auto keep = [&](Value limit, ComparePredicate predicate) {
      Value seen = model::CompareOp::create(builder, limit, column, predicate);
      scores = model::SelectOp::create(builder, seen, scores, nothing);
    };
    keep(row, ComparePredicate::ge);
    if (mask.window > 0) {
      Value width = model::ConstantOp::create(builder, RankedTensorType::get({}, i32),
                                              builder.getF64FloatAttr(static_cast<double>(mask.window)));
      keep(model::SubtractOp::create(builder, row, width), ComparePredicate::lt);
    }
  }
  if (mask.documents) {
    // Scores have a dim of the groups' heads, if heads share keys.
    const auto along = [&](Shape shape) -> Value {
      if (heads != groups)
        shape.insert(shape.begin() + 1, 1);
      const Type type = RankedTensorType::get(shape, cast<RankedTensorType>(mask.documents.getType()).getElementType());
      return model::ReshapeOp::create(builder, type, mask.documents);
    };
    Value isSame = model::CompareOp::create(builder, along({rows, 1, queries, 1}), along({rows, 1, 1, keys}),
                                            ComparePredicate::eq);
    scores = model::SelectOp::create(builder, isSame, scores, constant(-std::numeric_limits<double>::infinity(), {}));
  }
  Value weights = dropout(model::SoftmaxOp::create(builder, scores), dropoutRate);
  Value out = matmul(weights, v, false);
  return exchangeHeads(heads == groups ? out : reshape(out, {rows, heads, queries, size}));
}
