//===- OpPrograms.cpp - one builder for each operation ----------------------------------===//

#include "test/numeric/OpBuilder.h"

#include <cmath>
#include <functional>

namespace sluice::numeric {

namespace {

using Builder = OpBuilder;

void layerNorm(Builder &b) {
  std::string x = b.in("x"), weight = b.in("weight"), bias = b.in("bias");
  Shape shape = b.shape("in.x");
  auto axes = b.attribute<std::size_t>("axes", 1);
  Shape rows(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(axes));
  std::int64_t width = 1;
  for (std::size_t d = rows.size(); d < shape.size(); ++d)
    width *= shape[d];
  Shape flat = rows;
  flat.push_back(width);
  if (axes > 1) {
    x = b.f.op("reshape", {x}, "", b.typed(flat));
    weight = b.f.op("reshape", {weight}, "", b.typed({width}));
    bias = b.f.op("reshape", {bias}, "", b.typed({width}));
  }
  std::string statistics = b.statisticsType(rows);
  std::string y = b.f.ops("layer_norm", {x, weight, bias}, "{epsilon = " + number(b.attribute("eps", 1e-5)) + "}",
                          {b.typed(flat), statistics, statistics})[0];
  b.f.output("y", axes > 1 ? b.f.op("reshape", {y}, "", b.typed(shape)) : y);
}

void softmax(Builder &b) {
  std::string x = b.in("input");
  Shape shape = b.shape("in.input");
  std::size_t last = shape.size() - 1;
  int dim = b.attribute("dim", -1);
  Shape order = exchange(shape.size(), dim < 0 ? last : static_cast<std::size_t>(dim), last);
  std::string moved = transpose(b, x, shape, order);
  std::string y = b.f.op("softmax", {moved}, "", b.typed(permute(shape, order)));
  b.f.output("y", transpose(b, y, permute(shape, order), order));
}

std::function<void(Builder &)> gelu(const std::string &form) {
  return [form](Builder &b) {
    b.f.output("y", b.f.op("gelu", {b.in("x")}, "{approximate = #model.approximation<" + form + ">}", b.result("y")));
  };
}

std::function<void(Builder &)> unary(const std::string &op) {
  return [op](Builder &b) { b.f.output("y", b.f.op(op, {b.in("x")}, "", b.result("y"))); };
}

std::function<void(Builder &)> binary(const std::string &op) {
  return [op](Builder &b) {
    std::string input = b.in("input"), other = b.in("other");
    b.f.output("y", b.f.op(op, {input, other}, "", b.result("y")));
  };
}

void matmul(Builder &b) {
  std::string a = b.in("a"), c = b.in("b"), attributes;
  if (b.attribute("transpose_a", false))
    attributes += "transpose_lhs";
  if (b.attribute("transpose_b", false))
    attributes += std::string(attributes.empty() ? "" : ", ") + "transpose_rhs";
  b.f.output("y", b.f.op("matmul", {a, c}, attributes.empty() ? "" : "{" + attributes + "}", b.result("y")));
}

void crossEntropy(Builder &b) {
  std::string logits = b.in("input"), target = b.in("target");
  std::string attributes = "{reduction = #model.reduction<" + b.attribute<std::string>("reduction", "mean") + ">}";
  b.f.output("y", b.f.ops("cross_entropy", {logits, target}, attributes,
                          {b.statisticsType({}), b.statisticsType(b.shape("in.target"))})[0]);
}

void embedding(Builder &b) {
  std::string indices = b.in("input"), table = b.in("weight");
  b.f.output("y", b.f.op("embedding", {table, indices}, "", b.result("y")));
}

void attention(Builder &b) {
  // In the reference heads precede tokens; in the op tokens precede heads.
  Shape order = {0, 2, 1, 3}, query = b.shape("in.query"), key = b.shape("in.key");
  std::string q = transpose(b, b.in("query"), query, order), k = transpose(b, b.in("key"), key, order),
              v = transpose(b, b.in("value"), key, order);
  std::string scale = number(1.0 / std::sqrt(static_cast<double>(query[3])));
  std::string out = b.f.ops("attention", {q, k, v}, "{scale = " + scale + ", causal}",
                            {b.typed(permute(query, order)), b.statisticsType({query[0], query[1], query[2]})})[0];
  b.f.output("y", transpose(b, out, permute(query, order), order));
}

void rmsNorm(Builder &b) {
  Shape shape = b.shape("in.x"), rows(shape.begin(), shape.end() - 1);
  std::string x = b.in("x"), weight = b.in("weight");
  b.f.output("y", b.f.ops("rms_norm", {x, weight}, "{epsilon = " + number(b.attribute("eps", 1e-6)) + "}",
                          {b.typed(shape), b.statisticsType(rows)})[0]);
}

void rope(Builder &b) {
  // In the reference heads precede tokens; in the op tokens precede heads.
  Shape order = {0, 2, 1, 3}, shape = b.shape("in.x");
  std::string x = transpose(b, b.in("x"), shape, order);
  std::string attributes = "{theta = " + number(b.attribute("theta", 10000.0)) +
                           ", position = " + std::to_string(b.attribute("first_position", 0)) + " : i64}";
  std::string y = b.f.op("rope", {x}, attributes, b.typed(permute(shape, order)));
  b.f.output("y", transpose(b, y, permute(shape, order), order));
}

std::function<void(Builder &)> reduction(const std::string &op) {
  return [op](Builder &b) {
    std::string x = b.in("input");
    nlohmann::json dims = b.operation.attributes["dim"];
    Shape list;
    for (const auto &dim : dims.is_array() ? dims : nlohmann::json::array({dims}))
      list.push_back(dim.get<int>() < 0 ? dim.get<int>() + static_cast<int>(b.shape("in.input").size())
                                        : dim.get<int>());
    std::string attributes = listAttribute("dims", list);
    if (b.attribute("keepdim", false))
      attributes = attributes.substr(0, attributes.size() - 1) + ", keep}";
    b.f.output("y", b.f.op(op, {x}, attributes, b.result("y")));
  };
}

/// torch.max with an axis also returns the first maximum's index; torch.amax divides the gradient between equal ones.
void maximum(Builder &b) {
  if (!b.has("out.index"))
    return reduction("reduce_max")(b);
  std::string x = b.in("input");
  Shape shape = b.shape("in.input"), kept = b.shape("out.index"), one = kept;
  auto dim = static_cast<std::int64_t>(b.dimOf("dim", shape.size()));
  one.insert(one.begin() + dim, 1);
  std::string attributes = "{dim = " + std::to_string(dim) + " : i64}";
  std::string index = b.f.op("argmax", {x}, attributes, tensorType(kept, "i64"));
  std::string wide = b.f.op("reshape", {index}, "", tensorType(one, "i64"));
  std::string taken = b.f.op("take_along", {x, wide}, attributes, b.typed(one));
  b.f.output("y", b.f.op("reshape", {taken}, "", b.typed(kept)));
  b.f.output("index", index);
}

void logSumExp(Builder &b) {
  std::string x = b.in("input");
  Shape shape = b.shape("in.input");
  Shape order = exchange(shape.size(), b.dimOf("dim", shape.size()), shape.size() - 1), moved = permute(shape, order);
  std::string last = transpose(b, x, shape, order);
  Shape kept(moved.begin(), moved.end() - 1);
  std::string y = b.f.op("logsumexp", {last}, "", b.typed(kept));
  // The dim that was exchanged with the last one.
  if (kept == b.shape("out.y")) {
    b.f.output("y", y);
    return;
  }
  b.f.output("y", transpose(b, y, kept, exchange(kept.size(), b.dimOf("dim", shape.size()), kept.size() - 1)));
}

void gatherAlong(Builder &b) {
  std::string x = b.in("input"), index = b.in("index");
  b.f.output("y", b.f.op("take_along", {x, index}, "{dim = " + std::to_string(b.attribute("dim", 0)) + " : i64}",
                         b.result("y")));
}

void indexSelect(Builder &b) {
  Shape shape = b.shape("in.input");
  Shape order = exchange(shape.size(), 0, static_cast<std::size_t>(b.attribute("dim", 0)));
  std::string table = transpose(b, b.in("input"), shape, order), index = b.in("index");
  Shape gathered = permute(shape, order);
  gathered[0] = b.shape("in.index")[0];
  std::string rows = b.f.op("gather", {table, index}, "", b.typed(gathered));
  b.f.output("y", transpose(b, rows, gathered, order));
}

void slice(Builder &b) {
  Shape shape = b.shape("in.x"), out = b.shape("out.y"), start(shape.size(), 0), limit = shape, step(shape.size(), 1);
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != out[d]) {
      start[d] = b.attribute("start", 0);
      limit[d] = b.attribute("stop", 0);
      step[d] = b.attribute("step", 1);
    }
  auto inner = [](const std::string &text) { return text.substr(1, text.size() - 2); };
  b.f.output("y", b.f.op("slice", {b.in("x")},
                         "{" + inner(listAttribute("start", start)) + ", " + inner(listAttribute("limit", limit)) +
                             ", " + inner(listAttribute("step", step)) + "}",
                         b.result("y")));
}

void concat(Builder &b) {
  std::string a = b.in("a"), c = b.in("b"), d = b.in("c");
  b.f.output("y",
             b.f.op("concat", {a, c, d}, "{dim = " + std::to_string(b.attribute("dim", 0)) + " : i64}", b.result("y")));
}

void pad(Builder &b) {
  auto inner = [](const std::string &text) { return text.substr(1, text.size() - 2); };
  Shape low = b.operation.attributes["low"], high = b.operation.attributes["high"];
  b.f.output("y", b.f.op("pad", {b.in("x")},
                         "{" + inner(listAttribute("low", low)) + ", " + inner(listAttribute("high", high)) + ", " +
                             inner(listAttribute("step", Shape(low.size(), 1))) +
                             ", value = " + number(b.attribute("value", 0.0)) + "}",
                         b.result("y")));
}

void transposeCase(Builder &b) {
  b.f.output("y", transpose(b, b.in("x"), b.shape("in.x"), b.operation.attributes["order"].get<Shape>()));
}

void where(Builder &b) {
  std::string condition = b.in("condition"), x = b.in("x"), y = b.in("y");
  b.f.output("y", b.f.op("select", {condition, x, y}, "", b.result("y")));
}

void castToBf16(Builder &b) { b.f.output("y", b.f.op("cast", {b.in("x")}, "", tensorType(b.shape("out.y"), "bf16"))); }

/// Three steps of an optimizer.
std::function<void(Builder &)> optimizer(const std::string &op) {
  return [op](Builder &b) {
    bool adam = op != "sgd";
    auto momentum = b.attribute("momentum", 0.0);
    Shape shape = b.shape("in.parameter");
    std::string parameter = b.in("parameter");
    std::vector<std::string> gradients = {b.in("gradient1"), b.in("gradient2"), b.in("gradient3")};
    std::string lr = b.f.create("constant", number(b.attribute("lr", 0.0)), "tensor<f32>");
    std::string coefficient = b.f.create("constant", number(1.0), "tensor<f32>");
    std::string guard = b.f.create("constant", number(1.0), "tensor<ui8>");
    std::vector<std::string> states;
    for (int i = 0; i < (adam ? 2 : momentum != 0 ? 1 : 0); ++i)
      states.push_back(b.f.create("constant", number(0.0), b.typed(shape)));
    std::string decay = ", weight_decay = " + number(b.attribute("weight_decay", 0.0));
    std::string attributes = adam ? "{beta1 = " + number(b.operation.attributes["betas"][0]) +
                                        ", beta2 = " + number(b.operation.attributes["betas"][1]) +
                                        ", epsilon = " + number(b.attribute("eps", 1e-8)) + decay + "}"
                                  : "{momentum = " + number(momentum) + decay +
                                        ", nesterov = " + (b.attribute("nesterov", false) ? "true" : "false") + "}";
    for (int step = 1; step <= 3; ++step) {
      std::vector<std::string> operands = {parameter, gradients[static_cast<std::size_t>(step) - 1]};
      operands.insert(operands.end(), states.begin(), states.end());
      std::string count = b.f.create("constant", number(step), "tensor<i64>");
      for (const std::string &scalar : {lr, count, coefficient, guard})
        operands.push_back(scalar);
      std::vector<std::string> results(1 + states.size(), b.typed(shape));
      results = b.f.ops(op, operands, attributes, results);
      parameter = results[0];
      states.assign(results.begin() + 1, results.end());
      b.f.output("parameter" + std::to_string(step), parameter);
    }
    if (adam) {
      b.f.output("exp_avg", states[0]);
      b.f.output("exp_avg_sq", states[1]);
    } else if (!states.empty()) {
      b.f.output("momentum_buffer", states[0]);
    }
  };
}

void clip(Builder &b) {
  std::vector<std::string> gradients = {b.in("a"), b.in("b"), b.in("c")};
  std::string type = b.attribute<std::string>("norm_type", "2.0");
  std::string p = type == "inf" ? "0x7FF0000000000000 : f64" : number(std::stod(type));
  std::string sum = b.f.op("power_sum", gradients, "{p = " + p + "}", "tensor<f32>");
  std::string norm = b.f.op("norm_root", {sum}, "{p = " + p + "}", "tensor<f32>");
  std::string coefficient =
      b.f.op("clip_coefficient", {norm}, "{max_norm = " + number(b.attribute("max_norm", 1.0)) + "}", "tensor<f32>");
  b.f.output("norm", norm);
  const char *names[] = {"a", "b", "c"};
  if (b.type != "f32")
    coefficient = b.f.op("cast", {coefficient}, "", tensorType({}, b.type));
  for (std::size_t i = 0; i < 3; ++i)
    b.f.output(names[i], b.f.op("multiply", {gradients[i], coefficient}, "", b.result(names[i])));
}

const std::map<std::string, std::function<void(Builder &)>> &builders() {
  static std::map<std::string, std::function<void(Builder &)>> table = {{"layer_norm", layerNorm},
                                                                        {"rms_norm", rmsNorm},
                                                                        {"rope", rope},
                                                                        {"silu", unary("silu")},
                                                                        {"softmax", softmax},
                                                                        {"gelu_tanh", gelu("tanh")},
                                                                        {"gelu_erf", gelu("none")},
                                                                        {"relu", unary("relu")},
                                                                        {"tanh", unary("tanh")},
                                                                        {"exp", unary("exp")},
                                                                        {"log", unary("log")},
                                                                        {"rsqrt", unary("rsqrt")},
                                                                        {"add", binary("add")},
                                                                        {"mul", binary("multiply")},
                                                                        {"matmul", matmul},
                                                                        {"cross_entropy", crossEntropy},
                                                                        {"embedding", embedding},
                                                                        {"attention", attention},
                                                                        {"sum", reduction("reduce_sum")},
                                                                        {"mean", reduction("reduce_mean")},
                                                                        {"max", maximum},
                                                                        {"logsumexp", logSumExp},
                                                                        {"gather", gatherAlong},
                                                                        {"sigmoid", unary("sigmoid")},
                                                                        {"softplus", unary("softplus")},
                                                                        {"index_select", indexSelect},
                                                                        {"slice", slice},
                                                                        {"concat", concat},
                                                                        {"pad", pad},
                                                                        {"transpose", transposeCase},
                                                                        {"where", where},
                                                                        {"cast_f32_bf16", castToBf16},
                                                                        {"adamw", optimizer("adamw")},
                                                                        {"adam", optimizer("adam")},
                                                                        {"sgd", optimizer("sgd")},
                                                                        {"clip_grad_norm", clip}};
  static const bool merged = (table.insert(imageBuilders().begin(), imageBuilders().end()), true);
  (void)merged;
  return table;
}

} // namespace

const std::vector<std::string> &operationsWithoutOp() {
  static const std::vector<std::string> list;
  return list;
}

bool buildOperation(const OpCase &operation, const std::string &type, Function &f) {
  auto found = builders().find(operation.op);
  if (found == builders().end())
    return false;
  Builder builder{operation, type, f};
  found->second(builder);
  return true;
}

} // namespace sluice::numeric
