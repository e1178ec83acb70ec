//===- Scatter.cpp - ops of ATen that write by index ---------------------------------------===//
//
// Of several elements with one index torch writes any, so that its result is undefined. Here it is NaN.
//
//===----------------------------------------------------------------------===//

#include "passes/import/export/aten/Elements.h"
#include "passes/import/export/aten/Operands.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::scatter {

using Sizes = llvm::SmallVector<std::int64_t>;

/// Negative indices count from the end.
Value wrapped(Call &call, Value index, std::int64_t size) {
  index = call.cast(index, call.builder.getI64Type());
  Value fromEnd = add(call, index, call.scalar(static_cast<double>(size), index));
  return call.select(call.compare(index, ComparePredicate::lt, call.scalar(0, index)), fromEnd, index);
}

Value ones(Call &call, Value like) { return call.broadcast(call.scalar(1, like), Call::shapeOf(like)); }

/// `self` with the elements at the indices replaced; `count` has the number of updates of each element.
Value replaced(Call &call, Value self, Value sum, Value count) {
  if (!isFloatValue(self)) {
    call.refuse("integers that are written by index");
    return self;
  }
  Value isWritten = call.compare(count, ComparePredicate::gt, call.scalar(0, count));
  Value isTwice = call.compare(count, ComparePredicate::gt, call.scalar(1, count));
  return call.select(isTwice, call.scalar(NAN, self), call.select(isWritten, sum, self));
}

//===----------------------------------------------------------------------===//
// An index for each element
//===----------------------------------------------------------------------===//

/// self, index, and src along a dim; scalars are vectors of one element.
struct Along {
  Value self, index, source;
  std::int64_t dim = 0;

  Along(Call &call, llvm::StringRef sourceName) : self(call.value("self")), index(call.value("index")) {
    const auto vector = [&](Value value) { return Call::rankOf(value) == 0 ? call.reshape(value, {1}) : value; };
    dim = call.dim("dim", Call::rankOf(self));
    self = vector(self), index = vector(index);
    if (!isFloatValue(self))
      call.refuse("integers that are written by index");
    if (call.isTensor(sourceName)) {
      source = call.cast(vector(call.value(sourceName)), elementOf(self));
      if (Call::rankOf(source) == 1 && Call::shapeOf(source)[0] == 1 && Call::rankOf(index) > 1)
        source = call.broadcast(source, Call::shapeOf(index));
      if (Call::rankOf(source) != Call::rankOf(index)) {
        call.refuse("a source of another rank than the index");
        return;
      }
      for (std::int64_t each = 0; each < Call::rankOf(index); ++each)
        source = call.slice(source, each, 0, Call::shapeOf(index)[static_cast<std::size_t>(each)]);
    } else {
      source = call.broadcast(call.scalar(call.number(sourceName), self), Call::shapeOf(index));
    }
  }
  Value added(Call &call, Value updates) const {
    return call.make<model::AddAlongOp>({updates, index}, {{"dim", call.builder.getI64IntegerAttr(dim)}},
                                        self.getType());
  }
  void set(Call &call, Value value) const {
    if (call.problem().empty())
      call.set(call.reshape(value, call.result().sizes));
  }
};

void scatterAdd(Call &call) {
  const Along along(call, "src");
  if (call.problem().empty())
    along.set(call, add(call, along.self, along.added(call, along.source)));
}
void scatterSource(Call &call) {
  const Along along(call, "src");
  if (call.problem().empty())
    along.set(call,
              replaced(call, along.self, along.added(call, along.source), along.added(call, ones(call, along.source))));
}
/// Any number of equal indices write the same value.
void scatterValue(Call &call) {
  const Along along(call, "value");
  if (!call.problem().empty())
    return;
  Value count = along.added(call, ones(call, along.source));
  Value isWritten = call.compare(count, ComparePredicate::gt, call.scalar(0, count));
  along.set(call, call.select(isWritten, call.scalar(call.number("value"), along.self), along.self));
}
/// Sums or means of the updates, with or without the element itself.
void scatterReduce(Call &call) {
  const Along along(call, "src");
  const std::string kind = call.text("reduce");
  const bool isMean = kind == "mean", includesSelf = call.flag("include_self");
  if (!call.problem().empty())
    return;
  if (kind != "sum" && !isMean)
    return call.refuse("scatter_reduce by '" + kind + "'");
  Value sum = along.added(call, along.source), count = along.added(call, ones(call, along.source));
  Value one = call.scalar(1, count), zero = call.scalar(0, count);
  Value isWritten = call.compare(count, ComparePredicate::gt, zero);
  Value start = includesSelf ? along.self : call.select(isWritten, zero, along.self);
  Value total = add(call, start, sum);
  if (isMean)
    total = divide(call, total, includesSelf ? add(call, count, one) : call.select(isWritten, count, one));
  along.set(call, total);
}

//===----------------------------------------------------------------------===//
// An index for each slice of a dim
//===----------------------------------------------------------------------===//

/// The slices of a dim first, and a vector of indices.
struct Slices {
  Value self, index;
  std::int64_t dim = 0, rank = 0;

  explicit Slices(Call &call) : self(call.value("self")), index(call.value("index")) {
    rank = Call::rankOf(self);
    dim = call.dim("dim", rank);
    self = first(call, self);
    index = call.reshape(index, {countOf(index)});
    if (!isFloatValue(self)) {
      call.refuse("integers that are written by index");
      return;
    }
    index = wrapped(call, index, Call::shapeOf(self)[0]);
  }
  /// With the dim first; a scalar is a vector.
  Value first(Call &call, Value x) const { return Call::rankOf(x) == 0 ? call.reshape(x, {1}) : call.swap(x, 0, dim); }
  Value added(Call &call, Value updates) const {
    return call.make<model::ScatterAddOp>({updates, index}, {}, self.getType());
  }
  /// The number of updates of each slice, in the shape [n, 1, ...].
  Value count(Call &call) const {
    Value each = call.broadcast(call.scalar(1, self), Call::shapeOf(index));
    Sizes shape(Call::shapeOf(self).size(), 1);
    shape[0] = Call::shapeOf(self)[0];
    return call.reshape(call.make<model::ScatterAddOp>({each, index}, {}, call.typeLike(self, {shape[0]})), shape);
  }
  Value source(Call &call) const {
    Sizes shape(Call::shapeOf(self));
    shape[0] = Call::shapeOf(index)[0];
    Value value = call.cast(call.value("source"), elementOf(self));
    return call.reshape(rank == 0 ? value : first(call, value), shape);
  }
  void set(Call &call, Value value) const {
    if (call.problem().empty())
      call.set(rank == 0 ? call.reshape(value, {}) : call.swap(value, 0, dim));
  }
};

void indexAdd(Call &call) {
  const Slices slices(call);
  if (call.problem().empty())
    slices.set(call, add(call, slices.self, call.scale(slices.added(call, slices.source(call)), call.number("alpha"))));
}
void indexCopy(Call &call) {
  const Slices slices(call);
  if (call.problem().empty())
    slices.set(call, replaced(call, slices.self, slices.added(call, slices.source(call)), slices.count(call)));
}
void indexFill(Call &call) {
  const Slices slices(call);
  if (!call.problem().empty())
    return;
  Value count = slices.count(call), isWritten = call.compare(count, ComparePredicate::gt, call.scalar(0, count));
  Value fill = call.isTensor("value") ? call.reshape(call.cast(call.value("value"), elementOf(slices.self)), {})
                                      : call.scalar(call.number("value"), slices.self);
  slices.set(call, call.select(isWritten, fill, slices.self));
}

//===----------------------------------------------------------------------===//
// Indices of elements in row-major order
//===----------------------------------------------------------------------===//

void take(Call &call) {
  Value self = call.value("self");
  const std::int64_t count = countOf(self);
  if (!isFloatValue(self))
    return call.refuse("integers that are taken by index");
  call.set(call.make<model::GatherOp>({call.reshape(self, {count}), wrapped(call, call.value("index"), count)}));
}
/// `updates` replace rows of `self`, which is [rows, ...], or are added to them.
Value put(Call &call, Value self, Value index, Value updates, bool adds) {
  if (!isFloatValue(self)) {
    call.refuse("integers that are written by index");
    return self;
  }
  Value sum = call.make<model::ScatterAddOp>({updates, index}, {}, self.getType());
  if (adds)
    return add(call, self, sum);
  return replaced(call, self, sum, call.make<model::ScatterAddOp>({ones(call, updates), index}, {}, self.getType()));
}
void putElements(Call &call) {
  Value self = call.value("self"), index = call.value("index"), source = call.value("source");
  const std::int64_t size = countOf(self), count = countOf(index);
  Value updates = call.reshape(call.cast(source, elementOf(self)), {count});
  call.set(call.reshape(put(call, call.reshape(self, {size}), wrapped(call, call.reshape(index, {count}), size),
                            updates, call.flag("accumulate")),
                        call.result().sizes));
}

/// Indices for the first dims, which broadcast; a mask of all dims with one value is a selection.
void indexPut(Call &call) {
  Value self = call.value("self"), values = call.value("values");
  const std::vector<Tensor> indices = call.tensors("indices");
  Sizes shape, rest(Call::shapeOf(self));
  Value linear;
  std::int64_t rows = 1;
  for (const Tensor &index : indices) {
    if (!index || rest.empty())
      return call.refuse("a write by index that leaves dims out before others");
    Value each = call.importer.materialize(index);
    if (elementOf(each).isUnsignedInteger(8)) {
      if (indices.size() > 1 || countOf(values) != 1 || call.flag("accumulate"))
        return call.refuse("an index of booleans, whose number of elements depends on the data", "use torch.where");
      Sizes mask(Call::shapeOf(each));
      mask.resize(Call::shapeOf(self).size(), 1);
      return call.set(
          call.select(call.reshape(each, mask), call.reshape(call.cast(values, elementOf(self)), {}), self));
    }
    const std::int64_t size = rest.front();
    rest.erase(rest.begin());
    rows *= size;
    each = wrapped(call, each, size);
    linear = linear ? add(call, multiply(call, linear, call.scalar(static_cast<double>(size), linear)), each) : each;
  }
  if (!linear)
    return call.refuse("a write by index without an index");
  const std::int64_t count = countOf(linear);
  Sizes table = {rows}, updates(Call::shapeOf(linear)), flat = {count};
  table.append(rest), updates.append(rest), flat.append(rest);
  Value given = call.reshape(call.broadcast(call.cast(values, elementOf(self)), updates), flat);
  Value each = call.reshape(linear, {count});
  const bool adds = call.flag("accumulate");
  // A sum on zeros is the sum.
  const ConstantPtr before = call.tensor("self").constant;
  Value written = adds && before && before->splat() == 0 && isFloatValue(self)
                      ? call.make<model::ScatterAddOp>({given, each}, {}, call.typeLike(self, table))
                      : put(call, call.reshape(self, table), each, given, adds);
  call.set(call.reshape(written, call.result().sizes));
}

/// Elements of the dim, where self and indices broadcast in the other dims.
void takeAlongDim(Call &call) {
  Value self = call.value("self"), index = call.value("indices");
  std::int64_t dim = 0;
  if (call.isNone("dim")) {
    self = call.reshape(self, {countOf(self)});
    index = call.reshape(index, {countOf(index)});
  } else {
    dim = call.dim("dim", Call::rankOf(self));
  }
  if (Call::rankOf(self) != Call::rankOf(index) || Call::rankOf(self) == 0)
    return call.refuse("take_along_dim with an index of another rank");
  Sizes shape(Call::shapeOf(self)), wanted(Call::shapeOf(index));
  for (std::size_t each = 0; each < shape.size(); ++each)
    if (static_cast<std::int64_t>(each) != dim)
      shape[each] = wanted[each] = std::max(shape[each], wanted[each]);
  index = wrapped(call, index, shape[static_cast<std::size_t>(dim)]);
  Value taken = call.make<model::TakeAlongOp>({call.broadcast(self, shape), call.broadcast(index, wanted)},
                                              {{"dim", call.builder.getI64IntegerAttr(dim)}});
  call.set(call.reshape(taken, call.result().sizes));
}

/// Values of a pool at the places of its maxima, in images of zeros. Windows that overlap may have one maximum, whose
/// values are equal: their mean, with the derivative of each.
template <std::int64_t dims> void unpool(Call &call) {
  Value self = call.value("self"), index = call.value("indices");
  const Sizes &shape = call.result().sizes;
  if (static_cast<std::int64_t>(shape.size()) <= dims || llvm::is_contained(shape, 0))
    return call.refuse("max_unpool of no images");
  std::int64_t pixels = 1, images = 1;
  for (auto [dim, size] : llvm::enumerate(shape))
    (dim + dims >= shape.size() ? pixels : images) *= size;
  const Sizes flat = {images, countOf(self) / images};
  auto dim = call.builder.getI64IntegerAttr(1);
  Value updates = call.reshape(self, flat), at = call.reshape(index, flat);
  const auto added = [&](Value value) -> Value {
    return call.make<model::AddAlongOp>({value, at}, {{"dim", dim}}, call.typeLike(self, {images, pixels}));
  };
  Value sum = added(updates), count = added(ones(call, updates));
  Value divisor = call.make<model::MaximumOp>({count, call.scalar(1, count)});
  call.set(call.reshape(withDerivativeOf(call, divide(call, sum, divisor), sum), shape));
}

/// The elements of `source` one after another where the mask is true.
void maskedScatter(Call &call) {
  Value self = call.value("self"), source = call.value("source"), mask = call.value("mask");
  const Sizes &shape = call.result().sizes;
  const std::int64_t count = cast<RankedTensorType>(call.resultType()).getNumElements();
  if (count == 0 || count > 2048)
    return call.refuse("masked_scatter of no elements, or of more than 2048", "use torch.where");
  self = call.broadcast(self, shape);
  mask = call.broadcast(mask, shape);
  // The number of true elements before each one: a product with a matrix of ones.
  Type f32 = call.builder.getF32Type(), index = call.builder.getI32Type();
  Value isBefore =
      call.compare(iota(call, {count, count}, 0, index), ComparePredicate::lt, iota(call, {count, count}, 1, index));
  Value before = call.product(call.reshape(call.cast(mask, f32), {1, count}), call.cast(isBefore, f32));
  Value place = call.reshape(call.cast(before, call.builder.getI64Type()), shape);
  Value safe = call.select(mask, place, call.scalar(0, place));
  Value taken = call.make<model::GatherOp>({call.reshape(source, {countOf(source)}), safe});
  call.set(call.select(mask, taken, self));
}

constexpr AtenOp table[] = {
    {"index_add.default", indexAdd},
    {"index_copy.default", indexCopy},
    {"index_fill.int_Scalar", indexFill},
    {"index_fill.int_Tensor", indexFill},
    {"index_put.default", indexPut},
    {"masked_scatter.default", maskedScatter},
    {"max_unpool2d.default", unpool<2>},
    {"max_unpool3d.default", unpool<3>},
    {"put.default", putElements},
    {"scatter.src", scatterSource},
    {"scatter.value", scatterValue},
    {"scatter_add.default", scatterAdd},
    {"scatter_reduce.two", scatterReduce},
    {"take.default", take},
    {"take_along_dim.default", takeAlongDim},
};

} // namespace sluice::exported::scatter

llvm::ArrayRef<AtenOp> exported::scatterOps() { return scatter::table; }
