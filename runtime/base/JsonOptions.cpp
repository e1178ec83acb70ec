//===- JsonOptions.cpp - options in a JSON object --------------------------------------===//
#include "runtime/base/JsonOptions.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace sluice {

/// Levenshtein's distance, row by row.
static std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t(0));
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j)
      diagonal = std::exchange(row[j + 1], std::min({row[j] + 1, row[j + 1] + 1, diagonal + (a[i] != b[j])}));
  }
  return row.back();
}

const std::string &nearestName(std::string_view name, const std::vector<std::string> &known) {
  return *std::ranges::min_element(known, {}, [&](const std::string &each) { return editDistance(name, each); });
}

JsonOptions::JsonOptions(std::string_view text, std::string what)
    : object(std::make_unique<Json>(text.empty() ? Json::object() : parseJson<Json>(text))), what(std::move(what)) {
  if (object->is_discarded())
    fail("they are not JSON: " + whyNotJson(text));
  else if (!object->is_object())
    fail("expected a JSON object");
}

JsonOptions::~JsonOptions() = default;

void JsonOptions::fail(std::string message) {
  if (failure.isOk())
    failure = {StatusCode::usage, what + ": " + message};
  object = std::make_unique<Json>(Json::object());
}

void JsonOptions::refuse(std::string_view name, std::string_view expected, const Json &got) {
  constexpr std::size_t most = 80;
  std::string text = dumpJson(got);
  if (text.size() > most)
    text = text.substr(0, findNotUtf8(std::string_view(text).substr(0, most))) + "...";
  fail(concat("'", name, "', expected ", expected, " but got ", text));
}

const Json *JsonOptions::find(std::string_view name) {
  known.emplace_back(name);
  const auto member = object->find(std::string(name));
  return member == object->end() ? nullptr : &*member;
}

void JsonOptions::read(std::string_view name, bool &value) {
  if (const Json *member = find(name)) {
    if (const auto *given = member->get_ptr<const Json::boolean_t *>())
      value = *given;
    else
      refuse(name, "true or false", *member);
  }
}

void JsonOptions::read(std::string_view name, std::string &value) {
  if (const Json *member = find(name)) {
    if (const auto *given = member->get_ptr<const Json::string_t *>())
      value = *given;
    else
      refuse(name, "a text", *member);
  }
}

void JsonOptions::read(std::string_view name, std::optional<double> &value) {
  if (const Json *member = find(name)) {
    if (member->is_number())
      value = member->get<double>();
    else
      refuse(name, "a number", *member);
  }
}

void JsonOptions::read(std::string_view name, double &value) {
  std::optional<double> given;
  read(name, given);
  value = given.value_or(value);
}

/// The integer, or nullopt for another value.
static std::optional<std::int64_t> boundedInteger(const Json &json, std::int64_t least, std::int64_t most) {
  if (!json.is_number_integer() || (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX))
    return std::nullopt;
  const auto value = json.get<std::int64_t>();
  return value >= least && value <= most ? std::optional(value) : std::nullopt;
}

static std::string integersFrom(std::int64_t least, std::int64_t most) {
  return most == INT64_MAX ? concat("an integer of at least ", least) : concat("an integer from ", least, " to ", most);
}

void JsonOptions::read(std::string_view name, std::optional<std::int64_t> &value, std::int64_t least) {
  if (const Json *member = find(name)) {
    if (const std::optional<std::int64_t> given = boundedInteger(*member, least, INT64_MAX))
      value = given;
    else
      refuse(name, integersFrom(least, INT64_MAX), *member);
  }
}

void JsonOptions::read(std::string_view name, std::int64_t &value, std::int64_t least) {
  std::optional<std::int64_t> given;
  read(name, given, least);
  value = given.value_or(value);
}

void JsonOptions::read(std::string_view name, std::uint64_t &value, std::uint64_t least, std::uint64_t most) {
  const auto low = static_cast<std::int64_t>(least), high = static_cast<std::int64_t>(most);
  if (const Json *member = find(name)) {
    if (const std::optional<std::int64_t> given = boundedInteger(*member, low, high))
      value = static_cast<std::uint64_t>(*given);
    else
      refuse(name, integersFrom(low, high), *member);
  }
}

void JsonOptions::read(std::string_view name, int &value) {
  std::uint64_t given = 0;
  const bool isGiven = object->contains(std::string(name));
  read(name, given, 0, INT32_MAX);
  if (isGiven)
    value = static_cast<int>(given);
}

void JsonOptions::read(std::string_view name, std::vector<std::string> &value) {
  const Json *member = find(name);
  if (!member)
    return;
  std::vector<std::string> list;
  bool isList = member->is_array();
  for (std::size_t i = 0; isList && i < member->size(); ++i) {
    const auto *text = (*member)[i].get_ptr<const Json::string_t *>();
    isList = text != nullptr;
    if (text)
      list.push_back(*text);
  }
  if (isList)
    value = std::move(list);
  else
    refuse(name, "a list of texts", *member);
}

void JsonOptions::read(std::string_view name, std::vector<std::int64_t> &value) {
  const Json *member = find(name);
  if (!member)
    return;
  std::vector<std::int64_t> list;
  bool isList = member->is_array();
  for (std::size_t i = 0; isList && i < member->size(); ++i) {
    const std::optional<std::int64_t> integer = boundedInteger((*member)[i], INT64_MIN, INT64_MAX);
    isList = integer.has_value();
    list.push_back(integer.value_or(0));
  }
  if (isList)
    value = std::move(list);
  else
    refuse(name, "a list of integers", *member);
}

void JsonOptions::read(std::string_view name, std::map<std::string, std::int64_t> &value, std::int64_t least) {
  const Json *member = find(name);
  if (!member)
    return;
  std::map<std::string, std::int64_t> given;
  bool isMap = member->is_object();
  for (auto each = member->begin(); isMap && each != member->end(); ++each) {
    const std::optional<std::int64_t> integer = boundedInteger(*each, least, INT64_MAX);
    isMap = integer.has_value();
    given[each.key()] = integer.value_or(0);
  }
  if (isMap)
    value = std::move(given);
  else
    refuse(name, concat("an object with integers of at least ", least), *member);
}

void JsonOptions::read(std::string_view name, std::map<std::string, std::string> &value) {
  const Json *member = find(name);
  if (!member)
    return;
  std::map<std::string, std::string> given;
  bool isMap = member->is_object();
  for (auto each = member->begin(); isMap && each != member->end(); ++each) {
    const auto *text = each->get_ptr<const Json::string_t *>();
    isMap = text != nullptr;
    if (text)
      given[each.key()] = *text;
  }
  if (isMap)
    value = std::move(given);
  else
    refuse(name, "an object with texts", *member);
}

void JsonOptions::readChoice(std::string_view name, std::string &value, const std::vector<std::string> &choices) {
  std::string given = value;
  read(name, given);
  if (std::ranges::count(choices, given) || given == value)
    value = given;
  else
    refuse(name, "one of " + join(choices, ", "), Json(given));
}

Json JsonOptions::take(std::string_view name) {
  const Json *member = find(name);
  return member ? *member : Json();
}

Status JsonOptions::finish() {
  for (auto member = object->begin(); failure.isOk() && member != object->end(); ++member)
    if (!std::ranges::count(known, member.key())) {
      const std::string &name = member.key();
      fail(concat("'", name, "' is unknown, expected '", nearestName(name, known), "' or another option"));
      break;
    }
  return failure;
}

} // namespace sluice
