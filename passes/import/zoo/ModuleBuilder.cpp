//===- ModuleBuilder.cpp - modules of the zoo -----------------------------------------------===//

#include "passes/import/zoo/ModuleBuilder.h"

#include <cmath>

using namespace mlir;
using namespace sluice;
using namespace sluice::zoo;

Initial zoo::evenly(double bound) { return {"uniform", -bound, bound}; }

ModuleBuilder::ModuleBuilder(MLIRContext *context, llvm::StringRef name, std::int64_t batch, llvm::StringRef loss)
    : ModelBuilder(NameLoc::get(StringAttr::get(context, name)), name, batch), lossName(loss) {}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

llvm::SmallVector<Value> ModuleBuilder::beginTrain(llvm::StringRef entry, llvm::ArrayRef<Input> inputs) {
  return beginEntry(builder.getLoc(), shape ? entryNameOf(entry.str(), *shape) : entry.str(), EntryKind::train, inputs,
                    tensor({}), "loss");
}

void ModuleBuilder::beginShape(const RowShape &given) {
  shape = given;
  setBatch(given.batch);
  at(module.get()->getAttrOfType<StringAttr>(model::nameName).getValue());
}

void ModuleBuilder::finishTrain(llvm::ArrayRef<Value> outputs) {
  at("loss");
  Value total;
  std::int64_t count = 0;
  for (Value output : outputs) {
    Value part = sum(lossName == "first-row-square" ? sliceRows(output, 0, 1) : output);
    total = total ? add(total, part) : part;
    count += cast<RankedTensorType>(output.getType()).getNumElements();
  }
  if (lossName == "first-row-square")
    total = model::MultiplyOp::create(builder, total, total);
  if (lossName == "mean")
    total = model::ScaleOp::create(builder, total, builder.getF64FloatAttr(1.0 / static_cast<double>(count)));
  finishEntry(total);
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

Value ModuleBuilder::conv2d(const llvm::Twine &twine, Value x, std::int64_t out, std::int64_t kernel,
                            std::int64_t stride, std::int64_t padding) {
  std::string name = twine.str();
  at(name);
  std::int64_t in = shapeOf(x).back();
  Initial initial = evenly(1 / std::sqrt(static_cast<double>(in * kernel * kernel)));
  declare(name + ".weight", {out, in, kernel, kernel}, initial);
  declare(name + ".bias", {out}, initial);
  auto both = [&](std::int64_t value) { return builder.getDenseI64ArrayAttr({value, value}); };
  return model::Conv2dOp::create(builder, x, read(name + ".weight"), read(name + ".bias"), both(stride), both(padding),
                                 both(1), builder.getI64IntegerAttr(1));
}

Value ModuleBuilder::batchNorm(const llvm::Twine &twine, Value x) {
  std::string name = twine.str();
  at(name);
  constexpr double momentum = 0.1;
  std::int64_t channels = shapeOf(x).back();
  const std::int64_t elements = cast<RankedTensorType>(x.getType()).getNumElements() / channels;
  const auto count = static_cast<double>(elements);
  declare(name + ".weight", {channels}, {"ones"});
  declare(name + ".bias", {channels}, {"zeros"});
  declareState(name + ".running_mean", tensor({channels}), "zeros");
  declareState(name + ".running_var", tensor({channels}), "ones");
  declareState(name + ".num_batches_tracked", RankedTensorType::get({}, builder.getI64Type()), "zeros");
  auto norm = model::BatchNormOp::create(builder, x, read(name + ".weight"), read(name + ".bias"),
                                         builder.getF64FloatAttr(1e-5));
  auto move = [&](const std::string &state, Value value, double factor) {
    Value moved = model::RunningAverageOp::create(builder, read(state), value, builder.getF64FloatAttr(momentum),
                                                  builder.getF64FloatAttr(factor));
    write(state, moved);
  };
  move(name + ".running_mean", norm.getMean(), 1);
  // The variance that enters the running one is the unbiased one.
  move(name + ".running_var", norm.getVariance(), count > 1 ? count / (count - 1) : 1);
  std::string counter = name + ".num_batches_tracked";
  Value old = read(counter);
  write(counter, model::CountUpOp::create(builder, old.getType(), old).getResult());
  return norm.getY();
}

Value ModuleBuilder::mlp(const llvm::Twine &twine, Value x, std::int64_t multiplier) {
  std::string prefix = twine.str();
  std::int64_t width = shapeOf(x).back();
  Value hidden = relu(linear(prefix + "in_proj", x, multiplier * width));
  return relu(linear(prefix + "out_proj", hidden, width));
}

Value ModuleBuilder::allReduce(Value x, llvm::StringRef gathered) {
  return model::AllReduceOp::create(builder, x, builder.getAttr<model::LossReductionAttr>(LossReduction::sum),
                                    builder.getStrArrayAttr({gathered}));
}

Value ModuleBuilder::sum(Value x) {
  auto dims = llvm::to_vector(llvm::seq<std::int64_t>(0, static_cast<std::int64_t>(shapeOf(x).size())));
  return model::ReduceSumOp::create(builder, x, builder.getDenseI64ArrayAttr(dims), UnitAttr());
}

void ModuleBuilder::write(const llvm::Twine &name, Value value) {
  model::WriteOp::create(builder, FlatSymbolRefAttr::get(builder.getStringAttr(name)), StringAttr(), value);
}

Value ModuleBuilder::attention(Value q, Value k, Value v, std::int64_t heads, bool causal, double dropoutRate) {
  std::int64_t size = shapeOf(q).back() / heads;
  auto split = [&](Value x) { return reshape(x, {shapeOf(x)[0], shapeOf(x)[1], heads, size}); };
  v = split(v), k = split(k), q = split(q);
  Value out = attend(q, k, v, 1 / std::sqrt(static_cast<double>(size)), {causal, /*window=*/0}, dropoutRate);
  return reshape(out, {shapeOf(q)[0], shapeOf(q)[1], heads * size});
}
