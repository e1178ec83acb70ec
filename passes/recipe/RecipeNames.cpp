//===- RecipeNames.cpp - names and globs of the recipe ------------------------------------===//

#include "passes/recipe/Recipe.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/GlobPattern.h"

using namespace sluice;

bool sluice::matchesGlob(llvm::StringRef glob, llvm::StringRef name) {
  // A glob of a recipe has no other special characters than the two.
  std::string escaped;
  for (char c : glob) {
    if (c == '[' || c == '\\')
      escaped += '\\';
    escaped += c;
  }
  llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(escaped);
  return llvm::cantFail(std::move(pattern)).match(name);
}

static bool matchesNone(const std::string &glob, llvm::ArrayRef<std::string> names) {
  return llvm::none_of(names, [&](llvm::StringRef name) { return matchesGlob(glob, name); });
}

std::vector<std::string> Recipe::uselessGlobs(llvm::StringRef key, llvm::StringRef kind,
                                              llvm::ArrayRef<std::string> names) const {
  RecipeValue setting = value(key);
  std::vector<std::string> warnings;
  if (auto *list = std::get_if<Strings>(&setting))
    for (const std::string &glob : *list)
      if (matchesNone(glob, names))
        warnings.push_back(origin(key) + ": '" + glob + "' in '" + key.str() + "' matches no " + kind.str());
  return warnings;
}

Status Recipe::checkNames(llvm::StringRef key, llvm::StringRef kind, llvm::ArrayRef<std::string> names) const {
  RecipeValue setting = value(key);
  auto *table = std::get_if<RecipeTable>(&setting);
  if (!table)
    return Status::ok();
  for (const RecipeTableEntry &entry : table->entries)
    if (matchesNone(entry.name, names))
      return inputError(origin(key) + ": '" + entry.name + "' in '" + key.str() + "' matches no " + kind.str());
  for (const std::string &name : names) {
    const RecipeValue *found = nullptr;
    if (llvm::any_of(table->entries, [&](const RecipeTableEntry &entry) { return entry.name == name; }))
      continue;
    for (const RecipeTableEntry &entry : table->entries) {
      if (!matchesGlob(entry.name, name))
        continue;
      if (found && *found != entry.value)
        return inputError(origin(key) + ": value of '" + key.str() + "' for " + kind.str() + " '" + name +
                          "' is ambiguous: globs give " + printRecipeValue(*found) + " and " +
                          printRecipeValue(entry.value));
      found = &entry.value;
    }
  }
  return Status::ok();
}
