//===- RecipeKeys.h - the table of the recipe's keys ------------------------------===//
//
// Every key that a recipe may have: its name, its field in Recipe, the kinds of value that it accepts, its
// bounds, and the values that this version supports. Parsing, checking, printing and docs/recipe.md all read this
// table.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_RECIPE_RECIPEKEYS_H
#define SLUICE_PASSES_RECIPE_RECIPEKEYS_H

#include "passes/recipe/Recipe.h"

#include <functional>

namespace sluice {

/// Kinds of value, as bits: a key may accept several.
enum RecipeKind : unsigned {
  recipeBoolean = 1,
  recipeInteger = 2,
  /// Integers are accepted too.
  recipeNumber = 4,
  /// One of `choices`.
  recipeChoice = 8,
  /// A list of strings.
  recipeStrings = 16,
  recipeNumbers = 32,
  /// A count of bytes: an integer, or a string such as "24MiB".
  recipeBytes = 64,
  /// A table, by glob or by name.
  recipeTable = 128,
  /// Any string (a name).
  recipeText = 256,
  /// A list of true and false.
  recipeBooleans = 512,
};

struct RecipeKey {
  std::string name;
  /// Bits of RecipeKind that this version accepts.
  unsigned kinds = 0;
  std::string doc;
  /// Strings that recipeChoice accepts; one that ends in ':' is followed by a count of bytes.
  std::vector<std::string> choices = {};
  /// Strings that later versions support ("bytes:" is a prefix).
  std::vector<std::string> laterChoices = {};
  /// This version supports only the default.
  bool onlyDefault = false;
  /// Bounds of integers and numbers, each included unless `openBelow`.
  double least = 0;
  double most = 9e15;
  bool openBelow = false;
  /// Number of elements of a recipeNumbers list.
  unsigned length = 0;
  /// Kinds of the values in a table.
  unsigned tableKinds = 0;
  /// The names that a table's globs match, for messages and docs.
  std::string tableOf = "unit globs";
  /// Values of the elements of a recipeStrings list (empty: any).
  std::vector<std::string> elements = {};
  /// The initial value of the field. Monostate: off unless given, or decided from other keys (then `doc` says so).
  RecipeValue defaultValue = {};
  /// Sets the field of the recipe to a checked value. False if the field cannot have it.
  std::function<bool(Recipe &recipe, const RecipeValue &value)> assign = {};
  /// The value of the field.
  std::function<RecipeValue(const Recipe &recipe)> read = {};
};

/// All keys, in the order in which they are printed and documented.
const std::vector<RecipeKey> &recipeKeys();

/// The key of that name, or null.
const RecipeKey *findRecipeKey(std::string_view name);

/// The known key with the least edit distance to `name`.
const RecipeKey &nearestRecipeKey(std::string_view name);

/// The values that this version accepts for the key, for messages and docs: `"bf16" or "f32"`, `an integer of at least
/// 1`.
std::string describeRecipeValues(const RecipeKey &key);

/// The list of strings, numbers or booleans with these elements; nullopt if their kinds differ or are of no list.
std::optional<RecipeValue> recipeList(llvm::ArrayRef<RecipeValue> elements);

/// The words with commas between them, and `last` before the last one.
std::string joinWords(llvm::ArrayRef<std::string> words, llvm::StringRef last);

/// The hyper-parameters of all optimizers, each name once.
const std::vector<HyperParameter> &hyperParameters();

/// The row `optimizer.<name>`. Its default is off if optimizers have different ones.
RecipeKey keyOf(const HyperParameter &parameter);

/// The optimizers that have the hyper-parameter, for messages: `"adamw" or "adam"`.
std::string optimizersWith(llvm::StringRef parameter);

/// All keys as a table in Markdown (docs/recipe.md).
std::string documentRecipeKeys();

} // namespace sluice

#endif // SLUICE_PASSES_RECIPE_RECIPEKEYS_H
