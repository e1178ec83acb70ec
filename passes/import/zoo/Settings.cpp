//===- Settings.cpp - the keys of a zoo model and their values ----------------------------===//

#include "passes/import/zoo/Settings.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::zoo;

std::string zoo::nearestOf(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known) {
  auto distance = [&](llvm::StringRef candidate) { return name.edit_distance(candidate); };
  return std::ranges::min_element(known, {}, distance)->str();
}

/// The expected values if the value is invalid, else empty.
static std::string expectation(const Key &key, llvm::StringRef value) {
  switch (key.kind) {
  case Kind::size: {
    std::int64_t number = 0;
    bool isSize = !value.getAsInteger(10, number) && number >= 1 && number <= key.limit;
    return isSize ? "" : "a whole number from 1 to " + std::to_string(key.limit);
  }
  case Kind::probability: {
    double number = 0;
    bool isProbability = !value.getAsDouble(number, /*AllowInexact=*/true) && number >= 0 && number < 1;
    return isProbability ? "" : "a number of at least 0 and below 1";
  }
  case Kind::flag:
    return value == "true" || value == "false" ? "" : "true or false";
  case Kind::choice: {
    if (llvm::is_contained(key.choices, value))
      return "";
    std::string text;
    for (llvm::StringRef choice : key.choices)
      text += (text.empty() ? "" : choice == llvm::StringRef(key.choices.back()) ? " or " : ", ") + choice.str();
    return text;
  }
  }
  return "";
}

Result<Settings> Settings::read(llvm::StringRef model, llvm::ArrayRef<Key> keys, llvm::ArrayRef<std::string> given) {
  Settings settings;
  llvm::SmallVector<llvm::StringRef> names;
  for (const Key &key : keys) {
    settings.values[key.name] = key.value.str();
    names.push_back(key.name);
  }
  llvm::StringMap<bool> seen;
  for (const std::string &text : given) {
    auto [name, value] = llvm::StringRef(text).split('=');
    if (!llvm::StringRef(text).contains('=') || name.empty())
      return Status(StatusCode::usage, "--set, expected key=value but got '" + text + "'");
    const Key *found = llvm::find_if(keys, [&](const Key &key) { return key.name == name; });
    if (found == keys.end())
      return Status(StatusCode::usage, "unknown key '" + name.str() + "' of zoo model '" + model.str() +
                                           "', expected a key such as '" + nearestOf(name, names) + "'")
          .withNote("sluice-import zoo --list prints every model's keys and defaults");
    if (!seen.insert({name, true}).second)
      return Status(StatusCode::usage, "key '" + name.str() + "' is given twice");
    std::string expected = expectation(*found, value);
    if (!expected.empty())
      return Status(StatusCode::usage, "key '" + name.str() + "' of zoo model '" + model.str() + "', expected " +
                                           expected + " but got '" + value.str() + "'");
    settings.values[name] = value.str();
  }
  return settings;
}

std::int64_t Settings::size(llvm::StringRef key) const {
  std::int64_t number = 0;
  llvm::StringRef(values.find(key)->second).getAsInteger(10, number);
  return number;
}

double Settings::probability(llvm::StringRef key) const {
  double number = 0;
  llvm::StringRef(values.find(key)->second).getAsDouble(number, /*AllowInexact=*/true);
  return number;
}
