//===- Index.cpp - ops of StableHLO that read and write by index ----------------------------===//

#include "passes/import/stablehlo/Composites.h"
#include "passes/import/stablehlo/OpaqueAttributes.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::stablehlo;

namespace sluice::stablehlo::index {

/// The starts of a slice whose scalars are known, within bounds; nullopt for others.
std::optional<Sizes> knownStarts(OpCall &call, unsigned firstOperand, llvm::ArrayRef<std::int64_t> shape,
                                 llvm::ArrayRef<std::int64_t> sizes) {
  Sizes starts;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    const std::optional<double> start = call.graph.splat(call.operand(firstOperand + static_cast<unsigned>(dim)));
    // A part as long as the dim begins at 0 in any case.
    if (!start && sizes[dim] != shape[dim])
      return std::nullopt;
    const double most = static_cast<double>(shape[dim] - sizes[dim]);
    starts.push_back(static_cast<std::int64_t>(std::min(std::max(start.value_or(0), 0.0), most)));
  }
  return starts;
}

constexpr llvm::StringLiteral onData = "its place depends on data";

void dynamicSlice(OpCall &call) {
  std::string x = call.operand(0);
  const Sizes sizes = call.integers("slice_sizes"), shape(call.graph.sizes(x));
  if (sizes.size() != shape.size() || llvm::any_of(llvm::zip_equal(sizes, shape), [](auto pair) {
        return std::get<0>(pair) < 0 || std::get<0>(pair) > std::get<1>(pair);
      }))
    return call.refuseBounds();
  const std::optional<Sizes> starts = knownStarts(call, 1, shape, sizes);
  if (!starts)
    return call.refuse(onData.str());
  for (std::size_t dim = 0; dim < shape.size(); ++dim)
    x = call.graph.slice(x, static_cast<std::int64_t>(dim), (*starts)[dim], (*starts)[dim] + sizes[dim]);
  call.set(x);
}

/// The update is a part of one dim; of several dims the parts around it are joined from the last dim on.
void dynamicUpdateSlice(OpCall &call) {
  const std::string x = call.operand(0);
  std::string value = call.operand(1);
  const Sizes shape(call.graph.sizes(x)), sizes(call.graph.sizes(value));
  if (sizes.size() != shape.size() ||
      llvm::any_of(llvm::zip_equal(sizes, shape), [](auto pair) { return std::get<0>(pair) > std::get<1>(pair); }))
    return call.refuseBounds();
  const std::optional<Sizes> starts = knownStarts(call, 2, shape, sizes);
  if (!starts)
    return call.refuse(onData.str());
  const auto rank = static_cast<std::int64_t>(shape.size());
  for (std::int64_t dim = rank - 1; dim >= 0; --dim) {
    const auto at = static_cast<std::size_t>(dim);
    // The part of x at the update in the dims before, and complete in the dims after.
    std::string around = x;
    for (std::int64_t outer = 0; outer < dim; ++outer)
      around = call.graph.slice(around, outer, (*starts)[static_cast<std::size_t>(outer)],
                                (*starts)[static_cast<std::size_t>(outer)] + sizes[static_cast<std::size_t>(outer)]);
    std::vector<std::string> parts;
    if ((*starts)[at] > 0)
      parts.push_back(call.graph.slice(around, dim, 0, (*starts)[at]));
    if (sizes[at] > 0)
      parts.push_back(value);
    if ((*starts)[at] + sizes[at] < shape[at])
      parts.push_back(call.graph.slice(around, dim, (*starts)[at] + sizes[at], shape[at]));
    value = parts.empty() ? around : call.graph.join(parts, dim);
  }
  call.set(value);
}

/// A gather of elements, or of complete rows: for each indexed dim of the operand its indices, in the dims of the
/// result that are no dims of the operand.
class Gather {
public:
  explicit Gather(OpCall &call) : call(call), graph(call.graph), x(call.operand(0)), starts(call.operand(1)) {}

  void translate() {
    const std::optional<Lists> given = listsOf(call.attribute("dimension_numbers"), "gather");
    if (!given)
      return call.refuse("attribute 'dimension_numbers' is not as StableHLO prints it");
    lists = *given;
    if (!readDims())
      return call.refuseShapes();
    if (asPart() || asTakeAlong() || asEmbedding())
      return;
    asIndex();
  }

private:
  OpCall &call;
  Translation &graph;
  const std::string x, starts;
  Lists lists;
  /// The shape of the indices of one dim.
  Sizes shape;
  /// The dim of `starts` whose elements are the indices of one element; its rank where each index is a scalar.
  std::int64_t vectorDim = 0;
  /// For each dim of the operand: the number of its index, or of its batching dim; -1 for none.
  Sizes numberOfIndex, numberOfBatch;

  bool readDims() {
    const Sizes sizes = call.integers("slice_sizes");
    const std::int64_t rank = graph.rank(x);
    const Sizes &vector = lists["index_vector_dim"];
    vectorDim = vector.empty() ? 0 : vector.front();
    if (call.isRefused() || static_cast<std::int64_t>(sizes.size()) != rank || vectorDim < 0 ||
        vectorDim > graph.rank(starts) || llvm::is_contained(lists["start_indices_batching_dims"], vectorDim) ||
        lists["operand_batching_dims"].size() != lists["start_indices_batching_dims"].size())
      return false;
    for (llvm::StringRef name : {"start_index_map", "operand_batching_dims", "collapsed_slice_dims"})
      if (!call.areDims(lists[name.str()], rank))
        return false;
    if (!call.areDims(lists["start_indices_batching_dims"], graph.rank(starts)) ||
        !call.areDims(lists["offset_dims"], static_cast<std::int64_t>(call.result().sizes.size())))
      return false;
    numberOfIndex.assign(static_cast<std::size_t>(rank), -1);
    numberOfBatch.assign(static_cast<std::size_t>(rank), -1);
    for (auto [number, dim] : llvm::enumerate(lists["start_index_map"]))
      numberOfIndex[static_cast<std::size_t>(dim)] = static_cast<std::int64_t>(number);
    for (auto [number, dim] : llvm::enumerate(lists["operand_batching_dims"]))
      numberOfBatch[static_cast<std::size_t>(dim)] = static_cast<std::int64_t>(number);
    shape = Sizes(graph.sizes(starts));
    std::int64_t vectors = 1;
    if (vectorDim < graph.rank(starts)) {
      vectors = shape[static_cast<std::size_t>(vectorDim)];
      shape.erase(shape.begin() + vectorDim);
    }
    if (vectors != static_cast<std::int64_t>(lists["start_index_map"].size()))
      return false;
    for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
      const std::int64_t whole = graph.sizes(x)[dim];
      // A part as long as the dim begins at 0 in any case.
      if (sizes[dim] == whole && !llvm::is_contained(lists["collapsed_slice_dims"], static_cast<std::int64_t>(dim)))
        numberOfIndex[dim] = -1;
      else if (sizes[dim] != 1 || (numberOfIndex[dim] < 0 && numberOfBatch[dim] < 0 && whole != 1))
        return false;
    }
    return countOf(call.result().sizes) >= 0;
  }

  /// The indices of a dim, in `shape`.
  std::string indexOf(std::size_t dim) {
    const std::int64_t number = numberOfIndex[dim], size = graph.sizes(x)[dim];
    // Of indices that were joined, the part.
    if (const Node *node = graph.maker(starts, "cat.default"))
      if (const std::vector<std::string> parts = node->find("tensors")->names;
          node->find("dim")->integers.front() == vectorDim && llvm::all_of(parts, [&](const std::string &part) {
            return graph.sizes(part)[static_cast<std::size_t>(vectorDim)] == 1;
          }))
        return withoutNegativeIndices(graph, graph.view(parts[static_cast<std::size_t>(number)], shape), size);
    if (vectorDim == graph.rank(starts))
      return withoutNegativeIndices(graph, starts, size);
    return withoutNegativeIndices(graph, graph.view(graph.slice(starts, vectorDim, number, number + 1), shape), size);
  }

  std::int64_t batchDimOfShape(std::int64_t number) {
    const std::int64_t dim = lists["start_indices_batching_dims"][static_cast<std::size_t>(number)];
    return dim > vectorDim ? dim - 1 : dim;
  }

  /// One element of each indexed dim, at a known place.
  bool asPart() {
    if (countOf(shape) != 1 || llvm::any_of(numberOfBatch, [](std::int64_t number) { return number >= 0; }))
      return false;
    std::string part = x;
    for (std::size_t dim = 0; dim < numberOfIndex.size(); ++dim) {
      if (numberOfIndex[dim] < 0)
        continue;
      const std::optional<double> place = graph.splat(indexOf(dim));
      if (!place || *place < 0 || *place >= static_cast<double>(graph.sizes(x)[dim]))
        return false;
      const auto start = static_cast<std::int64_t>(*place);
      part = graph.slice(part, static_cast<std::int64_t>(dim), start, start + 1);
    }
    if (countOf(graph.sizes(part)) != countOf(call.result().sizes))
      return false;
    call.set(graph.view(part, call.result().sizes));
    return true;
  }

  /// One index, of a dim, in the shape of the operand in the other dims.
  bool asTakeAlong() {
    if (static_cast<std::int64_t>(shape.size()) != graph.rank(x))
      return false;
    std::int64_t indexed = -1;
    for (auto [dim, numbers] : llvm::enumerate(llvm::zip_equal(numberOfIndex, numberOfBatch))) {
      const auto [index, batch] = numbers;
      const auto at = static_cast<std::int64_t>(dim);
      if (batch >= 0 ? batchDimOfShape(batch) != at || graph.sizes(x)[dim] != shape[dim] : index < 0 || indexed >= 0)
        return false;
      if (batch < 0)
        indexed = at;
    }
    if (indexed < 0 || graph.rank(x) < 2 || call.result().sizes != shape)
      return false;
    const std::string indices = indexOf(static_cast<std::size_t>(indexed));
    if (std::optional<std::string> composite = logProbabilityOf(graph, x, indexed, indices)) {
      call.set(*composite);
      return true;
    }
    call.set(graph.emit("gather.default", {{"self", tensor(x)}, {"dim", integer(indexed)}, {"index", tensor(indices)}},
                        call.result()));
    return true;
  }

  /// Rows of a matrix.
  bool asEmbedding() {
    if (graph.rank(x) != 2 || numberOfIndex[0] != 0 || numberOfIndex[1] != -1 || numberOfBatch[0] >= 0 ||
        numberOfBatch[1] >= 0 || !exported::isFloat(graph.type(x)))
      return false;
    Sizes sizes = shape;
    sizes.push_back(graph.sizes(x)[1]);
    if (call.result().sizes != sizes || lists["offset_dims"] != Sizes{static_cast<std::int64_t>(sizes.size()) - 1})
      return false;
    call.set(graph.emit("embedding.default", {{"weight", tensor(x)}, {"indices", tensor(indexOf(0))}}, call.result()));
    return true;
  }

  void asIndex() {
    std::vector<std::string> names(numberOfIndex.size());
    Sizes indexed, others;
    for (std::size_t dim = 0; dim < names.size(); ++dim) {
      if (numberOfBatch[dim] >= 0) {
        const std::int64_t along = batchDimOfShape(numberOfBatch[dim]);
        if (along >= static_cast<std::int64_t>(shape.size()) ||
            shape[static_cast<std::size_t>(along)] != graph.sizes(x)[dim])
          return call.refuseShapes();
        names[dim] = graph.iota(metaOf(ScalarType::i64, shape), along);
      } else if (numberOfIndex[dim] >= 0) {
        names[dim] = indexOf(dim);
      }
      (names[dim].empty() ? others : indexed).push_back(static_cast<std::int64_t>(dim));
    }
    if (indexed.empty())
      return call.set(graph.view(x, call.result().sizes));
    // ATen has the dims of the indices where the indexed dims were if those are consecutive, else first.
    const bool isConsecutive = indexed.back() - indexed.front() + 1 == static_cast<std::int64_t>(indexed.size());
    const std::int64_t place = isConsecutive ? indexed.front() : 0;
    Sizes made;
    for (std::int64_t dim : others)
      made.push_back(graph.sizes(x)[static_cast<std::size_t>(dim)]);
    made.insert(made.begin() + place, shape.begin(), shape.end());
    while (!names.empty() && names.back().empty())
      names.pop_back();
    const std::string y =
        graph.emit("index.Tensor", {{"self", tensor(x)}, {"indices", tensors(names)}}, withSizes(graph.meta(x), made));
    // The dims of the indices are those of the result that are no offset dims. Offset dims of an indexed dim have the
    // size 1 and are not among those of `y`.
    Sizes permutation, ordered;
    std::int64_t nextIndex = place, nextOther = 0;
    const Sizes &offsets = lists["offset_dims"];
    Sizes kept;
    for (std::size_t dim = 0; dim < numberOfIndex.size(); ++dim)
      if (!llvm::is_contained(lists["collapsed_slice_dims"], static_cast<std::int64_t>(dim)) && numberOfBatch[dim] < 0)
        kept.push_back(static_cast<std::int64_t>(dim));
    Sizes sortedOffsets(offsets);
    llvm::sort(sortedOffsets);
    if (sortedOffsets.size() != kept.size())
      return call.refuseShapes();
    for (std::size_t dim = 0; dim < call.result().sizes.size(); ++dim) {
      const auto offset = llvm::find(sortedOffsets, static_cast<std::int64_t>(dim));
      if (offset == sortedOffsets.end()) {
        permutation.push_back(nextIndex++);
        continue;
      }
      if (!isIndexed(kept[static_cast<std::size_t>(offset - sortedOffsets.begin())])) {
        permutation.push_back(nextOther < place ? nextOther : nextOther + static_cast<std::int64_t>(shape.size()));
        ++nextOther;
      }
    }
    Sizes sorted(permutation);
    llvm::sort(sorted);
    if (!llvm::equal(sorted, llvm::seq<std::int64_t>(0, static_cast<std::int64_t>(made.size()))) ||
        countOf(made) != countOf(call.result().sizes))
      return call.refuseShapes();
    call.set(graph.view(graph.permute(y, permutation), call.result().sizes));
  }

  bool isIndexed(std::int64_t dim) const {
    return numberOfIndex[static_cast<std::size_t>(dim)] >= 0 || numberOfBatch[static_cast<std::size_t>(dim)] >= 0;
  }
};

void gather(OpCall &call) { Gather(call).translate(); }

constexpr TableEntry table[] = {
    {"dynamic_slice", dynamicSlice},
    {"dynamic_update_slice", dynamicUpdateSlice},
    {"gather", gather},
};

} // namespace sluice::stablehlo::index

llvm::ArrayRef<TableEntry> stablehlo::indexOps() { return index::table; }
