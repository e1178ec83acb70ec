//===- Matrix.cpp - matrix products of ATen ------------------------------------------------===//

#include "passes/import/export/aten/Elements.h"
#include "passes/import/export/aten/Operands.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::matrix {

Value withBias(Call &call, Value product, Value bias) {
  return bias ? Value(call.make<model::AddOp>({product, bias})) : product;
}

void linear(Call &call) {
  Value x = call.value("input"), weight = call.value("weight");
  const llvm::SmallVector<std::int64_t> shape = call.result().sizes;
  if (Call::rankOf(x) == 0 || Call::rankOf(weight) == 0 || Call::rankOf(weight) > 2)
    return call.refuse("linear of a scalar");
  // A weight of rank 1 is a vector of inputs.
  const bool isOneResult = Call::rankOf(weight) == 1;
  if (isOneResult)
    weight = call.reshape(weight, {1, Call::shapeOf(weight)[0]});
  const bool isVector = Call::rankOf(x) == 1;
  if (isVector)
    x = call.reshape(x, {1, Call::shapeOf(x)[0]});
  Value bias = call.optionalValue("bias");
  if (!isOneResult) {
    Value y = withBias(call, call.product(x, weight, true), bias);
    return call.set(isVector ? call.reshape(y, shape) : y);
  }
  call.set(withBias(call, call.reshape(call.product(x, weight, true), shape), bias));
}

/// beta self + alpha a b.
void addProduct(Call &call, llvm::StringRef a, llvm::StringRef b) {
  const double beta = call.number("beta"), alpha = call.number("alpha");
  Value y = call.scale(call.product(call.value(a), call.value(b)), alpha);
  call.set(beta == 0 ? y : withBias(call, y, call.scale(call.value("self"), beta)));
}
void addmm(Call &call) { addProduct(call, "mat1", "mat2"); }
void baddbmm(Call &call) { addProduct(call, "batch1", "batch2"); }

void matrices(Call &call) { call.set(call.product(call.value("self"), call.value("mat2"))); }

/// A vector is a matrix of one row on the left, of one column on the right; leading dims broadcast.
void matmul(Call &call) {
  Value a = call.value("self"), b = call.value("other");
  const std::int64_t ranks[] = {Call::rankOf(a), Call::rankOf(b)};
  if (ranks[0] == 0 || ranks[1] == 0)
    return call.refuse("matmul of a scalar");
  if (ranks[0] == 1)
    a = call.reshape(a, {1, Call::shapeOf(a)[0]});
  if (ranks[1] == 1)
    b = call.reshape(b, {Call::shapeOf(b)[0], 1});
  call.set(call.reshape(call.product(a, b), call.result().sizes));
}

using Sizes = llvm::SmallVector<std::int64_t>;

Value asColumn(Call &call, Value x) { return call.reshape(x, {countOf(x), 1}); }
Value asRow(Call &call, Value x) { return call.reshape(x, {1, countOf(x)}); }
/// beta self + alpha y.
void setSum(Call &call, Value y) {
  const double beta = call.number("beta"), alpha = call.number("alpha");
  y = call.scale(y, alpha);
  call.set(beta == 0 ? call.broadcast(y, call.result().sizes)
                     : withBias(call, y, call.scale(call.value("self"), beta)));
}
Value matrixByVector(Call &call, llvm::StringRef matrix, llvm::StringRef vector) {
  Value a = call.value(matrix), x = call.value(vector);
  if (Call::rankOf(a) != 2 || Call::rankOf(x) != 1) {
    call.refuse("a product of no matrix and vector");
    return x;
  }
  return call.reshape(call.product(a, asColumn(call, x)), {Call::shapeOf(a)[0]});
}
void mv(Call &call) { call.set(matrixByVector(call, "self", "vec")); }
void addmv(Call &call) { setSum(call, matrixByVector(call, "mat", "vec")); }
void addbmm(Call &call) {
  setSum(call, reduce<model::ReduceSumOp>(call, call.product(call.value("batch1"), call.value("batch2")), {0}));
}
Value outerProduct(Call &call, Value a, Value b) { return multiply(call, asColumn(call, a), asRow(call, b)); }
void addr(Call &call) { setSum(call, outerProduct(call, call.value("vec1"), call.value("vec2"))); }
void outer(Call &call) { call.set(outerProduct(call, call.value("self"), call.value("vec2"))); }
void dot(Call &call) {
  Value a = call.value("self"), b = call.value(call.has("tensor") ? "tensor" : "other");
  call.set(reduce<model::ReduceSumOp>(call, multiply(call, a, b), allDims(a)));
}
/// Over the last dims of both; a scalar is a factor.
void inner(Call &call) {
  Value a = call.value("self"), b = call.value("other");
  if (Call::rankOf(a) == 0 || Call::rankOf(b) == 0)
    return call.set(multiply(call, a, b));
  const std::int64_t size = Call::shapeOf(a).back();
  if (size == 0)
    return call.refuse("a product over no elements");
  call.set(call.reshape(
      call.product(call.reshape(a, {countOf(a) / size, size}), call.reshape(b, {countOf(b) / size, size}), true),
      call.result().sizes));
}
/// Over pairs of dims, of which one may have an extent of 1.
void tensordot(Call &call) {
  Value a = call.value("self"), b = call.value("other");
  const Sizes first = call.integers("dims_self"), second = call.integers("dims_other");
  if (first.size() != second.size())
    return call.refuse("tensordot over another number of dims of each tensor");
  for (auto [i, j] : llvm::zip_equal(first, second)) {
    const std::int64_t left = i < 0 ? i + Call::rankOf(a) : i, right = j < 0 ? j + Call::rankOf(b) : j;
    if (call.extentOf(a, left) == 1 && call.extentOf(b, right) != 1)
      b = reduce<model::ReduceSumOp>(call, b, {right}, true);
    else if (call.extentOf(a, left) != 1 && call.extentOf(b, right) == 1)
      a = reduce<model::ReduceSumOp>(call, a, {left}, true);
  }
  const auto matrix = [&](Value x, llvm::StringRef name, bool isFirst) {
    Sizes summed = call.integers(name), kept;
    std::int64_t size = 1;
    for (std::int64_t &dim : summed) {
      dim = dim < 0 ? dim + Call::rankOf(x) : dim;
      size *= call.extentOf(x, dim);
    }
    for (std::int64_t dim = 0; dim < Call::rankOf(x); ++dim)
      if (!llvm::is_contained(summed, dim))
        kept.push_back(dim);
    kept.insert(isFirst ? kept.end() : kept.begin(), summed.begin(), summed.end());
    const std::int64_t rest = countOf(x) / std::max<std::int64_t>(size, 1);
    return call.reshape(call.transpose(x, kept), isFirst ? Sizes{rest, size} : Sizes{size, rest});
  };
  call.set(
      call.reshape(call.product(matrix(a, "dims_self", true), matrix(b, "dims_other", false)), call.result().sizes));
}
/// Each element of the first times the second.
void kronecker(Call &call) {
  Value a = call.value("self"), b = call.value("other");
  const std::size_t rank = call.result().sizes.size();
  Sizes left(rank - Call::shapeOf(a).size(), 1), right(rank - Call::shapeOf(b).size(), 1), first, second;
  left.append(Call::shapeOf(a).begin(), Call::shapeOf(a).end());
  right.append(Call::shapeOf(b).begin(), Call::shapeOf(b).end());
  for (auto [x, y] : llvm::zip_equal(left, right))
    first.append({x, 1}), second.append({1, y});
  call.set(call.reshape(multiply(call, call.reshape(a, first), call.reshape(b, second)), call.result().sizes));
}
/// Of vectors of three elements along a dim.
void cross(Call &call) {
  Value a = call.value("self"), b = call.value("other");
  const Sizes &shape = call.result().sizes;
  a = call.broadcast(a, shape), b = call.broadcast(b, shape);
  std::int64_t dim = -1;
  if (call.isNone("dim"))
    dim = std::find(shape.begin(), shape.end(), 3) - shape.begin();
  else
    dim = call.dim("dim", Call::rankOf(a));
  if (dim >= Call::rankOf(a) || shape[static_cast<std::size_t>(dim)] != 3)
    return call.refuse("cross of a dim of other than three elements");
  const auto turned = [&](Value x, std::int64_t by) {
    return takeSlices(call, x, dim, {by % 3, (by + 1) % 3, (by + 2) % 3});
  };
  call.set(subtract(call, multiply(call, turned(a, 1), turned(b, 2)), multiply(call, turned(a, 2), turned(b, 1))));
}
/// y[o] is the sum over i and j of x1[i] weight[o, i, j] x2[j].
void bilinear(Call &call) {
  Value a = call.value("input1"), b = call.value("input2"), weight = call.value("weight");
  if (Call::rankOf(weight) != 3 || Call::rankOf(a) == 0 || Call::rankOf(b) == 0)
    return call.refuse("bilinear of scalars");
  const auto sizes = Call::shapeOf(weight);
  if (countOf(weight) == 0)
    return call.refuse("a product over no elements");
  const std::int64_t rows = countOf(a) / sizes[1], right = sizes[2], results = sizes[0];
  Value first = call.product(call.reshape(a, {rows, sizes[1]}),
                             call.reshape(call.transpose(weight, {1, 0, 2}), {sizes[1], results * right}));
  Value product = multiply(call, call.reshape(first, {rows, results, right}), call.reshape(b, {rows, 1, right}));
  Value sum = call.reshape(reduce<model::ReduceSumOp>(call, product, {2}), call.result().sizes);
  call.set(withBias(call, sum, call.optionalValue("bias")));
}
/// Matrices along the diagonal of one of zeros.
void blockDiagonal(Call &call) {
  const Sizes &shape = call.result().sizes;
  std::int64_t row = 0, column = 0;
  Value sum;
  for (Value part : call.values("tensors")) {
    Sizes sizes(Call::shapeOf(part));
    sizes.insert(sizes.begin(), 2 - std::min<std::size_t>(2, sizes.size()), 1);
    Value padded = call.pad(call.reshape(part, sizes), {row, column},
                            {shape[0] - row - sizes[0], shape[1] - column - sizes[1]}, 0);
    sum = sum ? add(call, sum, padded) : padded;
    row += sizes[0], column += sizes[1];
  }
  if (sum)
    call.set(sum);
}

constexpr AtenOp table[] = {
    {"addbmm.default", addbmm},
    {"addmm.default", addmm},
    {"addmv.default", addmv},
    {"addr.default", addr},
    {"baddbmm.default", baddbmm},
    {"bilinear.default", bilinear},
    {"block_diag.default", blockDiagonal},
    {"bmm.default", matrices},
    {"cross.default", cross},
    {"dot.default", dot},
    {"inner.default", inner},
    {"kron.default", kronecker},
    {"linalg_cross.default", cross},
    {"linear.default", linear},
    {"matmul.default", matmul},
    {"mm.default", matrices},
    {"mv.default", mv},
    {"outer.default", outer},
    {"tensordot.default", tensordot},
    {"vdot.default", dot},
};

} // namespace sluice::exported::matrix

llvm::ArrayRef<AtenOp> exported::matrixOps() { return matrix::table; }
