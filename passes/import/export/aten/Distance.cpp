//===- Distance.cpp - norms, distances and similarities of ATen ----------------------------===//

#include "passes/import/export/aten/Elements.h"
#include "passes/import/export/aten/Operands.h"

#include <cmath>

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

Value exported::safeRoot(Call &call, Value square) {
  Value zero = call.scalar(0, square), positive = call.compare(square, ComparePredicate::ne, zero);
  return call.select(positive, call.make<model::SqrtOp>(call.select(positive, square, call.scalar(1, square))), zero);
}

namespace sluice::exported::distance {

using Sizes = llvm::SmallVector<std::int64_t>;

/// The norm of an order over dims. torch's derivative is 0 at elements of 0 and at a norm of 0; those of equal largest
/// elements share it.
Value normOf(Call &call, Value x, double order, const Sizes &dims, bool keep) {
  if (order == 2)
    return safeRoot(call, reduce<model::ReduceSumOp>(call, multiply(call, x, x), dims, keep));
  Value size = magnitude(call, x);
  if (order == 1)
    return reduce<model::ReduceSumOp>(call, size, dims, keep);
  if (order == INFINITY)
    return reduce<model::ReduceMaxOp>(call, size, dims, keep);
  if (order == -INFINITY)
    return negate(call, reduce<model::ReduceMaxOp>(call, negate(call, size), dims, keep));
  const auto power = [&](Value value, double exponent) -> Value {
    return call.make<model::PowerOp>({value}, {{"exponent", call.builder.getF64FloatAttr(exponent)}});
  };
  if (order < 0)
    return power(reduce<model::ReduceSumOp>(call, power(size, order), dims, keep), 1 / order);
  Value zero = call.scalar(0, x), isZero = call.compare(x, ComparePredicate::eq, zero);
  if (order == 0) {
    Value nonZero = call.cast(call.compare(x, ComparePredicate::ne, zero), elementOf(x));
    return reduce<model::ReduceSumOp>(call, nonZero, dims, keep);
  }
  Value powers = call.select(isZero, zero, power(call.select(isZero, call.scalar(1, x), size), order));
  Value total = reduce<model::ReduceSumOp>(call, powers, dims, keep);
  Value isNull = call.compare(total, ComparePredicate::eq, call.scalar(0, total));
  return call.select(isNull, call.scalar(0, total),
                     power(call.select(isNull, call.scalar(1, total), total), 1 / order));
}

Value floatOperand(Call &call, llvm::StringRef name) {
  return call.cast(call.value(name), call.elementType(call.result().type));
}
void vectorNorm(Call &call) {
  Value x = floatOperand(call, "self");
  call.set(normOf(call, x, call.number("ord"), call.dims("dim", Call::rankOf(x)), call.flag("keepdim")));
}
void norm(Call &call) {
  Value x = floatOperand(call, "self");
  call.set(normOf(call, x, call.optionalNumber("p").value_or(2), allDims(x), false));
}
void normOverDims(Call &call) {
  Value x = floatOperand(call, "self");
  call.set(
      normOf(call, x, call.optionalNumber("p").value_or(2), call.dims("dim", Call::rankOf(x)), call.flag("keepdim")));
}

/// Between the last dims.
Value distanceOf(Call &call, Value a, Value b, double order, double epsilon, bool keep) {
  Value difference = subtract(call, a, b);
  if (Call::rankOf(difference) == 0) {
    call.refuse("a distance of scalars");
    return difference;
  }
  if (epsilon != 0)
    difference = add(call, difference, call.scalar(epsilon, difference));
  return normOf(call, difference, order, {Call::rankOf(difference) - 1}, keep);
}
void pairwiseDistance(Call &call) {
  call.set(
      distanceOf(call, call.value("x1"), call.value("x2"), call.number("p"), call.number("eps"), call.flag("keepdim")));
}
void distance(Call &call) {
  Value difference = subtract(call, call.value("self"), call.value("other"));
  call.set(normOf(call, difference, call.number("p"), allDims(difference), false));
}
/// Between all rows of two matrices; as differences, whatever `compute_mode` is.
void distances(Call &call) {
  Value a = call.value("x1"), b = call.value("x2");
  if (Call::rankOf(a) < 2 || Call::rankOf(b) < 2)
    return call.refuse("cdist of vectors");
  Sizes left(Call::shapeOf(a)), right(Call::shapeOf(b));
  left.insert(left.end() - 1, 1);
  right.insert(right.end() - 2, 1);
  call.set(distanceOf(call, call.reshape(a, left), call.reshape(b, right), call.number("p"), 0, false));
}
/// Between each row of a matrix and each later one.
void distancesOfRows(Call &call) {
  Value x = call.value("self");
  std::vector<std::int64_t> first, second;
  if (Call::rankOf(x) != 2 || Call::shapeOf(x)[0] < 2)
    return call.refuse("pdist of fewer than two rows");
  for (std::int64_t i = 0; i < Call::shapeOf(x)[0]; ++i)
    for (std::int64_t j = i + 1; j < Call::shapeOf(x)[0]; ++j)
      first.push_back(i), second.push_back(j);
  call.set(distanceOf(call, takeSlices(call, x, 0, first), takeSlices(call, x, 0, second), call.number("p"), 0, false));
}

/// Of vectors divided by their norms, of which none is less than `eps`; the derivative is that of the norms.
void cosineSimilarity(Call &call) {
  Value a = floatOperand(call, "x1"), b = floatOperand(call, "x2");
  const double epsilon = call.number("eps");
  Value product = multiply(call, a, b);
  const Sizes dims = call.dims("dim", Call::rankOf(product));
  const auto unit = [&](Value x) {
    x = call.broadcast(x, Call::shapeOf(product));
    Value length = normOf(call, x, 2, dims, true), least = call.scalar(epsilon, length);
    Value clamped = call.select(call.compare(length, ComparePredicate::lt, least), least, length);
    return divide(call, x, withDerivativeOf(call, stopped(call, clamped), length));
  };
  call.set(reduce<model::ReduceSumOp>(call, multiply(call, unit(a), unit(b)), dims));
}

/// Slices of a dim with a norm of more than `maxnorm` are scaled to it.
void renormalize(Call &call) {
  Value x = call.value("self");
  const std::int64_t dim = call.dim("dim", Call::rankOf(x));
  Sizes others;
  for (std::int64_t each = 0; each < Call::rankOf(x); ++each)
    if (each != dim)
      others.push_back(each);
  const double most = call.number("maxnorm");
  Value length = normOf(call, x, call.number("p"), others, true);
  Value isLong = call.compare(length, ComparePredicate::gt, call.scalar(most, length));
  Value safe = call.select(isLong, length, call.scalar(1, length));
  Value factor = divide(call, call.scalar(most, length), add(call, safe, call.scalar(1e-7, length)));
  call.set(multiply(call, x, call.select(isLong, factor, call.scalar(1, factor))));
}

void tripletMargin(Call &call) {
  const double order = call.number("p"), epsilon = call.number("eps");
  Value anchor = call.value("anchor"), positive = call.value("positive"), negative = call.value("negative");
  Value near = distanceOf(call, anchor, positive, order, epsilon, false),
        far = distanceOf(call, anchor, negative, order, epsilon, false);
  if (call.flag("swap")) {
    Value other = distanceOf(call, positive, negative, order, epsilon, false);
    far = negate(call, call.make<model::MaximumOp>({negate(call, far), negate(call, other)}));
  }
  Value difference = subtract(call, add(call, near, call.scalar(call.number("margin"), near)), far);
  call.set(reducedLoss(call, call.make<model::ReluOp>(difference)));
}

void cosineEmbedding(Call &call) {
  Value a = call.value("input1"), b = call.value("input2"), target = call.value("target");
  const std::int64_t dim = Call::rankOf(target);
  const auto sum = [&](Value x, Value y) { return reduce<model::ReduceSumOp>(call, multiply(call, x, y), {dim}); };
  if (Call::rankOf(a) != dim + 1 || Call::rankOf(b) != dim + 1)
    return call.refuse("cosine_embedding_loss of another rank than that of the target and one dim");
  const auto square = [&](Value x) {
    Value total = sum(x, x);
    return add(call, total, call.scalar(1e-12, total));
  };
  Value cosine = divide(call, sum(a, b), call.make<model::SqrtOp>(multiply(call, square(a), square(b))));
  Value zero = call.scalar(0, cosine);
  const auto where = [&](double sign, Value value) {
    return call.select(call.compare(target, ComparePredicate::eq, call.scalar(sign, target)), value, zero);
  };
  Value similar = where(1, subtract(call, call.broadcast(call.scalar(1, cosine), Call::shapeOf(cosine)), cosine));
  Value margin = call.scalar(call.number("margin"), cosine);
  call.set(reducedLoss(call, add(call, similar, where(-1, call.make<model::ReluOp>(subtract(call, cosine, margin))))));
}

constexpr AtenOp table[] = {
    {"cdist.default", distances},
    {"cosine_embedding_loss.default", cosineEmbedding},
    {"cosine_similarity.default", cosineSimilarity},
    {"dist.default", distance},
    {"linalg_vector_norm.default", vectorNorm},
    {"norm.Scalar", norm},
    {"norm.ScalarOpt_dim", normOverDims},
    {"pairwise_distance.default", pairwiseDistance},
    {"pdist.default", distancesOfRows},
    {"renorm.default", renormalize},
    {"triplet_margin_loss.default", tripletMargin},
};

} // namespace sluice::exported::distance

llvm::ArrayRef<AtenOp> exported::distanceOps() { return distance::table; }
