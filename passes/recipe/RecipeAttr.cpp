//===- RecipeAttr.cpp - the resolved recipe on the IR -----------------------------------===//

#include "passes/recipe/RecipeAttr.h"

#include "passes/recipe/AttachRecipe.h"
#include "passes/recipe/Recipe.h"

#include "mlir/IR/Builders.h"

using namespace sluice;

static constexpr llvm::StringLiteral recipeAttribute = "model.recipe";
static constexpr llvm::StringLiteral originsAttribute = "model.recipe_origins";

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
    mlir::Attribute operator()(const std::vector<bool> &v) const {
      return builder.getBoolArrayAttr(llvm::SmallVector<bool>(v.begin(), v.end()));
    }
    mlir::Attribute operator()(const RecipeTable &v) const {
      llvm::SmallVector<mlir::NamedAttribute> entries;
      for (const RecipeTableEntry &entry : v.entries)
        entries.push_back(builder.getNamedAttr(entry.name, toAttribute(builder.getContext(), entry.value)));
      return builder.getDictionaryAttr(entries);
    }
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
  if (auto table = mlir::dyn_cast<mlir::DictionaryAttr>(attribute)) {
    RecipeTable made;
    for (mlir::NamedAttribute named : table) {
      std::optional<RecipeValue> value = toValue(named.getValue());
      if (!value)
        return std::nullopt;
      made.entries.push_back({named.getName().str(), std::move(*value)});
    }
    return RecipeValue(std::move(made));
  }
  auto array = mlir::dyn_cast<mlir::ArrayAttr>(attribute);
  if (!array)
    return std::nullopt;
  std::vector<std::string> texts;
  std::vector<double> numbers;
  std::vector<bool> flags;
  for (mlir::Attribute element : array)
    if (auto flag = mlir::dyn_cast<mlir::BoolAttr>(element))
      flags.push_back(flag.getValue());
    else if (auto text = mlir::dyn_cast<mlir::StringAttr>(element))
      texts.push_back(text.getValue().str());
    else if (auto number = mlir::dyn_cast<mlir::FloatAttr>(element))
      numbers.push_back(number.getValueAsDouble());
    else
      return std::nullopt;
  if (!texts.empty() + !numbers.empty() + !flags.empty() > 1)
    return std::nullopt;
  if (!flags.empty())
    return RecipeValue(flags);
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
  // Where passes may still have something to say of a value, they say it of the line that gave it.
  llvm::SmallVector<mlir::NamedAttribute> origins;
  for (const auto &[key, value] : recipe.given()) {
    std::string origin = recipe.origin(key);
    constexpr llvm::StringLiteral told[] = {"sharding.", "gradient.", "schedule.", "statistics.", "memory.", "loss.",
                                            "mesh.expert"};
    if (origin != recipeAttribute &&
        llvm::any_of(told, [&](llvm::StringRef part) { return llvm::StringRef(key).starts_with(part); }))
      origins.push_back(builder.getNamedAttr(key, builder.getStringAttr(origin)));
  }
  if (!origins.empty())
    module->setAttr(originsAttribute, builder.getDictionaryAttr(origins));
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
    : values(module->getAttrOfType<mlir::DictionaryAttr>(recipeAttribute)),
      origins(module->getAttrOfType<mlir::DictionaryAttr>(originsAttribute)), context(module.getContext()) {}

std::string RecipeView::origin(llvm::StringRef key) const {
  auto known = origins ? origins.getAs<mlir::StringAttr>(key) : mlir::StringAttr();
  return known ? known.getValue().str() : std::string("recipe");
}

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

static std::string textOf(mlir::Attribute attribute) {
  std::optional<RecipeValue> value = toValue(attribute);
  return value ? printRecipeValue(*value) : std::string("another value");
}

static Status unmatched(const std::string &origin, llvm::StringRef key, llvm::StringRef what, llvm::StringRef glob) {
  return inputError(origin + ": name in '" + key.str() + "', expected one that matches a " + what.str() + " but got '" +
                    glob.str() + "'");
}

Status RecipeView::checkNames(llvm::StringRef key, llvm::StringRef what, llvm::ArrayRef<std::string> names) const {
  auto table = mlir::dyn_cast_or_null<mlir::DictionaryAttr>(raw(key));
  if (!table)
    return Status::ok();
  for (mlir::NamedAttribute entry : table)
    if (llvm::none_of(names, [&](llvm::StringRef name) { return matchesGlob(entry.getName().strref(), name); }))
      return unmatched(origin(key), key, what, entry.getName().strref());
  for (const std::string &name : names) {
    if (table.get(name))
      continue;
    mlir::Attribute found;
    for (mlir::NamedAttribute entry : table) {
      if (!matchesGlob(entry.getName().strref(), name))
        continue;
      if (found && found != entry.getValue())
        return inputError(origin(key) + ": value of '" + key.str() + "' for " + what.str() + " '" + name +
                          "', expected globs that agree but got " + textOf(found) + " and " + textOf(entry.getValue()));
      found = entry.getValue();
    }
  }
  return Status::ok();
}

Status RecipeView::checkGlobs(llvm::StringRef key, llvm::StringRef what, llvm::ArrayRef<std::string> names) const {
  for (const std::string &glob : strings(key))
    if (llvm::none_of(names, [&](llvm::StringRef name) { return matchesGlob(glob, name); }))
      return unmatched(origin(key), key, what, glob);
  return Status::ok();
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
