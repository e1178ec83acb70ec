//===- Experts.cpp - models with experts --------------------------------------------------===//
//
// Every expert computes every row, and a gate weights the results: dense gating by a softmax, or only its largest
// weight. So the experts are a batch dim of one product, and no shape depends on data.
//
//===----------------------------------------------------------------------===//

#include "passes/import/zoo/Models.h"

#include <cmath>

using namespace mlir;
using namespace sluice;
using namespace sluice::zoo;

/// The weight of each expert for each row, [rows, experts].
static Value gates(ModuleBuilder &b, const std::string &name, Value x, std::int64_t experts, bool best) {
  Value weights = model::SoftmaxOp::create(b.builder, b.linear(name, x, experts));
  if (!best)
    return weights;
  Value largest =
      model::ReduceMaxOp::create(b.builder, weights, b.builder.getDenseI64ArrayAttr({1}), b.builder.getUnitAttr());
  Value isLargest = model::CompareOp::create(b.builder, weights, largest, ComparePredicate::eq);
  return model::SelectOp::create(b.builder, isLargest, weights, b.constant(0, {}));
}

/// The sum of the experts' results for the rows, weighted by the gates.
static Value expertMlps(ModuleBuilder &b, const std::string &name, Value x, Value weights, std::int64_t hidden) {
  std::int64_t rows = ModuleBuilder::shapeOf(x)[0], width = ModuleBuilder::shapeOf(x)[1];
  std::int64_t experts = ModuleBuilder::shapeOf(weights)[1];
  b.at(name);
  Initial first = evenly(1 / std::sqrt(static_cast<double>(width))),
          second = evenly(1 / std::sqrt(static_cast<double>(hidden)));
  b.declare(name + ".w1", {experts, width, hidden}, first);
  b.declare(name + ".b1", {experts, 1, hidden}, first);
  b.declare(name + ".w2", {experts, hidden, width}, second);
  Value y = b.relu(b.add(b.matmul(x, b.read(name + ".w1"), false), b.read(name + ".b1")));
  y = b.matmul(y, b.read(name + ".w2"), false);
  Value gate = b.reshape(b.transpose(weights, {1, 0}), {experts, rows, 1});
  y = model::MultiplyOp::create(b.builder, y, gate);
  return model::ReduceSumOp::create(b.builder, y, b.builder.getDenseI64ArrayAttr({0}), UnitAttr());
}

static Status buildMoe(ModuleBuilder &b, const Settings &s) {
  std::int64_t dim = s.size("dim");
  Value x = b.beginTrain("train_step", {{"x", {dim}}})[0];
  x = b.linear("embed", x, dim);
  for (std::int64_t i = 0; i < s.size("layers"); ++i) {
    std::string name = "layers." + std::to_string(i);
    x = b.block(name, [&] {
      Value dense = b.add(x, b.mlp(name + ".dense.", x, s.size("multiplier")));
      Value weights = gates(b, name + ".router", dense, s.size("experts"), s.choice("gating") == "best");
      return b.add(dense, expertMlps(b, name + ".experts", dense, weights, s.size("multiplier") * dim));
    });
  }
  b.finishTrain({b.linear("head", x, dim)});
  return Status::ok();
}

std::vector<Model> zoo::expertModels() {
  return {
      {"moe",
       "blocks of a dense MLP, then experts that a router weighs",
       {{"layers", "2", Kind::size, 1000},
        {"dim", "8"},
        {"experts", "4"},
        {"multiplier", "2"},
        {"gating", "dense", Kind::choice, 0, {"dense", "best"}}},
       buildMoe},
  };
}
