//===- Json.cpp - JSON of nlohmann's library, without exceptions ------------------------===//
#include "runtime/base/Json.h"

#include "runtime/base/JsonDepth.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace sluice {
namespace {

/// Accepts JSON that does not nest too deep, and finds a key that an object has twice and the cause of an error.
class Inspector final : public nlohmann::json_sax<nlohmann::json> {
public:
  std::string duplicate;
  bool isTooDeep = false, isUtf8 = true;
  std::size_t errorAt = 0;
  /// Of the first object that is the value or in a list that is the value.
  std::vector<std::string> firstKeys;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(std::size_t) override {
    if (firstDepth == 0 && keys.size() < 2) {
      firstDepth = keys.size() + 1;
      isInFirst = true;
    }
    return open();
  }
  bool key(string_t &name) override {
    if (!keys.back().insert(name).second)
      duplicate = name;
    if (isInFirst && keys.size() == firstDepth)
      firstKeys.push_back(name);
    return true;
  }
  bool end_object() override {
    isInFirst = isInFirst && keys.size() != firstDepth;
    return close();
  }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string &, const nlohmann::detail::exception &error) override {
    errorAt = position - std::min<std::size_t>(position, 1);
    isUtf8 = std::string_view(error.what()).find("UTF-8") == std::string_view::npos;
    return false;
  }

private:
  std::size_t firstDepth = 0;
  bool isInFirst = false;
  /// First-element flags of the open objects and arrays.
  std::vector<std::set<std::string>> keys;

  bool open() {
    keys.emplace_back();
    isTooDeep = keys.size() > deepestJson;
    return !isTooDeep;
  }
  bool close() {
    keys.pop_back();
    return true;
  }
};

} // namespace

template <typename J> J parseJson(std::string_view text, std::string *duplicate) {
  Inspector inspector;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &inspector))
    return J::value_t::discarded;
  if (duplicate)
    *duplicate = inspector.duplicate;
  return J::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

bool nestsTooDeep(std::string_view text) {
  Inspector inspector;
  (void)nlohmann::json::sax_parse(text.begin(), text.end(), &inspector);
  return inspector.isTooDeep;
}

std::string whyNotJson(std::string_view text) {
  Inspector inspector;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return "it is empty";
  (void)nlohmann::json::sax_parse(text.begin(), text.end(), &inspector);
  if (inspector.isTooDeep)
    return "it nests deeper than " + std::to_string(deepestJson) + " levels";
  if (!inspector.isUtf8)
    return concat("byte ", std::min(findNotUtf8(text), inspector.errorAt), " is not UTF-8");
  if (inspector.errorAt >= text.size())
    return "it ends within a value";
  return concat("byte ", inspector.errorAt, " is not expected there");
}

std::vector<std::string> firstMembers(std::string_view text) {
  Inspector inspector;
  (void)nlohmann::json::sax_parse(text.begin(), text.end(), &inspector);
  return inspector.firstKeys;
}

template <typename J> std::string dumpJson(const J &json, int indent) {
  return json.dump(indent, ' ', false, J::error_handler_t::replace);
}

template nlohmann::json parseJson(std::string_view, std::string *);
template Json parseJson(std::string_view, std::string *);
template std::string dumpJson(const nlohmann::json &, int);
template std::string dumpJson(const Json &, int);

} // namespace sluice
