//===- RecipeText.cpp - keys and values of the recipe as text ---------------------===//

#include "passes/recipe/RecipeKeys.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "llvm/ADT/StringExtras.h"

using namespace sluice;

const RecipeKey *sluice::findRecipeKey(std::string_view name) {
  for (const RecipeKey &key : recipeKeys())
    if (key.name == name)
      return &key;
  return nullptr;
}

const RecipeKey &sluice::nearestRecipeKey(std::string_view name) {
  // A key without its table, such as `strategy`, is nearest to the key with that ending.
  std::string ending(".");
  ending += name.substr(name.rfind('.') + 1);
  for (const RecipeKey &key : recipeKeys())
    if (std::string_view(key.name).ends_with(ending))
      return key;
  const RecipeKey *nearest = nullptr;
  unsigned least = 0;
  for (const RecipeKey &key : recipeKeys()) {
    // A bound of zero: the distance has no bound.
    const unsigned distance = llvm::StringRef(name).edit_distance(key.name, true, least);
    if (!nearest || distance < least) {
      nearest = &key;
      least = distance;
    }
  }
  return *nearest;
}

static std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    // TOML refuses control characters, DEL among them.
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", c);
      out += escape;
      continue;
    }
    out += c;
  }
  return out + "\"";
}

static std::string printNumber(double value) {
  if (std::isinf(value))
    return value > 0 ? "inf" : "-inf";
  if (std::isnan(value))
    return "nan";
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, end);
  // In TOML a float has a point or an exponent.
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text;
}

namespace {
struct Printer {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(std::int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return printNumber(v); }
  std::string operator()(const std::string &v) const { return quote(v); }
  template <typename T> std::string operator()(const std::vector<T> &v) const {
    std::vector<std::string> elements;
    for (T element : v)
      elements.push_back(printRecipeValue(element));
    return "[" + llvm::join(elements, ", ") + "]";
  }
  std::string operator()(const RecipeTable &v) const {
    std::string out = "{";
    for (std::size_t i = 0; i < v.entries.size(); ++i)
      out += (i ? ", " : " ") + quote(v.entries[i].name) + " = " + printRecipeValue(v.entries[i].value);
    return out + " }";
  }
};
} // namespace

std::string sluice::printRecipeValue(const RecipeValue &value) { return std::visit(Printer{}, value); }

std::string sluice::joinWords(llvm::ArrayRef<std::string> words, llvm::StringRef last) {
  if (words.size() < 2)
    return llvm::join(words, "");
  return llvm::join(words.drop_back(), ", ") + last.str() + words.back();
}

std::optional<RecipeValue> sluice::recipeList(llvm::ArrayRef<RecipeValue> elements) {
  std::vector<std::string> texts;
  std::vector<double> numbers;
  std::vector<bool> flags;
  for (const RecipeValue &element : elements)
    if (auto *text = std::get_if<std::string>(&element))
      texts.push_back(*text);
    else if (auto *flag = std::get_if<bool>(&element))
      flags.push_back(*flag);
    else if (auto *number = std::get_if<double>(&element))
      numbers.push_back(*number);
    else if (auto *integer = std::get_if<std::int64_t>(&element))
      numbers.push_back(static_cast<double>(*integer));
  if (!flags.empty() && flags.size() == elements.size())
    return flags;
  if (!numbers.empty() && numbers.size() == elements.size())
    return numbers;
  return texts.size() == elements.size() ? std::optional<RecipeValue>(texts) : std::nullopt;
}

static std::string bounds(const RecipeKey &key) {
  auto text = [](double bound) {
    return bound == std::floor(bound) && std::abs(bound) < 1e15 ? std::to_string(static_cast<long long>(bound))
                                                                : printNumber(bound);
  };
  std::string out = key.openBelow ? " above " + text(key.least) : " of at least " + text(key.least);
  if (key.most < 1e15)
    out += " and at most " + text(key.most);
  return out;
}

std::string sluice::describeRecipeValues(const RecipeKey &key) {
  if (key.onlyDefault)
    return printRecipeValue(key.defaultValue);
  std::vector<std::string> parts;
  if (key.kinds & recipeChoice)
    for (const std::string &choice : key.choices)
      parts.push_back(quote(choice.ends_with(':') ? choice + "N" : choice));
  if (key.kinds & recipeBoolean)
    parts.insert(parts.end(), {"true", "false"});
  if (key.kinds & recipeInteger)
    parts.push_back("an integer" + bounds(key));
  if (key.kinds & recipeNumber)
    parts.push_back("a number" + bounds(key));
  if (key.kinds & recipeBytes)
    parts.push_back("a number of bytes (as 1048576 or \"24MiB\")");
  if (key.kinds & recipeStrings) {
    std::vector<std::string> elements(key.elements.size());
    llvm::transform(key.elements, elements.begin(), quote);
    parts.push_back("a list of " + (elements.empty() ? "strings" : joinWords(elements, " and ")));
  }
  if (key.kinds & recipeText)
    parts.push_back("a string");
  if (key.kinds & recipeBooleans)
    parts.push_back("a list of true and false");
  if (key.kinds & recipeNumbers)
    parts.push_back(
        std::string("a list of ").append(std::to_string(key.length)).append(" numbers from 0 to 1 (below 1)"));
  if (key.kinds & recipeTable) {
    RecipeKey element = key;
    element.kinds = key.tableKinds;
    bool hasSameKinds = (key.kinds & ~unsigned(recipeTable)) == key.tableKinds;
    parts.push_back("a table from " + key.tableOf + " to ");
    parts.back() += hasSameKinds ? "these" : describeRecipeValues(element);
  }
  return joinWords(parts, " or ");
}

std::string sluice::documentRecipeKeys() {
  auto code = [](std::string text) {
    // A bar would end the cell.
    std::size_t at = 0;
    while ((at = text.find('|', at)) != std::string::npos)
      text.replace(at, 1, "\\|"), at += 2;
    return text;
  };
  std::string out = "| key | default | takes | meaning |\n|---|---|---|---|\n";
  for (const RecipeKey &key : recipeKeys()) {
    bool isOff = std::holds_alternative<std::monostate>(key.defaultValue);
    out += "| `" + key.name + "` | ";
    if (isOff)
      out += "off";
    else
      out.append("`").append(printRecipeValue(key.defaultValue)).append("`");
    out.append(" | ").append(code(key.onlyDefault ? "only the default" : describeRecipeValues(key)));
    out.append(" | ").append(code(key.doc)).append(" |\n");
  }
  return out;
}
