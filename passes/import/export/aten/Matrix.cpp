//===- Matrix.cpp - matrix products of ATen ------------------------------------------------===//

#include "passes/import/export/Call.h"

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
  if (Call::rankOf(weight) != 2)
    return call.refuse("linear with a weight of rank 1");
  const bool isVector = Call::rankOf(x) == 1;
  if (isVector)
    x = call.reshape(x, {1, Call::shapeOf(x)[0]});
  Value y = withBias(call, call.product(x, weight, true), call.optionalValue("bias"));
  call.set(isVector ? call.reshape(y, shape) : y);
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

constexpr AtenOp table[] = {
    {"addmm.default", addmm},   {"baddbmm.default", baddbmm}, {"bmm.default", matrices},
    {"linear.default", linear}, {"matmul.default", matmul},   {"mm.default", matrices},
};

} // namespace sluice::exported::matrix

llvm::ArrayRef<AtenOp> exported::matrixOps() { return matrix::table; }
