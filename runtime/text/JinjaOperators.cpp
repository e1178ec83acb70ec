//===- JinjaOperators.cpp - operators and slices of Jinja ---------------------------------------===//
#include "runtime/base/Text.h"
#include "runtime/text/JinjaFunctions.h"
#include "runtime/text/Unicode.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace sluice::text {

Json JinjaArguments::get(std::size_t index, std::string_view name) const {
  if (index < values.size())
    return values[index];
  for (const auto &[known, value] : named)
    if (known == name)
      return value;
  return undefinedValue();
}

bool isTrue(const Json &value) {
  if (value.is_discarded() || value.is_null())
    return false;
  if (value.is_boolean())
    return value.get<bool>();
  if (value.is_number())
    return value.get<double>() != 0;
  return value.is_string() ? !value.get_ref<const std::string &>().empty() : !value.empty();
}

Result<std::string> textOf(const Json &value) {
  if (value.is_string())
    return value.get<std::string>();
  if (value.is_discarded())
    return std::string();
  if (value.is_null())
    return std::string("None");
  if (value.is_boolean())
    return std::string(value.get<bool>() ? "True" : "False");
  if (value.is_number_float()) {
    // As Python: a number without fraction has one digit after the point.
    const std::string text = formatNumber(value.get<double>());
    return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
  }
  if (value.is_number())
    return value.dump();
  return inputError(fmt::format("a value of type {} cannot be printed", value.type_name()))
      .withNote("the filter tojson prints it");
}

static Status mismatch(const std::string &name, const Json &left, const Json &right) {
  return inputError(
      fmt::format("operator '{}' is not supported for {} and {}", name, left.type_name(), right.type_name()));
}

static Result<Json> isIn(const Json &left, const Json &right) {
  if (right.is_string() && left.is_string())
    return Json(right.get_ref<const std::string &>().find(left.get_ref<const std::string &>()) != std::string::npos);
  if (right.is_object())
    return Json(left.is_string() && right.contains(left.get_ref<const std::string &>()));
  if (right.is_array())
    return Json(std::ranges::find(right, left) != right.end());
  return right.is_discarded() ? Result<Json>(Json(false)) : Result<Json>(mismatch("in", left, right));
}

static Result<Json> arithmetic(const std::string &name, const Json &left, const Json &right) {
  const char op = name[0];
  const bool isFloor = name == "//";
  if (left.is_number_integer() && right.is_number_integer() && name != "/") {
    const auto a = left.get<std::int64_t>(), b = right.get<std::int64_t>();
    // Wraps around, without undefined behavior.
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    if (op == '+' || op == '-' || op == '*')
      return Json(static_cast<std::int64_t>(op == '+' ? x + y : op == '-' ? x - y : x * y));
    if (b == 0)
      return inputError("division by zero");
    if (b == -1)
      return Json(isFloor ? static_cast<std::int64_t>(0 - x) : std::int64_t(0));
    const std::int64_t remainder = ((a % b) + b) % b;
    return Json(isFloor ? (a - remainder) / b : remainder);
  }
  if (!left.is_number() || !right.is_number())
    return mismatch(name, left, right);
  const double a = left.get<double>(), b = right.get<double>();
  if (op == '+' || op == '-' || op == '*')
    return Json(op == '+' ? a + b : op == '-' ? a - b : a * b);
  if (b == 0)
    return inputError("division by zero");
  if (op == '%')
    return Json(a - b * std::floor(a / b));
  return Json(isFloor ? std::floor(a / b) : a / b);
}

Result<Json> applyOperator(const std::string &name, const Json &left, const Json &right) {
  if (name == "==" || name == "!=")
    return Json((left == right || (left.is_discarded() && right.is_discarded())) == (name == "=="));
  if (name == "in")
    return isIn(left, right);
  if (name == "~") {
    SLUICE_ASSIGN_OR_RETURN(const std::string first, textOf(left));
    SLUICE_ASSIGN_OR_RETURN(const std::string second, textOf(right));
    return Json(first + second);
  }
  if (name[0] == '<' || name[0] == '>') {
    if (!(left.is_number() && right.is_number()) && !(left.is_string() && right.is_string()))
      return mismatch(name, left, right);
    const bool isLess = name[0] == '<' ? left < right : right < left;
    return Json(isLess || (name.size() == 2 && left == right));
  }
  if (name == "+" && left.is_string() && right.is_string())
    return Json(left.get<std::string>() + right.get<std::string>());
  if (name == "+" && left.is_array() && right.is_array()) {
    Json all = left;
    all.insert(all.end(), right.begin(), right.end());
    return all;
  }
  return arithmetic(name, left, right);
}

/// The characters of a text, as texts.
static std::vector<std::string> charactersOf(const std::string &text) {
  std::vector<std::string> characters;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    at += std::min(sequenceBytes(text[at]), text.size() - at);
    characters.push_back(text.substr(begin, at - begin));
  }
  return characters;
}

Result<Json> sliceOf(const Json &value, const Json &first, const Json &last, const Json &step) {
  if (!value.is_array() && !value.is_string())
    return inputError(fmt::format("a value of type {} has no slices", value.type_name()));
  const std::vector<std::string> characters =
      value.is_string() ? charactersOf(value.get<std::string>()) : std::vector<std::string>();
  const auto size = static_cast<std::int64_t>(value.is_string() ? characters.size() : value.size());
  const auto numberOr = [](const Json &bound, std::int64_t other) {
    return bound.is_number_integer() ? std::clamp<std::int64_t>(bound.get<std::int64_t>(), -(1 << 30), 1 << 30) : other;
  };
  const std::int64_t by = numberOr(step, 1);
  if (by == 0)
    return inputError("the step of a slice is 0");
  const std::int64_t lowest = by > 0 ? 0 : -1, highest = by > 0 ? size : size - 1;
  const auto place = [&](const Json &bound, std::int64_t other) {
    const std::int64_t at = numberOr(bound, other);
    return bound.is_number_integer() ? std::clamp(at < 0 ? at + size : at, lowest, highest) : other;
  };
  const std::int64_t begin = place(first, by > 0 ? 0 : size - 1), end = place(last, by > 0 ? size : -1);
  Json list = Json::array();
  std::string text;
  for (std::int64_t i = begin; by > 0 ? i < end : i > end; i += by)
    if (value.is_string())
      text += characters[static_cast<std::size_t>(i)];
    else
      list.push_back(value[static_cast<std::size_t>(i)]);
  return value.is_string() ? Json(text) : list;
}

} // namespace sluice::text
