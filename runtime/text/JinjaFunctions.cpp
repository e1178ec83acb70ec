//===- JinjaFunctions.cpp - functions, filters, tests and methods of Jinja ----------------------===//
#include "runtime/text/JinjaFunctions.h"
#include "runtime/text/Unicode.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <fmt/format.h>

namespace sluice::text {

/// As json.dumps of Python.
static void writeJson(std::string &out, const Json &value, std::int64_t indent, std::size_t depth) {
  const auto breakLine = [&](std::size_t level) {
    if (indent >= 0)
      out += "\n" + std::string(level * static_cast<std::size_t>(indent), ' ');
  };
  if (!value.is_structured() || value.empty()) {
    if (value.is_number_float())
      out += *textOf(value);
    else
      out += value.is_discarded() ? "null" : dumpJson(value);
    return;
  }
  out += value.is_array() ? "[" : "{";
  for (auto item = value.begin(); item != value.end(); ++item) {
    if (item != value.begin())
      out += indent >= 0 ? "," : ", ";
    breakLine(depth + 1);
    if (value.is_object())
      out += dumpJson(Json(item.key())) + ": ";
    writeJson(out, *item, indent, depth + 1);
  }
  breakLine(depth);
  out += value.is_array() ? "]" : "}";
}

/// Removes characters at the ends: white space, or those of `set`.
static std::string strip(const std::string &text, const Json &set, bool left, bool right) {
  const std::string members = set.is_string() ? set.get<std::string>() : "";
  std::size_t begin = text.size(), end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t first = at;
    const char32_t c = nextCodePoint(text, at);
    if (members.empty() ? isSpace(c) : members.find(utf8(c)) != std::string::npos)
      continue;
    begin = std::min(begin, first);
    end = at;
  }
  begin = left ? begin : 0;
  end = right ? end : text.size();
  return begin < end ? text.substr(begin, end - begin) : "";
}

/// Longer texts are errors: they grow with the product of two lengths.
static constexpr std::size_t longestText = std::size_t(1) << 26;

static Status textIsTooLong() { return inputError(fmt::format("a text has more than {} bytes", longestText)); }

static Result<Json> replaceAll(const std::string &text, const JinjaArguments &arguments) {
  const Json from = arguments.get(0, "old"), to = arguments.get(1, "new");
  if (!from.is_string() || !to.is_string() || from.get_ref<const std::string &>().empty())
    return Json(text);
  const std::string &old = from.get_ref<const std::string &>();
  std::string result;
  std::size_t end = 0;
  for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, end)) {
    result += text.substr(end, at - end) + to.get<std::string>();
    end = at + old.size();
    if (result.size() > longestText)
      return textIsTooLong();
  }
  return Json(result + text.substr(end));
}

static Json splitText(const std::string &text, const JinjaArguments &arguments) {
  const Json separator = arguments.get(0, "sep"), most = arguments.get(1, "maxsplit");
  const std::int64_t limit =
      most.is_number_integer() && most.get<std::int64_t>() >= 0 ? most.get<std::int64_t>() : INT64_MAX;
  Json parts = Json::array();
  if (separator.is_string() && !separator.get_ref<const std::string &>().empty()) {
    const std::string &by = separator.get_ref<const std::string &>();
    std::size_t begin = 0;
    for (std::size_t at = text.find(by); at != std::string::npos && static_cast<std::int64_t>(parts.size()) < limit;
         at = text.find(by, begin)) {
      parts.push_back(text.substr(begin, at - begin));
      begin = at + by.size();
    }
    parts.push_back(text.substr(begin));
    return parts;
  }
  std::string word;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    if (!isSpace(nextCodePoint(text, at)))
      word += text.substr(begin, at - begin);
    else if (!word.empty())
      parts.push_back(std::exchange(word, ""));
  }
  if (!word.empty())
    parts.push_back(word);
  return parts;
}

Result<std::string> formatTime(const std::string &format, std::int64_t now) {
  const std::time_t seconds = now;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  // A text that is not empty, because an empty one cannot be told from one that is too long.
  const std::string longer = format + " ";
  std::string text(std::size_t(1) << 16, '\0');
  const std::size_t length = std::strftime(text.data(), text.size(), longer.c_str(), &local);
  if (length == 0)
    return inputError("strftime_now(): the text is too long");
  text.resize(length - 1);
  return text;
}

/// Longer lists of range() are errors.
static constexpr std::uint64_t longestRange = 1 << 20;

static Result<Json> range(const JinjaArguments &arguments) {
  std::vector<std::int64_t> numbers;
  for (const Json &value : arguments.values)
    numbers.push_back(value.is_number_integer() ? value.get<std::int64_t>() : 0);
  const std::int64_t first = numbers.size() > 1 ? numbers[0] : 0,
                     last = numbers.empty() ? 0 : numbers[numbers.size() > 1];
  const std::int64_t step = numbers.size() > 2 ? numbers[2] : 1;
  // Unsigned, because the number after the last may not fit.
  const bool ascends = step > 0;
  const auto from = static_cast<std::uint64_t>(first), to = static_cast<std::uint64_t>(last),
             by = static_cast<std::uint64_t>(step);
  const std::uint64_t distance = ascends == (first < last) ? (ascends ? to - from : from - to) : 0;
  if (step == 0 || distance > longestRange)
    return inputError("range() has too many numbers");
  Json list = Json::array();
  for (std::uint64_t at = 0; at < distance; at += ascends ? by : 0 - by)
    list.push_back(static_cast<std::int64_t>(ascends ? from + at : from - at));
  return list;
}

static constexpr std::array<std::string_view, 5> functions = {"raise_exception", "namespace", "dict", "range",
                                                              "strftime_now"};

bool isFunction(std::string_view name) { return std::ranges::find(functions, name) != functions.end(); }

Result<Json> callFunction(const std::string &name, const JinjaArguments &arguments, std::int64_t now) {
  if (name == "raise_exception") {
    SLUICE_ASSIGN_OR_RETURN(std::string message, textOf(arguments.get(0, "message")));
    return inputError(std::move(message));
  }
  if (name == "namespace" || name == "dict") {
    Json object = arguments.values.empty() ? Json::object() : arguments.values[0];
    if (!object.is_object())
      return inputError(fmt::format("{}() of {} is not supported", name, object.type_name()));
    for (const auto &[member, value] : arguments.named)
      object[member] = value;
    return object;
  }
  if (name == "range")
    return range(arguments);
  if (name == "strftime_now") {
    const Json format = arguments.get(0, "format");
    if (!format.is_string())
      return inputError("strftime_now(), expected a text with the format");
    SLUICE_ASSIGN_OR_RETURN(std::string time, formatTime(format.get<std::string>(), now));
    return Json(std::move(time));
  }
  return inputError(fmt::format("function '{}' is not supported", name));
}

/// upper, lower, capitalize and title of ASCII text.
static Result<Json> changeCase(const std::string &name, std::string text) {
  bool isFirst = true;
  for (char &c : text) {
    if (c & 0x80)
      return inputError(fmt::format("'{}' of text that is not ASCII is not supported", name));
    const bool isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool isUpper = name == "upper" || (name != "lower" && isFirst);
    if (isLetter)
      c = static_cast<char>(isUpper ? c & ~0x20 : c | 0x20);
    isFirst = name == "title" && !isLetter;
  }
  return Json(std::move(text));
}

static Json itemsOf(const Json &object) {
  Json items = Json::array();
  for (auto item = object.begin(); item != object.end(); ++item) {
    Json pair = Json::array();
    pair.push_back(item.key());
    pair.push_back(*item);
    items.push_back(std::move(pair));
  }
  return items;
}

Result<Json> callMethod(const std::string &name, const Json &value, const JinjaArguments &arguments) {
  const Json first = arguments.get(0, "");
  if (value.is_object()) {
    if (name == "items")
      return itemsOf(value);
    if (name == "keys" || name == "values") {
      Json list = Json::array();
      for (auto item = value.begin(); item != value.end(); ++item)
        list.push_back(name == "keys" ? Json(item.key()) : *item);
      return list;
    }
    if (name == "get" && first.is_string()) {
      const auto found = value.find(first.get_ref<const std::string &>());
      const Json other = arguments.get(1, "default");
      return found != value.end() ? *found : other.is_discarded() ? Json() : other;
    }
  }
  if (value.is_string()) {
    const std::string &text = value.get_ref<const std::string &>();
    if (name == "strip" || name == "lstrip" || name == "rstrip")
      return Json(strip(text, first, name != "rstrip", name != "lstrip"));
    if (name == "startswith" && first.is_string())
      return Json(text.starts_with(first.get_ref<const std::string &>()));
    if (name == "endswith" && first.is_string())
      return Json(text.ends_with(first.get_ref<const std::string &>()));
    if (name == "split")
      return splitText(text, arguments);
    if (name == "replace")
      return replaceAll(text, arguments);
    if (name == "upper" || name == "lower" || name == "capitalize" || name == "title")
      return changeCase(name, text);
  }
  return inputError(fmt::format("method '{}' of {} is not supported", name, value.type_name()));
}

static Result<Json> joinTexts(const Json &list, const Json &separator) {
  const std::string between = separator.is_string() ? separator.get<std::string>() : "";
  std::string text;
  for (std::size_t i = 0; i < list.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(const std::string part, textOf(list[i]));
    text += i > 0 ? between : "";
    text += part;
    if (text.size() > longestText)
      return textIsTooLong();
  }
  return Json(text);
}

/// selectattr and rejectattr: the objects of a list whose member passes a test.
static Result<Json> selectBy(const Json &list, const JinjaArguments &arguments, bool selects) {
  const Json member = arguments.get(0, ""), test = arguments.get(1, "");
  Json selected = Json::array();
  JinjaArguments rest;
  if (arguments.values.size() > 2)
    rest.values.assign(arguments.values.begin() + 2, arguments.values.end());
  for (const Json &item : list) {
    const auto found =
        item.is_object() && member.is_string() ? item.find(member.get_ref<const std::string &>()) : item.end();
    const Json value = found == item.end() ? undefinedValue() : *found;
    bool passes = isTrue(value);
    if (test.is_string()) {
      SLUICE_ASSIGN_OR_RETURN(passes, applyTest(test.get<std::string>(), value, rest));
    }
    if (passes == selects)
      selected.push_back(item);
  }
  return selected;
}

Result<Json> applyFilter(const std::string &name, const Json &value, const JinjaArguments &arguments) {
  if (name == "tojson") {
    std::string text;
    const Json indent = arguments.get(1, "indent");
    writeJson(text, value,
              indent.is_number_integer() ? std::clamp<std::int64_t>(indent.get<std::int64_t>(), 0, 16) : -1, 0);
    return Json(text);
  }
  if (name == "default" || name == "d") {
    const bool isEmpty = value.is_discarded() || (isTrue(arguments.get(1, "boolean")) && !isTrue(value));
    const Json other = arguments.get(0, "default_value");
    return isEmpty ? (other.is_discarded() ? Json("") : other) : value;
  }
  if (name == "safe")
    return value;
  if (name == "string") {
    SLUICE_ASSIGN_OR_RETURN(std::string text, textOf(value));
    return Json(std::move(text));
  }
  if (value.is_string() && name == "trim")
    return Json(strip(value.get<std::string>(), arguments.get(0, "chars"), true, true));
  if (name == "length" || name == "count") {
    if (value.is_string())
      return Json(countCodePoints(value.get_ref<const std::string &>()));
    if (value.is_structured())
      return Json(value.size());
  }
  if (value.is_string() && name == "int") {
    const Json number = parseJson<Json>(value.get_ref<const std::string &>());
    return number.is_number_integer() ? number : Json(0);
  }
  if (value.is_object() && name == "items")
    return itemsOf(value);
  if (value.is_array()) {
    if (name == "list")
      return value;
    if (name == "first" || name == "last")
      return value.empty() ? undefinedValue() : name == "first" ? value.front() : value.back();
    if (name == "join")
      return joinTexts(value, arguments.get(0, "d"));
    if (name == "reverse")
      return sliceOf(value, Json(), Json(), Json(-1));
    if (name == "selectattr" || name == "rejectattr")
      return selectBy(value, arguments, name == "selectattr");
    if (const Json attribute = arguments.get(1, "attribute"); name == "map" && attribute.is_string()) {
      Json list = Json::array();
      for (const Json &item : value)
        list.push_back(item.is_object() ? item.value(attribute.get<std::string>(), undefinedValue())
                                        : undefinedValue());
      return list;
    }
  }
  if (value.is_string() && name != "strip" && name != "split")
    if (Result<Json> result = callMethod(name, value, arguments);
        result.isOk() || name == "upper" || name == "lower" || name == "title" || name == "capitalize")
      return result;
  return inputError(fmt::format("filter '{}' of {} is not supported", name,
                                value.is_discarded() ? "an undefined value" : value.type_name()));
}

Result<bool> applyTest(const std::string &name, const Json &value, const JinjaArguments &arguments) {
  if (name == "defined" || name == "undefined")
    return value.is_discarded() == (name == "undefined");
  if (name == "none")
    return value.is_null();
  if (name == "string")
    return value.is_string();
  if (name == "mapping")
    return value.is_object();
  if (name == "iterable" || name == "sequence")
    return value.is_string() || value.is_structured();
  if (name == "number")
    return value.is_number();
  if (name == "integer")
    return value.is_number_integer();
  if (name == "float")
    return value.is_number_float();
  if (name == "boolean")
    return value.is_boolean();
  if (name == "true" || name == "false")
    return value.is_boolean() && value.get<bool>() == (name == "true");
  if (name == "odd" || name == "even")
    return value.is_number_integer() && (value.get<std::int64_t>() % 2 != 0) == (name == "odd");
  const bool isEqualTo = name == "equalto" || name == "eq" || name == "sameas";
  if (isEqualTo || name == "ne" || name == "in") {
    SLUICE_ASSIGN_OR_RETURN(const Json result, applyOperator(isEqualTo      ? "=="
                                                             : name == "ne" ? "!="
                                                                            : "in",
                                                             value, arguments.get(0, "")));
    return isTrue(result);
  }
  return inputError(fmt::format("test '{}' is not supported", name));
}

} // namespace sluice::text
