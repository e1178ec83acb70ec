//===- Masks.cpp - masks of random numbers --------------------------------------------------===//

#include "passes/import/stablehlo/Masks.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace sluice;
using namespace sluice::stablehlo;

/// The calls from a mask back to the test of the numbers that were drawn; empty for another value.
static std::vector<Node> callsOfMask(const Translation &graph, std::string mask) {
  static constexpr llvm::StringLiteral between[] = {"aten.view.default", "aten.expand.default", "aten.permute.default",
                                                    "aten.slice.Tensor", "aten.logical_not.default"};
  std::vector<Node> calls;
  while (const Node *node = graph.maker(mask)) {
    calls.push_back(*node);
    if (node->target == "aten.ne.Scalar") {
      const Argument *other = node->find("other");
      const bool isOfZero = other->kind == Argument::Kind::number && other->numbers.front() == 0;
      return isOfZero && graph.maker(Translation::operandOf(*node, "self"), "bernoulli.p") ? calls
                                                                                           : std::vector<Node>();
    }
    if (!llvm::is_contained(between, node->target))
      break;
    mask = Translation::operandOf(*node, "self");
  }
  return {};
}

bool stablehlo::isMask(const Translation &graph, const std::string &name) {
  return graph.type(name) == ScalarType::boolean && !callsOfMask(graph, name).empty();
}

std::string stablehlo::numbersOfMask(Translation &graph, const std::string &mask, ScalarType type) {
  std::vector<Node> calls = callsOfMask(graph, mask);
  std::string value = Translation::operandOf(calls.back(), "self");
  calls.pop_back();
  for (Node &call : llvm::reverse(calls)) {
    if (call.target == "aten.logical_not.default") {
      value = graph.binary("rsub.Scalar", value, 1, graph.meta(value));
    } else {
      call.inputs.front().second = tensor(value);
      value = graph.emit(llvm::StringRef(call.target).drop_front(5), call.inputs,
                         withSizes(graph.meta(value), graph.sizes(call.outputs.front())));
    }
  }
  return graph.cast(value, type);
}

std::optional<std::string> stablehlo::chosenByMask(Translation &graph, const std::string &mask, const std::string &a,
                                                   const std::string &b) {
  const std::optional<double> ofA = graph.splat(a), ofB = graph.splat(b);
  // 0 times an infinity would be NaN.
  if (!isMask(graph, mask) || !exported::isFloat(graph.type(a)) || std::isinf(ofA.value_or(0)) ||
      std::isinf(ofB.value_or(0)))
    return std::nullopt;
  const TensorMeta meta = graph.meta(a);
  const std::string ones = graph.expand(numbersOfMask(graph, mask, meta.type), meta.sizes);
  if (ofB == 0)
    return graph.binary("mul.Tensor", a, ones, meta);
  const std::string others = graph.binary("mul.Tensor", b, graph.binary("rsub.Scalar", ones, 1, meta), meta);
  return ofA == 0 ? others : graph.binary("add.Tensor", graph.binary("mul.Tensor", a, ones, meta), others, meta);
}

/// The x of x / p or x (1 / p), whose number is one of f32; empty for another value.
static std::string beforeScale(const Node *node, double p) {
  const bool isQuotient = node && node->target == "aten.div.Tensor";
  if (!isQuotient && !(node && node->target == "aten.mul.Tensor"))
    return "";
  const Argument *factor = node->find("other");
  if (factor->kind != Argument::Kind::number)
    return "";
  const double divisor = isQuotient ? factor->numbers.front() : 1 / factor->numbers.front();
  return std::fabs(divisor - p) <= 1e-6 ? Translation::operandOf(*node, "self") : "";
}

void stablehlo::formDropouts(exported::Program &program) {
  llvm::StringMap<std::int64_t> readers;
  llvm::StringMap<const Node *> makers;
  for (const Argument &output : program.graph.outputs)
    for (const std::string &name : output.names)
      ++readers[name];
  for (const Node &node : llvm::reverse(program.graph.nodes)) {
    if (llvm::none_of(node.outputs, [&](const std::string &name) { return readers.contains(name); }))
      continue;
    for (const std::string &name : node.outputs)
      makers[name] = &node;
    for (const auto &[key, argument] : node.inputs)
      for (const std::string &name : argument.names)
        ++readers[name];
  }
  for (Node &node : program.graph.nodes) {
    const Argument *other = node.target == "aten.mul.Tensor" ? node.find("other") : nullptr;
    if (!other || other->kind != Argument::Kind::tensor)
      continue;
    const std::string a = Translation::operandOf(node, "self"), b = other->names.front();
    for (const auto &[scaled, drawn] : {std::pair(a, b), std::pair(b, a)}) {
      const Node *numbers = makers.lookup(drawn);
      if (!numbers || numbers->target != "aten.bernoulli.p" || readers.lookup(drawn) != 1)
        continue;
      const double p = numbers->find("p")->numbers.front();
      const std::string x = beforeScale(makers.lookup(scaled), p);
      if (x.empty())
        continue;
      node.target = "aten.dropout.default";
      node.inputs = {{"input", tensor(x)}, {"p", number(1 - p)}, {"train", flag(true)}};
      break;
    }
  }
}
