//===- Images.h - images of torch as those of the model ------------------------------------===//
//
// torch has channels first, [N, C, H, W], and the model channels last. A sequence [N, C, L] is an image of height 1,
// and an operand without batch is one image.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_ATEN_IMAGES_H
#define SLUICE_PASSES_IMPORT_EXPORT_ATEN_IMAGES_H

#include "passes/import/export/Call.h"

namespace sluice::exported {

/// [N, C, ...] as [N, ..., C], and back.
inline mlir::Value channelsLast(Call &call, mlir::Value value) {
  llvm::SmallVector<std::int64_t> permutation = {0};
  for (std::int64_t dim = 2; dim < Call::rankOf(value); ++dim)
    permutation.push_back(dim);
  permutation.push_back(1);
  return call.transpose(value, permutation);
}
inline mlir::Value channelsFirst(Call &call, mlir::Value value) {
  const std::int64_t last = Call::rankOf(value) - 1;
  llvm::SmallVector<std::int64_t> permutation = {0, last};
  for (std::int64_t dim = 1; dim < last; ++dim)
    permutation.push_back(dim);
  return call.transpose(value, permutation);
}

class Images {
public:
  /// `dims` are 1 for sequences, else 2. Another rank refuses the call.
  Images(Call &call, mlir::Value value, std::int64_t dims) : call(call), dims(dims) {
    const std::int64_t rank = Call::rankOf(value);
    if (rank != dims + 1 && rank != dims + 2) {
      call.refuse("an operand of rank " + std::to_string(rank) + ", expected " + std::to_string(dims + 1) + " or " +
                  std::to_string(dims + 2));
      return;
    }
    llvm::SmallVector<std::int64_t> shape(Call::shapeOf(value));
    hasBatch = rank == dims + 2;
    if (!hasBatch)
      shape.insert(shape.begin(), 1);
    value = channelsLast(call, call.reshape(value, shape));
    shape = llvm::to_vector(Call::shapeOf(value));
    if (dims == 1)
      shape.insert(shape.begin() + 1, 1);
    images = call.reshape(value, shape);
  }

  /// [N, H, W, C].
  mlir::Value images;

  /// Images as a result of the call's form.
  mlir::Value back(mlir::Value value) const {
    if (!call.problem().empty())
      return value;
    llvm::SmallVector<std::int64_t> shape(Call::shapeOf(value));
    if (dims == 1)
      shape.erase(shape.begin() + 1);
    value = channelsFirst(call, call.reshape(value, shape));
    shape = llvm::to_vector(Call::shapeOf(value));
    if (!hasBatch)
      shape.erase(shape.begin());
    return call.reshape(value, shape);
  }

  /// A list for each of `dims`, or one number for all, as two numbers: those of height and width. `unit` is that of a
  /// height of 1.
  llvm::SmallVector<std::int64_t> pair(llvm::StringRef name, std::int64_t unit) const {
    return pair(call.integers(name), name, unit);
  }
  llvm::SmallVector<std::int64_t> pair(llvm::SmallVector<std::int64_t> given, llvm::StringRef name,
                                       std::int64_t unit) const {
    if (given.size() == 1 && dims == 2)
      given.push_back(given.front());
    if (static_cast<std::int64_t>(given.size()) != dims) {
      call.refuse("argument '" + name.str() + "' has " + std::to_string(given.size()) + " numbers, expected " +
                  std::to_string(dims));
      return {unit, unit};
    }
    if (dims == 1)
      given.insert(given.begin(), unit);
    return given;
  }

private:
  Call &call;
  std::int64_t dims;
  bool hasBatch = true;
};

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_ATEN_IMAGES_H
