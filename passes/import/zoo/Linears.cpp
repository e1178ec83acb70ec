//===- Linears.cpp - the models of linear layers ----------------------------------------------===//

#include "passes/import/zoo/Models.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sluice;
using namespace sluice::zoo;

/// Multipliers of the MLPs of models with uneven shards.
static constexpr std::int64_t unevenMultipliers[] = {3, 4, 3};

/// The entry point `train_step` over one input of `width` columns.
static Value begin(ModuleBuilder &b, std::int64_t width) { return b.beginTrain("train_step", {{"x", {width}}})[0]; }

static Status buildMlp(ModuleBuilder &b, const Settings &s) {
  std::int64_t dim = s.size("dim");
  Value x = begin(b, dim);
  x = b.block("in_proj", [&] { return b.relu(b.linear("in_proj", x, s.size("multiplier") * dim)); });
  x = b.block("out_proj", [&] { return b.relu(b.linear("out_proj", x, dim)); });
  b.finishTrain({x});
  return Status::ok();
}

/// An MLP of that name as a block.
static Value mlpBlock(ModuleBuilder &b, const std::string &name, Value x, std::int64_t multiplier) {
  return b.block(name, [&] { return b.mlp(name + ".", x, multiplier); });
}

static Status buildMlpSequence(ModuleBuilder &b, const Settings &s) {
  Value x = begin(b, s.size("dim"));
  for (std::int64_t i = 0; i < s.size("count"); ++i)
    x = mlpBlock(b, std::to_string(i), x, 4);
  b.finishTrain({x});
  Value first = b.beginTrain("train_first", {{"x", {s.size("dim")}}})[0];
  b.finishTrain({mlpBlock(b, "0", first, 4)});
  return Status::ok();
}

static Status buildLinearMlps(ModuleBuilder &b, const Settings &s) {
  Value x = b.linear("0", begin(b, s.size("dim")), s.size("dim"));
  for (std::int64_t i = 1; i <= s.size("count"); ++i)
    x = mlpBlock(b, std::to_string(i), x, 4);
  b.finishTrain({x});
  return Status::ok();
}

static Status buildMlpStack(ModuleBuilder &b, const Settings &s) {
  Value x = begin(b, s.size("dim"));
  for (std::size_t i = 0; i < std::size(unevenMultipliers); ++i)
    x = mlpBlock(b, std::to_string(i), x, unevenMultipliers[i]);
  b.finishTrain({x});
  return Status::ok();
}

static Status buildNormMlps(ModuleBuilder &b, const Settings &s) {
  Value x = begin(b, s.size("dim"));
  x = b.block("0", [&] { return b.layerNorm("0", x, /*bias=*/false); });
  for (std::size_t i = 0; i < std::size(unevenMultipliers); ++i)
    x = mlpBlock(b, std::to_string(i + 1), x, unevenMultipliers[i]);
  b.finishTrain({x});
  return Status::ok();
}

static Status buildNormLinear(ModuleBuilder &b, const Settings &s) {
  // The default of torch's RMSNorm: the machine epsilon of f32.
  constexpr double epsilon = std::numeric_limits<float>::epsilon();
  Value x = begin(b, s.size("dim"));
  for (const char *number : {"1", "2"})
    x = b.block(number, [&] {
      std::string norm = std::string("norm") + number, linear = std::string("output") + number;
      Value normal = b.block(norm, [&] { return b.rmsNorm(norm, x, epsilon); });
      return b.block(linear, [&] { return b.linear(linear, normal, s.size("dim")); });
    });
  b.finishTrain({x});
  return Status::ok();
}

/// Two parallel linears on x, each a block with its ReLU.
static llvm::SmallVector<Value> doubleLinear(ModuleBuilder &b, const std::string &prefix, Value x) {
  std::int64_t dim = ModuleBuilder::shapeOf(x).back();
  llvm::SmallVector<Value> outputs;
  for (const char *name : {"lin1", "lin2"})
    outputs.push_back(b.block(prefix + name, [&] { return b.relu(b.linear(prefix + name, x, dim)); }));
  return outputs;
}

static Status buildDoubleLinear(ModuleBuilder &b, const Settings &s) {
  b.finishTrain(doubleLinear(b, "", begin(b, s.size("dim"))));
  return Status::ok();
}

static Status buildLinearReluLinear(ModuleBuilder &b, const Settings &s) {
  Value hidden = b.relu(b.linear("0", begin(b, s.size("in")), s.size("hidden")));
  b.finishTrain({b.linear("2", hidden, s.size("out"))});
  return Status::ok();
}

static Status buildMultiForward(ModuleBuilder &b, const Settings &) {
  Value x = begin(b, 4);
  auto inner = [&] { return b.block("inner", [&] { return b.linear("inner", x, 4); }); };
  Value once = inner(), again = inner();
  b.at("outer");
  Value sum = b.add(once, again);
  b.finishTrain({b.block("outer", [&] { return b.linear("outer", sum, 5); })});
  return Status::ok();
}

static Status buildSharedLinear(ModuleBuilder &b, const Settings &s) {
  std::int64_t dim = s.size("dim");
  Value x = begin(b, dim);
  Initial initial = evenly(1 / std::sqrt(static_cast<double>(dim)));
  b.declare("lin1.weight", {dim, dim}, initial, {"lin2.weight"});
  for (const char *name : {"lin1", "lin2"}) {
    std::string bias = std::string(name) + ".bias";
    b.at(name);
    b.declare(bias, {dim}, initial);
    x = b.add(b.matmul(x, b.read("lin1.weight"), true), b.read(bias));
    if (llvm::StringRef(name) == "lin1")
      x = b.relu(x);
  }
  b.finishTrain({x});
  return Status::ok();
}

static Status buildUnusedLinear(ModuleBuilder &b, const Settings &s) {
  std::int64_t dim = s.size("dim");
  Value x = begin(b, dim);
  for (const char *name : {"0", "1"}) {
    std::string prefix = name;
    b.declare(prefix + ".unused_lin.weight", {1, 1}, evenly(1));
    b.declare(prefix + ".unused_lin.bias", {1}, evenly(1));
    x = b.block(prefix, [&] { return b.relu(b.linear(prefix + ".lin", x, dim)); });
  }
  b.finishTrain({b.linear("2", x, dim)});
  return Status::ok();
}

static Status buildTwoLosses(ModuleBuilder &b, const Settings &s) {
  std::int64_t dim = s.size("dim");
  Value x = begin(b, dim);
  x = b.block("0", [&] { return b.linear("0", x, dim); });
  b.finishTrain(doubleLinear(b, "1.", x));
  return Status::ok();
}

/// Products of x, each with an explicit all-reduce of the model, followed by an MLP whose unit is gathered during that
/// all-reduce.
static Status buildReduceModel(ModuleBuilder &b, const Settings &s) {
  std::int64_t dim = s.size("dim"), count = s.size("count");
  Value x = begin(b, dim), total;
  llvm::SmallVector<Value> sums;
  auto mlpName = [](std::int64_t i) { return "mlps.mlp" + std::to_string(i + 1); };
  for (std::int64_t i = 0; i < count; ++i) {
    std::string name = "reduce_module" + std::to_string(i + 1);
    b.at(name);
    b.declare(name + ".weight", {dim, dim}, {"normal", 0, 1});
    sums.push_back(b.allReduce(b.relu(b.matmul(x, b.read(name + ".weight"), false)), mlpName(i)));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    Value y = mlpBlock(b, mlpName(i), sums[static_cast<std::size_t>(i)], 4);
    b.at("mlps");
    total = total ? b.add(total, y) : y;
  }
  b.finishTrain({total});
  return Status::ok();
}

std::vector<Model> zoo::linearModels() {
  return {
      {"mlp", "Linear, ReLU, Linear, ReLU", {{"dim", "16"}, {"multiplier", "4"}}, buildMlp},
      {"mlp-sequence",
       "MLPs one after another; the entry point train_first runs the first alone",
       {{"count", "3", Kind::size, 1000}, {"dim", "16"}},
       buildMlpSequence},
      {"linear-mlps",
       "a Linear in the root, then MLPs",
       {{"count", "3", Kind::size, 1000}, {"dim", "32"}},
       buildLinearMlps},
      {"mlp-stack", "MLPs with multipliers 3, 4, 3", {{"dim", "16"}}, buildMlpStack},
      {"norm-mlps", "LayerNorm without bias, then MLPs with multipliers 3, 4, 3", {{"dim", "16"}}, buildNormMlps},
      {"norm-linear", "RMSNorm and Linear, twice", {{"dim", "128"}}, buildNormLinear},
      {"double-linear", "two parallel Linears on one input, ReLU, two outputs", {{"dim", "8"}}, buildDoubleLinear},
      {"linear-relu-linear",
       "Linear, ReLU, Linear in one group",
       {{"in", "16"}, {"hidden", "15"}, {"out", "8"}},
       buildLinearReluLinear},
      {"multi-forward", "inner Linear(4, 4) used twice, outer Linear(4, 5)", {}, buildMultiForward},
      {"shared-linear", "two Linears that share one weight, ReLU between", {{"dim", "8"}}, buildSharedLinear},
      {"unused-linear",
       "two blocks, each an unused Linear(1, 1) and a used Linear; a Linear in the root",
       {{"dim", "16"}},
       buildUnusedLinear},
      {"reduce-model",
       "products with an explicit all-reduce each, followed by MLPs that are gathered during it",
       {{"dim", "8"}, {"count", "3", Kind::size, 1000}},
       buildReduceModel},
      {"two-losses", "a Linear followed by two Linears, one loss each", {{"dim", "8"}}, buildTwoLosses},
  };
}
