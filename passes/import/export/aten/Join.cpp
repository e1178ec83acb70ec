//===- Join.cpp - ops of ATen that divide, join and pad tensors ----------------------------===//

#include "passes/import/export/aten/Elements.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::join {

using Sizes = llvm::SmallVector<std::int64_t>;

/// Parts of the sizes of the results along a dim.
void partsAlong(Call &call, std::int64_t dim) {
  Value self = call.value("self");
  if (call.resultCount() == 1)
    return call.set(self);
  llvm::SmallVector<Type> types;
  for (unsigned i = 0; i < call.resultCount(); ++i)
    types.push_back(call.typeLike(self, call.result(i).sizes));
  call.set(call.makeAll<model::SplitOp>(self, {{"dim", call.builder.getI64IntegerAttr(dim)}}, types));
}
void parts(Call &call) { partsAlong(call, call.dim("dim", Call::rankOf(call.value("self")))); }
/// Along dim 0, 1 or 2; of a vector hsplit takes dim 0.
template <std::int64_t dim> void partsOfDim(Call &call) {
  const std::int64_t rank = Call::rankOf(call.value("self"));
  partsAlong(call, dim == 1 && rank == 1 ? 0 : dim);
}
Value partsBack(Call &call, Value base, Value written, unsigned index) {
  const std::int64_t dim = call.dim("dim", Call::rankOf(base));
  std::int64_t start = 0;
  for (unsigned i = 0; i < index; ++i)
    start += call.result(i).sizes[static_cast<std::size_t>(dim)];
  return replaceRows(call, base, written, dim, start);
}

void unbind(Call &call) {
  Value self = call.value("self");
  const std::int64_t dim = call.dim("dim", Call::rankOf(self));
  llvm::SmallVector<Value> results;
  for (unsigned i = 0; i < call.resultCount(); ++i)
    results.push_back(call.reshape(call.slice(self, dim, i, i + 1), call.result(i).sizes));
  call.set(results);
}

void broadcastTensors(Call &call) {
  llvm::SmallVector<Value> results;
  for (auto [index, value] : llvm::enumerate(call.values("tensors")))
    results.push_back(call.broadcast(value, call.result(static_cast<unsigned>(index)).sizes));
  call.set(results);
}

void cat(Call &call) {
  llvm::SmallVector<Value> values;
  for (Value value : call.values("tensors")) {
    // In torch an empty vector is a tensor without rows, whatever the other dims.
    const bool isNothing = Call::shapeOf(value) == llvm::ArrayRef<std::int64_t>{0};
    if (!isNothing)
      values.push_back(call.cast(value, call.elementType(call.result().type)));
  }
  if (values.empty())
    return call.refuse("cat of empty vectors only");
  call.set(call.join(values, call.dim("dim", Call::rankOf(values.front()))));
}
/// Tensors of at least `rank` dims along a dim; hstack takes dim 0 of vectors.
template <std::int64_t rank, std::int64_t dim> void stackOfRank(Call &call) {
  llvm::SmallVector<Value> values;
  for (Value value : call.values("tensors")) {
    Sizes shape(Call::shapeOf(value));
    if (rank == 3 && shape.size() == 1)
      shape.insert(shape.begin(), 1);
    while (static_cast<std::int64_t>(shape.size()) < rank)
      shape.insert(rank == 3 && !shape.empty() ? shape.end() : shape.begin(), 1);
    values.push_back(call.cast(call.reshape(value, shape), call.elementType(call.result().type)));
  }
  if (!values.empty())
    call.set(call.join(values, dim == 1 && Call::rankOf(values.front()) == 1 ? 0 : dim));
}
/// Vectors as columns.
void stackColumns(Call &call) {
  llvm::SmallVector<Value> values;
  for (Value value : call.values("tensors"))
    values.push_back(Call::rankOf(value) < 2
                         ? call.reshape(value, {cast<RankedTensorType>(value.getType()).getNumElements(), 1})
                         : value);
  if (!values.empty())
    call.set(call.join(values, 1));
}
/// Vector i along dim i of a grid; of the indexing "xy" the first two are exchanged.
void grids(Call &call) {
  llvm::SmallVector<Value> results;
  const llvm::SmallVector<Value> vectors = call.values("tensors");
  const std::string indexing = call.has("indexing") ? call.text("indexing") : "ij";
  for (auto [index, value] : llvm::enumerate(vectors)) {
    const Sizes &shape = call.result(static_cast<unsigned>(index)).sizes;
    Sizes line(shape.size(), 1);
    const std::size_t dim = indexing == "xy" && index < 2 && vectors.size() > 1 ? 1 - index : index;
    if (dim >= line.size())
      return call.refuse("a grid of fewer dims than vectors");
    line[dim] = cast<RankedTensorType>(value.getType()).getNumElements();
    results.push_back(call.broadcast(call.reshape(value, line), shape));
  }
  call.set(results);
}
/// All combinations of elements of vectors, each as a row.
void products(Call &call) {
  const llvm::SmallVector<Value> vectors = call.values("tensors");
  if (vectors.size() == 1)
    return call.set(vectors.front());
  Sizes shape;
  for (Value value : vectors)
    shape.push_back(cast<RankedTensorType>(value.getType()).getNumElements());
  llvm::SmallVector<Value> columns;
  for (auto [index, value] : llvm::enumerate(vectors)) {
    Sizes line(shape.size(), 1);
    line[index] = shape[index];
    columns.push_back(call.reshape(call.broadcast(call.reshape(value, line), shape), {call.result().sizes.front(), 1}));
  }
  if (!columns.empty())
    call.set(call.join(columns, 1));
}

void stack(Call &call) {
  llvm::SmallVector<Value> values;
  const auto rank = static_cast<std::int64_t>(call.result().sizes.size());
  const std::int64_t dim = call.dim("dim", rank);
  if (rank == 0)
    return call.refuse("stack of no dim");
  Sizes shape = call.result().sizes;
  shape[static_cast<std::size_t>(dim)] = 1;
  for (Value value : call.values("tensors"))
    values.push_back(call.reshape(value, shape));
  call.set(call.join(values, dim));
}

/// Elements before and after those of a dim, by the mode of padding: reflected at the first and last element, equal to
/// them, or those of the other end.
Value padFromInside(Call &call, Value x, std::int64_t dim, std::int64_t before, std::int64_t after,
                    llvm::StringRef mode) {
  const std::int64_t size = call.extentOf(x, dim);
  const std::int64_t most = mode == "reflect" ? size - 1 : mode == "circular" ? size : size == 0 ? 0 : INT64_MAX;
  if (before > most || after > most) {
    call.refuse("padding of mode '" + mode.str() + "' of more elements than there are");
    return x;
  }
  llvm::SmallVector<Value> parts;
  const auto one = [&](std::int64_t at) { parts.push_back(call.slice(x, dim, at, at + 1)); };
  const auto some = [&](std::int64_t start, std::int64_t limit) {
    if (limit > start)
      parts.push_back(call.slice(x, dim, start, limit));
  };
  const auto same = [&](std::int64_t at, std::int64_t count) {
    Sizes shape(Call::shapeOf(x));
    shape[static_cast<std::size_t>(dim)] = count;
    if (count > 0)
      parts.push_back(call.broadcast(call.slice(x, dim, at, at + 1), shape));
  };
  if (mode == "reflect")
    for (std::int64_t i = before; i > 0; --i)
      one(i);
  else if (mode == "replicate")
    same(0, before);
  else
    some(size - before, size);
  parts.push_back(x);
  if (mode == "reflect")
    for (std::int64_t i = 0; i < after; ++i)
      one(size - 2 - i);
  else if (mode == "replicate")
    same(size - 1, after);
  else
    some(0, after);
  return call.join(parts, dim);
}

/// Pairs of numbers of elements before and after, for the last dim first; negative ones remove elements.
void pad(Call &call) {
  Value self = call.value("self");
  const std::string mode = call.has("mode") ? call.text("mode") : "constant";
  if (mode != "constant" && mode != "reflect" && mode != "replicate" && mode != "circular")
    return call.refuse("padding of mode '" + mode + "'");
  const Sizes pairs = call.integers("pad");
  const std::size_t rank = Call::shapeOf(self).size();
  if (pairs.size() > 2 * rank || pairs.size() % 2 != 0)
    return call.refuse("argument 'pad' is no list of pairs");
  const auto cropped = [&](std::size_t dim, std::int64_t before, std::int64_t after) {
    const std::int64_t size = Call::shapeOf(self)[dim];
    return call.slice(self, static_cast<std::int64_t>(dim), std::max<std::int64_t>(-before, 0),
                      size - std::max<std::int64_t>(-after, 0));
  };
  if (mode != "constant") {
    // Elements are removed after the padding. A circular padding repeats the remaining elements, so it follows.
    for (std::size_t i = 0; i < pairs.size() / 2; ++i) {
      const std::size_t dim = rank - 1 - i;
      const std::int64_t before = pairs[2 * i], after = pairs[2 * i + 1];
      if (mode == "circular")
        self = cropped(dim, before, after);
      self = padFromInside(call, self, static_cast<std::int64_t>(dim), std::max<std::int64_t>(before, 0),
                           std::max<std::int64_t>(after, 0), mode);
      if (mode != "circular")
        self = cropped(dim, before, after);
    }
    return call.set(self);
  }
  Sizes low(rank, 0), high(rank, 0);
  for (std::size_t i = 0; i < pairs.size() / 2; ++i) {
    const std::size_t dim = rank - 1 - i;
    const std::int64_t before = pairs[2 * i], after = pairs[2 * i + 1];
    self = cropped(dim, before, after);
    low[dim] = std::max<std::int64_t>(before, 0), high[dim] = std::max<std::int64_t>(after, 0);
  }
  if (llvm::all_of(low, [](std::int64_t n) { return n == 0; }) &&
      llvm::all_of(high, [](std::int64_t n) { return n == 0; }))
    return call.set(self);
  call.set(call.pad(self, low, high, call.optionalNumber("value").value_or(0)));
}

constexpr AtenOp table[] = {
    {"broadcast_tensors.default", broadcastTensors},
    {"cartesian_prod.default", products},
    {"cat.default", cat},
    {"chunk.default", parts, Memory::view, partsBack},
    {"column_stack.default", stackColumns},
    {"constant_pad_nd.default", pad},
    {"dsplit.array", partsOfDim<2>, Memory::view},
    {"dsplit.int", partsOfDim<2>, Memory::view},
    {"dstack.default", stackOfRank<3, 2>},
    {"hsplit.array", partsOfDim<1>, Memory::view},
    {"hsplit.int", partsOfDim<1>, Memory::view},
    {"hstack.default", stackOfRank<1, 1>},
    {"meshgrid.default", grids},
    {"meshgrid.indexing", grids},
    {"pad.default", pad},
    {"split.Tensor", parts, Memory::view, partsBack},
    {"split_copy.Tensor", parts},
    {"split_with_sizes.default", parts, Memory::view, partsBack},
    {"split_with_sizes_copy.default", parts},
    {"stack.default", stack},
    {"tensor_split.indices", parts, Memory::view, partsBack},
    {"tensor_split.sections", parts, Memory::view, partsBack},
    {"unbind.int", unbind, Memory::view},
    {"unbind_copy.int", unbind},
    {"unsafe_chunk.default", parts},
    {"unsafe_split.Tensor", parts},
    {"vsplit.array", partsOfDim<0>, Memory::view},
    {"vsplit.int", partsOfDim<0>, Memory::view},
    {"vstack.default", stackOfRank<2, 0>},
};

} // namespace sluice::exported::join

llvm::ArrayRef<AtenOp> exported::joinOps() { return join::table; }
