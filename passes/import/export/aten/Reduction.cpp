//===- Reduction.cpp - ops of ATen that combine the elements of dims ---------------------===//

#include "passes/import/export/aten/Operands.h"

#include <cmath>

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::reduction {

Value floatOperand(Call &call, llvm::StringRef name) {
  return call.cast(call.value(name), call.elementType(call.result().type));
}

/// Sums of integers are exact in f64 below 2^53; other reductions are of floats.
template <typename Op> void over(Call &call, bool isOfAll) {
  const bool isSum = std::is_same_v<Op, model::ReduceSumOp>;
  if (!isFloat(call.result().type) && !isSum)
    return call.refuse("a reduction of integers", "cast them to float32 before");
  Type result = call.elementType(call.result().type);
  Value self = call.cast(call.value("self"), isFloat(call.result().type) ? result : call.builder.getF64Type());
  const llvm::SmallVector<std::int64_t> dims = isOfAll ? allDims(self) : call.dims("dim", Call::rankOf(self));
  call.set(call.cast(reduce<Op>(call, self, dims, !isOfAll && call.flag("keepdim")), result));
}
/// Over the dims of the argument `dim`; over all without it.
template <typename Op> void overDims(Call &call) { over<Op>(call, false); }
template <typename Op> void overAll(Call &call) { over<Op>(call, true); }

/// To dims that broadcast to those of the operand.
void sumToSize(Call &call) {
  Value self = call.value("self");
  const llvm::SmallVector<std::int64_t> &shape = call.result().sizes;
  const std::int64_t added = Call::rankOf(self) - static_cast<std::int64_t>(shape.size());
  llvm::SmallVector<std::int64_t> dims;
  for (std::int64_t dim = 0; dim < Call::rankOf(self); ++dim)
    if (dim < added ||
        (shape[static_cast<std::size_t>(dim - added)] == 1 && Call::shapeOf(self)[static_cast<std::size_t>(dim)] != 1))
      dims.push_back(dim);
  call.set(call.reshape(reduce<model::ReduceSumOp>(call, self, dims), shape));
}

/// With `make` along the last dim.
template <typename Make> void alongDim(Call &call, Make make) {
  Value self = floatOperand(call, "self");
  const std::int64_t rank = Call::rankOf(self);
  if (rank == 0)
    return call.set(call.reshape(make(call.reshape(self, {1})), {}));
  const std::int64_t dim = call.dim("dim", rank), last = rank - 1;
  call.set(call.swap(make(call.swap(self, dim, last)), dim, last));
}

void softmax(Call &call) {
  alongDim(call, [&](Value x) -> Value { return call.make<model::SoftmaxOp>(x); });
}

Value logSoftmaxOf(Call &call, Value x) {
  llvm::SmallVector<std::int64_t> shape(Call::shapeOf(x));
  shape.back() = 1;
  Value total = call.make<model::LogSumExpOp>(x);
  return call.make<model::SubtractOp>({x, call.reshape(total, shape)});
}

void logSoftmax(Call &call) {
  alongDim(call, [&](Value x) { return logSoftmaxOf(call, x); });
}

/// The dims become the last one.
void logSumExp(Call &call) {
  Value self = floatOperand(call, "self");
  const std::int64_t rank = Call::rankOf(self);
  const llvm::SmallVector<std::int64_t> dims = call.dims("dim", rank);
  if (dims.empty())
    return call.set(self);
  llvm::SmallVector<std::int64_t> permutation, shape;
  std::int64_t size = 1;
  for (std::int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      permutation.push_back(dim), shape.push_back(Call::shapeOf(self)[static_cast<std::size_t>(dim)]);
  for (const std::int64_t dim : dims)
    permutation.push_back(dim), size *= call.extentOf(self, dim);
  shape.push_back(size);
  Value last = call.reshape(call.transpose(self, permutation), shape);
  call.set(call.reshape(call.make<model::LogSumExpOp>(last), call.result().sizes));
}

/// The derivative of softmax.
void softmaxBackward(Call &call) {
  Value dy = call.value("grad_output"), y = call.value("output");
  const std::int64_t dim = call.dim("dim", Call::rankOf(y));
  Value product = multiply(call, dy, y);
  Value sum = Call::rankOf(y) == 0 ? product : reduce<model::ReduceSumOp>(call, product, {dim}, true);
  call.set(subtract(call, product, multiply(call, y, sum)));
}
/// Rows of which each element is -infinity give zeros.
void safeSoftmax(Call &call) {
  alongDim(call, [&](Value x) -> Value {
    Value most = reduce<model::ReduceMaxOp>(call, stopped(call, x), {Call::rankOf(x) - 1}, true);
    Value isEmpty = call.compare(most, ComparePredicate::eq, call.scalar(-INFINITY, most));
    Value zero = call.scalar(0, x);
    return call.select(isEmpty, zero, call.make<model::SoftmaxOp>(call.select(isEmpty, zero, x)));
  });
}

void argmax(Call &call) {
  Value self = call.value("self");
  if (call.isNone("dim"))
    return call.refuse("argmax without a dim");
  const std::int64_t dim = call.dim("dim", Call::rankOf(self));
  // The op takes floats; integers are exact in f64.
  if (!isa<FloatType>(cast<RankedTensorType>(self.getType()).getElementType()))
    self = call.cast(self, call.builder.getF64Type());
  Value index = call.make<model::ArgmaxOp>({self}, {{"dim", call.builder.getI64IntegerAttr(dim)}});
  call.set(call.reshape(index, call.result().sizes));
}

/// A product with a matrix of ones from the diagonal on. Sums of integers are exact in f64.
void cumulativeSum(Call &call) {
  Value self = call.value("self");
  const std::int64_t rank = Call::rankOf(self);
  if (rank == 0)
    return call.set(self);
  const std::int64_t dim = call.dim("dim", rank), last = rank - 1, size = call.extentOf(self, dim);
  Type result = call.elementType(call.result().type);
  Type element = isFloat(call.result().type) ? result : Type(call.builder.getF64Type());
  auto type = RankedTensorType::get({size, size}, call.builder.getI32Type());
  const auto index = [&](std::int64_t along) -> Value {
    return call.make<model::IotaOp>({}, {{"dim", call.builder.getI64IntegerAttr(along)}}, type);
  };
  Value ones = call.cast(call.compare(index(0), ComparePredicate::le, index(1)), element);
  Value x = call.swap(call.cast(self, element), dim, last);
  llvm::SmallVector<std::int64_t> shape(Call::shapeOf(x));
  if (rank == 1)
    x = call.reshape(x, {1, size});
  call.set(call.cast(call.swap(call.reshape(call.product(x, ones), shape), dim, last), result));
}

/// Each element less the one before it along a dim, of the elements between those of `prepend` and `append`, n times.
void difference(Call &call) {
  Value self = call.value("self");
  const std::int64_t rank = Call::rankOf(self);
  if (rank == 0)
    return call.refuse("a difference of a scalar");
  const std::int64_t dim = call.dim("dim", rank);
  llvm::SmallVector<Value> parts = {self};
  if (Value before = call.optionalValue("prepend"))
    parts.insert(parts.begin(), before);
  if (Value after = call.optionalValue("append"))
    parts.push_back(after);
  Value all = call.join(parts, dim);
  for (std::int64_t n = call.integer("n"); n > 0 && call.problem().empty(); --n) {
    const std::int64_t size = call.extentOf(all, dim);
    if (size == 0)
      return call.refuse("a difference of no elements");
    Value late = call.slice(all, dim, 1, size), early = call.slice(all, dim, 0, size - 1);
    all = call.result().type == ScalarType::boolean ? call.compare(late, ComparePredicate::ne, early)
                                                    : subtract(call, late, early);
  }
  call.set(all);
}

/// The largest elements along a dim and their indices; of equal elements the first one counts.
template <bool isLeast> void largest(Call &call) {
  Value self = call.value("self");
  const std::int64_t rank = Call::rankOf(self);
  if (rank == 0)
    return call.set({self, call.make<model::ConstantOp>({}, {{"value", call.builder.getF64FloatAttr(0)}},
                                                        RankedTensorType::get({}, call.builder.getI64Type()))});
  const std::int64_t dim = call.dim("dim", rank);
  auto attribute = call.builder.getI64IntegerAttr(dim);
  Value index = call.make<model::ArgmaxOp>({isLeast ? call.make<model::NegateOp>(self) : self}, {{"dim", attribute}});
  llvm::SmallVector<std::int64_t> kept(Call::shapeOf(self));
  kept[static_cast<std::size_t>(dim)] = 1;
  Value values = call.make<model::TakeAlongOp>({self, call.reshape(index, kept)}, {{"dim", attribute}});
  call.set({call.reshape(values, call.result(0).sizes), call.reshape(index, call.result(0).sizes)});
}

/// Equal elements share the gradient.
void leastOverDims(Call &call) {
  Value self = negate(call, floatOperand(call, "self"));
  call.set(
      negate(call, reduce<model::ReduceMaxOp>(call, self, call.dims("dim", Call::rankOf(self)), call.flag("keepdim"))));
}
void leastOverAll(Call &call) {
  Value self = negate(call, floatOperand(call, "self"));
  call.set(negate(call, reduce<model::ReduceMaxOp>(
                            call, self, llvm::to_vector(llvm::seq<std::int64_t>(0, Call::rankOf(self))), false)));
}

void leastAndLargest(Call &call) {
  Value self = call.value("self");
  const bool isOfAll = call.isNone("dim");
  const llvm::SmallVector<std::int64_t> dims = isOfAll ? allDims(self) : call.dims("dim", Call::rankOf(self));
  const bool keep = call.flag("keepdim");
  Value least = negate(call, reduce<model::ReduceMaxOp>(call, negate(call, self), dims, keep));
  call.set({least, reduce<model::ReduceMaxOp>(call, self, dims, keep)});
}

constexpr AtenOp table[] = {
    {"amax.default", overDims<model::ReduceMaxOp>},
    {"amin.default", leastOverDims},
    {"aminmax.default", leastAndLargest},
    {"argmax.default", argmax},
    {"cumsum.default", cumulativeSum},
    {"diff.default", difference},
    {"log_softmax.int", logSoftmax},
    {"logsumexp.default", logSumExp},
    {"max.default", overAll<model::ReduceMaxOp>},
    {"max.dim", largest<false>},
    {"mean.default", overAll<model::ReduceMeanOp>},
    {"mean.dim", overDims<model::ReduceMeanOp>},
    {"min.default", leastOverAll},
    {"min.dim", largest<true>},
    {"softmax.int", softmax},
    {"sum.default", overAll<model::ReduceSumOp>},
    {"sum.dim_IntList", overDims<model::ReduceSumOp>},
    {"sum_to_size.default", sumToSize},
    {"_log_softmax.default", logSoftmax},
    {"_safe_softmax.default", safeSoftmax},
    {"_softmax.default", softmax},
    {"_softmax_backward_data.default", softmaxBackward},
};

} // namespace sluice::exported::reduction

llvm::ArrayRef<AtenOp> exported::reductionOps() { return reduction::table; }
