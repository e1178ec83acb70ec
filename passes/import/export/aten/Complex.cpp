//===- Complex.cpp - ops of ATen on complex numbers --------------------------------------===//
//
// Complex tensors are pairs along the last dim (passes/import/export/Complex.h).
//
//===----------------------------------------------------------------------===//

#include "passes/import/export/Call.h"
#include "passes/import/export/Rotation.h"

#include <cmath>

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::complex {

void same(Call &call) { call.set(call.value("self")); }

/// Real (0) or imaginary (1) parts, [..., 1].
Value part(Call &call, Value pairs, std::int64_t index) {
  return call.slice(pairs, Call::rankOf(pairs) - 1, index, index + 1);
}

/// The dim of x along which the table has the positions of a rotation: all other dims but the last two have one index.
std::optional<std::size_t> positionDim(llvm::ArrayRef<std::int64_t> table, llvm::ArrayRef<std::int64_t> x) {
  std::optional<std::size_t> found;
  for (std::size_t dim = 0; dim + 2 < table.size(); ++dim) {
    if (table[dim] == 1)
      continue;
    if (found)
      return std::nullopt;
    found = dim + x.size() - table.size();
  }
  return found;
}

/// x times a table of rotations: rope of x with the real parts before the imaginary parts. Null for other tables.
Value rotate(Call &call, Value x, const Constant &table) {
  const auto shape = Call::shapeOf(x);
  const std::vector<double> *numbers = table.dense();
  if (shape.size() != 5 || table.shape.size() > 5 || table.shape.size() < 3 || !numbers ||
      llvm::ArrayRef(table.shape).take_back(2) != shape.take_back(2))
    return {};
  const std::optional<std::size_t> along = positionDim(table.shape, shape);
  if (!along || (*along != 1 && *along != 2) || table.shape[*along + table.shape.size() - 5] != shape[*along])
    return {};
  const std::int64_t half = shape[3], positions = shape[*along];
  const auto parts = [&](std::size_t offset) {
    return Constant({positions, 2 * half}, table.type, [=](Index index, llvm::MutableArrayRef<double> out) {
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] =
            (*numbers)[(static_cast<std::size_t>(index[0] * half) + i % static_cast<std::size_t>(half)) * 2 + offset];
    });
  };
  const std::optional<RotaryTables> tables = fitRotation(parts(0), parts(1), positions, 2 * half);
  if (!tables)
    return {};
  const bool isHeadFirst = *along == 2;
  if (isHeadFirst)
    x = call.transpose(x, {0, 2, 1, 3, 4});
  const llvm::SmallVector<std::int64_t> outer(Call::shapeOf(x).take_front(3));
  const auto with = [&](llvm::ArrayRef<std::int64_t> inner) {
    llvm::SmallVector<std::int64_t> whole(outer);
    whole.append(inner.begin(), inner.end());
    return whole;
  };
  Value halves = call.reshape(call.transpose(x, {0, 1, 2, 4, 3}), with({2 * half}));
  Builder &builder = call.builder;
  Value turned = call.make<model::RopeOp>(
      {halves},
      {{"theta", builder.getF64FloatAttr(tables->theta)},
       {"divisors", tables->divisors.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(tables->divisors)}});
  if (std::fabs(tables->factor - 1) > 1e-7)
    turned = call.scale(turned, tables->factor);
  Value y = call.transpose(call.reshape(turned, with({2, half})), {0, 1, 2, 4, 3});
  return isHeadFirst ? call.transpose(y, {0, 2, 1, 3, 4}) : y;
}

void multiply(Call &call) {
  const Tensor a = call.tensor("self"), b = call.tensor("other");
  for (const auto &[x, table] : {std::pair(a, b), {b, a}})
    if (x.value && table.constant)
      if (Value y = rotate(call, x.value, *table.constant))
        return call.set(y);
  Value left = call.value("self"), right = call.value("other");
  Value ar = part(call, left, 0), ai = part(call, left, 1), br = part(call, right, 0), bi = part(call, right, 1);
  const auto times = [&](Value x, Value y) { return call.make<model::MultiplyOp>({x, y}); };
  Value real = call.make<model::SubtractOp>({times(ar, br), times(ai, bi)});
  Value imaginary = call.make<model::AddOp>({times(ar, bi), times(ai, br)});
  call.set(call.join({real, imaginary}, Call::rankOf(real) - 1));
}

constexpr AtenOp table[] = {
    {"view_as_complex.default", same, Memory::view, sameBack},
    {"view_as_real.default", same, Memory::view, sameBack},
};

} // namespace sluice::exported::complex

llvm::ArrayRef<AtenOp> exported::complexOps() { return complex::table; }

void exported::multiplyComplex(Call &call) { complex::multiply(call); }
