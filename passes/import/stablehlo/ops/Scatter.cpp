//===- Scatter.cpp - writes by index of StableHLO -------------------------------------------===//

#include "passes/import/stablehlo/OpaqueAttributes.h"
#include "passes/import/stablehlo/Translation.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::stablehlo;

namespace sluice::stablehlo::scatter {

/// True if the region returns the update.
bool replaces(Operation &op) {
  if (op.getNumRegions() != 1 || !op.getRegion(0).hasOneBlock() || op.getRegion(0).front().getNumArguments() != 2)
    return false;
  Block &block = op.getRegion(0).front();
  return llvm::hasSingleElement(block) && block.front().getNumOperands() == 1 &&
         block.front().getOperand(0) == block.getArgument(1);
}

/// With one more row.
TensorMeta withRow(const TensorMeta &meta) {
  Sizes sizes = meta.sizes;
  ++sizes.front();
  return withSizes(meta, sizes);
}

/// Elements or complete rows of the leading dims of the transposed operand: for each indexed dim its indices.
void translate(OpCall &call) {
  Translation &graph = call.graph;
  const std::string x = call.operand(0), starts = call.operand(1), updates = call.operand(2);
  const bool isSum = combinerOf(call.op) == "add";
  if (call.resultCount() != 1 || call.allOperands().size() != 3 || (!isSum && !replaces(call.op)))
    return call.refuse("it combines elements by another op than a sum");
  const std::optional<Lists> given = listsOf(call.attribute("scatter_dimension_numbers"), "scatter");
  if (!given)
    return call.refuse("attribute 'scatter_dimension_numbers' is not as StableHLO prints it");
  Lists lists = *given;
  const Sizes &indexed = lists["scatter_dims_to_operand_dims"], &windows = lists["update_window_dims"],
              &inserted = lists["inserted_window_dims"], &vector = lists["index_vector_dim"];
  const std::int64_t rank = graph.rank(x), vectorDim = vector.empty() ? 0 : vector.front();
  if (!lists["input_batching_dims"].empty())
    return call.refuse("a write with batching dims", "use one index for each dim");
  if (!call.areDims(indexed, rank) || !call.areDims(inserted, rank) || !call.areDims(windows, graph.rank(updates)))
    return;
  Sizes shape(graph.sizes(starts)), kept, order(indexed), others;
  for (std::int64_t dim = 0; dim < rank; ++dim) {
    if (!llvm::is_contained(inserted, dim))
      kept.push_back(dim);
    if (!llvm::is_contained(indexed, dim))
      order.push_back(dim);
  }
  std::int64_t vectors = 1;
  if (vectorDim < 0 || vectorDim > graph.rank(starts))
    return call.refuseShapes();
  if (vectorDim < graph.rank(starts)) {
    vectors = shape[static_cast<std::size_t>(vectorDim)];
    shape.erase(shape.begin() + vectorDim);
  }
  Sizes sorted(windows);
  llvm::sort(sorted);
  if (vectors != static_cast<std::int64_t>(indexed.size()) || kept.size() != windows.size() || sorted != windows ||
      graph.rank(updates) != static_cast<std::int64_t>(shape.size() + kept.size()) || indexed.empty())
    return call.refuseShapes();
  // The updates with the dims of the indices first, then the rest in the order of the operand. An indexed dim that is a
  // window has the size 1.
  Sizes permutation, rows(shape);
  for (std::int64_t dim = 0; dim < graph.rank(updates); ++dim)
    if (!llvm::is_contained(windows, dim))
      permutation.push_back(dim);
  for (auto [window, dim] : llvm::zip_equal(windows, kept)) {
    const std::int64_t size = graph.sizes(updates)[static_cast<std::size_t>(window)],
                       whole = graph.sizes(x)[static_cast<std::size_t>(dim)];
    const bool isIndexed = llvm::is_contained(indexed, dim);
    if (size != (isIndexed ? 1 : whole))
      return call.refuse("a write of parts of rows", "write elements or complete rows");
    permutation.push_back(window);
    if (!isIndexed)
      rows.push_back(size);
  }
  for (auto [place, dim] : llvm::enumerate(llvm::ArrayRef(permutation).take_front(shape.size())))
    if (graph.sizes(updates)[static_cast<std::size_t>(dim)] != shape[place])
      return call.refuseShapes();
  std::vector<std::string> indices;
  for (std::int64_t number = 0; number < vectors; ++number)
    indices.push_back(vectorDim == graph.rank(starts)
                          ? starts
                          : graph.view(graph.slice(starts, vectorDim, number, number + 1), shape));
  Sizes back(order.size());
  for (auto [place, dim] : llvm::enumerate(order))
    back[static_cast<std::size_t>(dim)] = static_cast<std::int64_t>(place);
  const std::string base = graph.permute(x, order);
  const std::string values = graph.view(graph.permute(updates, permutation), rows);
  const std::int64_t count = graph.sizes(base).front();
  // An update outside of the operand has no effect: it goes to a row after the last one.
  const TensorMeta truth = metaOf(ScalarType::boolean, shape), numbers = metaOf(graph.type(indices.front()), shape);
  std::string isInside = graph.full(1, truth);
  for (auto [place, index] : llvm::enumerate(indices)) {
    isInside = graph.binary("logical_and.default", isInside, graph.binary("ge.Scalar", index, 0, truth), truth);
    const auto size = static_cast<double>(graph.sizes(base)[place]);
    isInside = graph.binary("logical_and.default", isInside, graph.binary("lt.Scalar", index, size, truth), truth);
  }
  for (auto [place, index] : llvm::enumerate(indices))
    index = graph.emit("where.self",
                       {{"condition", tensor(isInside)},
                        {"self", tensor(index)},
                        {"other", tensor(graph.full(place == 0 ? static_cast<double>(count) : 0, numbers))}},
                       numbers);
  // A sum is added to the operand afterwards.
  const std::string padded = isSum ? graph.full(0, withRow(graph.meta(base))) : graph.pad(base, 0, 0, 1, 0, 0);
  const std::string written = graph.slice(graph.emit("index_put.default",
                                                     {{"self", tensor(padded)},
                                                      {"indices", tensors(indices)},
                                                      {"values", tensor(values)},
                                                      {"accumulate", flag(isSum)}},
                                                     graph.meta(padded)),
                                          0, 0, count);
  const std::string result = isSum ? graph.binary("add.Tensor", base, written, graph.meta(base)) : written;
  call.set(graph.permute(result, back));
}

constexpr TableEntry table[] = {
    {"scatter", translate},
};

} // namespace sluice::stablehlo::scatter

llvm::ArrayRef<TableEntry> stablehlo::scatterOps() { return scatter::table; }
