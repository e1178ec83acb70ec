//===- RecipeToml.cpp - reading recipes ---------------------------------------------===//

#include "passes/recipe/RecipeKeys.h"

#include "runtime/base/File.h"
#include "runtime/base/Json.h"
#include "runtime/base/Text.h"
#include "runtime/base/Toml.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

using namespace sluice;

static std::optional<RecipeValue> toValue(const toml::node &node);

/// Adds the entries of a table, with dots in the names of inner tables: `h.0 = true` is the value for "h.0".
static bool addEntries(RecipeTable &to, const toml::table &table, const std::string &prefix) {
  for (auto &&[key, node] : table) {
    std::string name = prefix + std::string(key.str());
    if (const toml::table *inner = node.as_table()) {
      if (!addEntries(to, *inner, name + "."))
        return false;
      continue;
    }
    std::optional<RecipeValue> value = toValue(node);
    if (!value)
      return false;
    to.entries.push_back({name, std::move(*value)});
  }
  return true;
}

/// nullopt for values that no key accepts (dates, lists of mixed types).
static std::optional<RecipeValue> toValue(const toml::node &node) {
  if (const toml::table *table = node.as_table()) {
    RecipeTable result;
    if (!addEntries(result, *table, ""))
      return std::nullopt;
    std::ranges::sort(result.entries, {}, &RecipeTableEntry::name);
    return RecipeValue(std::move(result));
  }
  if (auto *value = node.as_boolean())
    return RecipeValue(value->get());
  if (auto *value = node.as_integer())
    return RecipeValue(value->get());
  if (auto *value = node.as_floating_point())
    return RecipeValue(value->get());
  if (auto *value = node.as_string())
    return RecipeValue(value->get());
  const toml::array *array = node.as_array();
  if (!array)
    return std::nullopt;
  std::vector<RecipeValue> elements;
  for (const toml::node &element : *array) {
    std::optional<RecipeValue> value = toValue(element);
    if (!value)
      return std::nullopt;
    elements.push_back(std::move(*value));
  }
  return recipeList(elements);
}

static std::string kindName(const toml::node &node) {
  if (node.is_table())
    return "a table with a date or a list of mixed types";
  if (node.is_array())
    return "a list of mixed types";
  return "a date or time";
}

/// Adds one key's value; `origin` is its file and line.
static Status addNode(Recipe &recipe, const std::string &name, const toml::node &node, const std::string &origin) {
  if (std::optional<RecipeValue> value = toValue(node))
    return recipe.add(name, std::move(*value), origin);
  const RecipeKey *key = findRecipeKey(name);
  if (!key)
    return recipe.add(name, {}, origin);
  return inputError(origin + ": value of '" + name + "', expected " + describeRecipeValues(*key) + " but got " +
                    kindName(node));
}

/// True if `name` is a table of the recipe: some key begins with it.
static bool isTableName(const std::string &name) {
  for (const RecipeKey &key : recipeKeys())
    if (key.name.starts_with(name + "."))
      return true;
  return false;
}

static Status addTable(Recipe &recipe, const toml::table &table, const std::string &prefix, const std::string &file) {
  for (auto &&[key, node] : table) {
    std::string name = prefix + std::string(key.str());
    // A node of JSON has no line.
    const auto line = node.source().begin.line;
    std::string origin = line == 0 ? file : file + ":" + std::to_string(line);
    if (const toml::table *inner = node.as_table(); inner && !findRecipeKey(name) && isTableName(name)) {
      SLUICE_RETURN_IF_ERROR(addTable(recipe, *inner, name + ".", file));
      continue;
    }
    SLUICE_RETURN_IF_ERROR(addNode(recipe, name, node, origin));
  }
  return Status::ok();
}

static Result<toml::table> tableOf(const Json &object, const std::string &path);
static Result<toml::array> arrayOf(const Json &list, const std::string &path);

/// Calls `add` with the value as TOML has it. `path` is for the error of a value that TOML does not have.
template <typename Add> static Status addJsonValue(const Json &value, const std::string &path, const Add &add) {
  if (value.is_object()) {
    SLUICE_ASSIGN_OR_RETURN(toml::table table, tableOf(value, path));
    add(std::move(table));
  } else if (value.is_array()) {
    SLUICE_ASSIGN_OR_RETURN(toml::array elements, arrayOf(value, path));
    add(std::move(elements));
  } else if (const auto *boolean = value.get_ptr<const Json::boolean_t *>()) {
    add(bool(*boolean));
  } else if (value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX)) {
    add(value.get<std::int64_t>());
  } else if (value.is_number()) {
    add(value.get<double>());
  } else if (const auto *text = value.get_ptr<const Json::string_t *>()) {
    add(std::string(*text));
  } else {
    return inputError("recipe: '" + path + "' is null").withNote("leave the key out for its default");
  }
  return Status::ok();
}

static Result<toml::array> arrayOf(const Json &list, const std::string &path) {
  toml::array array;
  for (const Json &element : list)
    SLUICE_RETURN_IF_ERROR(addJsonValue(
        element, path, [&](auto &&converted) { array.push_back(std::forward<decltype(converted)>(converted)); }));
  return array;
}

static Result<toml::table> tableOf(const Json &object, const std::string &path) {
  toml::table table;
  for (const auto &[key, value] : object.items())
    SLUICE_RETURN_IF_ERROR(
        addJsonValue(value, concat(path, path.empty() ? "" : ".", key), [&, &name = key](auto &&converted) {
          table.insert_or_assign(name, std::forward<decltype(converted)>(converted));
        }));
  return table;
}

static Status addJson(Recipe &recipe, std::string_view text, const std::string &name) {
  const Json json = parseJson<Json>(text);
  if (!json.is_object())
    return inputError(name + ": recipe that is not JSON: " + whyNotJson(text));
  SLUICE_ASSIGN_OR_RETURN(const toml::table table, tableOf(json, ""));
  return addTable(recipe, table, "", name);
}

Status Recipe::addText(std::string_view text, const std::string &name) {
  // TOML does not begin with a brace.
  if (const std::size_t first = text.find_first_not_of(" \t\r\n"); first != text.npos && text[first] == '{')
    return addJson(*this, text, name);
  toml::parse_result parsed = parseToml(text);
  if (!parsed) {
    const toml::source_region &where = parsed.error().source();
    return inputError(name + ":" + std::to_string(where.begin.line) +
                      ": recipe that is not TOML: " + std::string(parsed.error().description()));
  }
  return addTable(*this, parsed.table(), "", name);
}

Status Recipe::addFile(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, readFile(path, StatusCode::input, largestTextFile));
  return addText(text, path);
}

Status Recipe::addSetting(std::string_view setting, std::string_view means) {
  std::string origin = std::string(means) + " " + std::string(setting);
  std::size_t equals = setting.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return Status(StatusCode::usage, origin + ": setting, expected key=value but got '" + std::string(setting) + "'");
  std::string name(setting.substr(0, equals));
  std::string text(setting.substr(equals + 1));
  while (!name.empty() && name.back() == ' ')
    name.pop_back();
  if (text == "default")
    return unset(name, origin);
  toml::parse_result parsed = parseToml("value = " + text);
  if (parsed && parsed.table().size() == 1)
    return addNode(*this, name, *parsed.table().get("value"), origin);
  return add(name, RecipeValue(text), origin);
}
