//===- RecipeField.h - conversion of typed fields and values --------------------------------===//
//
// Conversions between the typed fields of Recipe and RecipeValue: readField sets a field from a value, writeField
// returns the value of a field. The table of keys uses them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_RECIPE_RECIPEFIELD_H
#define SLUICE_PASSES_RECIPE_RECIPEFIELD_H

#include "passes/recipe/RecipeTypes.h"

namespace sluice {

/// All cases of an enum, in order.
template <typename E> std::vector<std::string> enumCases() {
  std::vector<std::string> cases;
  for (std::uint32_t i = 0; !stringifyEnum(static_cast<E>(i)).empty(); ++i)
    cases.push_back(stringifyEnum(static_cast<E>(i)).str());
  return cases;
}

template <typename T> struct RecipeField;

template <typename T> bool readField(const RecipeValue &value, T &field) { return RecipeField<T>::read(value, field); }
template <typename T> RecipeValue writeField(const T &field) { return RecipeField<T>::write(field); }

/// Values of the same type: booleans, integers, numbers, strings, lists of them, and none; and cases of an enum.
template <typename T> struct RecipeField {
  static bool read(const RecipeValue &value, T &field) {
    if constexpr (std::is_enum_v<T>) {
      auto *text = std::get_if<std::string>(&value);
      std::optional<T> found = text ? symbolizeEnum<T>(*text) : std::nullopt;
      if (found)
        field = *found;
      return found.has_value();
    } else {
      auto *same = std::get_if<T>(&value);
      if (same)
        field = *same;
      return same != nullptr;
    }
  }
  static RecipeValue write(const T &field) {
    if constexpr (std::is_enum_v<T>)
      return stringifyEnum(field).str();
    else
      return field;
  }
};

template <typename T> struct RecipeField<std::optional<T>> {
  static bool read(const RecipeValue &value, std::optional<T> &field) {
    field.reset();
    return std::holds_alternative<std::monostate>(value) || readField(value, field.emplace());
  }
  static RecipeValue write(const std::optional<T> &field) { return field ? writeField(*field) : RecipeValue(); }
};

/// A list of strings as a list of the cases of an enum.
template <typename T>
  requires std::is_enum_v<T>
struct RecipeField<std::vector<T>> {
  static bool read(const RecipeValue &value, std::vector<T> &field) {
    auto *texts = std::get_if<std::vector<std::string>>(&value);
    field.clear();
    return texts &&
           llvm::all_of(*texts, [&](const std::string &text) { return readField<T>(text, field.emplace_back()); });
  }
  static RecipeValue write(const std::vector<T> &field) {
    std::vector<std::string> texts;
    for (T element : field)
      texts.push_back(stringifyEnum(element).str());
    return texts;
  }
};

/// The first alternative that accepts the value.
template <typename... Ts> struct RecipeField<std::variant<Ts...>> {
  static bool read(const RecipeValue &value, std::variant<Ts...> &field) { return (readAs<Ts>(value, field) || ...); }
  static RecipeValue write(const std::variant<Ts...> &field) {
    return std::visit([](const auto &alternative) { return writeField(alternative); }, field);
  }

private:
  template <typename T> static bool readAs(const RecipeValue &value, std::variant<Ts...> &field) {
    T alternative{};
    if (!readField(value, alternative))
      return false;
    field = std::move(alternative);
    return true;
  }
};

template <typename T> struct RecipeField<NamedValues<T>> {
  static bool read(const RecipeValue &value, NamedValues<T> &field) {
    auto *table = std::get_if<RecipeTable>(&value);
    field.clear();
    return table && llvm::all_of(table->entries, [&](const RecipeTableEntry &entry) {
             return readField(entry.value, field.emplace_back(entry.name, T()).second);
           });
  }
  static RecipeValue write(const NamedValues<T> &field) {
    RecipeTable table;
    for (const auto &[name, value] : field)
      table.entries.push_back({name, writeField(value)});
    return table;
  }
};

template <typename T> struct RecipeField<ByName<T>> {
  static bool read(const RecipeValue &value, ByName<T> &field) {
    field.table.reset();
    if (std::holds_alternative<RecipeTable>(value))
      return readField(value, field.table.emplace());
    return readField(value, field.value);
  }
  static RecipeValue write(const ByName<T> &field) {
    return field.table ? writeField(*field.table) : writeField(field.value);
  }
};

} // namespace sluice

#endif // SLUICE_PASSES_RECIPE_RECIPEFIELD_H
