//===- RecipeFuzz.cpp - reads any bytes as a recipe ----------------------------------------===//
#include "Fuzz.h"

#include "passes/recipe/Recipe.h"

using namespace sluice;

namespace {

/// The printed recipe, without the origins of the values.
std::string valuesOf(const Recipe &recipe) {
  std::string text;
  for (const auto &[key, value] : recipe.given())
    text += key + " = " + printRecipeValue(value) + "\n";
  return text;
}

Status read(Recipe &recipe, std::string_view text) {
  SLUICE_RETURN_IF_ERROR(recipe.addText(text, "fuzz"));
  return recipe.resolve();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view text = fuzz::textOf(data, size);
  Recipe setting, recipe, again;
  (void)setting.addSetting(text);
  if (const Status status = read(recipe, text); !status.isOk()) {
    fuzz::claimReported(status);
    return 0;
  }
  const Status status = read(again, recipe.print());
  fuzz::claim(status.isOk(), "the printed recipe cannot be read: " + status.message());
  fuzz::claim(valuesOf(again) == valuesOf(recipe), "the printed recipe has different values");
  return 0;
}
