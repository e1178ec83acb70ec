//===- Variant.h - variants of a recipe and a model -------------------------------------------===//
#ifndef SLUICE_PASSES_DRIVER_VARIANT_H
#define SLUICE_PASSES_DRIVER_VARIANT_H

#include "runtime/base/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A key of the recipe, or `batch` or `sequence` of the model, with a value as --set takes it.
struct VariantSetting {
  std::string key, value;
};
using Variant = std::vector<VariantSetting>;

/// True for `batch` and `sequence`, which are not keys of the recipe.
bool isModelExtent(std::string_view key);

/// All combinations of the values of `KEY=V1,V2,...` texts; the values of the last text vary fastest. A comma inside
/// brackets or quotes does not separate values. A usage error for a text of a different form, a key that is given
/// twice, and more than 1,000 combinations.
Result<std::vector<Variant>> combineVariants(const std::vector<std::string> &texts);

} // namespace sluice

#endif // SLUICE_PASSES_DRIVER_VARIANT_H
