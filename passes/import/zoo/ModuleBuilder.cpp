//===- ModuleBuilder.cpp - modules of the zoo -----------------------------------------------===//

#include "passes/import/zoo/ModuleBuilder.h"

#include "dialect/model/Attributes.h"

#include "passes/import/DroppedAttention.h"

#include <cmath>

using namespace mlir;
using namespace sluice;
using namespace sluice::zoo;

Initial zoo::evenly(double bound) { return {"uniform", -bound, bound}; }

ModuleBuilder::ModuleBuilder(MLIRContext *context, llvm::StringRef name, std::int64_t batch, llvm::StringRef loss)
    : location(NameLoc::get(StringAttr::get(context, name))), builder(context), rows(batch), lossName(loss),
      module(ModuleOp::create(location)), declarations(context) {
  module.get()->setAttr(model::nameName, builder.getStringAttr(name));
  module.get()->setAttr(model::batchName, builder.getI64IntegerAttr(batch));
  declarations.setInsertionPointToStart(module->getBody());
}

void ModuleBuilder::at(const llvm::Twine &path) { location = NameLoc::get(builder.getStringAttr(path)); }

RankedTensorType ModuleBuilder::tensor(llvm::ArrayRef<std::int64_t> shape) {
  return RankedTensorType::get(shape, builder.getF32Type());
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

llvm::SmallVector<Value> ModuleBuilder::beginTrain(llvm::StringRef entry, llvm::ArrayRef<Input> inputs) {
  llvm::SmallVector<Type> types;
  for (const Input &input : inputs) {
    Shape shape = {rows};
    shape.append(input.shape);
    types.push_back(RankedTensorType::get(shape, input.limit ? Type(builder.getI32Type()) : builder.getF32Type()));
  }
  builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(builder, location, entry, builder.getFunctionType(types, {tensor({})}));
  function->setAttr(model::entryName, builder.getAttr<model::EntryKindAttr>(EntryKind::train));
  for (auto [index, input] : llvm::enumerate(inputs)) {
    function.setArgAttr(index, model::inputName, builder.getStringAttr(input.name));
    if (input.limit)
      function.setArgAttr(index, model::limitName, builder.getI64IntegerAttr(input.limit));
  }
  function.setResultAttr(0, model::outputName, builder.getStringAttr("loss"));
  builder.setInsertionPointToStart(function.addEntryBlock());
  return llvm::SmallVector<Value>(function.getArguments());
}

void ModuleBuilder::beginDropout(double rate) {
  dropoutRate = rate;
  if (rate == 0)
    return;
  Type scalar = RankedTensorType::get({}, builder.getI64Type());
  for (auto [name, value] : {std::pair("seed", &seed), {"step", &step}, {"row", &row}}) {
    auto attributes = builder.getDictionaryAttr(builder.getNamedAttr(model::inputName, builder.getStringAttr(name)));
    unsigned index = function.getNumArguments();
    (void)function.insertArgument(index, scalar, attributes, location);
    *value = function.getArgument(index);
  }
}

void ModuleBuilder::finishTrain(llvm::ArrayRef<Value> outputs) {
  at("loss");
  Value total;
  std::int64_t count = 0;
  for (Value output : outputs) {
    Value part = sum(lossName == "first-row-square" ? firstRows(output, 1) : output);
    total = total ? add(total, part) : part;
    count += cast<RankedTensorType>(output.getType()).getNumElements();
  }
  if (lossName == "first-row-square")
    total = model::MultiplyOp::create(builder, location, total, total).getResult();
  if (lossName == "mean")
    total = model::ScaleOp::create(builder, location, total, builder.getF64FloatAttr(1.0 / static_cast<double>(count)))
                .getResult();
  finishLoss(total);
}

void ModuleBuilder::finishLoss(Value loss) { func::ReturnOp::create(builder, location, ValueRange{loss}); }

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

/// Builds `body` in the region of an op whose result types are known afterwards.
template <typename Op, typename... Arguments>
static Value buildRegion(OpBuilder &builder, Location location, llvm::function_ref<Value()> body,
                         Arguments... arguments) {
  auto probe = Op::create(builder, location, TypeRange{}, arguments...);
  Value inner;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&probe.getBody());
    inner = body();
    model::YieldOp::create(builder, inner.getLoc(), ValueRange{inner});
  }
  auto made = Op::create(builder, location, TypeRange{inner.getType()}, arguments...);
  made.getBody().takeBody(probe.getBody());
  probe.erase();
  return made.getResults()[0];
}

Value ModuleBuilder::block(const llvm::Twine &twine, llvm::function_ref<Value()> body) {
  std::string name = twine.str();
  at(name);
  return buildRegion<model::BlockOp>(builder, location, body, builder.getStringAttr(name));
}

Value ModuleBuilder::checkpoint(llvm::function_ref<Value()> body) {
  return buildRegion<model::CheckpointOp>(builder, location, body);
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

void ModuleBuilder::declare(const llvm::Twine &twine, llvm::ArrayRef<std::int64_t> shape, Initial initial,
                            llvm::StringRef alias) {
  std::string name = twine.str();
  if (!parameters.insert({name, tensor(shape)}).second)
    return;
  ArrayAttr aliases = alias.empty() ? ArrayAttr() : builder.getStrArrayAttr({alias});
  Location place = NameLoc::get(builder.getStringAttr(name));
  model::ParameterOp::create(declarations, place, builder.getStringAttr(name), TypeAttr::get(tensor(shape)),
                             builder.getAttr<model::InitializerKindAttr>(*symbolizeInitializerKind(initial.kind)),
                             builder.getF64FloatAttr(initial.a), builder.getF64FloatAttr(initial.b), aliases,
                             /*frozen=*/UnitAttr(), /*padding=*/IntegerAttr());
}

void ModuleBuilder::declareState(const std::string &name, RankedTensorType type, llvm::StringRef initial) {
  if (!parameters.insert({name, type}).second)
    return;
  auto made = model::ParameterOp::create(
      declarations, NameLoc::get(builder.getStringAttr(name)), builder.getStringAttr(name), TypeAttr::get(type),
      builder.getAttr<model::InitializerKindAttr>(*symbolizeInitializerKind(initial)), builder.getF64FloatAttr(0),
      builder.getF64FloatAttr(0), ArrayAttr(),
      /*frozen=*/UnitAttr(), /*padding=*/IntegerAttr());
  made->setAttr("state", builder.getUnitAttr());
}

void ModuleBuilder::write(const std::string &name, Value value) {
  model::WriteOp::create(builder, location, FlatSymbolRefAttr::get(builder.getContext(), name), StringAttr(), value);
}

Value ModuleBuilder::read(const llvm::Twine &twine) {
  std::string name = twine.str();
  return model::ReadOp::create(builder, location, parameters.lookup(name),
                               FlatSymbolRefAttr::get(builder.getContext(), name), StringAttr())
      .getValue();
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

Value ModuleBuilder::linear(const llvm::Twine &twine, Value x, std::int64_t out, bool bias) {
  std::string name = twine.str();
  at(name);
  std::int64_t in = shapeOf(x).back();
  Initial initial = evenly(1 / std::sqrt(static_cast<double>(in)));
  declare(name + ".weight", {out, in}, initial);
  Value product = matmul(x, read(name + ".weight"), true);
  if (!bias)
    return product;
  declare(name + ".bias", {out}, initial);
  return add(product, read(name + ".bias"));
}

Value ModuleBuilder::layerNorm(const llvm::Twine &twine, Value x, bool bias, double epsilon) {
  std::string name = twine.str();
  at(name);
  std::int64_t width = shapeOf(x).back();
  declare(name + ".weight", {width}, {"ones"});
  if (bias)
    declare(name + ".bias", {width}, {"zeros"});
  Value weight = read(name + ".weight");
  Value shift = bias ? read(name + ".bias") : constant(0, {width});
  return model::LayerNormOp::create(builder, location, x, weight, shift, builder.getF64FloatAttr(epsilon)).getY();
}

Value ModuleBuilder::embedding(const llvm::Twine &twine, Value tokens, std::int64_t count, std::int64_t width) {
  std::string name = twine.str();
  at(name);
  declare(name + ".weight", {count, width}, {"normal", 0, 1});
  return model::EmbeddingOp::create(builder, location, read(name + ".weight"), tokens, /*padding=*/IntegerAttr())
      .getResult();
}

Value ModuleBuilder::conv2d(const llvm::Twine &twine, Value x, std::int64_t out, std::int64_t kernel,
                            std::int64_t stride, std::int64_t padding) {
  std::string name = twine.str();
  at(name);
  std::int64_t in = shapeOf(x).back();
  Initial initial = evenly(1 / std::sqrt(static_cast<double>(in * kernel * kernel)));
  declare(name + ".weight", {out, in, kernel, kernel}, initial);
  declare(name + ".bias", {out}, initial);
  auto both = [&](std::int64_t value) { return builder.getDenseI64ArrayAttr({value, value}); };
  return model::Conv2dOp::create(builder, location, x, read(name + ".weight"), read(name + ".bias"), both(stride),
                                 both(padding), both(1), builder.getI64IntegerAttr(1))
      .getY();
}

Value ModuleBuilder::batchNorm(const llvm::Twine &twine, Value x) {
  std::string name = twine.str();
  at(name);
  constexpr double momentum = 0.1;
  std::int64_t channels = shapeOf(x).back();
  auto count = static_cast<double>(cast<RankedTensorType>(x.getType()).getNumElements() / channels);
  declare(name + ".weight", {channels}, {"ones"});
  declare(name + ".bias", {channels}, {"zeros"});
  declareState(name + ".running_mean", tensor({channels}), "zeros");
  declareState(name + ".running_var", tensor({channels}), "ones");
  declareState(name + ".num_batches_tracked", RankedTensorType::get({}, builder.getI64Type()), "zeros");
  auto norm = model::BatchNormOp::create(builder, location, x, read(name + ".weight"), read(name + ".bias"),
                                         builder.getF64FloatAttr(1e-5));
  auto move = [&](const std::string &state, Value value, double factor) {
    Value moved = model::RunningAverageOp::create(builder, location, read(state), value,
                                                  builder.getF64FloatAttr(momentum), builder.getF64FloatAttr(factor))
                      .getResult();
    write(state, moved);
  };
  move(name + ".running_mean", norm.getMean(), 1);
  // The variance that enters the running one is the unbiased one.
  move(name + ".running_var", norm.getVariance(), count > 1 ? count / (count - 1) : 1);
  std::string counter = name + ".num_batches_tracked";
  Value old = read(counter);
  write(counter, model::CountUpOp::create(builder, location, old.getType(), old).getResult());
  return norm.getY();
}

Value ModuleBuilder::mlp(const llvm::Twine &twine, Value x, std::int64_t multiplier) {
  std::string prefix = twine.str();
  std::int64_t width = shapeOf(x).back();
  Value hidden = relu(linear(prefix + "in_proj", x, multiplier * width));
  return relu(linear(prefix + "out_proj", hidden, width));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Value ModuleBuilder::matmul(Value a, Value b, bool transposeB) {
  return model::MatmulOp::create(builder, location, a, b, false, transposeB).getResult();
}

Value ModuleBuilder::add(Value a, Value b) { return model::AddOp::create(builder, location, a, b).getResult(); }

Value ModuleBuilder::relu(Value x) { return model::ReluOp::create(builder, location, x).getResult(); }

Value ModuleBuilder::gelu(Value x) {
  return model::GeluOp::create(builder, location, x, GeluApproximation::none).getY();
}

Value ModuleBuilder::reshape(Value x, llvm::ArrayRef<std::int64_t> shape) {
  return model::ReshapeOp::create(builder, location, tensor(shape), x).getResult();
}

Value ModuleBuilder::constant(double value, llvm::ArrayRef<std::int64_t> shape) {
  return model::ConstantOp::create(builder, location, tensor(shape), builder.getF64FloatAttr(value)).getResult();
}

Value ModuleBuilder::transpose(Value x, llvm::ArrayRef<std::int64_t> permutation) {
  return model::TransposeOp::create(builder, location, x, builder.getDenseI64ArrayAttr(permutation)).getResult();
}

Value ModuleBuilder::channelsLast(Value x) { return transpose(x, {0, 2, 3, 1}); }

Value ModuleBuilder::dropout(Value x) {
  if (dropoutRate == 0)
    return x;
  return model::DropoutOp::create(builder, location, x, seed, step, row, builder.getF64FloatAttr(dropoutRate),
                                  builder.getI64IntegerAttr(nextKey++))
      .getY();
}

Value ModuleBuilder::allReduce(Value x, llvm::StringRef gathered) {
  return model::AllReduceOp::create(builder, location, x, builder.getAttr<model::LossReductionAttr>(LossReduction::sum),
                                    builder.getStrArrayAttr({gathered}))
      .getResult();
}

Value ModuleBuilder::firstRows(Value x, std::int64_t count) {
  Shape limit(shapeOf(x)), start(limit.size(), 0), step(limit.size(), 1);
  if (limit.front() == count)
    return x;
  limit.front() = count;
  return model::SliceOp::create(builder, location, x, builder.getDenseI64ArrayAttr(start),
                                builder.getDenseI64ArrayAttr(limit), builder.getDenseI64ArrayAttr(step))
      .getResult();
}

Value ModuleBuilder::sum(Value x) {
  auto dims = llvm::to_vector(llvm::seq<std::int64_t>(0, static_cast<std::int64_t>(shapeOf(x).size())));
  return model::ReduceSumOp::create(builder, location, x, builder.getDenseI64ArrayAttr(dims), UnitAttr()).getResult();
}

Value ModuleBuilder::crossEntropy(Value logits, Value targets, llvm::StringRef reduction) {
  return model::CrossEntropyOp::create(builder, location, logits, targets,
                                       builder.getAttr<model::LossReductionAttr>(*symbolizeLossReduction(reduction)),
                                       builder.getI64IntegerAttr(-100), /*label_smoothing=*/FloatAttr())
      .getLoss();
}

Value ModuleBuilder::attention(Value q, Value k, Value v, std::int64_t heads, bool causal) {
  std::int64_t size = shapeOf(q).back() / heads;
  auto cut = [&](Value x) { return reshape(x, {shapeOf(x)[0], shapeOf(x)[1], heads, size}); };
  double scale = 1 / std::sqrt(static_cast<double>(size));
  if (dropoutRate != 0)
    return reshape(buildDroppedAttention(builder, location, cut(q), cut(k), cut(v), scale, {causal, /*window=*/0},
                                         [&](Value weights) { return dropout(weights); }),
                   shapeOf(q));
  Value out = model::AttentionOp::create(builder, location, cut(q), cut(k), cut(v), builder.getF64FloatAttr(scale),
                                         causal ? builder.getUnitAttr() : UnitAttr(), /*window=*/IntegerAttr())
                  .getOut();
  return reshape(out, shapeOf(q));
}
