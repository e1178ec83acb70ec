//===- Index.cpp - ops of ATen that read by index ----------------------------------------===//

#include "passes/import/export/Call.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::index {

/// The first index and the count of consecutive indices along the last dim, equal along all others; nullopt for others.
std::optional<std::pair<std::int64_t, std::int64_t>> consecutive(const Constant &indices) {
  std::optional<double> first;
  bool isRange = indices.elements() > 0;
  indices.forEachRow([&](Index, llvm::ArrayRef<double> row) {
    if (!first)
      first = row.front();
    for (auto [i, value] : llvm::enumerate(row))
      isRange &= value == *first + static_cast<double>(i);
    return isRange;
  });
  if (!isRange)
    return std::nullopt;
  return std::pair(static_cast<std::int64_t>(*first), indices.rowSize());
}

/// Rows of a table. Constant consecutive indices, as those of positions, are a slice.
void embedding(Call &call) {
  Value table = call.value("weight");
  const Tensor indices = call.tensor("indices");
  const std::int64_t padding = call.integer("padding_idx"), rows = call.extentOf(table, 0);
  if (call.flag("sparse") || call.flag("scale_grad_by_freq"))
    return call.refuse("embedding with 'sparse' or 'scale_grad_by_freq'", "leave the argument out");
  if (indices.constant && padding < 0)
    if (const auto range = consecutive(*indices.constant);
        range && range->first >= 0 && range->first + range->second <= rows)
      return call.set(
          call.broadcast(call.slice(table, 0, range->first, range->first + range->second), call.result().sizes));
  call.set(call.make<model::EmbeddingOp>(
      {table, call.value("indices")},
      {{"padding", padding < 0 ? IntegerAttr() : call.builder.getI64IntegerAttr(padding)}}));
}

/// A constant index of one dim that follows one dim of all indices, or none: start, start + step, ...
struct Progression {
  std::int64_t start = 0, step = 1, count = 1;
  std::size_t axis = 0;
};
std::optional<Progression> progressionOf(const Constant &index, std::size_t rank, std::int64_t size) {
  Progression result;
  for (auto [dim, extent] : llvm::enumerate(index.shape)) {
    if (extent == 1)
      continue;
    if (result.count != 1)
      return std::nullopt;
    result.count = extent;
    result.axis = rank - index.shape.size() + dim;
  }
  const std::vector<double> *values = index.dense();
  if (!values || values->empty())
    return std::nullopt;
  const auto at = [&](std::size_t i) {
    const auto given = static_cast<std::int64_t>((*values)[i]);
    return given < 0 ? given + size : given;
  };
  result.start = at(0);
  result.step = values->size() > 1 ? at(1) - at(0) : 1;
  for (std::size_t i = 0; i < values->size(); ++i)
    if (at(i) != result.start + static_cast<std::int64_t>(i) * result.step || at(i) < 0 || at(i) >= size)
      return std::nullopt;
  return result.step < 1 ? std::nullopt : std::optional(result);
}

/// Elements by tensors of indices for some dims, which broadcast. The dims of the indices are where the indexed ones
/// were if those are consecutive, else first.
class Indexing {
public:
  explicit Indexing(Call &call) : call(call), self(call.value("self")), indices(call.tensors("indices")) {}

  void build() {
    const auto rank = static_cast<std::size_t>(Call::rankOf(self));
    if (indices.size() > rank)
      return call.refuse("more indices than dims");
    indices.resize(rank);
    for (std::size_t dim = 0; dim < rank; ++dim)
      (indices[dim] ? indexed : others).push_back(static_cast<std::int64_t>(dim));
    const Sizes &result = call.result().sizes;
    if (indexed.empty())
      return call.set(self);
    if (result.size() < others.size())
      return call.refuse("a result without the dims that have no index");
    const bool isConsecutive = indexed.back() - indexed.front() + 1 == static_cast<std::int64_t>(indexed.size());
    place = isConsecutive ? static_cast<std::size_t>(indexed.front()) : 0;
    shape = Sizes(llvm::ArrayRef(result).slice(place, result.size() - others.size()));
    for (std::int64_t dim : indexed) {
      const Tensor &index = indices[static_cast<std::size_t>(dim)];
      if (isBoolean(index))
        return call.refuse("an index of booleans, whose number of elements depends on the data", "use torch.where");
      if (index.shape().size() > shape.size())
        return call.refuse("an index of more dims than the result");
    }
    if (!asSlices())
      asGather();
  }

private:
  using Sizes = llvm::SmallVector<std::int64_t>;
  Call &call;
  Value self;
  std::vector<Tensor> indices;
  Sizes indexed, others, shape;
  /// The first dim of the indices in the result.
  std::size_t place = 0;

  static bool isBoolean(const Tensor &index) {
    if (index.constant)
      return index.constant->type == ScalarType::boolean || index.constant->type == ScalarType::u8;
    return cast<RankedTensorType>(index.value.getType()).getElementType().isUnsignedInteger(8);
  }

  /// Constant progressions along different dims are slices.
  bool asSlices() {
    Value part = self;
    llvm::SmallVector<std::pair<std::size_t, std::int64_t>> axes;
    Sizes counts(shape.size(), 1);
    for (std::int64_t dim : indexed) {
      const Tensor &index = indices[static_cast<std::size_t>(dim)];
      const auto found = index.constant ? progressionOf(*index.constant, shape.size(),
                                                        Call::shapeOf(self)[static_cast<std::size_t>(dim)])
                                        : std::nullopt;
      if (!found || (found->count > 1 && counts[found->axis] != 1))
        return false;
      if (found->count > 1)
        counts[found->axis] = found->count;
      axes.emplace_back(found->axis, dim);
      part = call.slice(part, dim, found->start, found->start + (found->count - 1) * found->step + 1, found->step);
    }
    llvm::sort(axes);
    Sizes permutation(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(place));
    for (const auto &[axis, dim] : axes)
      permutation.push_back(dim);
    permutation.append(others.begin() + static_cast<std::ptrdiff_t>(place), others.end());
    Sizes separate = call.result().sizes;
    llvm::copy(counts, separate.begin() + static_cast<std::ptrdiff_t>(place));
    call.set(call.broadcast(call.reshape(call.transpose(part, permutation), separate), call.result().sizes));
    return true;
  }

  /// Rows of a table of the indexed dims.
  void asGather() {
    Sizes permutation(indexed), rest;
    permutation.append(others);
    std::int64_t rows = 1;
    Tensor linear;
    for (std::int64_t dim : indexed) {
      const std::int64_t size = Call::shapeOf(self)[static_cast<std::size_t>(dim)];
      rows *= size;
      linear = linear ? combined(linear, size, wrapped(indices[static_cast<std::size_t>(dim)], size))
                      : wrapped(indices[static_cast<std::size_t>(dim)], size);
    }
    for (std::int64_t dim : others)
      rest.push_back(Call::shapeOf(self)[static_cast<std::size_t>(dim)]);
    Sizes table = {rows};
    table.append(rest);
    Value values = call.reshape(call.transpose(self, permutation), table);
    Value taken = call.make<model::GatherOp>({values, call.broadcast(call.importer.materialize(linear), shape)});
    // The other dims before the first indexed one move to the front.
    Sizes order;
    const auto move = [&](std::size_t from, std::size_t to) {
      for (std::size_t dim = from; dim < to; ++dim)
        order.push_back(static_cast<std::int64_t>(dim));
    };
    move(shape.size(), shape.size() + place);
    move(0, shape.size());
    move(shape.size() + place, shape.size() + others.size());
    call.set(call.transpose(taken, order));
  }

  /// Negative indices count from the end.
  Tensor wrapped(const Tensor &index, std::int64_t size) {
    if (index.constant)
      return {{}, makePointwise({index.constant}, index.constant->shape, ScalarType::i64, [size](auto x) {
                return x[0] < 0 ? x[0] + static_cast<double>(size) : x[0];
              })};
    Value value = call.cast(index.value, call.builder.getI64Type()), zero = call.scalar(0, value);
    Value fromEnd = call.make<model::AddOp>({value, call.scalar(static_cast<double>(size), value)});
    return {call.select(call.compare(value, ComparePredicate::lt, zero), fromEnd, value), nullptr};
  }
  /// a size + b.
  Tensor combined(const Tensor &a, std::int64_t size, const Tensor &b) {
    if (a.constant && b.constant)
      return {{}, makePointwise({a.constant, b.constant}, shape, ScalarType::i64, [size](auto x) {
                return x[0] * static_cast<double>(size) + x[1];
              })};
    Value left = call.importer.materialize(a), right = call.importer.materialize(b);
    Value product = call.make<model::MultiplyOp>({left, call.scalar(static_cast<double>(size), left)});
    return {call.make<model::AddOp>({product, right}), nullptr};
  }
};
void indexTensor(Call &call) { Indexing(call).build(); }

/// Slices of a dim by a vector of indices.
void indexSelect(Call &call) {
  Value self = call.value("self"), index = call.value("index");
  const std::int64_t dim = call.dim("dim", Call::rankOf(self));
  if (Call::rankOf(self) == 0)
    return call.set(self);
  if (Call::rankOf(index) == 0)
    index = call.reshape(index, {1});
  call.set(call.swap(call.make<model::GatherOp>({call.swap(self, 0, dim), index}), 0, dim));
}

void gather(Call &call) {
  const Tensor given = call.tensor("self");
  // Of equal elements any is the result, as of a table of token types whose indices are data.
  if (const std::optional<double> value = given.constant ? given.constant->splat() : std::nullopt)
    return call.set(makeSplat(*value, call.result().sizes, call.result().type));
  Value self = call.value("self");
  Type element = cast<RankedTensorType>(self.getType()).getElementType();
  // The op takes floats; integers are exact in f64.
  if (!isa<FloatType>(element))
    self = call.cast(self, call.builder.getF64Type());
  Value index = call.value("index");
  auto dim = call.builder.getI64IntegerAttr(call.dim("dim", Call::rankOf(self)));
  const auto vector = [&](Value value) { return Call::rankOf(value) == 0 ? call.reshape(value, {1}) : value; };
  Value taken = call.make<model::TakeAlongOp>({vector(self), vector(index)}, {{"dim", dim}});
  call.set(call.reshape(call.cast(taken, element), call.result().sizes));
}

constexpr AtenOp table[] = {
    {"embedding.default", embedding},
    {"gather.default", gather},
    {"index.Tensor", indexTensor},
    {"index_select.default", indexSelect},
};

} // namespace sluice::exported::index

llvm::ArrayRef<AtenOp> exported::indexOps() { return index::table; }
