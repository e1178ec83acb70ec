//===- Evaluate.cpp - ops of ATen on constants ---------------------------------------------===//

#include "passes/import/export/Call.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::evaluation {

using Evaluate = ConstantPtr (*)(Call &);

/// A scalar, with the call refused by value(), for an argument that is no tensor.
ConstantPtr constantOf(Call &call, llvm::StringRef name) {
  if (ConstantPtr constant = call.tensor(name).constant)
    return constant;
  (void)call.value(name);
  return makeSplat(0, {}, ScalarType::f64);
}

/// A tensor, or a number as a scalar.
ConstantPtr operandOf(Call &call, llvm::StringRef name) {
  if (call.isTensor(name))
    return constantOf(call, name);
  return makeSplat(call.number(name), {}, ScalarType::f64);
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

ConstantPtr range(Call &call, double start, double step) {
  if (call.result().sizes.size() != 1)
    return nullptr;
  return makeRange(start, step, call.result().sizes.front(), call.result().type);
}
ConstantPtr rangeToEnd(Call &call) { return range(call, 0, 1); }
ConstantPtr rangeFrom(Call &call) { return range(call, call.number("start"), 1); }
ConstantPtr rangeBySteps(Call &call) { return range(call, call.number("start"), call.number("step")); }
ConstantPtr evenlySpaced(Call &call) {
  const double start = call.number("start"), end = call.number("end");
  const std::int64_t steps = call.integer("steps");
  return range(call, start, steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0);
}
ConstantPtr filled(Call &call, double value) { return makeSplat(value, call.result().sizes, call.result().type); }
ConstantPtr zeros(Call &call) { return filled(call, 0); }
ConstantPtr ones(Call &call) { return filled(call, 1); }
ConstantPtr full(Call &call) { return filled(call, call.number("fill_value")); }
ConstantPtr scalarTensor(Call &call) { return filled(call, call.number("s")); }

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// An archive may state any shape for a result: what does not follow from the operands is not evaluated.
bool broadcasts(const Constant &operand, llvm::ArrayRef<std::int64_t> shape) {
  if (operand.shape.size() > shape.size())
    return false;
  return llvm::all_of(llvm::zip_equal(operand.shape, shape.take_back(operand.shape.size())),
                      [](auto sizes) { return std::get<0>(sizes) == std::get<1>(sizes) || std::get<0>(sizes) == 1; });
}

template <typename Combine> ConstantPtr pointwise(Call &call, std::vector<ConstantPtr> operands, Combine combine) {
  const Shape shape = call.result().sizes;
  if (!llvm::all_of(operands, [&](const ConstantPtr &operand) { return operand && broadcasts(*operand, shape); }))
    return nullptr;
  return makePointwise(std::move(operands), shape, call.result().type, std::move(combine));
}
template <auto function> ConstantPtr unary(Call &call) {
  return pointwise(call, {constantOf(call, "self")}, [](auto x) { return function(x[0]); });
}
template <auto function> ConstantPtr binary(Call &call) {
  return pointwise(call, {operandOf(call, "self"), operandOf(call, "other")},
                   [](auto x) { return function(x[0], x[1]); });
}
inline double sine(double x) { return std::sin(x); }
inline double cosine(double x) { return std::cos(x); }
inline double exponential(double x) { return std::exp(x); }
inline double logarithm(double x) { return std::log(x); }
inline double root(double x) { return std::sqrt(x); }
inline double inverse(double x) { return 1 / x; }
inline double inverseRoot(double x) { return 1 / std::sqrt(x); }
inline double negative(double x) { return -x; }
inline double magnitude(double x) { return std::fabs(x); }
inline bool opposite(double x) { return x == 0; }
inline double ceiling(double x) { return std::ceil(x); }
inline double floored(double x) { return std::floor(x); }
inline double product(double a, double b) { return a * b; }
inline double quotient(double a, double b) { return a / b; }
inline double floorQuotient(double a, double b) { return std::floor(a / b); }
inline double remainder(double a, double b) { return a - b * std::floor(a / b); }
inline double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }
inline double smaller(double a, double b) { return std::isnan(a) || a < b ? a : b; }
inline bool isEqual(double a, double b) { return a == b; }
inline bool isUnequal(double a, double b) { return a != b; }
inline bool isLess(double a, double b) { return a < b; }
inline bool isAtMost(double a, double b) { return a <= b; }
inline bool isGreater(double a, double b) { return a > b; }
inline bool isAtLeast(double a, double b) { return a >= b; }
inline double signOf(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
// Without branches, for vector instructions.
inline bool both(double a, double b) { return bool(int(a != 0) & int(b != 0)); }
inline bool either(double a, double b) { return bool(int(a != 0) | int(b != 0)); }

/// Of booleans; on integers these ops work on bits.
template <ConstantPtr (*evaluate)(Call &)> ConstantPtr ofBooleans(Call &call) {
  return call.result().type == ScalarType::boolean ? evaluate(call) : nullptr;
}

ConstantPtr add(Call &call) {
  const double alpha = call.number("alpha");
  return pointwise(call, {operandOf(call, "self"), operandOf(call, "other")},
                   [alpha](auto x) { return x[0] + alpha * x[1]; });
}
ConstantPtr subtract(Call &call) {
  const double alpha = call.number("alpha");
  return pointwise(call, {operandOf(call, "self"), operandOf(call, "other")},
                   [alpha](auto x) { return x[0] - alpha * x[1]; });
}
ConstantPtr reversedSubtract(Call &call) {
  const double alpha = call.number("alpha");
  return pointwise(call, {operandOf(call, "self"), operandOf(call, "other")},
                   [alpha](auto x) { return x[1] - alpha * x[0]; });
}
ConstantPtr power(Call &call) {
  const double exponent = call.number("exponent");
  return pointwise(call, {constantOf(call, "self")}, [exponent](auto x) { return std::pow(x[0], exponent); });
}
ConstantPtr powers(Call &call) {
  return pointwise(call, {constantOf(call, "self"), constantOf(call, "exponent")},
                   [](auto x) { return std::pow(x[0], x[1]); });
}
ConstantPtr powerOf(Call &call) {
  const double base = call.number("self");
  return pointwise(call, {constantOf(call, "exponent")}, [base](auto x) { return std::pow(base, x[0]); });
}
ConstantPtr where(Call &call) {
  return pointwise(call, {constantOf(call, "condition"), operandOf(call, "self"), operandOf(call, "other")},
                   [](auto x) { return x[0] != 0 ? x[1] : x[2]; });
}
ConstantPtr maskedFill(Call &call) {
  return pointwise(call, {constantOf(call, "mask"), operandOf(call, "value"), constantOf(call, "self")},
                   [](auto x) { return x[0] != 0 ? x[1] : x[2]; });
}
ConstantPtr clamp(Call &call) {
  const double least = call.optionalNumber("min").value_or(-INFINITY),
               most = call.optionalNumber("max").value_or(INFINITY);
  return pointwise(call, {constantOf(call, "self")}, [=](auto x) { return std::min(std::max(x[0], least), most); });
}
ConstantPtr clampMin(Call &call) {
  const double least = call.number("min");
  return pointwise(call, {constantOf(call, "self")}, [=](auto x) { return std::max(x[0], least); });
}
ConstantPtr same(Call &call) { return constantOf(call, "self"); }
ConstantPtr converted(Call &call) {
  ConstantPtr self = constantOf(call, "self");
  return self->type == call.result().type ? self : pointwise(call, {self}, [](auto x) { return x[0]; });
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// The rows are those of the operand where the last dim is one dim of it.
ConstantPtr view(Call &call, ConstantPtr self, std::function<Shape(Index)> source) {
  return makeView(std::move(self), call.result().sizes, std::move(source));
}

ConstantPtr reshape(Call &call) {
  ConstantPtr self = constantOf(call, "self");
  const Shape from = self->shape, to = call.result().sizes;
  if (self->elements() != makeSplat(0, to, self->type)->elements())
    return nullptr;
  const auto convert = [](Index index, const Shape &shape, const Shape &other) {
    std::int64_t at = 0;
    for (auto [position, size] : llvm::zip_first(index, shape))
      at = at * size + position;
    Shape result(other.size(), 0);
    for (std::size_t dim = other.size(); dim-- > 0; at /= other[dim])
      result[dim] = at % other[dim];
    return result;
  };
  if (!from.empty() && !to.empty() && from.back() == to.back() && self->elements() > 0) {
    const Shape outerFrom(from.begin(), from.end() - 1), outerTo(to.begin(), to.end() - 1);
    return makeRowView(self, to, [=](Index index) { return convert(index, outerTo, outerFrom); });
  }
  return view(call, self, [=](Index index) { return convert(index, to, from); });
}

/// Each element of a dim several times.
ConstantPtr repeatEach(Call &call) {
  ConstantPtr self = constantOf(call, "self");
  const std::int64_t count = call.integer("repeats");
  if (self->shape.empty() || call.isNone("dim") || count < 1)
    return nullptr;
  const auto dim = static_cast<std::size_t>(call.dim("dim", static_cast<std::int64_t>(self->shape.size())));
  Shape shape = self->shape;
  shape[dim] *= count;
  return makeView(self, shape, [=](Index index) {
    Shape source(index);
    source[dim] /= count;
    return source;
  });
}

ConstantPtr expand(Call &call) {
  ConstantPtr self = constantOf(call, "self");
  const Shape from = self->shape, to = call.result().sizes;
  if (!broadcasts(*self, to))
    return nullptr;
  if (from.empty() || from.back() != to.back())
    return pointwise(call, {self}, [](auto x) { return x[0]; });
  return makeRowView(self, to, [from](Index index) {
    Shape source(index.take_back(from.size() - 1));
    for (auto [at, size] : llvm::zip_first(source, from))
      at = size == 1 ? 0 : at;
    return source;
  });
}

ConstantPtr transposeBy(Call &call, const Shape &permutation) {
  ConstantPtr self = constantOf(call, "self");
  const Shape shape = call.result().sizes;
  if (self->shape.size() != permutation.size() || shape.size() != permutation.size())
    return nullptr;
  for (auto [size, dim] : llvm::zip_equal(shape, permutation))
    if (size != self->shape[static_cast<std::size_t>(dim)])
      return nullptr;
  return view(call, self, [permutation](Index index) {
    Shape source(index.size());
    for (auto [at, dim] : llvm::zip_equal(index, permutation))
      source[static_cast<std::size_t>(dim)] = at;
    return source;
  });
}
Shape identity(std::size_t rank) {
  return llvm::to_vector(llvm::seq<std::int64_t>(0, static_cast<std::int64_t>(rank)));
}
ConstantPtr transpose(Call &call) {
  Shape permutation = identity(call.result().sizes.size());
  const auto rank = static_cast<std::int64_t>(permutation.size());
  if (rank == 0)
    return nullptr;
  std::swap(permutation[static_cast<std::size_t>(call.dim("dim0", rank))],
            permutation[static_cast<std::size_t>(call.dim("dim1", rank))]);
  return transposeBy(call, permutation);
}
ConstantPtr transposeMatrix(Call &call) {
  Shape permutation = identity(call.result().sizes.size());
  if (permutation.size() == 2)
    std::swap(permutation[0], permutation[1]);
  return transposeBy(call, permutation);
}
ConstantPtr permute(Call &call) {
  Shape permutation = call.integers("dims");
  const auto rank = static_cast<std::int64_t>(call.result().sizes.size());
  if (static_cast<std::int64_t>(permutation.size()) != rank)
    return nullptr;
  for (std::int64_t &dim : permutation)
    dim = std::clamp<std::int64_t>(dim < 0 ? dim + rank : dim, 0, rank - 1);
  return transposeBy(call, permutation);
}

ConstantPtr slice(Call &call) {
  ConstantPtr self = constantOf(call, "self");
  const auto rank = static_cast<std::int64_t>(self->shape.size());
  if (rank == 0)
    return nullptr;
  const auto dim = static_cast<std::size_t>(call.dim("dim", rank));
  const std::int64_t size = self->shape[dim], step = call.integer("step");
  const double given = call.optionalNumber("start").value_or(0);
  const std::int64_t start = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(given < 0 ? given + static_cast<double>(size) : std::min(given, 0x1p62)), 0, size);
  Shape expected = self->shape;
  const Shape shape = call.result().sizes;
  if (shape.size() != expected.size() || step < 1 || start + (shape[dim] - 1) * step >= size)
    return nullptr;
  expected[dim] = shape[dim];
  if (shape != expected)
    return nullptr;
  return view(call, self, [=](Index index) {
    Shape source(index);
    source[dim] = start + source[dim] * step;
    return source;
  });
}
ConstantPtr select(Call &call) {
  ConstantPtr self = constantOf(call, "self");
  if (self->shape.empty())
    return nullptr;
  const auto dim = static_cast<std::size_t>(call.dim("dim", static_cast<std::int64_t>(self->shape.size())));
  const std::int64_t given = call.integer("index"), size = self->shape[dim], at = given < 0 ? given + size : given;
  Shape expected = self->shape;
  expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(dim));
  if (at < 0 || at >= size || call.result().sizes != expected)
    return nullptr;
  return view(call, self, [=](Index index) {
    Shape source(index);
    source.insert(source.begin() + static_cast<std::ptrdiff_t>(dim), at);
    return source;
  });
}

//===----------------------------------------------------------------------===//
// Ops that need all elements
//===----------------------------------------------------------------------===//

/// Elements of each operand; null if one is too large.
ConstantPtr cat(Call &call) {
  const std::vector<Tensor> parts = call.tensors("tensors");
  const Shape shape = call.result().sizes;
  if (shape.empty())
    return nullptr;
  const auto dim = static_cast<std::size_t>(call.dim("dim", static_cast<std::int64_t>(shape.size())));
  std::int64_t outer = 1, joined = 0;
  for (std::size_t i = 0; i < dim; ++i)
    outer *= shape[i];
  for (const Tensor &part : parts) {
    if (!part.constant || part.constant->shape.size() != shape.size() || !part.constant->dense())
      return nullptr;
    Shape expected = shape;
    expected[dim] = part.constant->shape[dim];
    if (part.constant->shape != expected)
      return nullptr;
    joined += expected[dim];
  }
  if (joined != shape[dim])
    return nullptr;
  std::vector<double> values;
  for (std::int64_t i = 0; i < outer; ++i)
    for (const Tensor &part : parts) {
      const auto size = static_cast<std::ptrdiff_t>(part.constant->elements() / outer);
      const auto begin = part.constant->dense()->begin() + size * i;
      values.insert(values.end(), begin, begin + size);
    }
  for (double &value : values)
    value = roundTo(value, call.result().type);
  return makeDense(std::move(values), shape, call.result().type);
}

/// Calls `fold` for each line along a dim.
template <typename Fold> ConstantPtr alongDim(Call &call, ConstantPtr self, std::size_t dim, Fold fold) {
  const std::vector<double> *values = self->dense();
  if (!values)
    return nullptr;
  std::int64_t inner = 1;
  for (std::size_t i = dim + 1; i < self->shape.size(); ++i)
    inner *= self->shape[i];
  const std::int64_t size = self->shape[dim];
  std::vector<double> result(*values);
  for (std::int64_t outer = 0; outer * size * inner < self->elements(); ++outer)
    for (std::int64_t i = 0; i < inner; ++i)
      for (std::int64_t at = 0; at < size; ++at) {
        const auto position = static_cast<std::size_t>((outer * size + at) * inner + i);
        result[position] =
            roundTo(fold(at, (*values)[position], at == 0 ? 0 : result[position - static_cast<std::size_t>(inner)]),
                    call.result().type);
      }
  return makeDense(std::move(result), self->shape, call.result().type);
}
ConstantPtr cumulativeSum(Call &call) {
  ConstantPtr self = constantOf(call, "self");
  if (self->shape.empty())
    return self;
  const auto dim = static_cast<std::size_t>(call.dim("dim", static_cast<std::int64_t>(self->shape.size())));
  return alongDim(call, self, dim,
                  [](std::int64_t at, double value, double before) { return at == 0 ? value : value + before; });
}

/// Differences along a dim of `prepend` followed by the operand.
ConstantPtr difference(Call &call) {
  ConstantPtr self = constantOf(call, "self");
  if (call.integer("n") != 1 || !call.isNone("append") || self->shape.empty())
    return nullptr;
  const auto dim = static_cast<std::size_t>(call.dim("dim", static_cast<std::int64_t>(self->shape.size())));
  const ConstantPtr before = call.tensor("prepend").constant;
  if (!self->dense() ||
      (before && (before->shape.size() != self->shape.size() || before->shape[dim] != 1 || !before->dense())))
    return nullptr;
  const Shape from = self->shape;
  Shape shape = from;
  shape[dim] -= before ? 0 : 1;
  if (shape != call.result().sizes || from[dim] == 0)
    return nullptr;
  if (before) {
    Shape expected = from;
    expected[dim] = 1;
    if (before->shape != expected)
      return nullptr;
  }
  const auto at = [](const Constant &constant, Index index) {
    std::int64_t position = 0;
    for (auto [each, size] : llvm::zip_equal(index, constant.shape))
      position = position * size + each;
    return (*constant.dense())[static_cast<std::size_t>(position)];
  };
  std::vector<double> values;
  makeSplat(0, shape, ScalarType::f64)->forEachRow([&](Index index, llvm::ArrayRef<double> row) {
    Shape full(index);
    full.push_back(0);
    for (std::size_t i = 0; i < row.size(); ++i) {
      full.back() = static_cast<std::int64_t>(i);
      Shape late = full, early = full;
      if (before)
        --early[dim];
      else
        ++late[dim];
      double first = 0;
      if (early[dim] < 0) {
        early[dim] = 0;
        first = at(*before, early);
      } else {
        first = at(*self, early);
      }
      const double last = at(*self, late);
      values.push_back(self->type == ScalarType::boolean ? last != first : roundTo(last - first, call.result().type));
    }
    return true;
  });
  return makeDense(std::move(values), shape, call.result().type);
}

/// By tensors of indices for the first dims, which broadcast.
ConstantPtr index(Call &call) {
  ConstantPtr self = constantOf(call, "self");
  const std::vector<Tensor> indices = call.tensors("indices");
  const Shape shape = call.result().sizes, from = self->shape;
  // The dims after the indexed ones are those of the operand.
  if (indices.empty() || indices.size() > from.size() || shape.size() < from.size() - indices.size() ||
      self->elements() == 0)
    return nullptr;
  const std::size_t rest = from.size() - indices.size();
  const Shape broadcast(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(rest));
  if (llvm::ArrayRef(shape).take_back(rest) != llvm::ArrayRef(from).take_back(rest))
    return nullptr;
  std::vector<ConstantPtr> wide;
  for (const Tensor &each : indices) {
    if (!each.constant || each.constant->type == ScalarType::boolean || !broadcasts(*each.constant, broadcast))
      return nullptr;
    wide.push_back(makePointwise({each.constant}, broadcast, each.constant->type, [](auto x) { return x[0]; }));
    if (!wide.back()->dense())
      return nullptr;
  }
  return makeView(self, shape, [=](Index index) {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < broadcast.size(); ++i)
      at = at * broadcast[i] + index[i];
    Shape source;
    for (auto [dim, each] : llvm::enumerate(wide)) {
      const auto value = static_cast<std::int64_t>((*each->dense())[static_cast<std::size_t>(at)]);
      source.push_back(std::clamp<std::int64_t>(value < 0 ? value + from[dim] : value, 0, from[dim] - 1));
    }
    source.append(index.begin() + static_cast<std::ptrdiff_t>(broadcast.size()), index.end());
    return source;
  });
}

/// Elements by a tensor of indices along one dim.
ConstantPtr gather(Call &call) {
  ConstantPtr self = constantOf(call, "self"), index = constantOf(call, "index");
  const auto rank = static_cast<std::int64_t>(self->shape.size());
  if (rank == 0 || index->shape.size() != self->shape.size() || !index->dense() || self->elements() == 0)
    return nullptr;
  const auto dim = static_cast<std::size_t>(call.dim("dim", rank));
  for (std::size_t other = 0; other < self->shape.size(); ++other)
    if (other != dim && index->shape[other] > self->shape[other])
      return nullptr;
  const std::int64_t size = self->shape[dim];
  if (llvm::any_of(*index->dense(), [size](double at) { return at < 0 || at >= static_cast<double>(size); }))
    return nullptr;
  return makeView(self, index->shape, [=](Index position) {
    std::int64_t at = 0;
    for (auto [each, extent] : llvm::zip_equal(position, index->shape))
      at = at * extent + each;
    Shape source(position);
    source[dim] = static_cast<std::int64_t>((*index->dense())[static_cast<std::size_t>(at)]);
    return source;
  });
}

/// Sums in f64, rounded once.
ConstantPtr matmul(Call &call, llvm::StringRef left, llvm::StringRef right) {
  ConstantPtr a = constantOf(call, left), b = constantOf(call, right);
  if (a->shape.size() < 2 || b->shape.size() < 2 || !a->dense() || !b->dense())
    return nullptr;
  const Shape shape = call.result().sizes;
  const std::int64_t inner = a->shape.back();
  const Shape batchA(a->shape.begin(), a->shape.end() - 2), batchB(b->shape.begin(), b->shape.end() - 2);
  if (shape.size() < 2 || b->shape[b->shape.size() - 2] != inner || shape.back() != b->shape.back() ||
      shape[shape.size() - 2] != a->shape[a->shape.size() - 2] ||
      !broadcasts(*makeSplat(0, batchA, a->type), llvm::ArrayRef(shape).drop_back(2)) ||
      !broadcasts(*makeSplat(0, batchB, b->type), llvm::ArrayRef(shape).drop_back(2)))
    return nullptr;
  std::vector<double> values;
  const auto at = [](const Constant &constant, Index outer, std::int64_t row, std::int64_t column) {
    const std::size_t dims = constant.shape.size() - 2;
    std::int64_t position = 0;
    for (std::size_t dim = 0; dim < dims; ++dim)
      position = position * constant.shape[dim] + (constant.shape[dim] == 1 ? 0 : outer[outer.size() - dims + dim]);
    return (*constant.dense())[static_cast<std::size_t>(
        (position * constant.shape[dims] + row) * constant.shape[dims + 1] + column)];
  };
  makeSplat(0, shape, ScalarType::f64)->forEachRow([&](Index index, llvm::ArrayRef<double> row) {
    for (std::int64_t column = 0; column < static_cast<std::int64_t>(row.size()); ++column) {
      double sum = 0;
      for (std::int64_t k = 0; k < inner; ++k)
        sum += at(*a, index.drop_back(), index.back(), k) * at(*b, index.drop_back(), k, column);
      values.push_back(roundTo(sum, call.result().type));
    }
    return true;
  });
  return makeDense(std::move(values), shape, call.result().type);
}
ConstantPtr matmulOther(Call &call) { return matmul(call, "self", "other"); }
ConstantPtr matmulMatrices(Call &call) { return matmul(call, "self", "mat2"); }

/// The part of a matrix on one side of a diagonal; the rest is 0.
template <bool isLower> ConstantPtr triangle(Call &call) {
  ConstantPtr self = constantOf(call, "self");
  const std::int64_t diagonal = call.integer("diagonal");
  if (self->shape.size() < 2)
    return nullptr;
  return std::make_shared<Constant>(self->shape, self->type,
                                    [self, diagonal](Index index, llvm::MutableArrayRef<double> out) {
                                      self->row(index, out);
                                      for (std::size_t column = 0; column < out.size(); ++column) {
                                        const std::int64_t offset = static_cast<std::int64_t>(column) - index.back();
                                        if (isLower ? offset > diagonal : offset < diagonal)
                                          out[column] = 0;
                                      }
                                    });
}

/// Complex numbers of these lengths and angles, as pairs.
ConstantPtr polar(Call &call) {
  ConstantPtr length = operandOf(call, "abs"), angle = operandOf(call, "angle");
  const TensorMeta &meta = call.result();
  const Shape shape(llvm::ArrayRef(meta.sizes).drop_back());
  if (!length || !angle || !meta.isComplex || !broadcasts(*length, shape) || !broadcasts(*angle, shape))
    return nullptr;
  const auto part = [&](auto function) {
    return makePointwise({length, angle}, shape, meta.type, [function](auto x) { return x[0] * function(x[1]); });
  };
  ConstantPtr real = part([](double x) { return std::cos(x); }), imaginary = part([](double x) { return std::sin(x); });
  if (!real->dense() || !imaginary->dense())
    return nullptr;
  std::vector<double> pairs;
  for (auto [a, b] : llvm::zip_equal(*real->dense(), *imaginary->dense()))
    pairs.insert(pairs.end(), {a, b});
  return makeDense(std::move(pairs), meta.sizes, meta.type);
}

struct Entry {
  llvm::StringLiteral name;
  Evaluate evaluate;
};
constexpr Entry table[] = {
    {"abs.default", unary<magnitude>},
    {"add.Scalar", add},
    {"add.Tensor", add},
    {"alias.default", same},
    {"view_as_complex.default", same},
    {"view_as_real.default", same},
    {"polar.default", polar},
    {"arange.default", rangeToEnd},
    {"arange.start", rangeFrom},
    {"arange.start_step", rangeBySteps},
    {"bitwise_and.Tensor", ofBooleans<binary<both>>},
    {"bitwise_not.default", ofBooleans<unary<opposite>>},
    {"bitwise_or.Tensor", ofBooleans<binary<either>>},
    {"bmm.default", matmulMatrices},
    {"cat.default", cat},
    {"ceil.default", unary<ceiling>},
    {"clamp.default", clamp},
    {"clamp_min.default", clampMin},
    {"clone.default", same},
    {"contiguous.default", same},
    {"cos.default", unary<cosine>},
    {"cumsum.default", cumulativeSum},
    {"detach.default", same},
    {"diff.default", difference},
    {"div.Scalar", binary<quotient>},
    {"div.Tensor", binary<quotient>},
    {"empty.memory_format", zeros},
    {"empty_like.default", zeros},
    {"eq.Scalar", binary<isEqual>},
    {"eq.Tensor", binary<isEqual>},
    {"exp.default", unary<exponential>},
    {"expand.default", expand},
    {"expand_as.default", expand},
    {"floor.default", unary<floored>},
    {"floor_divide.default", binary<floorQuotient>},
    {"full.default", full},
    {"full_like.default", full},
    {"gather.default", gather},
    {"ge.Scalar", binary<isAtLeast>},
    {"ge.Tensor", binary<isAtLeast>},
    {"gt.Scalar", binary<isGreater>},
    {"gt.Tensor", binary<isGreater>},
    {"index.Tensor", index},
    {"le.Scalar", binary<isAtMost>},
    {"le.Tensor", binary<isAtMost>},
    {"lift_fresh_copy.default", same},
    {"linspace.default", evenlySpaced},
    {"log.default", unary<logarithm>},
    {"logical_and.default", binary<both>},
    {"logical_not.default", unary<opposite>},
    {"logical_or.default", binary<either>},
    {"lt.Scalar", binary<isLess>},
    {"lt.Tensor", binary<isLess>},
    {"masked_fill.Scalar", maskedFill},
    {"masked_fill.Tensor", maskedFill},
    {"matmul.default", matmulOther},
    {"max.other", binary<larger>},
    {"maximum.default", binary<larger>},
    {"min.other", binary<smaller>},
    {"minimum.default", binary<smaller>},
    {"mul.Scalar", binary<product>},
    {"mul.Tensor", binary<product>},
    {"ne.Scalar", binary<isUnequal>},
    {"ne.Tensor", binary<isUnequal>},
    {"neg.default", unary<negative>},
    {"new_full.default", full},
    {"new_ones.default", ones},
    {"new_zeros.default", zeros},
    {"ones.default", ones},
    {"ones_like.default", ones},
    {"permute.default", permute},
    {"pow.Scalar", powerOf},
    {"pow.Tensor_Scalar", power},
    {"pow.Tensor_Tensor", powers},
    {"reciprocal.default", unary<inverse>},
    {"remainder.Scalar", binary<remainder>},
    {"repeat_interleave.self_int", repeatEach},
    {"reshape.default", reshape},
    {"rsqrt.default", unary<inverseRoot>},
    {"rsub.Scalar", reversedSubtract},
    {"scalar_tensor.default", scalarTensor},
    {"select.int", select},
    {"sign.default", unary<signOf>},
    {"broadcast_to.default", expand},
    {"sin.default", unary<sine>},
    {"slice.Tensor", slice},
    {"sqrt.default", unary<root>},
    {"squeeze.dim", reshape},
    {"sub.Scalar", subtract},
    {"sub.Tensor", subtract},
    {"t.default", transposeMatrix},
    {"to.device", converted},
    {"to.dtype", converted},
    {"to.dtype_layout", converted},
    {"transpose.int", transpose},
    {"tril.default", triangle<true>},
    {"triu.default", triangle<false>},
    {"type_as.default", converted},
    {"unsqueeze.default", reshape},
    {"view.default", reshape},
    {"where.ScalarOther", where},
    {"where.ScalarSelf", where},
    {"where.self", where},
    {"zeros.default", zeros},
    {"zeros_like.default", zeros},
    {"__and__.Tensor", ofBooleans<binary<both>>},
    {"__or__.Tensor", ofBooleans<binary<either>>},
    {"_to_copy.default", converted},
    {"_unsafe_view.default", reshape},
};

} // namespace sluice::exported::evaluation

ConstantPtr exported::evaluate(Call &call, llvm::StringRef op) {
  static const llvm::StringMap<evaluation::Evaluate> evaluators = [] {
    llvm::StringMap<evaluation::Evaluate> map;
    for (const evaluation::Entry &entry : evaluation::table)
      map[entry.name] = entry.evaluate;
    return map;
  }();
  const auto found = evaluators.find(op);
  if (found == evaluators.end())
    return nullptr;
  ConstantPtr result = found->second(call);
  return result && llvm::ArrayRef(result->shape) == llvm::ArrayRef(call.result().sizes) ? result : nullptr;
}

std::vector<llvm::StringRef> exported::evaluatedOps() {
  std::vector<llvm::StringRef> names;
  for (const evaluation::Entry &entry : evaluation::table)
    names.push_back(entry.name);
  return names;
}
