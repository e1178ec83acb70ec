//===- Fit.h - the largest batch or sequence that fits --------------------------------------===//
#ifndef SLUICE_PASSES_DRIVER_FIT_H
#define SLUICE_PASSES_DRIVER_FIT_H

#include "passes/driver/VariantCompiler.h"

namespace sluice {

/// The largest `batch` or `sequence` (`key`) whose plan is feasible, and the next larger one, which is not; each is
/// `variant` with one more setting. Only the second if even the smallest is not feasible. Assumes that a value larger
/// than one that is not feasible is not feasible. Sequences are multiples of 64 if that of the model is.
std::vector<CompiledVariant> fitExtent(VariantCompiler &compiler, const Variant &variant, const std::string &key);

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_FIT_H
