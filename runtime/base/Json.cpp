//===- Json.cpp - JSON of nlohmann's library, without exceptions ------------------------===//
#include "runtime/base/Json.h"

#include "runtime/base/JsonDepth.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace sluice {
namespace {

/// Accepts JSON that does not nest too deep, and finds a key that an object has twice.
class Inspector final : public nlohmann::json_sax<nlohmann::json> {
public:
  std::string duplicate;
  bool isTooDeep = false;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool key(string_t &name) override {
    if (!keys.back().insert(name).second)
      duplicate = name;
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string &, const nlohmann::detail::exception &) override { return false; }

private:
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

template <typename J> std::string dumpJson(const J &json, int indent) {
  return json.dump(indent, ' ', false, J::error_handler_t::replace);
}

template nlohmann::json parseJson(std::string_view, std::string *);
template Json parseJson(std::string_view, std::string *);
template std::string dumpJson(const nlohmann::json &, int);
template std::string dumpJson(const Json &, int);

} // namespace sluice
