//===- KernelFactors.cpp - by which dims kernels may be divided -----------------------------===//
//
// One rule for each op, written from docs/spec/model.md and the kernel records. A dim of an operand or result is a
// factor, full (each rank needs all of it), or repeated (it has one element, or repeats one). A factor that a result
// does not have is reduced: with chunks of it the result is a term.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/KernelRules.h"

#include "runtime/plan/check/proof/Numbering.h"

#include <algorithm>

namespace sluice::check::proof {
namespace {

using Dims = std::vector<FactorDim>;
using Shapes = std::span<const Shape>;

/// Builds the factors of one op.
struct Rule {
  Factors factors;

  FactorDim next() { return {int(factors.count++)}; }
  Dims each(std::size_t count) {
    Dims dims;
    for (std::size_t d = 0; d < count; ++d)
      dims.push_back(next());
    return dims;
  }
};

constexpr FactorDim full{fullDim}, repeated{repeatedDim};

FactorDim positioned(FactorDim dim) {
  dim.isPositioned = true;
  return dim;
}

Dims with(Dims dims, std::initializer_list<FactorDim> more) {
  dims.insert(dims.end(), more);
  return dims;
}

/// numpy broadcasting: trailing dims align, and a dim of extent 1 repeats.
Dims broadcastDims(const Dims &dims, const Shape &all, const Shape &shape) {
  Dims result;
  const std::size_t missing = dims.size() - shape.size();
  for (std::size_t d = 0; d < shape.size(); ++d)
    result.push_back(shape[d] == all[missing + d] ? dims[missing + d] : repeated);
  return result;
}

std::optional<Factors> pointwise(Shapes operands, Shapes results) {
  Rule rule;
  const Shape &all = results.front();
  const Dims dims = rule.each(all.size());
  for (const Shape &shape : operands) {
    if (shape.size() > all.size())
      return std::nullopt;
    rule.factors.operands.push_back(broadcastDims(dims, all, shape));
  }
  for (const Shape &shape : results) {
    if (shape.size() > all.size())
      return std::nullopt;
    rule.factors.results.push_back(broadcastDims(dims, all, shape));
  }
  return rule.factors;
}

/// c[b.., m, n] = op(a)[b.., m, k] op(b)[b.., k, n]; k is summed over. Addends are added by each rank.
std::optional<Factors> product(const plan::ProgramKindT &kind, Shapes operands, Shapes results) {
  const Shape &all = results.front();
  if (operands.size() < 2 || operands[0].size() < 2 || operands[1].size() < 2 || operands[0].size() > all.size() ||
      operands[1].size() > all.size())
    return std::nullopt;
  Rule rule;
  const Dims dims = rule.each(all.size());
  const FactorDim m = dims[all.size() - 2], n = dims.back(), k = rule.next();
  const Dims batch(dims.begin(), dims.end() - 2);
  const Shape batchShape(all.begin(), all.end() - 2);
  const auto matrix = [&](const Shape &shape, FactorDim rows, FactorDim columns) {
    return with(broadcastDims(batch, batchShape, Shape(shape.begin(), shape.end() - 2)), {rows, columns});
  };
  rule.factors.operands.push_back(isFlagSet(kind, "transpose_lhs") ? matrix(operands[0], k, m)
                                                                   : matrix(operands[0], m, k));
  rule.factors.operands.push_back(isFlagSet(kind, "transpose_rhs") ? matrix(operands[1], n, k)
                                                                   : matrix(operands[1], k, n));
  for (std::size_t more = 2; more < operands.size(); ++more)
    rule.factors.operands.push_back(broadcastDims(dims, all, operands[more]));
  for (const Shape &shape : results)
    rule.factors.results.push_back(broadcastDims(dims, all, shape));
  rule.factors.ignoresZeros = true;
  // The gelu of a term is no term.
  if (kind.op == "model.matmul")
    rule.factors.terms = Terms::sum;
  rule.factors.firstAddend = 2;
  return rule.factors;
}

/// The result has the dims that are not reduced, or extent 1 in their place.
std::optional<Factors> reduction(Shapes operands, Shapes results, std::span<const std::int64_t> reduced,
                                 std::optional<Terms> terms) {
  Rule rule;
  const Shape &shape = operands.front();
  const bool keeps = results.front().size() == shape.size();
  Dims from, to;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool isReduced = std::ranges::find(reduced, std::int64_t(d)) != reduced.end();
    from.push_back(isReduced && !terms ? full : rule.next());
    if (!isReduced)
      to.push_back(from.back());
    else if (keeps)
      to.push_back(repeated);
  }
  if (to.size() != results.front().size())
    return std::nullopt;
  rule.factors.operands = {from};
  rule.factors.results = {to};
  rule.factors.terms = terms;
  rule.factors.ignoresZeros = terms == Terms::sum;
  return rule.factors;
}

/// Norms: the operands and results whose positions are given are of columns.
std::optional<Factors> norm(Shapes operands, Shapes results, std::initializer_list<std::size_t> operandColumns,
                            std::initializer_list<std::size_t> resultColumns, std::size_t x) {
  Rule rule;
  const Shape &shape = operands[x];
  if (shape.empty())
    return std::nullopt;
  const Dims leading = rule.each(shape.size() - 1);
  const auto dimsOf = [&](const Shape &own, bool isColumns) {
    return isColumns ? Dims{full} : own.size() == shape.size() ? with(leading, {full}) : leading;
  };
  for (std::size_t k = 0; k < operands.size(); ++k)
    rule.factors.operands.push_back(dimsOf(operands[k], std::ranges::find(operandColumns, k) != operandColumns.end()));
  for (std::size_t k = 0; k < results.size(); ++k)
    rule.factors.results.push_back(dimsOf(results[k], std::ranges::find(resultColumns, k) != resultColumns.end()));
  rule.factors.terms = Terms::sum;
  return rule.factors;
}

/// q [B, T, H, D], k and v [B, S, G, D], lse [B, H, T]: a head of k is used by H / G heads of q.
std::optional<Factors> attention(Shapes operands, bool isGradient) {
  const Shape &q = operands[isGradient ? 1 : 0], &k = operands[isGradient ? 2 : 1];
  if (q.size() != 4 || k.size() != 4 || k[2] == 0 || q[2] % k[2] != 0)
    return std::nullopt;
  Rule rule;
  const FactorDim batch = rule.next(), groups = rule.next();
  FactorDim heads = groups;
  if (q[2] != k[2])
    heads = {groups.factor, false, rule.next().factor, k[2], q[2] / k[2]};
  const Dims ofQ{batch, full, heads, full}, ofK{batch, full, groups, full}, ofLse{batch, heads, full};
  if (isGradient) {
    rule.factors.operands = {ofQ, ofQ, ofK, ofK, ofQ, ofLse};
    rule.factors.results = {ofQ, ofK, ofK};
    rule.factors.terms = Terms::sum;
  } else {
    rule.factors.operands = {ofQ, ofK, ofK};
    rule.factors.results = {ofQ, ofLse};
  }
  return rule.factors;
}

/// table [V, ..rest], indices [..], y [.., ..rest]. Rows that a rank does not have count as zeros, if the kernel takes
/// the position of its rows.
std::optional<Factors> lookup(Shapes operands, Shapes results, bool hasPosition) {
  const std::size_t count = operands[1].size(), rank = results.front().size();
  if (count > rank || operands[0].size() != rank - count + 1)
    return std::nullopt;
  Rule rule;
  const Dims y = rule.each(rank);
  Dims table{hasPosition ? positioned(rule.next()) : full};
  table.insert(table.end(), y.begin() + std::ptrdiff_t(count), y.end());
  rule.factors.operands = {table, Dims(y.begin(), y.begin() + std::ptrdiff_t(count))};
  rule.factors.results = {y};
  if (hasPosition)
    rule.factors.terms = Terms::sum;
  return rule.factors;
}

/// updates [.., ..rest], indices [..], table [V, ..rest]: a sum over indices, of any rows of the table.
std::optional<Factors> lookupGradient(Shapes operands, Shapes results, bool hasPosition) {
  const std::size_t count = operands[1].size(), rank = operands[0].size();
  if (count > rank || results.front().size() != rank - count + 1)
    return std::nullopt;
  Rule rule;
  const Dims y = rule.each(rank);
  Dims table{hasPosition ? positioned(rule.next()) : full};
  table.insert(table.end(), y.begin() + std::ptrdiff_t(count), y.end());
  rule.factors.operands = {y, Dims(y.begin(), y.begin() + std::ptrdiff_t(count))};
  rule.factors.results = {table};
  rule.factors.terms = Terms::sum;
  return rule.factors;
}

/// result[.., i, ..] = table[.., indices[.., i, ..], ..] along a dim, and the reverse: zeros for indices of other
/// ranks.
std::optional<Factors> along(const plan::ProgramKindT &kind, const Shape &table, const Shape &indices, bool takes) {
  const plan::AttributeT *attribute = attributeOf(kind, "dim");
  const std::size_t dim = attribute ? std::size_t(attribute->integer) : 0;
  if (table.size() != indices.size() || dim >= table.size())
    return std::nullopt;
  Rule rule;
  Dims all, part;
  for (std::size_t d = 0; d < table.size(); ++d) {
    if (d != dim && table[d] == indices[d]) {
      all.push_back(rule.next());
      part.push_back(all.back());
    } else {
      all.push_back(d == dim && takes ? positioned(rule.next()) : full);
      part.push_back(indices[d] == 1 ? repeated : full);
    }
  }
  if (takes) {
    rule.factors.operands = {all, part};
    rule.factors.results = {part};
    rule.factors.terms = Terms::sum;
  } else {
    rule.factors.operands = {part, part};
    rule.factors.results = {all};
  }
  return rule.factors;
}

/// logits [.., V], targets and lse [..]. A mean needs all rows: it counts them.
std::optional<Factors> crossEntropy(const plan::ProgramKindT &kind, const Shape &logits, bool isGradient) {
  if (logits.empty())
    return std::nullopt;
  Rule rule;
  const bool isSum = textOf(kind, "reduction") == "sum";
  Dims byRow = isSum ? rule.each(logits.size() - 1) : Dims(logits.size() - 1, full);
  if (isGradient) {
    const Dims columns = with(byRow, {positioned(rule.next())});
    rule.factors.operands = {{}, columns, byRow, byRow};
    rule.factors.results = {with(byRow, {FactorDim{columns.back().factor}})};
  } else {
    rule.factors.operands = {with(byRow, {full}), byRow};
    rule.factors.results = {{}, byRow};
    rule.factors.terms = Terms::sum;
  }
  return rule.factors;
}

/// x [.., C], weight [V, C], targets and lse [..].
std::optional<Factors> linearLoss(const plan::ProgramKindT &kind, const Shape &x, bool isGradient) {
  if (x.empty())
    return std::nullopt;
  Rule rule;
  Dims byRow = textOf(kind, "reduction") == "sum" ? rule.each(x.size() - 1) : Dims(x.size() - 1, full);
  const Dims ofX = with(byRow, {full}), weight{full, full};
  if (isGradient) {
    rule.factors.operands = {{}, ofX, weight, byRow, byRow};
    rule.factors.results = {ofX, weight};
  } else {
    rule.factors.operands = {ofX, weight, byRow};
    rule.factors.results = {{}, byRow};
  }
  rule.factors.terms = Terms::sum;
  return rule.factors;
}

/// Images [N, ..]: each alone. The others are weights, whose gradients are sums over images.
std::optional<Factors> images(Shapes operands, Shapes results, std::initializer_list<std::size_t> operandImages,
                              bool isImageResult) {
  Rule rule;
  const FactorDim image = rule.next();
  const auto dimsOf = [&](const Shape &shape, bool isImage) {
    Dims dims(shape.size(), full);
    if (isImage && !dims.empty())
      dims[0] = image;
    return dims;
  };
  for (std::size_t k = 0; k < operands.size(); ++k)
    rule.factors.operands.push_back(dimsOf(operands[k], std::ranges::find(operandImages, k) != operandImages.end()));
  for (const Shape &shape : results)
    rule.factors.results.push_back(dimsOf(shape, isImageResult));
  rule.factors.terms = Terms::sum;
  return rule.factors;
}

/// Dims of equal extents are parallel, except `dim`.
std::optional<Factors> unchanged(Shapes operands, Shapes results) {
  Rule rule;
  const Shape &all = results.front();
  Dims dims;
  for (std::size_t d = 0; d < all.size(); ++d) {
    const bool isEqual = std::ranges::all_of(
        operands, [&](const Shape &shape) { return shape.size() == all.size() && shape[d] == all[d]; });
    dims.push_back(isEqual ? rule.next() : full);
  }
  for (const Shape &shape : operands)
    if (shape.size() != all.size())
      return std::nullopt;
  rule.factors.operands.assign(operands.size(), dims);
  rule.factors.results = {dims};
  return rule.factors;
}

} // namespace

bool isLinear(const plan::ProgramKindT &kind) {
  return kind.op == "model.add" || kind.op == "model.subtract" || kind.op == "model.negate" ||
         kind.op == "model.reduce_sum" || kind.op == "model.reduce_mean" || kind.op == "model.concat";
}

std::optional<Factors> factorsOf(const plan::ProgramKindT &kind, Shapes operands, Shapes results) {
  const std::string &op = kind.op;
  if (results.empty())
    return std::nullopt;
  if (isPointwiseOp(op))
    return pointwise(operands, results);
  // The kernel counts from the first element of its output. Elements along the other dims are equal, and valid extents
  // state which of them a rank has.
  if (op == "model.iota") {
    Rule rule;
    Dims dims = rule.each(results.front().size());
    for (FactorDim &own : dims)
      own.isPositioned = true;
    const plan::AttributeT *dim = attributeOf(kind, "dim");
    if (const std::size_t along = dim ? std::size_t(dim->integer) : 0; along < dims.size())
      dims[along] = full;
    rule.factors.results = {dims};
    return rule.factors;
  }
  if (operands.empty())
    return std::nullopt;
  // Elements that are keyed by their index.
  if (op == "model.dropout") {
    Rule rule;
    Dims dims = rule.each(results.front().size());
    rule.factors.operands.push_back(dims);
    for (std::size_t k = 1; k < operands.size(); ++k)
      rule.factors.operands.emplace_back(operands[k].size(), full);
    for (FactorDim &dim : dims)
      dim.isPositioned = true;
    rule.factors.results = {dims};
    return rule.factors;
  }
  const std::int64_t last = std::int64_t(operands.front().size()) - 1;
  if (op == "model.matmul" || op == "model.matmul_gelu" || op == "model.matmul_gelu_grad")
    return product(kind, operands, results);
  if (op == "model.reduce_sum")
    return reduction(operands, results, listOf(kind, "dims"), Terms::sum);
  if (op == "model.reduce_mean")
    return reduction(operands, results, listOf(kind, "dims"), std::nullopt);
  if (op == "model.reduce_max")
    return reduction(operands, results, listOf(kind, "dims"), Terms::maximum);
  if (op == "model.logsumexp")
    return reduction(operands, results, std::span(&last, 1), Terms::logSumExp);
  if (op == "model.softmax" || op == "model.softmax_grad")
    return norm(operands, results, {}, {}, 0);
  if (op == "model.layer_norm")
    return norm(operands, results, {1, 2}, {}, 0);
  if (op == "model.layer_norm_grad")
    return norm(operands, results, {2}, {1, 2}, 1);
  if (op == "model.rms_norm")
    return norm(operands, results, {1}, {}, 0);
  if (op == "model.rms_norm_grad")
    return norm(operands, results, {2}, {1}, 1);
  if (op == "model.attention" && operands.size() == 3)
    return attention(operands, false);
  if (op == "model.attention_grad" && operands.size() == 6)
    return attention(operands, true);
  if (op == "model.rope" && operands[0].size() == 4) {
    Rule rule;
    const FactorDim batch = rule.next(), heads = rule.next();
    rule.factors.operands = {{batch, full, heads, full}};
    rule.factors.results = rule.factors.operands;
    return rule.factors;
  }
  if (operands.size() == 2 && (op == "model.embedding" || op == "model.gather"))
    return lookup(operands, results, op == "model.embedding");
  if (operands.size() == 2 && (op == "model.embedding_grad" || op == "model.scatter_add"))
    return lookupGradient(operands, results, op == "model.embedding_grad");
  if (operands.size() == 2 && op == "model.take_along")
    return along(kind, operands[0], operands[1], true);
  if (operands.size() == 2 && op == "model.add_along")
    return along(kind, results[0], operands[1], false);
  if (op == "model.argmax") {
    const plan::AttributeT *dim = attributeOf(kind, "dim");
    const std::int64_t reduced = dim ? dim->integer : 0;
    return reduction(operands, results, std::span(&reduced, 1), std::nullopt);
  }
  if (op == "model.cross_entropy" && operands.size() == 2)
    return crossEntropy(kind, operands[0], false);
  if (op == "model.cross_entropy_grad" && operands.size() == 4)
    return crossEntropy(kind, operands[1], true);
  if (op == "model.linear_cross_entropy" && operands.size() == 3)
    return linearLoss(kind, operands[0], false);
  if (op == "model.linear_cross_entropy_grad" && operands.size() == 5)
    return linearLoss(kind, operands[1], true);
  if (op == "model.conv2d" || op == "model.conv2d_input_grad")
    return images(operands, results, {0}, true);
  if (op == "model.conv2d_weight_grad")
    return images(operands, results, {0, 1}, false);
  if (op.starts_with("model.max_pool2d") || op.starts_with("model.avg_pool2d") ||
      op.starts_with("model.adaptive_avg_pool2d"))
    return images(operands, results, {0, 1}, true);
  if (op == "model.concat" || op == "model.pad")
    return unchanged(operands, results);
  return std::nullopt;
}

} // namespace sluice::check::proof
