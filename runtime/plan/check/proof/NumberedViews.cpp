//===- NumberedViews.cpp - values whose elements are those of another value ------------------===//
//
// Views, casts and multiples of a value have its root. The rows of all ranks have a root of their elements.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/catalogue/Catalogue.h"
#include "runtime/plan/check/proof/KernelRules.h"
#include "runtime/plan/check/proof/Key.h"

#include <algorithm>

namespace sluice::check::proof {

std::optional<std::vector<Indexing>> Numbering::viewsOf(std::uint32_t op, const Indexing &source) const {
  const plan::ProgramKindT &kind = kindOf(op);
  const auto operands = operandsOf(op), results = resultsOf(op);
  std::vector<Indexing> views;
  const auto add = [&](std::uint32_t result, std::optional<Indexing> at) {
    if (!at || !hasShape(*at, type(result).shape))
      return false;
    views.push_back(std::move(*at));
    return true;
  };
  const auto only = [&](std::optional<Indexing> at) {
    return add(results[0], std::move(at)) ? std::optional(std::move(views)) : std::nullopt;
  };
  if (results.empty() || (results.size() != 1 && kind.op != "model.split") || std::ranges::count(results, 0u) != 0)
    return std::nullopt;
  const Shape &shape = type(results[0]).shape;
  if (kind.op == "model.reshape")
    return only(reshaped(source, shape));
  if (kind.op == "model.broadcast")
    return only(broadcasted(source, shape));
  if (kind.op == "model.transpose")
    return only(transposed(source, listOf(kind, "permutation")));
  if (kind.op == "model.slice") {
    const auto start = listOf(kind, "start"), limit = listOf(kind, "limit"), step = listOf(kind, "step");
    const Shape from = shapeOf(source);
    std::optional<Indexing> at = source;
    if (start.size() != from.size() || limit.size() != from.size() || (!step.empty() && step.size() != from.size()))
      return std::nullopt;
    for (std::size_t d = 0; d < from.size() && at; ++d) {
      const std::int64_t distance = step.empty() ? 1 : step[d];
      if (distance < 1)
        return std::nullopt;
      at = sliced(*at, d, start[d], (limit[d] - start[d] + distance - 1) / distance, distance);
    }
    return only(std::move(at));
  }
  if (kind.op == "model.split") {
    const plan::AttributeT *dim = attributeOf(kind, "dim");
    const std::size_t d = dim ? std::size_t(dim->integer) : 0;
    std::int64_t first = 0;
    for (std::uint32_t result : results) {
      const std::int64_t count = d < type(result).shape.size() ? type(result).shape[d] : 0;
      if (!add(result, sliced(source, d, first, count, 1)))
        return std::nullopt;
      first += count;
    }
    return views;
  }
  const auto isAll = [&](std::string_view name, std::int64_t value) {
    return std::ranges::all_of(listOf(kind, name), [&](std::int64_t own) { return own == value; });
  };
  const bool isKept =
      kind.op == "model.scale" ||
      (kind.op == "model.cast" && isFloatType(type(operands[0]).dtype) && isFloatType(type(results[0]).dtype)) ||
      // The rows of one rank, and a tensor without padding, are the operand.
      ((kind.op == "model.all_gather" || kind.op == "model.reduce_scatter") && dataRanks == 1) ||
      (kind.op == "model.pad" && isAll("low", 0) && isAll("high", 0) && isAll("step", 1));
  return isKept ? only(source) : std::nullopt;
}

bool Numbering::numberView(const plan::ProgramKindT &kind, std::uint32_t op) {
  const auto operands = operandsOf(op), results = resultsOf(op);
  if (operands.size() != 1 || values[operands[0]].root == 0)
    return false;
  Value value = values[operands[0]];
  std::optional<std::vector<Indexing>> views = viewsOf(op, value.at);
  if (!views)
    return false;
  if (const plan::AttributeT *factor = kind.op == "model.scale" ? attributeOf(kind, "factor") : nullptr)
    value.coefficient *= factor->number;
  for (std::size_t r = 0; r < results.size(); ++r) {
    value.at = std::move((*views)[r]);
    set(results[r], value);
  }
  return true;
}

std::string Numbering::typeProblem(std::uint32_t op) const {
  const plan::ProgramKindT &kind = kindOf(op);
  std::vector<Shape> shapes;
  std::vector<Operand> operands, results;
  for (auto *side : {&operands, &results})
    for (std::uint32_t id : side == &operands ? operandsOf(op) : resultsOf(op)) {
      // A value without uses has no id.
      if (id == 0)
        return {};
      shapes.push_back(type(id).shape);
      side->push_back(Operand::dense(baseType(type(id).dtype), shapes.back()));
    }
  shapes.resize(operands.size());
  if (const KernelRecord *record = recordOfOp(kind.op)) {
    const Attributes attributes = attributesOfOp(kind, shapes, *record);
    Status status = checkLaunch(*record, operands, results, attributes);
    if (status.isOk())
      status = checkExtents(*record, operands, results, attributes);
    return status.message();
  }
  // model.accumulate is not a view, and no rule gives its value: its results are open. Digits may be missing of an
  // operand that is a view, but not of a dense one.
  const bool isOpen = kind.op == "model.accumulate",
             isView = shapes.size() == 1 && viewsOf(op, denseIndexing(shapes[0]));
  return isOpen || isView ? "" : "its results do not have the extents of the view";
}

bool Numbering::numberRows(const plan::ProgramKindT &kind, std::uint32_t op) {
  const auto operands = operandsOf(op), results = resultsOf(op);
  if (operands.size() != 1 || results.size() != 1 || results[0] == 0)
    return false;
  const Value &source = values[operands[0]];
  const std::int64_t ranks = std::int64_t(dataRanks);
  if (source.at.dims.empty())
    return false;
  if (kind.op == "model.all_gather") {
    // The index of an element is that of its rank times the elements of a rank, plus the index on the rank.
    const std::int64_t elements = roots[source.root].elements;
    Value value = source;
    value.root = rootOf(Key("all ranks").add(std::int64_t(source.root)).take(), ranks * elements);
    roots[value.root].varies = true;
    roots[source.root].ofAllRanks = value.root;
    value.at.dims[0].insert(value.at.dims[0].begin(), {ranks, elements});
    if (shapeOf(value.at) != type(results[0]).shape)
      return false;
    set(results[0], std::move(value));
    return true;
  }
  if (kind.op == "model.reduce_scatter") {
    Value value{0, source.coefficient, denseIndexing(type(results[0]).shape), source.stored};
    Key key("rank part");
    key.add({source.root, 1, source.at});
    if (elementsOf(type(results[0]).shape) * ranks != elementsOf(type(operands[0]).shape))
      return false;
    const std::size_t before = roots.size();
    value.root = rootOf(key.take(), elementsOf(type(results[0]).shape));
    if (roots.size() != before) {
      roots[value.root].varies = true;
      roots[source.root].rankParts.push_back({source.at, value.root});
    }
    set(results[0], std::move(value));
    return true;
  }
  return false;
}

} // namespace sluice::check::proof
