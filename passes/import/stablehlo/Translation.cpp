//===- Translation.cpp - a program of ATen calls from the ops of StableHLO ------------------===//

#include "passes/import/stablehlo/Translation.h"

#include "runtime/base/Text.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace sluice;
using namespace sluice::stablehlo;

//===----------------------------------------------------------------------===//
// Arguments and types
//===----------------------------------------------------------------------===//

static Argument argumentOf(Argument::Kind kind) {
  Argument argument;
  argument.kind = kind;
  return argument;
}
Argument stablehlo::tensor(const std::string &name) {
  Argument argument = argumentOf(Argument::Kind::tensor);
  argument.names = {name};
  return argument;
}
Argument stablehlo::tensors(std::vector<std::string> names) {
  Argument argument = argumentOf(Argument::Kind::tensors);
  argument.names = std::move(names);
  return argument;
}
Argument stablehlo::integer(std::int64_t value) {
  Argument argument = argumentOf(Argument::Kind::integer);
  argument.integers = {value};
  return argument;
}
Argument stablehlo::integers(llvm::ArrayRef<std::int64_t> values) {
  Argument argument = argumentOf(Argument::Kind::integers);
  argument.integers.assign(values.begin(), values.end());
  return argument;
}
Argument stablehlo::number(double value) {
  Argument argument = argumentOf(Argument::Kind::number);
  argument.numbers = {value};
  return argument;
}
Argument stablehlo::flag(bool value) {
  Argument argument = argumentOf(Argument::Kind::boolean);
  argument.integers = {value ? 1 : 0};
  return argument;
}
Argument stablehlo::text(std::string value) {
  Argument argument = argumentOf(Argument::Kind::text);
  argument.text = std::move(value);
  return argument;
}
Argument stablehlo::numberOf(double value, ScalarType type) {
  return exported::isFloat(type) ? number(value) : integer(static_cast<std::int64_t>(value));
}

TensorMeta stablehlo::metaOf(ScalarType type, llvm::ArrayRef<std::int64_t> sizes) {
  TensorMeta meta;
  meta.type = type;
  meta.sizes = Sizes(sizes);
  meta.strides.assign(sizes.size(), 1);
  for (std::size_t dim = sizes.size(); dim-- > 1;)
    meta.strides[dim - 1] = meta.strides[dim] * std::max<std::int64_t>(sizes[dim], 1);
  return meta;
}

std::int64_t stablehlo::countOf(llvm::ArrayRef<std::int64_t> sizes) {
  std::int64_t count = 1;
  for (std::int64_t size : sizes)
    if (llvm::MulOverflow(count, size, count))
      return std::numeric_limits<std::int64_t>::max();
  return count;
}

//===----------------------------------------------------------------------===//
// Translation
//===----------------------------------------------------------------------===//

const TensorMeta &Translation::meta(llvm::StringRef name) const { return program.graph.tensors.find(name)->second; }

std::optional<double> Translation::splat(llvm::StringRef name) const {
  const auto found = splats.find(name);
  return found == splats.end() ? std::nullopt : std::optional(found->second);
}

const Node *Translation::maker(llvm::StringRef name) const {
  const auto found = makers.find(name);
  return found == makers.end() ? nullptr : &program.graph.nodes[found->second];
}

const Node *Translation::maker(llvm::StringRef name, llvm::StringRef target) const {
  const Node *node = maker(name);
  return node && node->target == ("aten." + target).str() ? node : nullptr;
}

std::string Translation::operandOf(const Node &node, llvm::StringRef argument) {
  return node.find(argument)->names.front();
}

std::string Translation::withoutViews(std::string name) const {
  while (const Node *node = maker(name)) {
    if (node->target != "aten.view.default" && node->target != "aten.expand.default")
      break;
    name = operandOf(*node, "self");
  }
  return name;
}

std::string Translation::beforeRepetition(const std::string &value, std::int64_t dim) const {
  Sizes kept(sizes(value));
  if (dim < 0 || dim >= static_cast<std::int64_t>(kept.size()))
    return "";
  kept[static_cast<std::size_t>(dim)] = 1;
  if (sizes(value) == llvm::ArrayRef(kept))
    return value;
  const Node *node = maker(value, "expand.default");
  return node && sizes(operandOf(*node, "self")) == llvm::ArrayRef(kept) ? operandOf(*node, "self") : "";
}

bool Translation::isInput(llvm::StringRef name) const {
  return llvm::any_of(program.inputs, [&](const exported::InputSpec &input) {
    return input.kind == exported::InputSpec::Kind::user && input.value == name;
  });
}

std::string Translation::newName(const TensorMeta &meta) {
  std::string name = concat("v", count++);
  program.graph.tensors[name] = meta;
  return name;
}

std::string Translation::addInput(exported::InputSpec::Kind kind, const std::string &name, const TensorMeta &meta,
                                  ConstantPtr constant) {
  exported::InputSpec input;
  input.kind = kind;
  input.value = newName(meta);
  input.name = name.empty() ? input.value : name;
  input.constant = std::move(constant);
  program.graph.inputs.push_back(tensor(input.value));
  program.inputs.push_back(input);
  return input.value;
}

std::string Translation::emit(llvm::StringRef target, Arguments arguments, const TensorMeta &meta) {
  Node node;
  node.target = "aten." + target.str();
  node.spelling = spelling;
  node.inputs = std::move(arguments);
  node.origin = origin;
  std::string name = newName(meta);
  node.outputs = {name};
  makers[name] = program.graph.nodes.size();
  program.graph.nodes.push_back(std::move(node));
  return name;
}

std::vector<std::string> Translation::emitProblem(llvm::ArrayRef<TensorMeta> results, std::string problem,
                                                  std::string remedy) {
  Node node;
  node.target = spelling;
  node.spelling = spelling;
  node.problem = std::move(problem);
  node.remedy = std::move(remedy);
  node.origin = origin;
  for (const TensorMeta &meta : results)
    node.outputs.push_back(newName(meta));
  std::vector<std::string> names = node.outputs;
  for (const std::string &name : names)
    makers[name] = program.graph.nodes.size();
  program.graph.nodes.push_back(std::move(node));
  return names;
}

std::string Translation::full(double value, const TensorMeta &meta) {
  std::string name =
      emit("full.default", {{"size", integers(meta.sizes)}, {"fill_value", numberOf(value, meta.type)}}, meta);
  setSplat(name, value);
  return name;
}

/// A value whose elements are those of `x`.
static std::string sameElements(Translation &graph, const std::string &x, std::string name) {
  if (const std::optional<double> value = graph.splat(x))
    graph.setSplat(name, *value);
  return name;
}

std::string Translation::view(const std::string &x, llvm::ArrayRef<std::int64_t> to) {
  if (sizes(x) == to)
    return x;
  // A view of a view is one.
  if (const Node *inner = maker(x, "view.default"))
    return view(operandOf(*inner, "self"), to);
  return sameElements(*this, x,
                      emit("view.default", {{"self", tensor(x)}, {"size", integers(to)}}, withSizes(meta(x), to)));
}

std::string Translation::expand(const std::string &x, llvm::ArrayRef<std::int64_t> to) {
  if (sizes(x) == to)
    return x;
  return sameElements(*this, x,
                      emit("expand.default", {{"self", tensor(x)}, {"size", integers(to)}}, withSizes(meta(x), to)));
}

std::string Translation::permute(const std::string &x, llvm::ArrayRef<std::int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<std::int64_t>(0, rank(x))))
    return x;
  Sizes to;
  for (std::int64_t dim : permutation)
    to.push_back(sizes(x)[static_cast<std::size_t>(dim)]);
  return sameElements(
      *this, x,
      emit("permute.default", {{"self", tensor(x)}, {"dims", integers(permutation)}}, withSizes(meta(x), to)));
}

std::string Translation::slice(const std::string &x, std::int64_t dim, std::int64_t start, std::int64_t limit,
                               std::int64_t step) {
  Sizes to(sizes(x));
  const auto at = static_cast<std::size_t>(dim);
  if (start == 0 && limit == to[at] && step == 1)
    return x;
  to[at] = (limit - start + step - 1) / step;
  std::string name = sameElements(*this, x,
                                  emit("slice.Tensor",
                                       {{"self", tensor(x)},
                                        {"dim", integer(dim)},
                                        {"start", integer(start)},
                                        {"end", integer(limit)},
                                        {"step", integer(step)}},
                                       withSizes(meta(x), to)));
  // The starts of a slice may be the elements of a constant.
  if (rank(x) == 1 && to[at] == 1)
    for (const exported::InputSpec &input : program.inputs)
      if (input.value == x && input.constant && input.constant->dense())
        setSplat(name, (*input.constant->dense())[static_cast<std::size_t>(start)]);
  return name;
}

bool Translation::fitsPadded(const std::string &x, std::int64_t dim, std::int64_t before, std::int64_t after,
                             std::int64_t between) const {
  constexpr std::int64_t most = std::int64_t(1) << 48;
  const auto isAmount = [](std::int64_t amount) { return amount >= 0 && amount < most; };
  if (!isAmount(before) || !isAmount(after) || !isAmount(between))
    return false;
  Sizes padded(sizes(x));
  std::int64_t &size = padded[static_cast<std::size_t>(dim)];
  if (llvm::MulOverflow(size, between + 1, size))
    return false;
  return !llvm::AddOverflow(size, before + after, size) && countOf(padded) <= most;
}

std::string Translation::pad(const std::string &x, std::int64_t dim, std::int64_t before, std::int64_t after,
                             std::int64_t between, double fill) {
  const auto at = static_cast<std::size_t>(dim);
  if (const std::int64_t size = sizes(x)[at]; between > 0 && size > 1) {
    // A dim of the fill after each element.
    Sizes apart(sizes(x)), joined(apart);
    apart.insert(apart.begin() + dim + 1, 1);
    joined[at] = size * (between + 1);
    const std::string spread = view(pad(view(x, apart), dim + 1, 0, between, 0, fill), joined);
    return pad(slice(spread, dim, 0, joined[at] - between), dim, before, after, 0, fill);
  }
  if (before == 0 && after == 0)
    return x;
  // From the last dim to the first, two numbers for each.
  Sizes amounts(2 * (sizes(x).size() - at), 0), to(sizes(x));
  amounts[amounts.size() - 2] = before, amounts.back() = after;
  to[at] += before + after;
  return emit("constant_pad_nd.default",
              {{"self", tensor(x)}, {"pad", integers(amounts)}, {"value", numberOf(fill, type(x))}},
              withSizes(meta(x), to));
}

std::string Translation::cast(const std::string &x, ScalarType to) {
  if (type(x) == to)
    return x;
  Argument dtype = argumentOf(Argument::Kind::scalarType);
  dtype.integers = {static_cast<std::int64_t>(to)};
  std::string name = emit("_to_copy.default", {{"self", tensor(x)}, {"dtype", dtype}}, metaOf(to, sizes(x)));
  if (const std::optional<double> value = splat(x))
    setSplat(name, exported::roundTo(*value, to));
  return name;
}

std::string Translation::join(const std::vector<std::string> &parts, std::int64_t dim) {
  if (parts.size() == 1)
    return parts.front();
  Sizes to(sizes(parts.front()));
  const auto at = static_cast<std::size_t>(dim);
  to[at] = 0;
  for (const std::string &part : parts)
    to[at] += sizes(part)[at];
  return emit("cat.default", {{"tensors", tensors(parts)}, {"dim", integer(dim)}}, withSizes(meta(parts.front()), to));
}

std::string Translation::iota(const TensorMeta &meta, std::int64_t dim) {
  const std::int64_t size = meta.sizes[static_cast<std::size_t>(dim)];
  std::string name = emit("arange.default", {{"end", integer(size)}}, metaOf(meta.type, {size}));
  Sizes ones(meta.sizes.size(), 1);
  ones[static_cast<std::size_t>(dim)] = size;
  return expand(view(name, ones), meta.sizes);
}

std::string Translation::unary(llvm::StringRef target, const std::string &x, llvm::StringRef name) {
  return emit(target, {{name.str(), tensor(x)}}, withSizes(meta(x), sizes(x)));
}

std::string Translation::binary(llvm::StringRef target, const std::string &a, const std::string &b,
                                const TensorMeta &meta) {
  return emit(target, {{"self", tensor(a)}, {"other", tensor(b)}}, meta);
}
std::string Translation::binary(llvm::StringRef target, const std::string &a, double b, const TensorMeta &meta) {
  return emit(target, {{"self", tensor(a)}, {"other", numberOf(b, type(a))}}, meta);
}
