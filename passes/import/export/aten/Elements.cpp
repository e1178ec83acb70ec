//===- Elements.cpp - elements by indices that are known at import -------------------------===//

#include "passes/import/export/aten/Elements.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace {

std::int64_t elementsOf(llvm::ArrayRef<std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape)
    count *= size;
  return count;
}

/// No larger than constants of a plan may be.
constexpr std::int64_t mostIndices = std::int64_t(1) << 20;

ScalarType floatTypeOf(Type element) {
  return element.isF64()   ? ScalarType::f64
         : element.isF32() ? ScalarType::f32
         : element.isF16() ? ScalarType::f16
                           : ScalarType::bf16;
}

} // namespace

Value exported::makeIndices(Call &call, const std::vector<std::int64_t> &values, llvm::ArrayRef<std::int64_t> shape) {
  return call.importer.materialize(
      {{}, makeDense(std::vector<double>(values.begin(), values.end()), Shape(shape), ScalarType::i64)});
}

Value exported::takeSlices(Call &call, Value x, std::int64_t dim, const std::vector<std::int64_t> &indices) {
  if (call.extentOf(x, dim) == 0 || !call.problem().empty()) {
    call.refuse("a part of an empty dim");
    return x;
  }
  Value rows = makeIndices(call, indices, {static_cast<std::int64_t>(indices.size())});
  return call.swap(call.make<model::GatherOp>({call.swap(x, 0, dim), rows}), 0, dim);
}

llvm::SmallVector<std::int64_t> exported::stridesOf(llvm::ArrayRef<std::int64_t> shape) {
  llvm::SmallVector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

Value exported::takeElements(Call &call, Value x, llvm::ArrayRef<std::int64_t> shape,
                             llvm::function_ref<std::int64_t(Index)> source) {
  const std::int64_t count = elementsOf(Call::shapeOf(x)), results = elementsOf(shape);
  if (results > mostIndices || results == 0) {
    call.refuse("elements of a tensor by a pattern with more than 2^20 results, or none");
    return x;
  }
  std::vector<std::int64_t> indices;
  llvm::SmallVector<std::int64_t> index(shape.size(), 0);
  bool hasZeros = count == 0;
  for (std::int64_t i = 0; i < results; ++i) {
    indices.push_back(source(index));
    hasZeros |= indices.back() < 0;
    for (std::size_t dim = shape.size(); dim-- > 0;) {
      if (++index[dim] < shape[dim])
        break;
      index[dim] = 0;
    }
  }
  Value table = call.reshape(x, {count});
  if (hasZeros) {
    // A zero before the elements.
    table = call.pad(table, {1}, {0}, 0);
    for (std::int64_t &each : indices)
      ++each;
  }
  return call.make<model::GatherOp>({table, makeIndices(call, indices, shape)});
}

Value exported::makeMatrix(Call &call, const std::vector<double> &values, std::int64_t rows, std::int64_t columns,
                           Value like) {
  const ScalarType type = floatTypeOf(cast<RankedTensorType>(like.getType()).getElementType());
  std::vector<double> rounded;
  for (const double value : values)
    rounded.push_back(roundTo(value, type));
  return call.importer.materialize({{}, makeDense(std::move(rounded), {rows, columns}, type)});
}

Value exported::moveLast(Call &call, Value x, std::int64_t dim) {
  llvm::SmallVector<std::int64_t> permutation;
  for (std::int64_t each = 0; each < Call::rankOf(x); ++each)
    if (each != dim)
      permutation.push_back(each);
  permutation.push_back(dim);
  return call.transpose(x, permutation);
}
Value exported::moveFromLast(Call &call, Value x, std::int64_t dim) {
  llvm::SmallVector<std::int64_t> permutation = llvm::to_vector(llvm::seq<std::int64_t>(0, Call::rankOf(x) - 1));
  permutation.insert(permutation.begin() + dim, Call::rankOf(x) - 1);
  return call.transpose(x, permutation);
}

Value exported::mapDim(Call &call, Value x, std::int64_t dim, const std::vector<double> &matrix, std::int64_t columns) {
  const std::int64_t rows = call.extentOf(x, dim);
  if (!call.problem().empty() || rows * columns > mostIndices) {
    call.refuse("a linear map of a dim with more than 2^20 coefficients");
    return x;
  }
  Value last = moveLast(call, x, dim);
  llvm::SmallVector<std::int64_t> shape(Call::shapeOf(last));
  if (columns == 1) {
    Value weighted = call.make<model::MultiplyOp>({last, call.reshape(makeMatrix(call, matrix, rows, 1, x), {rows})});
    Value sum =
        call.make<model::ReduceSumOp>({weighted}, {{"dims", call.builder.getDenseI64ArrayAttr({Call::rankOf(x) - 1})},
                                                   {"keep", call.builder.getUnitAttr()}});
    return moveFromLast(call, sum, dim);
  }
  Value flat = call.reshape(last, {elementsOf(llvm::ArrayRef(shape).drop_back()), rows});
  shape.back() = columns;
  return moveFromLast(call, call.reshape(call.product(flat, makeMatrix(call, matrix, rows, columns, x)), shape), dim);
}

Value exported::replaceRows(Call &call, Value base, Value written, std::int64_t dim, std::int64_t start) {
  const auto at = static_cast<std::size_t>(dim);
  const std::int64_t size = Call::shapeOf(base)[at], end = start + Call::shapeOf(written)[at];
  llvm::SmallVector<Value> parts;
  if (start > 0)
    parts.push_back(call.slice(base, dim, 0, start));
  parts.push_back(written);
  if (end < size)
    parts.push_back(call.slice(base, dim, end, size));
  return call.join(parts, dim);
}
