//===- LayerNorm.cpp - layer norms from primitives of StableHLO -----------------------------===//

#include "passes/import/stablehlo/Composites.h"

using namespace sluice;
using namespace sluice::stablehlo;

namespace {

/// The two operands of a call of two tensors; nullopt for another value.
std::optional<std::pair<std::string, std::string>> operandsOf(const Translation &graph, const std::string &value,
                                                              llvm::StringRef target) {
  const Node *node = graph.maker(value, target);
  if (!node || node->find("other")->kind != Argument::Kind::tensor)
    return std::nullopt;
  return std::pair(Translation::operandOf(*node, "self"), Translation::operandOf(*node, "other"));
}

/// The x of mean(x) over the last dim; empty for another value.
std::string meanOperand(const Translation &graph, const std::string &value) {
  const Node *node = graph.maker(graph.withoutViews(value), "mean.dim");
  const std::string x = node ? Translation::operandOf(*node, "self") : "";
  return node && node->find("dim")->integers == std::vector<std::int64_t>{graph.rank(x) - 1} ? x : "";
}

/// The number of each row that `value` repeats along the last dim; empty for another value.
std::string ofRows(const Translation &graph, const std::string &value) {
  return graph.beforeRepetition(value, graph.rank(value) - 1);
}

/// The x of x - mean(x); empty for another value.
std::string centredOperand(const Translation &graph, const std::string &value) {
  const auto difference = operandsOf(graph, value, "sub.Tensor");
  return difference && !ofRows(graph, difference->second).empty() &&
                 meanOperand(graph, difference->second) == difference->first
             ? difference->first
             : "";
}

/// The x of x x; empty for another value.
std::string squareOperand(const Translation &graph, const std::string &value) {
  if (const Node *node = graph.maker(value, "square.default"))
    return Translation::operandOf(*node, "self");
  const auto product = operandsOf(graph, value, "mul.Tensor");
  return product && product->first == product->second ? product->first : "";
}

/// mean((x - mean(x))^2), or mean(x^2) - mean(x)^2, which is at least 0.
bool isVariance(const Translation &graph, std::string value, const std::string &x) {
  value = graph.withoutViews(value);
  if (const std::string square = meanOperand(graph, value); !square.empty())
    return centredOperand(graph, squareOperand(graph, square)) == x;
  if (const auto bounds = operandsOf(graph, value, "maximum.default"))
    for (const auto &[bound, other] : {*bounds, std::pair(bounds->second, bounds->first)})
      if (graph.splat(bound) == 0)
        return isVariance(graph, other, x);
  const auto difference = operandsOf(graph, value, "sub.Tensor");
  return difference && squareOperand(graph, meanOperand(graph, difference->first)) == x &&
         meanOperand(graph, squareOperand(graph, graph.withoutViews(difference->second))) == x;
}

/// The epsilon of rsqrt(variance(x) + epsilon).
std::optional<double> epsilonOf(const Translation &graph, const std::string &value, const std::string &x) {
  const Node *root = graph.maker(graph.withoutViews(ofRows(graph, value)), "rsqrt.default");
  const Node *sum =
      root ? graph.maker(graph.withoutViews(Translation::operandOf(*root, "self")), "add.Tensor") : nullptr;
  const Argument *epsilon = sum ? sum->find("other") : nullptr;
  if (!epsilon || epsilon->kind != Argument::Kind::number ||
      !isVariance(graph, Translation::operandOf(*sum, "self"), x))
    return std::nullopt;
  return epsilon->numbers.front();
}

/// The vector along the last dim that is repeated for each row; empty for another value.
std::string vectorOf(const Translation &graph, std::string value, std::int64_t size) {
  for (;;) {
    if (graph.rank(value) == 0 || graph.sizes(value).back() != size)
      return "";
    const Node *node = graph.maker(value);
    if (!node || (node->target != "aten.view.default" && node->target != "aten.expand.default"))
      return graph.rank(value) == 1 ? value : "";
    value = Translation::operandOf(*node, "self");
  }
}

} // namespace

std::optional<std::string> stablehlo::layerNormOf(Translation &graph, const std::string &a, const std::string &b) {
  for (const auto &[scaled, shift] : {std::pair(a, b), std::pair(b, a)}) {
    const auto outer = operandsOf(graph, scaled, "mul.Tensor");
    if (!outer)
      continue;
    for (const auto &[first, second] : {*outer, std::pair(outer->second, outer->first)}) {
      // (x - mean) (rsqrt weight), or ((x - mean) rsqrt) weight.
      const std::string centred = centredOperand(graph, first);
      const auto inner = operandsOf(graph, centred.empty() ? first : second, "mul.Tensor");
      if (!inner)
        continue;
      for (const auto &[left, right] : {*inner, std::pair(inner->second, inner->first)}) {
        const std::string x = centred.empty() ? centredOperand(graph, left) : centred;
        if (x.empty())
          continue;
        const std::int64_t size = graph.sizes(x).back();
        const std::optional<double> epsilon = epsilonOf(graph, centred.empty() ? right : left, x);
        const std::string weight = vectorOf(graph, centred.empty() ? second : right, size),
                          bias = vectorOf(graph, shift, size);
        if (!epsilon || weight.empty() || bias.empty())
          continue;
        return graph.emit("layer_norm.default",
                          {{"input", tensor(x)},
                           {"normalized_shape", integers({size})},
                           {"weight", tensor(weight)},
                           {"bias", tensor(bias)},
                           {"eps", number(*epsilon)}},
                          graph.meta(x));
      }
    }
  }
  return std::nullopt;
}
