//===- JinjaFunctions.h - functions, filters, tests, methods and operators of Jinja -----------===//
//
// An undefined value is discarded JSON. Errors are without the position in the template.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TEXT_JINJAFUNCTIONS_H
#define SLUICE_RUNTIME_TEXT_JINJAFUNCTIONS_H

#include "runtime/base/Json.h"
#include "runtime/base/Status.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text {

/// Arguments by position, then those by name.
struct JinjaArguments {
  std::vector<Json> values;
  std::vector<std::pair<std::string, Json>> named;

  /// The argument at a position or with a name; undefined if it was not passed.
  Json get(std::size_t index, std::string_view name) const;
};

inline Json undefinedValue() { return Json(Json::value_t::discarded); }
bool isTrue(const Json &value);
/// The text of {{ value }}: of texts, numbers, True, False and None. Others are an error.
Result<std::string> textOf(const Json &value);

/// As strftime() of Python, in local time; `now` is in seconds since 1970.
Result<std::string> formatTime(const std::string &format, std::int64_t now);

/// raise_exception(), whose message is the error, namespace(), dict(), range() and strftime_now().
Result<Json> callFunction(const std::string &name, const JinjaArguments &arguments, std::int64_t now);
/// True for their names.
bool isFunction(std::string_view name);
Result<Json> applyFilter(const std::string &name, const Json &value, const JinjaArguments &arguments);
Result<bool> applyTest(const std::string &name, const Json &value, const JinjaArguments &arguments);
Result<Json> callMethod(const std::string &name, const Json &value, const JinjaArguments &arguments);
/// Comparisons, `in`, `~` and arithmetic.
Result<Json> applyOperator(const std::string &name, const Json &left, const Json &right);
/// value[first:last:step]; undefined or null bounds are left out.
Result<Json> sliceOf(const Json &value, const Json &first, const Json &last, const Json &step);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_JINJAFUNCTIONS_H
