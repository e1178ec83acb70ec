//===- Recipe.h - how a model is to be trained: the resolved recipe ----------------===//
//
// A recipe is built up from TOML files and `--set` settings, later ones over earlier ones, each value checked against
// the table of keys as it comes; `resolve` then checks values against each other and fills in the defaults that depend
// on other keys. No MLIR here: RecipeAttr.h carries a recipe on the IR.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_RECIPE_RECIPE_H
#define SLUICE_PASSES_RECIPE_RECIPE_H

#include "passes/recipe/RecipeKeys.h"
#include "runtime/base/Status.h"

#include <map>
#include <string>
#include <string_view>

namespace sluice {

class Recipe {
public:
  /// Reads a TOML file. Errors name file and line.
  Status addFile(const std::string &path);
  /// The same from memory; `name` stands for the file in messages and origins.
  Status addText(std::string_view text, const std::string &name);
  /// One `key=value` of the command line. A value that is no TOML is taken as text.
  Status addSetting(std::string_view setting);
  /// One value, checked and brought to its normal form; `origin` says where it came from.
  Status add(std::string_view key, RecipeValue value, const std::string &origin);

  /// Checks values against each other, and fixes the defaults that depend on other values.
  Status resolve();

  /// The value of a key of the table: the given one or the default. Monostate where there is neither.
  const RecipeValue &value(std::string_view key) const;
  /// Where the value came from: a file and line, `--set`, `default`, or `default of ...`.
  std::string origin(std::string_view key) const;
  /// What differs from the table's defaults, by key.
  std::map<std::string, RecipeValue> given() const;
  /// The whole recipe as TOML, each value with its origin as a comment.
  std::string print() const;

private:
  struct Entry {
    RecipeValue value;
    std::string origin;
  };
  std::map<std::string, Entry, std::less<>> entries;
};

/// The instruction set of this machine, as `target.isa` names it.
std::string hostInstructionSet();

/// A count of bytes with an optional unit: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB. False where it is none.
bool parseByteCount(std::string_view text, std::int64_t &bytes);

} // namespace sluice

#endif // SLUICE_PASSES_RECIPE_RECIPE_H
