//===- OpaqueAttributes.h - attributes of StableHLO without its dialect ---------------------===//
//
// Without the dialect an attribute such as `#stablehlo.dot<lhs_contracting_dimensions = [1]>` is text.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_STABLEHLO_OPAQUEATTRIBUTES_H
#define SLUICE_PASSES_IMPORT_STABLEHLO_OPAQUEATTRIBUTES_H

#include "mlir/IR/Attributes.h"
#include "llvm/ADT/SmallVector.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::stablehlo {

/// "LT" of `#stablehlo<comparison_direction LT>`; empty for another attribute.
std::string enumOf(mlir::Attribute attribute, llvm::StringRef kind);

/// The lists of `#stablehlo.dot<name = [1, 2], other = 3>` by name; a number is a list of one. Absent names have no
/// entry. Nullopt for text of another form.
using Lists = std::map<std::string, llvm::SmallVector<std::int64_t>>;
std::optional<Lists> listsOf(mlir::Attribute attribute, llvm::StringRef kind);

/// Dims of a convolution: for the image, the kernel and the result the dim of each letter or number of
/// `#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>`.
struct ConvolutionDims {
  struct Tensor {
    /// Batch and features of an image, outputs and inputs of a kernel, in this order; then the spatial dims.
    std::int64_t first = -1, second = -1;
    llvm::SmallVector<std::int64_t> spatial;
  };
  Tensor image, kernel, result;
};
std::optional<ConvolutionDims> convolutionDimsOf(mlir::Attribute attribute);

} // namespace sluice::stablehlo

#endif // SLUICE_PASSES_IMPORT_STABLEHLO_OPAQUEATTRIBUTES_H
