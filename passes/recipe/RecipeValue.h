//===- RecipeValue.h - an untyped value of a recipe --------------------------------------===//
#ifndef SLUICE_PASSES_RECIPE_RECIPEVALUE_H
#define SLUICE_PASSES_RECIPE_RECIPEVALUE_H

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace sluice {

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

#endif // SLUICE_PASSES_RECIPE_RECIPEVALUE_H
