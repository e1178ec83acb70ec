//===- RecipeAttr.h - the resolved recipe on the IR -----------------------------------===//
//
// The recipe rides on the module as the dictionary attribute `model.recipe`, keyed by the recipe's dotted names, so that
// every dumped phase can be put through the rest of the pipeline alone. What is absent has its default (Recipe.h's
// table); passes read it through this view and never keep options of their own for it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_RECIPE_RECIPEATTR_H
#define SLUICE_PASSES_RECIPE_RECIPEATTR_H

#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// A read-only view of a module's recipe. Values are those of the attribute, else the default of the key.
class RecipeView {
public:
  explicit RecipeView(mlir::ModuleOp module);

  std::int64_t integer(llvm::StringRef key) const;
  double number(llvm::StringRef key) const;
  bool boolean(llvm::StringRef key) const;
  std::string string(llvm::StringRef key) const;
  std::vector<std::string> strings(llvm::StringRef key) const;
  std::vector<double> numbers(llvm::StringRef key) const;
  /// True where the key is given or has a default.
  bool has(llvm::StringRef key) const;
  /// The attribute as it is (a string, bool, integer, or a dictionary for tables by glob); null if absent and without
  /// default.
  mlir::Attribute raw(llvm::StringRef key) const;
  /// Where the value came from: a file and line, a setting; `recipe` where the module does not say.
  std::string origin(llvm::StringRef key) const;
  /// Where the key is a table by glob: every glob matches one of the names, and no two say different things of one.
  /// `what` is what the names are of. Errors name the line.
  Status checkNames(llvm::StringRef key, llvm::StringRef what, llvm::ArrayRef<std::string> names) const;
  /// The same for a list of globs.
  Status checkGlobs(llvm::StringRef key, llvm::StringRef what, llvm::ArrayRef<std::string> names) const;
  /// The value for `name` of a key that is one value or a table by glob: exact name before glob, `*` matches dots too.
  mlir::Attribute forName(llvm::StringRef key, llvm::StringRef name) const;

private:
  mlir::DictionaryAttr values;
  mlir::DictionaryAttr origins;
  mlir::MLIRContext *context;
};

/// `*` matches any run of characters, dots too; `?` one.
bool matchesGlob(llvm::StringRef glob, llvm::StringRef name);

} // namespace sluice

#endif // SLUICE_PASSES_RECIPE_RECIPEATTR_H
