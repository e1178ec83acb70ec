//===- RecipeTypes.h - the types of settings -------------------------------------------===//
//
// Enums for settings with a closed set of values, values by name for settings that differ between units or parameters,
// and the untyped values from which they are read.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_RECIPE_RECIPETYPES_H
#define SLUICE_PASSES_RECIPE_RECIPETYPES_H

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
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

struct RecipeTableEntry;

/// Values by glob or by name, sorted by name.
struct RecipeTable {
  std::vector<RecipeTableEntry> entries;
  bool operator==(const RecipeTable &other) const;
};

/// A value of TOML or of the module's attribute; monostate: none.
using RecipeValue = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::string>,
                                 std::vector<double>, std::vector<bool>, RecipeTable>;

/// Values in a table are not tables.
struct RecipeTableEntry {
  std::string name;
  RecipeValue value;
  bool operator==(const RecipeTableEntry &other) const { return name == other.name && value == other.value; }
};

inline bool RecipeTable::operator==(const RecipeTable &other) const { return entries == other.entries; }

/// The value as TOML; `none` for monostate.
std::string printRecipeValue(const RecipeValue &value);

} // namespace sluice

#endif // SLUICE_PASSES_RECIPE_RECIPETYPES_H
