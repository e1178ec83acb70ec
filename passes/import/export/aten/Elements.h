//===- Elements.h - elements by indices that are known at import ---------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_ATEN_ELEMENTS_H
#define SLUICE_PASSES_IMPORT_EXPORT_ATEN_ELEMENTS_H

#include "passes/import/export/Call.h"

namespace sluice::exported {

/// Integers as a value of a shape.
mlir::Value makeIndices(Call &call, const std::vector<std::int64_t> &values, llvm::ArrayRef<std::int64_t> shape);

/// The slices of `x` along `dim` at the indices, of which each is at least 0 and less than the extent.
mlir::Value takeSlices(Call &call, mlir::Value x, std::int64_t dim, const std::vector<std::int64_t> &indices);

/// The elements of `x`, counted in row-major order, that `source` gives for each index of `shape`; -1 gives 0. Source
/// is called in row-major order, and its other results must be at least 0 and less than the number of elements.
mlir::Value takeElements(Call &call, mlir::Value x, llvm::ArrayRef<std::int64_t> shape,
                         llvm::function_ref<std::int64_t(Index)> source);

/// `base` with the rows [start, start + written's extent) of a dim replaced.
mlir::Value replaceRows(Call &call, mlir::Value base, mlir::Value written, std::int64_t dim, std::int64_t start);

/// A constant matrix [rows, columns] of the element type of `like`, which is a float.
mlir::Value makeMatrix(Call &call, const std::vector<double> &values, std::int64_t rows, std::int64_t columns,
                       mlir::Value like);

/// The sums over i of element i of `dim` times `matrix[i, j]`, for each j: a linear map of one dim.
mlir::Value mapDim(Call &call, mlir::Value x, std::int64_t dim, const std::vector<double> &matrix,
                   std::int64_t columns);

/// The number of elements before each step of a dim.
llvm::SmallVector<std::int64_t> stridesOf(llvm::ArrayRef<std::int64_t> shape);

/// x with `dim` after all others, and the reverse.
mlir::Value moveLast(Call &call, mlir::Value x, std::int64_t dim);
mlir::Value moveFromLast(Call &call, mlir::Value x, std::int64_t dim);

/// Pools of one or two dims whose windows the ops of the model have not, and any scale of nearest pixels.
void averageWindows(Call &call, std::int64_t dims);
void largestOfWindows(Call &call, std::int64_t dims);
void nearestPixels(Call &call);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_ATEN_ELEMENTS_H
