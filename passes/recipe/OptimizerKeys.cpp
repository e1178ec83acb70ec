//===- OptimizerKeys.cpp - keys of the recipe for hyper-parameters -------------------------===//

#include "passes/recipe/RecipeKeys.h"

#include <set>

using namespace sluice;

const std::vector<HyperParameter> &sluice::hyperParameters() {
  static const std::vector<HyperParameter> all = [] {
    std::vector<HyperParameter> list;
    std::set<std::string> seen;
    for (const OptimizerInfo &optimizer : model::optimizers())
      for (const HyperParameter &parameter : optimizer.parameters)
        if (seen.insert(parameter.name).second)
          list.push_back(parameter);
    return list;
  }();
  return all;
}

/// The optimizers for which `matches` is true, each between `quote`s.
template <typename Predicate>
static std::string listOptimizers(Predicate matches, llvm::StringRef quote, llvm::StringRef last) {
  std::vector<std::string> names;
  for (const OptimizerInfo &optimizer : model::optimizers())
    if (matches(optimizer))
      names.push_back((quote + optimizer.name + quote).str());
  return joinWords(names, last);
}

std::string sluice::optimizersWith(llvm::StringRef parameter) {
  return listOptimizers([&](const OptimizerInfo &optimizer) { return optimizer.find(parameter); }, "\"", " or ");
}

static RecipeValue toValue(const HyperParameterValue &value) {
  return std::visit([](const auto &alternative) { return RecipeValue(alternative); }, value);
}

/// `default 0.01 for `adamw`, 0 for `adam` and `sgd``; empty if all have one default.
static std::string describeDefaults(const HyperParameter &parameter) {
  std::vector<HyperParameterValue> values;
  for (const OptimizerInfo &optimizer : model::optimizers())
    if (const HyperParameter *found = optimizer.find(parameter.name);
        found && !llvm::is_contained(values, found->defaultValue))
      values.push_back(found->defaultValue);
  if (values.size() < 2)
    return "";
  std::string text;
  for (const HyperParameterValue &value : values) {
    std::string printed = printRecipeValue(toValue(value));
    text += (text.empty() ? "default " : ", ") + printed + " for " +
            listOptimizers(
                [&](const OptimizerInfo &optimizer) {
                  const HyperParameter *found = optimizer.find(parameter.name);
                  return found && found->defaultValue == value;
                },
                "`", " and ");
  }
  return text;
}

RecipeKey sluice::keyOf(const HyperParameter &parameter) {
  RecipeKey key{.name = "optimizer." + parameter.name, .doc = parameter.doc};
  if (std::holds_alternative<bool>(parameter.defaultValue)) {
    key.kinds = recipeBoolean;
  } else if (std::holds_alternative<double>(parameter.defaultValue)) {
    key.kinds = recipeNumber;
    key.most = 1e30;
  } else {
    key.kinds = recipeNumbers;
    key.most = 1;
    key.length = std::get<std::vector<double>>(parameter.defaultValue).size();
  }
  auto has = [&](const OptimizerInfo &optimizer) { return optimizer.find(parameter.name) != nullptr; };
  if (std::string defaults = describeDefaults(parameter); !defaults.empty())
    key.doc += "; " + defaults;
  else
    key.defaultValue = toValue(parameter.defaultValue);
  if (!llvm::all_of(model::optimizers(), has))
    key.doc += " (" + listOptimizers(has, "`", ", ") + ")";
  key.assign = [name = parameter.name](Recipe &recipe, const RecipeValue &value) {
    OptimizerSettings &settings = recipe.optimizer.settings;
    settings.erase(name);
    if (auto *flag = std::get_if<bool>(&value))
      settings[name] = *flag;
    else if (auto *number = std::get_if<double>(&value))
      settings[name] = *number;
    else if (auto *numbers = std::get_if<std::vector<double>>(&value))
      settings[name] = *numbers;
    return true;
  };
  key.read = [name = parameter.name, otherwise = key.defaultValue](const Recipe &recipe) {
    auto found = recipe.optimizer.settings.find(name);
    return found == recipe.optimizer.settings.end() ? otherwise : toValue(found->second);
  };
  return key;
}
