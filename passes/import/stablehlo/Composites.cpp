//===- Composites.cpp - composite ops from primitives of StableHLO --------------------------===//

#include "passes/import/stablehlo/Composites.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace sluice;
using namespace sluice::stablehlo;

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

namespace {
/// x - max(x) over one dim.
struct Shifted {
  std::string x, most;
  std::int64_t dim = 0;
};
} // namespace

/// |x| < infinity
static bool isFiniteness(const Translation &graph, const std::string &condition, const std::string &x) {
  const Node *less = graph.maker(graph.withoutViews(condition), "lt.Scalar");
  const Node *size = less ? graph.maker(Translation::operandOf(*less, "self"), "abs.default") : nullptr;
  const Argument *bound = less ? less->find("other") : nullptr;
  return size && bound->kind == Argument::Kind::number && bound->numbers.front() == INFINITY &&
         graph.withoutViews(Translation::operandOf(*size, "self")) == graph.withoutViews(x);
}

/// The value before a stop of the gradient, and before the choice of 0 where the largest value is infinite.
static std::string withoutGuards(const Translation &graph, std::string name) {
  for (;;) {
    name = graph.withoutViews(name);
    const Node *node = graph.maker(name);
    const bool isStopped = node && node->target == "aten.detach.default";
    if (!isStopped &&
        !(node && node->target == "aten.where.self" && graph.splat(Translation::operandOf(*node, "other")) == 0 &&
          isFiniteness(graph, Translation::operandOf(*node, "condition"), Translation::operandOf(*node, "self"))))
      return name;
    name = Translation::operandOf(*node, "self");
  }
}

/// Whether two shifts are one value. Then they have no influence on the result, nor on its gradient; a shift whose
/// gradient is stopped next to one whose gradient is not would have.
static bool areOneShift(const Translation &graph, const std::string &a, const std::string &b) {
  return graph.withoutViews(a) == graph.withoutViews(b);
}

static std::optional<Shifted> shiftedOf(const Translation &graph, const std::string &difference) {
  const Node *node = graph.maker(difference, "sub.Tensor");
  if (!node || node->find("other")->kind != Argument::Kind::tensor)
    return std::nullopt;
  Shifted shifted{Translation::operandOf(*node, "self"), Translation::operandOf(*node, "other")};
  const Node *most = graph.maker(withoutGuards(graph, shifted.most), "amax.default");
  if (!most || Translation::operandOf(*most, "self") != shifted.x || most->find("dim")->integers.size() != 1)
    return std::nullopt;
  shifted.dim = most->find("dim")->integers.front();
  // The maxima are repeated along their own dim.
  return graph.beforeRepetition(shifted.most, shifted.dim).empty() ? std::nullopt : std::optional(shifted);
}

/// The x of sum(exp(x - max(x))) over one dim.
static std::optional<Shifted> sumOfExponentials(const Translation &graph, const std::string &sum) {
  const Node *node = graph.maker(graph.withoutViews(sum), "sum.dim_IntList");
  const Node *exponential = node ? graph.maker(Translation::operandOf(*node, "self"), "exp.default") : nullptr;
  if (!exponential || node->find("dim")->integers.size() != 1)
    return std::nullopt;
  const std::optional<Shifted> shifted = shiftedOf(graph, Translation::operandOf(*exponential, "self"));
  return shifted && shifted->dim == node->find("dim")->integers.front() ? shifted : std::nullopt;
}

static Arguments alongDim(const std::string &x, std::int64_t dim) {
  return {{"self", tensor(x)}, {"dim", integer(dim)}};
}

std::optional<std::string> stablehlo::softmaxOf(Translation &graph, const std::string &dividend,
                                                const std::string &divisor) {
  const Node *exponential = graph.maker(dividend, "exp.default");
  const std::optional<Shifted> sum = sumOfExponentials(graph, divisor);
  if (!exponential || !sum)
    return std::nullopt;
  const std::optional<Shifted> shifted = shiftedOf(graph, Translation::operandOf(*exponential, "self"));
  if (!shifted || shifted->x != sum->x || shifted->dim != sum->dim || !areOneShift(graph, shifted->most, sum->most) ||
      graph.beforeRepetition(divisor, sum->dim).empty())
    return std::nullopt;
  return graph.emit("softmax.int", alongDim(sum->x, sum->dim), graph.meta(sum->x));
}

static std::string logSumExp(Translation &graph, const std::string &x, std::int64_t dim) {
  Sizes sizes(graph.sizes(x));
  sizes.erase(sizes.begin() + dim);
  return graph.emit("logsumexp.default", {{"self", tensor(x)}, {"dim", integers({dim})}, {"keepdim", flag(false)}},
                    withSizes(graph.meta(x), sizes));
}

std::optional<std::string> stablehlo::logSumExpOf(Translation &graph, const std::string &a, const std::string &b) {
  for (const auto &[logarithm, most] : {std::pair(a, b), std::pair(b, a)}) {
    const Node *node = graph.maker(graph.withoutViews(logarithm), "log.default");
    if (!node)
      continue;
    std::string total = Translation::operandOf(*node, "self");
    // jax.nn.logsumexp has weights, whose sum may be negative.
    if (const Node *magnitude = graph.maker(total, "abs.default"))
      total = Translation::operandOf(*magnitude, "self");
    const std::optional<Shifted> sum = sumOfExponentials(graph, total);
    if (!sum || !areOneShift(graph, most, sum->most))
      continue;
    const Sizes shape(graph.sizes(a));
    if (countOf(shape) * graph.sizes(sum->x)[static_cast<std::size_t>(sum->dim)] != countOf(graph.sizes(sum->x)))
      continue;
    return graph.view(logSumExp(graph, sum->x, sum->dim), shape);
  }
  return std::nullopt;
}

std::optional<std::string> stablehlo::logSoftmaxOf(Translation &graph, const std::string &a, const std::string &b) {
  const std::optional<Shifted> shifted = shiftedOf(graph, a);
  const Node *logarithm = shifted ? graph.maker(graph.withoutViews(b), "log.default") : nullptr;
  const std::optional<Shifted> sum =
      logarithm ? sumOfExponentials(graph, Translation::operandOf(*logarithm, "self")) : std::nullopt;
  if (!sum || sum->x != shifted->x || sum->dim != shifted->dim || !areOneShift(graph, shifted->most, sum->most) ||
      graph.beforeRepetition(b, sum->dim).empty())
    return std::nullopt;
  return graph.emit("log_softmax.int", alongDim(sum->x, sum->dim), graph.meta(sum->x));
}

//===----------------------------------------------------------------------===//
// Cross entropy
//===----------------------------------------------------------------------===//

/// One index of each row along the last dim.
static bool isOfRows(const Translation &graph, const std::string &x, std::int64_t dim, const std::string &index) {
  return dim == graph.rank(x) - 1 && graph.rank(index) == graph.rank(x) && graph.sizes(index).back() == 1 &&
         exported::isFloat(graph.type(x));
}

std::optional<std::string> stablehlo::logProbabilityOf(Translation &graph, const std::string &x, std::int64_t dim,
                                                       const std::string &index) {
  const Node *node = graph.maker(x, "log_softmax.int");
  if (!node || node->find("dim")->integers.front() != dim || !isOfRows(graph, x, dim, index))
    return std::nullopt;
  const std::string logits = Translation::operandOf(*node, "self");
  const TensorMeta meta = withSizes(graph.meta(x), graph.sizes(index));
  const std::string taken =
      graph.emit("gather.default", {{"self", tensor(logits)}, {"dim", integer(dim)}, {"index", tensor(index)}}, meta);
  const std::string total = logSumExp(graph, logits, dim);
  return graph.binary("sub.Tensor", taken, graph.view(total, meta.sizes), meta);
}

namespace {
/// logsumexp(logits) - logits[target] of each row, or its negative.
struct RowLosses {
  std::string logits, targets;
  bool isNegative = false;
};
} // namespace

static std::optional<RowLosses> rowLossesOf(const Translation &graph, std::string value) {
  RowLosses found;
  value = graph.withoutViews(value);
  while (const Node *negative = graph.maker(value, "neg.default")) {
    value = graph.withoutViews(Translation::operandOf(*negative, "self"));
    found.isNegative = !found.isNegative;
  }
  const Node *node = graph.maker(value, "sub.Tensor");
  if (!node || node->find("other")->kind != Argument::Kind::tensor)
    return std::nullopt;
  std::string total = graph.withoutViews(Translation::operandOf(*node, "self")),
              taken = graph.withoutViews(Translation::operandOf(*node, "other"));
  if (graph.maker(total, "gather.default")) {
    std::swap(total, taken);
    found.isNegative = !found.isNegative;
  }
  const Node *sum = graph.maker(total, "logsumexp.default"), *choice = graph.maker(taken, "gather.default");
  if (!sum || !choice || sum->find("dim")->integers.size() != 1)
    return std::nullopt;
  found.logits = Translation::operandOf(*sum, "self");
  found.targets = Translation::operandOf(*choice, "index");
  const std::int64_t dim = choice->find("dim")->integers.front();
  const bool isOfOne = Translation::operandOf(*choice, "self") == found.logits &&
                       sum->find("dim")->integers.front() == dim && isOfRows(graph, found.logits, dim, found.targets) &&
                       countOf(graph.sizes(value)) == countOf(graph.sizes(found.targets)) &&
                       countOf(graph.sizes(total)) == countOf(graph.sizes(found.targets));
  return isOfOne ? std::optional(found) : std::nullopt;
}

/// JAX counts every row, also with a target of -100, which ends the run as other numbers outside of the classes do.
constexpr std::int64_t noTarget = std::numeric_limits<std::int32_t>::min();

/// The mean over all rows.
static std::optional<std::string> crossEntropyOf(Translation &graph, const std::string &losses) {
  const std::optional<RowLosses> found = rowLossesOf(graph, losses);
  if (!found || countOf(graph.sizes(losses)) != countOf(graph.sizes(found->targets)))
    return std::nullopt;
  // ATen has the classes after the first dim.
  const Sizes sizes(graph.sizes(found->logits));
  Sizes order = {0}, targets(graph.sizes(found->logits).drop_back());
  order.push_back(static_cast<std::int64_t>(sizes.size()) - 1);
  for (std::int64_t dim = 1; dim + 1 < static_cast<std::int64_t>(sizes.size()); ++dim)
    order.push_back(dim);
  const std::string loss = graph.emit("cross_entropy_loss.default",
                                      {{"self", tensor(graph.permute(found->logits, order))},
                                       {"target", tensor(graph.view(found->targets, targets))},
                                       {"reduction", integer(1)},
                                       {"ignore_index", integer(noTarget)}},
                                      withSizes(graph.meta(found->logits), {}));
  return found->isNegative ? graph.unary("neg.default", loss) : loss;
}

//===----------------------------------------------------------------------===//
// Mean
//===----------------------------------------------------------------------===//

std::optional<std::string> stablehlo::meanOf(Translation &graph, const std::string &sum, double count) {
  const Node *node = graph.maker(graph.withoutViews(sum), "sum.dim_IntList");
  if (!node || count <= 0)
    return std::nullopt;
  const std::string x = Translation::operandOf(*node, "self");
  const Sizes dims(node->find("dim")->integers.begin(), node->find("dim")->integers.end()), shape(graph.sizes(sum));
  Sizes kept(graph.sizes(x));
  double joined = 1;
  for (std::int64_t dim : dims) {
    joined *= static_cast<double>(kept[static_cast<std::size_t>(dim)]);
    kept[static_cast<std::size_t>(dim)] = 1;
  }
  // The sum is not repeated.
  if (joined != count || countOf(kept) != countOf(shape))
    return std::nullopt;
  if (countOf(kept) == 1)
    if (const std::optional<std::string> loss = crossEntropyOf(graph, x))
      return graph.view(*loss, shape);
  return graph.view(graph.emit("mean.dim", {{"self", tensor(x)}, {"dim", integers(dims)}, {"keepdim", flag(true)}},
                               withSizes(graph.meta(x), kept)),
                    shape);
}

//===----------------------------------------------------------------------===//
// Sigmoid and GELU
//===----------------------------------------------------------------------===//

static bool isNear(double value, double expected) { return std::fabs(value - expected) <= 1e-6 * std::fabs(expected); }

/// The operand of a call of `target` with this number as its second operand; empty for another value.
static std::string besideNumber(const Translation &graph, const std::string &value, llvm::StringRef target,
                                double expected) {
  const Node *node = graph.maker(value, target);
  const Argument *other = node ? node->find("other") : nullptr;
  return other && other->kind == Argument::Kind::number && isNear(other->numbers.front(), expected)
             ? Translation::operandOf(*node, "self")
             : std::string();
}

static std::string operandOfUnary(const Translation &graph, const std::string &value, llvm::StringRef target) {
  const Node *node = graph.maker(value, target);
  return node ? Translation::operandOf(*node, "self") : std::string();
}

std::optional<std::string> stablehlo::sigmoidOf(Translation &graph, const std::string &divisor) {
  const std::string exponential = besideNumber(graph, divisor, "add.Tensor", 1),
                    negative = operandOfUnary(graph, exponential, "exp.default"),
                    x = operandOfUnary(graph, negative, "neg.default");
  return x.empty() ? std::nullopt : std::optional(graph.unary("sigmoid.default", x));
}

/// x + 0.044715 x^3
static bool isCubicSum(const Translation &graph, const std::string &value, const std::string &x) {
  const Node *sum = graph.maker(value, "add.Tensor");
  if (!sum || sum->find("other")->kind != Argument::Kind::tensor || Translation::operandOf(*sum, "self") != x)
    return false;
  const std::string cube = besideNumber(graph, Translation::operandOf(*sum, "other"), "mul.Tensor", 0.044715);
  const Node *power = graph.maker(cube, "pow.Tensor_Scalar");
  return power && Translation::operandOf(*power, "self") == x && power->find("exponent")->numbers.front() == 3;
}

/// Of 1 + f: "none" if f is erf(x / sqrt 2), "tanh" if it is the approximation; empty for another value.
static std::string formOfGelu(const Translation &graph, const std::string &value, const std::string &x) {
  // jax.nn.gelu has 1 - erf(-x / sqrt 2).
  if (const std::string erf = operandOfUnary(graph, besideNumber(graph, value, "rsub.Scalar", 1), "erf.default");
      !erf.empty())
    return operandOfUnary(graph, besideNumber(graph, erf, "mul.Tensor", std::sqrt(0.5)), "neg.default") == x ? "none"
                                                                                                             : "";
  const std::string function = besideNumber(graph, value, "add.Tensor", 1);
  if (const std::string erf = operandOfUnary(graph, function, "erf.default"); !erf.empty())
    return besideNumber(graph, erf, "mul.Tensor", std::sqrt(0.5)) == x ||
                   besideNumber(graph, erf, "div.Tensor", std::numbers::sqrt2) == x
               ? "none"
               : "";
  const std::string tanh = operandOfUnary(graph, function, "tanh.default");
  const std::string inner = besideNumber(graph, tanh, "mul.Tensor", std::sqrt(2 / std::numbers::pi));
  return isCubicSum(graph, inner, x) ? "tanh" : "";
}

std::optional<std::string> stablehlo::geluOf(Translation &graph, const std::string &a, const std::string &b) {
  for (const auto &[first, second] : {std::pair(a, b), std::pair(b, a)}) {
    // x times half of the sum, or half of x times the sum.
    const std::string halfOfSum = besideNumber(graph, second, "mul.Tensor", 0.5),
                      x = besideNumber(graph, first, "mul.Tensor", 0.5);
    for (const auto &[operand, sum] : {std::pair(first, halfOfSum), std::pair(x, second)}) {
      const std::string form = operand.empty() ? "" : formOfGelu(graph, sum, operand);
      if (!form.empty())
        return graph.emit("gelu.default", {{"self", tensor(operand)}, {"approximate", text(form)}},
                          graph.meta(operand));
    }
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

std::string stablehlo::withoutNegativeIndices(Translation &graph, const std::string &index, std::int64_t size) {
  const Sizes sizes(graph.sizes(index));
  const Node *choice = graph.maker(graph.withoutViews(index), "where.self");
  if (!choice)
    return index;
  const std::string x = Translation::operandOf(*choice, "other");
  const Node *isNegative = graph.maker(Translation::operandOf(*choice, "condition"), "lt.Scalar");
  const Node *sum = graph.maker(Translation::operandOf(*choice, "self"), "add.Tensor");
  if (!isNegative || !sum || Translation::operandOf(*isNegative, "self") != x ||
      Translation::operandOf(*sum, "self") != x ||
      isNegative->find("other")->integers != std::vector<std::int64_t>{0} ||
      sum->find("other")->integers != std::vector<std::int64_t>{size} || countOf(graph.sizes(x)) != countOf(sizes))
    return index;
  const std::string base = graph.withoutViews(x);
  return graph.isInput(base) && countOf(graph.sizes(base)) == countOf(sizes) ? graph.view(x, sizes) : index;
}
