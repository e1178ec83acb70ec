//===- Json.cpp - a value of JSON -----------------------------------------------------===//
#include "runtime/base/Json.h"

#include <algorithm>
#include <bit>

namespace sluice {

Json::Json() = default;
Json::Json(bool value) : is(Kind::boolean), bits(value) {}
Json::Json(int value) : Json(static_cast<long long>(value)) {}
Json::Json(unsigned value) : Json(static_cast<unsigned long long>(value)) {}
Json::Json(long value) : Json(static_cast<long long>(value)) {}
Json::Json(unsigned long value) : Json(static_cast<unsigned long long>(value)) {}
Json::Json(long long value) : is(value < 0 ? Kind::negative : Kind::whole), bits(static_cast<std::uint64_t>(value)) {}
Json::Json(unsigned long long value) : is(Kind::whole), bits(value) {}
Json::Json(double value) : is(Kind::real), bits(std::bit_cast<std::uint64_t>(value)) {}
Json::Json(const char *value) : is(Kind::string), text(value) {}
Json::Json(std::string_view value) : is(Kind::string), text(value) {}
Json::Json(std::string value) : is(Kind::string), text(std::move(value)) {}
Json::Json(std::initializer_list<JsonMember> members) : is(Kind::object) {
  names.reserve(members.size());
  elements.reserve(members.size());
  for (const JsonMember &member : members)
    add(std::string(member.key), std::move(member.value));
}
Json::Json(const Json &other) = default;
Json::Json(Json &&other) noexcept = default;
Json &Json::operator=(const Json &other) = default;
Json &Json::operator=(Json &&other) noexcept = default;
Json::~Json() = default;

Json Json::array() {
  Json json;
  json.is = Kind::array;
  return json;
}

Json Json::object() {
  Json json;
  json.is = Kind::object;
  return json;
}

std::string_view Json::typeName() const {
  switch (is) {
  case Kind::invalid:
    return "invalid";
  case Kind::null:
    return "null";
  case Kind::boolean:
    return "boolean";
  case Kind::negative:
  case Kind::whole:
  case Kind::real:
    return "number";
  case Kind::string:
    return "string";
  case Kind::array:
    return "array";
  case Kind::object:
    break;
  }
  return "object";
}

void Json::append(Json element) {
  if (is == Kind::null)
    is = Kind::array;
  elements.push_back(std::move(element));
}

void Json::add(std::string key, Json value) {
  if (is == Kind::null)
    is = Kind::object;
  names.push_back(std::move(key));
  elements.push_back(std::move(value));
}

bool Json::contains(std::string_view key) const { return std::find(names.begin(), names.end(), key) != names.end(); }

Json &Json::operator[](std::string_view key) {
  const std::size_t at = static_cast<std::size_t>(std::find(names.begin(), names.end(), key) - names.begin());
  if (at == names.size())
    add(std::string(key), Json());
  return elements[at];
}

const Json &Json::operator[](std::string_view key) const {
  static const Json null;
  const std::size_t at = static_cast<std::size_t>(std::find(names.begin(), names.end(), key) - names.begin());
  return at == names.size() ? null : elements[at];
}

void Json::sortKeys() {
  std::vector<std::uint32_t> order(names.size());
  for (std::uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) { return names[a] < names[b]; });
  Json sorted = object();
  sorted.names.reserve(order.size());
  sorted.elements.reserve(order.size());
  for (std::uint32_t at : order)
    sorted.add(std::move(names[at]), std::move(elements[at]));
  *this = std::move(sorted);
}

bool Json::operator==(const Json &other) const {
  return is == other.is && bits == other.bits && text == other.text && names == other.names && elements == other.elements;
}

} // namespace sluice
