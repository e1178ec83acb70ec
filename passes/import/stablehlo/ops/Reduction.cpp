//===- Reduction.cpp - ops of StableHLO that combine the elements of dims -------------------===//

#include "passes/import/stablehlo/Translation.h"

#include "runtime/base/Text.h"

#include <cmath>

using namespace mlir;
using namespace sluice;
using namespace sluice::stablehlo;

namespace sluice::stablehlo::reduction {

struct Combiner {
  llvm::StringLiteral name, target;
  double neutral;
};
constexpr Combiner combiners[] = {
    {"add", "sum.dim_IntList", 0},
    {"maximum", "amax.default", -INFINITY},
    {"minimum", "amin.default", INFINITY},
};

void reduce(OpCall &call) {
  if (call.resultCount() != 1)
    return call.refuse("it has several results", "export with sluice.jax.export, which marks argmax and argmin");
  const std::string x = call.operand(0);
  const std::optional<double> first = call.graph.splat(call.operand(1));
  const Sizes dims = call.dims("dimensions", call.graph.rank(x));
  if (call.isRefused())
    return;
  const llvm::StringRef combiner = combinerOf(call.op);
  const ScalarType type = call.graph.type(x);
  Sizes kept(call.graph.sizes(x));
  for (std::int64_t dim : dims)
    kept[static_cast<std::size_t>(dim)] = 1;
  if (dims.empty())
    return call.set(x);
  const auto reduced = [&](llvm::StringRef target, const std::string &self) {
    // With the dims kept: a norm or a softmax broadcasts it again.
    return call.graph.emit(target, {{"self", tensor(self)}, {"dim", integers(dims)}, {"keepdim", flag(true)}},
                           withSizes(call.graph.meta(self), kept));
  };
  const auto finish = [&](const std::string &value) {
    if (countOf(call.graph.sizes(value)) != countOf(call.result().sizes))
      return call.refuseShapes();
    call.set(call.graph.view(value, call.result().sizes));
  };
  if (combiner == "multiply" && exported::isFloat(type) && first == 1) {
    std::string value = x;
    for (std::int64_t dim : dims) {
      Sizes shape(call.graph.sizes(value));
      shape[static_cast<std::size_t>(dim)] = 1;
      value = call.graph.emit("prod.dim_int", {{"self", tensor(value)}, {"dim", integer(dim)}, {"keepdim", flag(true)}},
                              withSizes(call.graph.meta(value), shape));
    }
    return finish(value);
  }
  // Of truth values: whether a sum of zeros and ones is 0, or the number of elements.
  if (type == ScalarType::boolean && (combiner == "or" || combiner == "and") && first == (combiner == "and" ? 1 : 0)) {
    std::int64_t count = 1;
    for (std::int64_t dim : dims)
      count *= call.graph.sizes(x)[static_cast<std::size_t>(dim)];
    const std::string sum = reduced("sum.dim_IntList", call.graph.cast(x, ScalarType::f32));
    return finish(combiner == "or" ? call.graph.binary("gt.Scalar", sum, 0, metaOf(ScalarType::boolean, kept))
                                   : call.graph.binary("eq.Scalar", sum, static_cast<double>(count),
                                                       metaOf(ScalarType::boolean, kept)));
  }
  for (const Combiner &each : combiners) {
    if (each.name != combiner)
      continue;
    if (!exported::isFloat(type) && each.name != "add")
      return call.refuse("it is of integers", "convert them to float32 before");
    std::string value = reduced(each.target, x);
    // Any initial value takes part once.
    if (!first)
      return call.refuse("its initial value depends on data");
    if (*first != each.neutral)
      value = each.name == "add"
                  ? call.graph.binary("add.Tensor", value, *first, call.graph.meta(value))
                  : call.graph.binary(each.name == "maximum" ? "maximum.default" : "minimum.default", value,
                                      call.graph.full(*first, call.graph.meta(value)), call.graph.meta(value));
    return finish(value);
  }
  call.refuse(concat("it combines elements by ", combiner.empty() ? "several ops" : concat("'", combiner.str(), "'")));
}

/// Sums or maxima of windows over at most two dims, as ATen's pools of images of one channel have them.
void reduceWindow(OpCall &call) {
  if (call.resultCount() != 1)
    return call.refuse("it has several results", "export with sluice.jax.export, which marks argmax and argmin");
  Translation &graph = call.graph;
  std::string x = call.operand(0);
  const std::optional<double> first = graph.splat(call.operand(1));
  const auto rank = static_cast<std::size_t>(graph.rank(x));
  const Sizes ones(rank, 1), window = call.integers("window_dimensions"),
                             strides = call.optionalIntegers("window_strides").value_or(ones),
                             dilation = call.optionalIntegers("window_dilations").value_or(ones),
                             spread = call.optionalIntegers("base_dilations").value_or(ones),
                             padding = call.optionalIntegers("padding").value_or(Sizes(2 * rank, 0));
  const llvm::StringRef combiner = combinerOf(call.op);
  const Combiner *found = llvm::find_if(combiners, [&](const Combiner &each) { return each.name == combiner; });
  if (found == std::end(combiners) || first != found->neutral || !exported::isFloat(graph.type(x)))
    return call.refuse("windows of other ops than sum, maximum and minimum of floats, or with an initial value");
  const auto isPositive = [](std::int64_t each) { return each >= 1; };
  if (window.size() != rank || strides.size() != rank || dilation.size() != rank || spread.size() != rank ||
      padding.size() != 2 * rank || call.result().sizes.size() != rank ||
      !llvm::all_of(padding, [](std::int64_t each) { return each >= 0; }) || !llvm::all_of(window, isPositive) ||
      !llvm::all_of(strides, isPositive) || !llvm::all_of(spread, isPositive) || dilation != ones)
    return call.refuse("windows with negative padding or with dilation");
  const bool isLeast = combiner == "minimum", isSum = combiner == "add";
  if (isLeast)
    x = graph.unary("neg.default", x);
  Sizes order, pooled;
  for (std::size_t dim = 0; dim < rank; ++dim) {
    const auto at = static_cast<std::int64_t>(dim);
    if (!graph.fitsPadded(x, at, padding[2 * dim], padding[2 * dim + 1], spread[dim] - 1))
      return call.refuseBounds();
    // The neutral element takes part in no window's result.
    x = graph.pad(x, at, padding[2 * dim], padding[2 * dim + 1], spread[dim] - 1, isSum ? 0 : -INFINITY);
    if (window[dim] > graph.sizes(x)[dim])
      return call.refuse("a window longer than its dim");
    (window[dim] == 1 && strides[dim] == 1 ? order : pooled).push_back(at);
  }
  if (pooled.size() > 2)
    return call.refuse("windows over more than two dims");
  std::int64_t images = 1;
  for (std::int64_t dim : order)
    images *= graph.sizes(x)[static_cast<std::size_t>(dim)];
  order.append(pooled);
  Sizes back(rank), after, image = {images, 1}, result = {images, 1}, kernel, step;
  for (auto [place, dim] : llvm::enumerate(order)) {
    back[static_cast<std::size_t>(dim)] = static_cast<std::int64_t>(place);
    after.push_back(call.result().sizes[static_cast<std::size_t>(dim)]);
  }
  for (std::size_t missing = pooled.size(); missing < 2; ++missing)
    image.push_back(1), result.push_back(1), kernel.push_back(1), step.push_back(1);
  for (std::int64_t dim : pooled) {
    const auto at = static_cast<std::size_t>(dim);
    image.push_back(graph.sizes(x)[at]), result.push_back(call.result().sizes[at]);
    kernel.push_back(window[at]), step.push_back(std::min(strides[at], image.back()));
  }
  if (countOf(after) != countOf(result))
    return call.refuseShapes();
  const std::string input = graph.view(graph.permute(x, order), image);
  const Arguments windows = {{"self", tensor(input)}, {"kernel_size", integers(kernel)}, {"stride", integers(step)}};
  std::string value =
      graph.emit(isSum ? "avg_pool2d.default" : "max_pool2d.default", windows, withSizes(graph.meta(x), result));
  if (isSum)
    value = graph.binary("mul.Tensor", value, static_cast<double>(countOf(kernel)), graph.meta(value));
  if (isLeast)
    value = graph.unary("neg.default", value);
  call.set(graph.permute(graph.view(value, after), back));
}

constexpr TableEntry table[] = {
    {"reduce", reduce},
    {"reduce_window", reduceWindow},
};

} // namespace sluice::stablehlo::reduction

llvm::ArrayRef<TableEntry> stablehlo::reductionOps() { return reduction::table; }
