//===- NumberedViews.cpp - values whose elements are those of another value ------------------===//
//
// Views, casts and multiples of a value have its root. The rows of all ranks have a root of their elements.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/Key.h"

#include <algorithm>

namespace sluice::check::proof {

bool Numbering::numberView(const plan::ProgramKindT &kind, std::uint32_t op) {
  const auto operands = operandsOf(op), results = resultsOf(op);
  if (operands.size() != 1 || results.empty())
    return false;
  const Value &source = values[operands[0]];
  if (source.root == 0)
    return false;
  const auto setView = [&](std::uint32_t result, std::optional<Indexing> at) {
    if (!at || result == 0 || !hasShape(*at, type(result).shape))
      return false;
    set(result, {source.root, source.coefficient, std::move(*at), source.stored});
    return true;
  };
  if (kind.op == "model.reshape")
    return results[0] != 0 && setView(results[0], reshaped(source.at, type(results[0]).shape));
  if (kind.op == "model.broadcast")
    return results[0] != 0 && setView(results[0], broadcasted(source.at, type(results[0]).shape));
  if (kind.op == "model.transpose")
    return setView(results[0], transposed(source.at, listOf(kind, "permutation")));
  if (kind.op == "model.slice") {
    const auto start = listOf(kind, "start"), limit = listOf(kind, "limit"), step = listOf(kind, "step");
    const Shape shape = shapeOf(source.at);
    std::optional<Indexing> at = source.at;
    if (start.size() != shape.size() || limit.size() != shape.size() || (!step.empty() && step.size() != shape.size()))
      return false;
    for (std::size_t d = 0; d < shape.size() && at; ++d) {
      const std::int64_t distance = step.empty() ? 1 : step[d];
      if (distance < 1)
        return false;
      at = sliced(*at, d, start[d], (limit[d] - start[d] + distance - 1) / distance, distance);
    }
    return setView(results[0], std::move(at));
  }
  if (kind.op == "model.split") {
    const plan::AttributeT *dim = attributeOf(kind, "dim");
    const std::size_t d = dim ? std::size_t(dim->integer) : 0;
    std::int64_t first = 0;
    for (std::uint32_t result : results) {
      if (result == 0 || d >= type(result).shape.size())
        return false;
      const std::int64_t count = type(result).shape[d];
      if (!setView(result, sliced(source.at, d, first, count, 1)))
        return false;
      first += count;
    }
    return true;
  }
  if (kind.op == "model.cast")
    return isFloatType(type(operands[0]).dtype) && results[0] != 0 && isFloatType(type(results[0]).dtype) &&
           setView(results[0], source.at);
  if (kind.op == "model.scale") {
    const plan::AttributeT *factor = attributeOf(kind, "factor");
    if (!setView(results[0], source.at))
      return false;
    values[results[0]].coefficient = source.coefficient * (factor ? factor->number : 1);
    return true;
  }
  // The rows of one rank, and a tensor without padding, are the operand.
  if (kind.op == "model.all_gather" || kind.op == "model.reduce_scatter")
    return dataRanks == 1 && setView(results[0], source.at);
  const auto isAll = [&](std::string_view name, std::int64_t value) {
    return std::ranges::all_of(listOf(kind, name), [&](std::int64_t own) { return own == value; });
  };
  if (kind.op == "model.pad")
    return isAll("low", 0) && isAll("high", 0) && isAll("step", 1) && setView(results[0], source.at);
  return false;
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
