//===- RecipeAttr.cpp - the resolved recipe on the IR -----------------------------------===//

#include "passes/recipe/RecipeAttr.h"

#include "passes/recipe/AttachRecipe.h"
#include "passes/recipe/Recipe.h"

#include "mlir/IR/Builders.h"

using namespace sluice;

static constexpr llvm::StringLiteral recipeAttribute = "model.recipe";

static mlir::Attribute toAttribute(mlir::MLIRContext *context, const RecipeValue &value) {
  mlir::Builder builder(context);
  struct Maker {
    mlir::Builder &builder;
    mlir::Attribute operator()(std::monostate) const { return {}; }
    mlir::Attribute operator()(bool v) const { return builder.getBoolAttr(v); }
    mlir::Attribute operator()(std::int64_t v) const { return builder.getI64IntegerAttr(v); }
    mlir::Attribute operator()(double v) const { return builder.getF64FloatAttr(v); }
    mlir::Attribute operator()(const std::string &v) const { return builder.getStringAttr(v); }
    mlir::Attribute operator()(const std::vector<std::string> &v) const {
      llvm::SmallVector<mlir::Attribute> texts;
      for (const std::string &text : v)
        texts.push_back(builder.getStringAttr(text));
      return builder.getArrayAttr(texts);
    }
    mlir::Attribute operator()(const std::vector<double> &v) const { return builder.getF64ArrayAttr(v); }
  };
  return std::visit(Maker{builder}, value);
}

/// Nothing where no key takes such an attribute.
static std::optional<RecipeValue> toValue(mlir::Attribute attribute) {
  if (auto value = mlir::dyn_cast<mlir::BoolAttr>(attribute))
    return RecipeValue(value.getValue());
  if (auto value = mlir::dyn_cast<mlir::IntegerAttr>(attribute))
    return RecipeValue(static_cast<std::int64_t>(value.getInt()));
  if (auto value = mlir::dyn_cast<mlir::FloatAttr>(attribute))
    return RecipeValue(value.getValueAsDouble());
  if (auto value = mlir::dyn_cast<mlir::StringAttr>(attribute))
    return RecipeValue(value.getValue().str());
  auto array = mlir::dyn_cast<mlir::ArrayAttr>(attribute);
  if (!array)
    return std::nullopt;
  std::vector<std::string> texts;
  std::vector<double> numbers;
  for (mlir::Attribute element : array)
    if (auto text = mlir::dyn_cast<mlir::StringAttr>(element))
      texts.push_back(text.getValue().str());
    else if (auto number = mlir::dyn_cast<mlir::FloatAttr>(element))
      numbers.push_back(number.getValueAsDouble());
    else
      return std::nullopt;
  if (!texts.empty() && !numbers.empty())
    return std::nullopt;
  if (!numbers.empty())
    return RecipeValue(numbers);
  return RecipeValue(texts);
}

void sluice::attachRecipe(mlir::ModuleOp module, const Recipe &recipe) {
  llvm::SmallVector<mlir::NamedAttribute> values;
  mlir::Builder builder(module.getContext());
  for (const auto &[key, value] : recipe.given())
    if (mlir::Attribute attribute = toAttribute(module.getContext(), value))
      values.push_back(builder.getNamedAttr(key, attribute));
  module->setAttr(recipeAttribute, builder.getDictionaryAttr(values));
}

Result<Recipe> sluice::recipeOf(mlir::ModuleOp module) {
  Recipe recipe;
  mlir::Attribute attached = module->getAttr(recipeAttribute);
  if (!attached)
    return recipe;
  auto values = mlir::dyn_cast<mlir::DictionaryAttr>(attached);
  if (!values)
    return inputError("'model.recipe', expected a dictionary of recipe keys");
  for (mlir::NamedAttribute named : values) {
    std::optional<RecipeValue> value = toValue(named.getValue());
    if (!value)
      return inputError("'model.recipe' value of '" + named.getName().str() +
                        "', expected a text, number, boolean or list of them");
    SLUICE_RETURN_IF_ERROR(recipe.add(named.getName().strref(), std::move(*value), "model.recipe"));
  }
  return recipe;
}

RecipeView::RecipeView(mlir::ModuleOp module)
    : values(module->getAttrOfType<mlir::DictionaryAttr>(recipeAttribute)), context(module.getContext()) {}

mlir::Attribute RecipeView::raw(llvm::StringRef key) const {
  if (values)
    if (mlir::Attribute given = values.get(key))
      return given;
  if (key == "target.isa")
    return mlir::StringAttr::get(context, hostInstructionSet());
  const RecipeKey *known = findRecipeKey(key);
  assert(known && "a key that the recipe's table does not have");
  return known ? toAttribute(context, known->defaultValue) : mlir::Attribute();
}

bool RecipeView::has(llvm::StringRef key) const { return static_cast<bool>(raw(key)); }

std::int64_t RecipeView::integer(llvm::StringRef key) const {
  auto value = mlir::dyn_cast_or_null<mlir::IntegerAttr>(raw(key));
  return value ? value.getInt() : 0;
}

double RecipeView::number(llvm::StringRef key) const {
  mlir::Attribute value = raw(key);
  if (auto number = mlir::dyn_cast_or_null<mlir::FloatAttr>(value))
    return number.getValueAsDouble();
  return static_cast<double>(integer(key));
}

bool RecipeView::boolean(llvm::StringRef key) const {
  auto value = mlir::dyn_cast_or_null<mlir::BoolAttr>(raw(key));
  return value && value.getValue();
}

std::string RecipeView::string(llvm::StringRef key) const {
  auto value = mlir::dyn_cast_or_null<mlir::StringAttr>(raw(key));
  return value ? value.getValue().str() : std::string();
}

std::vector<std::string> RecipeView::strings(llvm::StringRef key) const {
  std::vector<std::string> out;
  if (auto value = mlir::dyn_cast_or_null<mlir::ArrayAttr>(raw(key)))
    for (mlir::Attribute element : value)
      if (auto text = mlir::dyn_cast<mlir::StringAttr>(element))
        out.push_back(text.getValue().str());
  return out;
}

std::vector<double> RecipeView::numbers(llvm::StringRef key) const {
  std::vector<double> out;
  if (auto value = mlir::dyn_cast_or_null<mlir::ArrayAttr>(raw(key)))
    for (mlir::Attribute element : value)
      if (auto number = mlir::dyn_cast<mlir::FloatAttr>(element))
        out.push_back(number.getValueAsDouble());
  return out;
}

mlir::Attribute RecipeView::forName(llvm::StringRef key, llvm::StringRef name) const {
  mlir::Attribute value = raw(key);
  auto table = mlir::dyn_cast_or_null<mlir::DictionaryAttr>(value);
  if (!table)
    return value;
  if (mlir::Attribute exact = table.get(name))
    return exact;
  for (mlir::NamedAttribute entry : table)
    if (matchesGlob(entry.getName().strref(), name))
      return entry.getValue();
  const RecipeKey *known = findRecipeKey(key);
  return known ? toAttribute(context, known->defaultValue) : mlir::Attribute();
}

bool sluice::matchesGlob(llvm::StringRef glob, llvm::StringRef name) {
  // The usual walk with one point to come back to: the last star.
  std::size_t g = 0, n = 0, star = llvm::StringRef::npos, mark = 0;
  while (n < name.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      mark = n;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == name[n])) {
      ++g, ++n;
    } else if (star != llvm::StringRef::npos) {
      g = star + 1;
      n = ++mark;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*')
    ++g;
  return g == glob.size();
}
