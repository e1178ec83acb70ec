//===- Fields.cpp - members of a JSON object of a tokenizer's files -----------------------===//
#include "runtime/text/Fields.h"

#include <fmt/format.h>

namespace sluice::text {

using nlohmann::json;

Fields::Fields(const nlohmann::json &object, std::string where) : json(object), place(std::move(where)) {
  if (!json.is_object())
    refuse(fmt::format("expected an object but got {}", json.type_name()));
}

const json *Fields::find(std::string_view name) const {
  if (!json.is_object())
    return nullptr;
  const auto found = json.find(name);
  return found == json.end() || found->is_null() ? nullptr : &*found;
}

std::string Fields::placeOf(std::string_view name) const { return fmt::format("{}.{}", place, name); }

void Fields::refuse(const std::string &problem) {
  if (first.isOk())
    first = inputError(fmt::format("{}: {}", place, problem));
}

static const char *typeName(json::value_t type) {
  const bool isInteger = type == json::value_t::number_integer || type == json::value_t::number_unsigned;
  return isInteger ? "integer" : json(type).type_name();
}

const json &Fields::required(std::string_view name, json::value_t type, std::string_view expected) {
  const nlohmann::json *member = find(name);
  static const nlohmann::json emptyText = "", emptyObject = json::object(), emptyArray = json::array();
  if (member && member->type() == type)
    return *member;
  refuse(member ? fmt::format("'{}', expected {} but got {}", name, expected, typeName(member->type()))
                : fmt::format("'{}' is missing, expected {}", name, expected));
  return type == json::value_t::string ? emptyText : type == json::value_t::object ? emptyObject : emptyArray;
}

std::string Fields::text(std::string_view name) {
  return *required(name, json::value_t::string, "a string").get_ptr<const std::string *>();
}

std::string Fields::text(std::string_view name, std::string_view byDefault) {
  return find(name) ? text(name) : std::string(byDefault);
}

bool Fields::flag(std::string_view name, bool byDefault) {
  const nlohmann::json *member = find(name);
  if (!member)
    return byDefault;
  if (const bool *value = member->get_ptr<const bool *>())
    return *value;
  refuse(fmt::format("'{}', expected true or false but got {}", name, typeName(member->type())));
  return byDefault;
}

std::int64_t Fields::integer(std::string_view name, std::int64_t byDefault) {
  const nlohmann::json *member = find(name);
  if (!member)
    return byDefault;
  if (member->is_number_integer())
    return *member->get_ptr<const std::int64_t *>();
  refuse(fmt::format("'{}', expected an integer but got {}", name, typeName(member->type())));
  return byDefault;
}

const json &Fields::object(std::string_view name) { return required(name, json::value_t::object, "an object"); }
const json &Fields::array(std::string_view name) { return required(name, json::value_t::array, "an array"); }

Fields Fields::child(std::string_view name) { return Fields(object(name), placeOf(name)); }

Status unsupportedType(const std::string &where, std::string_view kind, const std::string &type,
                       std::string_view supported) {
  return inputError(fmt::format("{}: {} '{}' is not supported", where, kind, type))
      .withNote(fmt::format("supported: {}", supported));
}

} // namespace sluice::text
