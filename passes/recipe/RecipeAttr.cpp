//===- RecipeAttr.cpp - the resolved recipe on the IR -----------------------------------===//

#include "passes/recipe/RecipeAttr.h"

#include "dialect/model/Attributes.h"
#include "passes/recipe/RecipeKeys.h"

#include "mlir/IR/Builders.h"

using namespace sluice;

static mlir::Attribute toAttribute(mlir::MLIRContext *context, const RecipeValue &value);

namespace {
struct Converter {
  mlir::Builder &builder;
  mlir::Attribute operator()(std::monostate) const { return {}; }
  mlir::Attribute operator()(bool v) const { return builder.getBoolAttr(v); }
  mlir::Attribute operator()(std::int64_t v) const { return builder.getI64IntegerAttr(v); }
  mlir::Attribute operator()(double v) const { return builder.getF64FloatAttr(v); }
  mlir::Attribute operator()(const std::string &v) const { return builder.getStringAttr(v); }
  template <typename T> mlir::Attribute operator()(const std::vector<T> &v) const {
    llvm::SmallVector<mlir::Attribute> elements;
    for (T element : v)
      elements.push_back(toAttribute(builder.getContext(), element));
    return builder.getArrayAttr(elements);
  }
  mlir::Attribute operator()(const RecipeTable &v) const {
    llvm::SmallVector<mlir::NamedAttribute> entries;
    for (const RecipeTableEntry &entry : v.entries)
      entries.push_back(builder.getNamedAttr(entry.name, toAttribute(builder.getContext(), entry.value)));
    return builder.getDictionaryAttr(entries);
  }
};
} // namespace

static mlir::Attribute toAttribute(mlir::MLIRContext *context, const RecipeValue &value) {
  mlir::Builder builder(context);
  return std::visit(Converter{builder}, value);
}

/// nullopt for an attribute that no key accepts.
static std::optional<RecipeValue> toValue(mlir::Attribute attribute) {
  if (auto value = mlir::dyn_cast<mlir::BoolAttr>(attribute))
    return RecipeValue(value.getValue());
  if (auto value = mlir::dyn_cast<mlir::IntegerAttr>(attribute))
    return RecipeValue(static_cast<std::int64_t>(value.getInt()));
  if (auto value = mlir::dyn_cast<mlir::FloatAttr>(attribute))
    return RecipeValue(value.getValueAsDouble());
  if (auto value = mlir::dyn_cast<mlir::StringAttr>(attribute))
    return RecipeValue(value.getValue().str());
  if (auto table = mlir::dyn_cast<mlir::DictionaryAttr>(attribute)) {
    RecipeTable result;
    for (mlir::NamedAttribute named : table) {
      std::optional<RecipeValue> value = toValue(named.getValue());
      if (!value)
        return std::nullopt;
      result.entries.push_back({named.getName().str(), std::move(*value)});
    }
    return RecipeValue(std::move(result));
  }
  auto array = mlir::dyn_cast<mlir::ArrayAttr>(attribute);
  if (!array)
    return std::nullopt;
  std::vector<RecipeValue> elements;
  for (mlir::Attribute element : array) {
    std::optional<RecipeValue> value = toValue(element);
    if (!value)
      return std::nullopt;
    elements.push_back(std::move(*value));
  }
  return recipeList(elements);
}

void sluice::attachRecipe(mlir::ModuleOp module, const Recipe &recipe) {
  llvm::SmallVector<mlir::NamedAttribute> values;
  mlir::Builder builder(module.getContext());
  for (const auto &[key, value] : recipe.given())
    if (mlir::Attribute attribute = toAttribute(module.getContext(), value))
      values.push_back(builder.getNamedAttr(key, attribute));
  module->setAttr(model::recipeName, builder.getDictionaryAttr(values));
  // Diagnostics of passes about these values name the line that gave them.
  llvm::SmallVector<mlir::NamedAttribute> origins;
  for (const auto &[key, value] : recipe.given()) {
    std::string origin = recipe.origin(key);
    constexpr llvm::StringLiteral reported[] = {"sharding.", "gradient.", "schedule.",  "statistics.", "memory.",
                                                "kernels.",  "loss.",     "precision.", "mesh.expert", "recompute."};
    if (origin != model::recipeName &&
        llvm::any_of(reported, [&](llvm::StringRef part) { return llvm::StringRef(key).starts_with(part); }))
      origins.push_back(builder.getNamedAttr(key, builder.getStringAttr(origin)));
  }
  if (!origins.empty())
    module->setAttr(model::recipeOriginsName, builder.getDictionaryAttr(origins));
}

Result<Recipe> sluice::attachedRecipe(mlir::ModuleOp module) {
  Recipe recipe;
  auto values = module->getAttrOfType<mlir::DictionaryAttr>(model::recipeName);
  if (!values)
    return recipe;
  for (mlir::NamedAttribute named : values) {
    std::optional<RecipeValue> value = toValue(named.getValue());
    if (!value)
      return inputError("'model.recipe' value of '" + named.getName().str() +
                        "', expected a string, number, boolean or list of them");
    SLUICE_RETURN_IF_ERROR(recipe.add(named.getName().strref(), std::move(*value), model::recipeName.str()));
  }
  return recipe;
}

Result<Recipe> sluice::recipeOf(mlir::ModuleOp module,
                                llvm::ArrayRef<std::pair<llvm::StringRef, llvm::StringRef>> options) {
  SLUICE_ASSIGN_OR_RETURN(Recipe recipe, attachedRecipe(module));
  for (auto [key, text] : options) {
    // The option parser removes the braces around a table.
    bool isTable = text.contains('=') && !text.starts_with("{");
    std::string value = isTable ? "{" + text.str() + "}" : text.str();
    SLUICE_RETURN_IF_ERROR(recipe.addSetting(key.str() + "=" + value, "option"));
  }
  SLUICE_RETURN_IF_ERROR(recipe.resolve());
  auto origins = module->getAttrOfType<mlir::DictionaryAttr>(model::recipeOriginsName);
  for (const RecipeKey &key : recipeKeys()) {
    auto origin = origins ? origins.getAs<mlir::StringAttr>(key.name) : mlir::StringAttr();
    recipe.setOrigin(key.name, origin ? origin.str() : "recipe");
  }
  return recipe;
}
