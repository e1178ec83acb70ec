//===- Constant.h - values that depend on no input --------------------------------------===//
//
// Masks, positions and tables of rotations are computed from nothing but sizes and fixed buffers. They are expressions
// that give one row (the elements along the last dim) at a time, so that a mask of [S, S] needs memory for S elements,
// not for S x S. Elements are doubles; each op rounds to the element type that torch gives its result.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_CONSTANT_H
#define SLUICE_PASSES_IMPORT_EXPORT_CONSTANT_H

#include "passes/import/export/Graph.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

namespace sluice::exported {

using Shape = llvm::SmallVector<std::int64_t>;
using Index = llvm::ArrayRef<std::int64_t>;

class Constant;
using ConstantPtr = std::shared_ptr<const Constant>;

class Constant {
public:
  /// Fills `out`, of the last extent (1 for rank 0), at an index of the other dims.
  using Row = std::function<void(Index, llvm::MutableArrayRef<double>)>;
  Constant(Shape shape, ScalarType type, Row row) : shape(std::move(shape)), type(type), fill(std::move(row)) {}

  const Shape shape;
  const ScalarType type;

  std::int64_t elements() const;
  std::int64_t rowSize() const { return shape.empty() ? 1 : shape.back(); }
  void row(Index index, llvm::MutableArrayRef<double> out) const { fill(index, out); }
  /// The row of a constant that has only one, which is computed once; empty if it has another number of rows.
  llvm::ArrayRef<double> onlyRow() const;
  /// All elements in row-major order; null if there are more than `mostElements`.
  const std::vector<double> *dense() const;
  static constexpr std::int64_t mostElements = std::int64_t(1) << 23;
  /// Calls `visit` for each row in order until it returns false.
  void forEachRow(llvm::function_ref<bool(Index, llvm::ArrayRef<double>)> visit) const;
  /// The value of all elements, if they are equal and there are any.
  std::optional<double> splat() const;

private:
  Row fill;
  mutable std::unique_ptr<std::vector<double>> kept;
  mutable std::vector<double> only;
};

/// The value rounded to a float of 16 bits.
double roundToHalf(double value, ScalarType type);
/// The value rounded to an element type.
inline double roundTo(double value, ScalarType type) {
  switch (type) {
  case ScalarType::f64:
    return value;
  case ScalarType::f32:
    return static_cast<float>(value);
  case ScalarType::f16:
  case ScalarType::bf16:
    return roundToHalf(value, type);
  case ScalarType::boolean:
    return value != 0;
  case ScalarType::u8:
  case ScalarType::i32:
  case ScalarType::i64:
    return std::trunc(value);
  }
  llvm_unreachable("covered");
}

/// Rounds each value to an element type.
void roundRow(llvm::MutableArrayRef<double> values, ScalarType type);

ConstantPtr makeSplat(double value, Shape shape, ScalarType type);
/// `start + i * step` along the only dim.
ConstantPtr makeRange(double start, double step, std::int64_t count, ScalarType type);
ConstantPtr makeDense(std::vector<double> values, Shape shape, ScalarType type);
/// Fills a row of `type` from the rows of the operands, which are as long.
using CombineRows = std::function<void(llvm::ArrayRef<llvm::ArrayRef<double>>, llvm::MutableArrayRef<double>)>;
/// The shapes of the operands broadcast to `shape`.
ConstantPtr makeRowwise(std::vector<ConstantPtr> operands, Shape shape, ScalarType type, CombineRows combine);
/// `combine` of the elements of the operands, as an array, rounded to `type`.
template <typename Combine>
ConstantPtr makePointwise(std::vector<ConstantPtr> operands, Shape shape, ScalarType type, Combine combine) {
  return makeRowwise(std::move(operands), std::move(shape), type,
                     [type, combine](llvm::ArrayRef<llvm::ArrayRef<double>> rows, llvm::MutableArrayRef<double> out) {
                       const auto fill = [&]<std::size_t... each>(std::index_sequence<each...>) {
                         const double *from[] = {rows[each].data()...};
                         for (std::size_t i = 0; i < out.size(); ++i) {
                           const std::array<double, sizeof...(each)> values = {from[each][i]...};
                           out[i] = combine(llvm::ArrayRef<double>(values));
                         }
                       };
                       rows.size() == 1   ? fill(std::make_index_sequence<1>())
                       : rows.size() == 2 ? fill(std::make_index_sequence<2>())
                                          : fill(std::make_index_sequence<3>());
                       // Truth values are 0 and 1 already.
                       if constexpr (!std::is_same_v<decltype(combine(llvm::ArrayRef<double>())), bool>)
                         roundRow(out, type);
                     });
}
/// The element at each index is that of `operand` at `source(index)`. Null if `operand` is too large to be kept.
ConstantPtr makeView(ConstantPtr operand, Shape shape, std::function<Shape(Index)> source);
/// The row at each index of the leading dims is that of `operand` at `source(index)`; rows are equally long.
ConstantPtr makeRowView(ConstantPtr operand, Shape shape, std::function<Shape(Index)> source);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_CONSTANT_H
