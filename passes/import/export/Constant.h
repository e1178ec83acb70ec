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

#include <functional>
#include <memory>

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
};

/// The value rounded to an element type.
double roundTo(double value, ScalarType type);

ConstantPtr makeSplat(double value, Shape shape, ScalarType type);
/// `start + i * step` along the only dim.
ConstantPtr makeRange(double start, double step, std::int64_t count, ScalarType type);
ConstantPtr makeDense(std::vector<double> values, Shape shape, ScalarType type);
/// `combine` of the elements of the operands, whose shapes broadcast to `shape`, rounded to `type`.
ConstantPtr makePointwise(std::vector<ConstantPtr> operands, Shape shape, ScalarType type,
                          std::function<double(llvm::ArrayRef<double>)> combine);
/// The element at each index is that of `operand` at `source(index)`. Null if `operand` is too large to be kept.
ConstantPtr makeView(ConstantPtr operand, Shape shape, std::function<Shape(Index)> source);
/// The row at each index of the leading dims is that of `operand` at `source(index)`; rows are equally long.
ConstantPtr makeRowView(ConstantPtr operand, Shape shape, std::function<Shape(Index)> source);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_CONSTANT_H
