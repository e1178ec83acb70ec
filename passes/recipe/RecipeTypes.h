//===- RecipeTypes.h - the types of settings -------------------------------------------===//
//
// Enums for settings with a closed set of values, and values by name for settings that differ between units or
// parameters.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_RECIPE_RECIPETYPES_H
#define SLUICE_PASSES_RECIPE_RECIPETYPES_H

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "passes/recipe/RecipeEnums.h.inc"

namespace sluice {

/// `*` matches any run of characters, including dots; `?` matches one character.
bool matchesGlob(llvm::StringRef glob, llvm::StringRef name);

/// Values by name or glob, sorted by name.
template <typename T> using NamedValues = std::vector<std::pair<std::string, T>>;

/// The value of the entry that is `name`, else of the first glob that matches it, or null.
template <typename T> const T *findByName(const NamedValues<T> &values, llvm::StringRef name) {
  for (const auto &[glob, value] : values)
    if (glob == name)
      return &value;
  for (const auto &[glob, value] : values)
    if (matchesGlob(glob, name))
      return &value;
  return nullptr;
}

/// One value for all names, or a table by glob; names that the table does not match have the default.
template <typename T> struct ByName {
  T value{};
  std::optional<NamedValues<T>> table = {};

  const T &at(llvm::StringRef name) const {
    const T *found = table ? findByName(*table, name) : nullptr;
    return found ? *found : value;
  }
  /// True if one value is for all names, and it is `expected`.
  template <typename U> bool isEverywhere(const U &expected) const { return !table && value == T(expected); }
};

} // namespace sluice

#endif // SLUICE_PASSES_RECIPE_RECIPETYPES_H
