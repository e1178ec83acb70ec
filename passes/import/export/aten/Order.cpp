//===- Order.cpp - ops of ATen that order the elements of a dim ----------------------------===//
//
// The rank of an element is the number of elements that come before it: n x n comparisons, so that a dim may have no
// more than `mostOrdered` elements. NaN is more than any number, and equal elements keep their order.
//
//===----------------------------------------------------------------------===//

#include "passes/import/export/aten/Elements.h"
#include "passes/import/export/aten/Operands.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::order {

using Sizes = llvm::SmallVector<std::int64_t>;
constexpr std::int64_t mostOrdered = 1024;

/// A float operand with the ordered dim last. Integers are exact in f64.
struct Ordered {
  Value x;
  std::int64_t dim = 0, size = 1, rank = 0;

  Ordered(Call &call, std::optional<std::int64_t> given) : x(call.value("self")) {
    rank = Call::rankOf(x);
    if (!isFloatValue(x))
      x = call.cast(x, call.builder.getF64Type());
    if (!given || rank == 0)
      x = call.reshape(x, {countOf(x)});
    else
      dim = *given < 0 ? *given + rank : *given;
    if (dim < 0 || dim >= Call::rankOf(x)) {
      call.refuse("argument 'dim' is " + std::to_string(*given) + " for a tensor of rank " + std::to_string(rank));
      return;
    }
    x = moveLast(call, x, dim);
    size = Call::shapeOf(x).back();
    if (size < 1 || size > mostOrdered)
      call.refuse("an order of " + std::to_string(size) + " elements, of at most " + std::to_string(mostOrdered));
  }
  /// Of the values and the indices.
  void set(Call &call, Value values, Value indices) const {
    if (!call.problem().empty())
      return;
    const auto back = [&](Value value, unsigned result) {
      return call.reshape(rank > 0 ? moveFromLast(call, value, dim) : value, call.result(result).sizes);
    };
    values = call.cast(back(values, 0), call.elementType(call.result().type));
    call.resultCount() == 1 ? call.set(values) : call.set({values, back(indices, 1)});
  }
};

/// x [.., n] as [.., n, 1] or [.., 1, n].
Value column(Call &call, Value x) {
  Sizes shape(Call::shapeOf(x));
  shape.push_back(1);
  return call.reshape(x, shape);
}
Value row(Call &call, Value x) {
  Sizes shape(Call::shapeOf(x));
  shape.insert(shape.end() - 1, 1);
  return call.reshape(x, shape);
}
std::int64_t lastDim(Value x) { return Call::rankOf(x) - 1; }

/// The rank of each element along the last dim, as f32.
Value rankOf(Call &call, Value x, bool descends) {
  const std::int64_t size = Call::shapeOf(x).back();
  Value nan = isNan(call, x), key = call.select(nan, call.scalar(INFINITY, x), x);
  const auto before = [&](Value value) {
    return call.compare(row(call, value), descends ? ComparePredicate::gt : ComparePredicate::lt, column(call, value));
  };
  const auto equal = [&](Value value) {
    return call.compare(row(call, value), ComparePredicate::eq, column(call, value));
  };
  Type index = call.builder.getI32Type();
  Value earlier =
      call.compare(iota(call, {size, size}, 1, index), ComparePredicate::lt, iota(call, {size, size}, 0, index));
  Value ofNan = logicalOr(call, before(nan), logicalAnd(call, equal(nan), earlier));
  Value precedes = logicalOr(call, before(key), logicalAnd(call, equal(key), ofNan));
  Value counted = call.cast(precedes, call.builder.getF32Type());
  return reduce<model::ReduceSumOp>(call, counted, {lastDim(counted)});
}

/// The indices of the elements of the ranks [.., m], which are numbers from 0.
Value indexOfRanks(Call &call, Value ranks, Value wanted) {
  Value found =
      call.cast(call.compare(row(call, ranks), ComparePredicate::eq, column(call, wanted)), call.builder.getF32Type());
  return call.make<model::ArgmaxOp>({found}, {{"dim", call.builder.getI64IntegerAttr(lastDim(found))}});
}
Value firstRanks(Call &call, Value x, std::int64_t first, std::int64_t count) {
  Sizes shape(Call::shapeOf(x));
  shape.back() = count;
  Value from = iota(call, shape, static_cast<std::int64_t>(shape.size()) - 1, call.builder.getF32Type());
  return add(call, from, call.scalar(static_cast<double>(first), from));
}
Value take(Call &call, Value x, Value index) {
  return call.make<model::TakeAlongOp>({x, index}, {{"dim", call.builder.getI64IntegerAttr(lastDim(x))}});
}

void setRanks(Call &call, const Ordered &ordered, bool descends, std::int64_t first, std::int64_t count) {
  if (!call.problem().empty())
    return;
  Value index = indexOfRanks(call, rankOf(call, ordered.x, descends), firstRanks(call, ordered.x, first, count));
  ordered.set(call, take(call, ordered.x, index), index);
}

void sort(Call &call) {
  const Ordered ordered(call, call.integer("dim"));
  setRanks(call, ordered, call.flag("descending"), 0, ordered.size);
}
void sortFirstDim(Call &call) {
  const Ordered ordered(call, 0);
  setRanks(call, ordered, false, 0, ordered.size);
}
void indicesOfSort(Call &call) {
  const Ordered ordered(call, call.integer("dim"));
  if (!call.problem().empty())
    return;
  Value index = indexOfRanks(call, rankOf(call, ordered.x, call.flag("descending")),
                             firstRanks(call, ordered.x, 0, ordered.size));
  ordered.set(call, index, index);
}
void topk(Call &call) {
  const Ordered ordered(call, call.integer("dim"));
  const std::int64_t count = call.integer("k");
  if (count < 1 || count > ordered.size)
    return call.refuse("topk of no elements, or of more than there are");
  setRanks(call, ordered, call.flag("largest"), 0, count);
}
void kthValue(Call &call) {
  const Ordered ordered(call, call.integer("dim"));
  const std::int64_t k = call.integer("k");
  if (k < 1 || k > ordered.size)
    return call.refuse("kthvalue of an element that is not there");
  setRanks(call, ordered, false, k - 1, 1);
}

/// The lower one of two medians: of the numbers, or NaN if there is one and NaN are not skipped.
Value indexOfMedian(Call &call, Value x, bool skipsNan) {
  Value nans = call.cast(isNan(call, x), call.builder.getF32Type());
  Value count = reduce<model::ReduceSumOp>(call, nans, {lastDim(nans)}, /*keep=*/true);
  const auto size = static_cast<double>(Call::shapeOf(x).back());
  Value wanted;
  if (skipsNan) {
    // (numbers - 1) / 2, rounded down; 0 without any number.
    Value half = call.scale(subtract(call, call.scalar(size - 1, count), count), 0.5);
    wanted = call.cast(call.cast(call.broadcast(half, Call::shapeOf(count)), call.builder.getI64Type()),
                       call.builder.getF32Type());
  } else {
    const std::int64_t lower = (Call::shapeOf(x).back() - 1) / 2;
    Value middle = call.scalar(static_cast<double>(lower), count);
    Value hasNan = call.compare(count, ComparePredicate::gt, call.scalar(0, count));
    wanted = call.select(hasNan, subtract(call, call.scalar(size, count), count), middle);
  }
  return indexOfRanks(call, rankOf(call, x, /*descends=*/false), wanted);
}
template <bool skipsNan> void median(Call &call) {
  const Ordered ordered(call, call.integer("dim"));
  if (!call.problem().empty())
    return;
  Value index = indexOfMedian(call, ordered.x, skipsNan);
  ordered.set(call, take(call, ordered.x, index), index);
}
/// Of all elements; those that are equal to it share the gradient.
template <bool skipsNan> void medianOfAll(Call &call) {
  const Ordered ordered(call, std::nullopt);
  if (!call.problem().empty())
    return;
  Value x = ordered.x, result = take(call, x, indexOfMedian(call, x, skipsNan));
  Value isSame = logicalOr(call, call.compare(x, ComparePredicate::eq, result),
                           logicalAnd(call, isNan(call, x), isNan(call, result)));
  Value weight = call.cast(isSame, elementOf(x)), same = call.select(isSame, x, call.scalar(0, x));
  Value mean = divide(call, reduce<model::ReduceSumOp>(call, same, {0}, true),
                      reduce<model::ReduceSumOp>(call, weight, {0}, true));
  ordered.set(call, withDerivativeOf(call, result, mean), {});
}

//===----------------------------------------------------------------------===//
// Cumulative ops
//===----------------------------------------------------------------------===//

/// Products of 1, 2, 4, ... elements up to each one.
void cumulativeProduct(Call &call) {
  const Ordered ordered(call, call.integer("dim"));
  if (!call.problem().empty())
    return;
  Value x = ordered.x;
  Sizes low(Call::shapeOf(x).size(), 0), high(low);
  for (std::int64_t step = 1; step < ordered.size; step *= 2) {
    low.back() = step;
    x = multiply(call, x, call.pad(call.slice(x, lastDim(x), 0, ordered.size - step), low, high, 1));
  }
  ordered.set(call, x, {});
}

/// The product by halves.
Value productOf(Call &call, Value x) {
  for (std::int64_t size = Call::shapeOf(x).back(); size > 1; size = (size + 1) / 2) {
    const std::int64_t half = size / 2;
    Value pairs = multiply(call, call.slice(x, lastDim(x), 0, half), call.slice(x, lastDim(x), half, 2 * half));
    x = size % 2 == 0 ? pairs : call.join({pairs, call.slice(x, lastDim(x), 2 * half, size)}, lastDim(x));
  }
  return x;
}
void product(Call &call, std::optional<std::int64_t> dim) {
  if (!isFloat(call.result().type))
    return call.refuse("a product of integers", "cast them to float32 before");
  const Ordered ordered(call, dim);
  if (!call.problem().empty())
    return;
  Value y = productOf(call, ordered.x);
  ordered.set(call, y, {});
}
void productOfDim(Call &call) { product(call, call.integer("dim")); }
void productOfAll(Call &call) { product(call, std::nullopt); }

/// The elements up to each one, [.., i, j], with `fill` after it.
Value upToEach(Call &call, Value x, double fill) {
  const std::int64_t size = Call::shapeOf(x).back();
  Type index = call.builder.getI32Type();
  Value isBefore =
      call.compare(iota(call, {size, size}, 1, index), ComparePredicate::le, iota(call, {size, size}, 0, index));
  return call.select(isBefore, row(call, x), call.scalar(fill, x));
}
/// The last one of equal elements counts, as in torch; so does the last NaN.
template <bool isLeast> void cumulativeMaximum(Call &call) {
  const Ordered ordered(call, call.integer("dim"));
  if (!call.problem().empty())
    return;
  Value x = isLeast ? negate(call, ordered.x) : ordered.x;
  std::vector<std::int64_t> reversed;
  for (std::int64_t i = ordered.size; i-- > 0;)
    reversed.push_back(i);
  Value all = upToEach(call, stopped(call, x), -INFINITY);
  Value backwards = takeSlices(call, all, lastDim(all), reversed);
  Value fromEnd = call.make<model::ArgmaxOp>({backwards}, {{"dim", call.builder.getI64IntegerAttr(lastDim(all))}});
  Value index = subtract(
      call, call.broadcast(call.scalar(static_cast<double>(ordered.size - 1), fromEnd), Call::shapeOf(fromEnd)),
      fromEnd);
  ordered.set(call, take(call, ordered.x, index), index);
}
void logCumulativeSumOfExponentials(Call &call) {
  const Ordered ordered(call, call.integer("dim"));
  if (call.problem().empty())
    ordered.set(call, call.make<model::LogSumExpOp>(upToEach(call, ordered.x, -INFINITY)), {});
}

constexpr AtenOp table[] = {
    {"argsort.default", indicesOfSort},
    {"argsort.stable", indicesOfSort},
    {"cummax.default", cumulativeMaximum<false>},
    {"cummin.default", cumulativeMaximum<true>},
    {"cumprod.default", cumulativeProduct},
    {"kthvalue.default", kthValue},
    {"logcumsumexp.default", logCumulativeSumOfExponentials},
    {"median.default", medianOfAll<false>},
    {"median.dim", median<false>},
    {"msort.default", sortFirstDim},
    {"nanmedian.default", medianOfAll<true>},
    {"nanmedian.dim", median<true>},
    {"prod.default", productOfAll},
    {"prod.dim_int", productOfDim},
    {"sort.default", sort},
    {"sort.stable", sort},
    {"topk.default", topk},
};

} // namespace sluice::exported::order

llvm::ArrayRef<AtenOp> exported::orderOps() { return order::table; }
