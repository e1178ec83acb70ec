//===- Reduction.cpp - ops of ATen that combine the elements of dims ---------------------===//

#include "passes/import/export/Call.h"

#include <cmath>

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::reduction {

Value floatOperand(Call &call, llvm::StringRef name) {
  return call.cast(call.value(name), call.elementType(call.result().type));
}

template <typename Op> Value reduce(Call &call, Value self, llvm::ArrayRef<std::int64_t> dims, bool keep) {
  if (dims.empty())
    return self;
  auto attribute = call.builder.getDenseI64ArrayAttr(dims);
  UnitAttr keepDims = keep ? call.builder.getUnitAttr() : UnitAttr();
  return call.make<Op>(self, {{"dims", attribute}, {"keep", keepDims}});
}

/// Over the dims of the argument `dim`; over all without it.
template <typename Op> void overDims(Call &call) {
  if (!isFloat(call.result().type))
    return call.refuse("a reduction of integers", "cast them to float32 before");
  Value self = floatOperand(call, "self");
  call.set(reduce<Op>(call, self, call.dims("dim", Call::rankOf(self)), call.flag("keepdim")));
}

template <typename Op> void overAll(Call &call) {
  if (!isFloat(call.result().type))
    return call.refuse("a reduction of integers", "cast them to float32 before");
  Value self = floatOperand(call, "self");
  call.set(reduce<Op>(call, self, llvm::to_vector(llvm::seq<std::int64_t>(0, Call::rankOf(self))), false));
}

/// With `make` along the last dim.
template <typename Make> void alongDim(Call &call, Make make) {
  Value self = floatOperand(call, "self");
  const std::int64_t rank = Call::rankOf(self);
  if (rank == 0)
    return call.refuse("softmax of a scalar");
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

void vectorNorm(Call &call) {
  Value self = floatOperand(call, "self");
  const llvm::SmallVector<std::int64_t> dims = call.dims("dim", Call::rankOf(self));
  const bool keep = call.flag("keepdim");
  const double order = call.number("ord");
  Value size = call.make<model::MaximumOp>({self, call.make<model::NegateOp>(self)});
  if (order == 1)
    return call.set(reduce<model::ReduceSumOp>(call, size, dims, keep));
  if (order == INFINITY)
    return call.set(reduce<model::ReduceMaxOp>(call, size, dims, keep));
  if (order != 2)
    return call.refuse("a norm of an order other than 1, 2 and infinity");
  // torch's derivative at a norm of 0 is 0; that of the root alone would be infinite.
  Value total = reduce<model::ReduceSumOp>(call, call.make<model::MultiplyOp>({self, self}), dims, keep);
  Value zero = call.scalar(0, total), positive = call.compare(total, ComparePredicate::gt, zero);
  Value root = call.make<model::SqrtOp>(call.select(positive, total, call.scalar(1, total)));
  call.set(call.select(positive, root, zero));
}

/// The mean square of the distance from the mean, times n / (n - correction).
template <bool hasCorrection> Value varianceOf(Call &call) {
  Value self = floatOperand(call, "self");
  const std::int64_t rank = Call::rankOf(self);
  const llvm::SmallVector<std::int64_t> dims = call.dims("dim", rank);
  double count = 1;
  for (const std::int64_t dim : dims)
    count *= static_cast<double>(Call::shapeOf(self)[static_cast<std::size_t>(dim)]);
  double correction = 1;
  if constexpr (hasCorrection)
    correction = call.optionalNumber("correction").value_or(1);
  else
    correction = call.flag("unbiased") ? 1 : 0;
  if (count <= correction) {
    call.refuse("a variance of no more elements than its correction");
    return self;
  }
  Value error = call.make<model::SubtractOp>({self, reduce<model::ReduceMeanOp>(call, self, dims, true)});
  Value square = call.make<model::MultiplyOp>({error, error});
  return call.scale(reduce<model::ReduceMeanOp>(call, square, dims, call.flag("keepdim")),
                    count / (count - correction));
}
template <bool hasCorrection> void variance(Call &call) { call.set(varianceOf<hasCorrection>(call)); }
template <bool hasCorrection> void deviation(Call &call) {
  call.set(call.make<model::SqrtOp>(varianceOf<hasCorrection>(call)));
}

/// Along one dim.
void logSumExp(Call &call) {
  Value self = floatOperand(call, "self");
  const std::int64_t rank = Call::rankOf(self);
  const llvm::SmallVector<std::int64_t> dims = call.dims("dim", rank);
  if (dims.size() != 1)
    return call.refuse("logsumexp over several dims", "flatten them before");
  call.set(call.reshape(call.make<model::LogSumExpOp>(call.swap(self, dims.front(), rank - 1)), call.result().sizes));
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

/// Each element less the one before it along a dim, of the elements between those of `prepend` and `append`.
void difference(Call &call) {
  Value self = call.value("self");
  const std::int64_t rank = Call::rankOf(self);
  if (rank == 0 || call.integer("n") != 1)
    return call.refuse("a difference of an order other than 1, or of a scalar");
  const std::int64_t dim = call.dim("dim", rank);
  llvm::SmallVector<Value> parts = {self};
  if (Value before = call.optionalValue("prepend"))
    parts.insert(parts.begin(), before);
  if (Value after = call.optionalValue("append"))
    parts.push_back(after);
  Value all = call.join(parts, dim);
  const std::int64_t size = call.extentOf(all, dim);
  if (!call.problem().empty() || size == 0)
    return call.refuse("a difference of no elements");
  Value late = call.slice(all, dim, 1, size), early = call.slice(all, dim, 0, size - 1);
  call.set(call.result().type == ScalarType::boolean ? call.compare(late, ComparePredicate::ne, early)
                                                     : call.make<model::SubtractOp>({late, early}));
}

/// The largest elements along a dim and their indices; of equal elements the first one counts.
template <bool isLeast> void largest(Call &call) {
  Value self = call.value("self");
  const std::int64_t rank = Call::rankOf(self);
  if (rank == 0)
    return call.refuse("the largest of a scalar");
  const std::int64_t dim = call.dim("dim", rank);
  auto attribute = call.builder.getI64IntegerAttr(dim);
  Value index = call.make<model::ArgmaxOp>({isLeast ? call.make<model::NegateOp>(self) : self}, {{"dim", attribute}});
  llvm::SmallVector<std::int64_t> kept(Call::shapeOf(self));
  kept[static_cast<std::size_t>(dim)] = 1;
  Value values = call.make<model::TakeAlongOp>({self, call.reshape(index, kept)}, {{"dim", attribute}});
  call.set({call.reshape(values, call.result(0).sizes), call.reshape(index, call.result(0).sizes)});
}

/// Equal elements share the gradient.
Value negated(Call &call, Value value) { return call.make<model::NegateOp>(value); }
void leastOverDims(Call &call) {
  Value self = negated(call, floatOperand(call, "self"));
  call.set(negated(call,
                   reduce<model::ReduceMaxOp>(call, self, call.dims("dim", Call::rankOf(self)), call.flag("keepdim"))));
}
void leastOverAll(Call &call) {
  Value self = negated(call, floatOperand(call, "self"));
  call.set(negated(call, reduce<model::ReduceMaxOp>(
                             call, self, llvm::to_vector(llvm::seq<std::int64_t>(0, Call::rankOf(self))), false)));
}

constexpr AtenOp table[] = {
    {"amax.default", overDims<model::ReduceMaxOp>},
    {"amin.default", leastOverDims},
    {"argmax.default", argmax},
    {"cumsum.default", cumulativeSum},
    {"diff.default", difference},
    {"linalg_vector_norm.default", vectorNorm},
    {"log_softmax.int", logSoftmax},
    {"logsumexp.default", logSumExp},
    {"std.correction", deviation<true>},
    {"std.dim", deviation<false>},
    {"var.correction", variance<true>},
    {"var.dim", variance<false>},
    {"max.default", overAll<model::ReduceMaxOp>},
    {"max.dim", largest<false>},
    {"mean.default", overAll<model::ReduceMeanOp>},
    {"mean.dim", overDims<model::ReduceMeanOp>},
    {"min.default", leastOverAll},
    {"min.dim", largest<true>},
    {"softmax.int", softmax},
    {"sum.default", overAll<model::ReduceSumOp>},
    {"sum.dim_IntList", overDims<model::ReduceSumOp>},
    {"_log_softmax.default", logSoftmax},
    {"_softmax.default", softmax},
};

} // namespace sluice::exported::reduction

llvm::ArrayRef<AtenOp> exported::reductionOps() { return reduction::table; }
