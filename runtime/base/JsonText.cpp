//===- JsonText.cpp - JSON out of a text, and a text out of JSON ---------------------===//
//
// The one file that includes the library, whose templates take long to compile.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Json.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

namespace sluice {

using Library = nlohmann::ordered_json;

/// Takes the library's events.
class JsonReader {
public:
  explicit JsonReader(std::string *duplicate) : duplicate(duplicate) {}

  bool null() { return put(Json()); }
  bool boolean(bool value) { return put(Json(value)); }
  bool number_integer(std::int64_t value) { return put(Json(value)); }
  bool number_unsigned(std::uint64_t value) { return put(Json(value)); }
  bool number_float(double value, const std::string &) { return put(Json(value)); }
  bool string(std::string &value) { return put(Json(std::move(value))); }
  bool binary(Library::binary_t &) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool key(std::string &name) {
    levels.back().names.push_back(std::move(name));
    return true;
  }
  bool end_object() {
    dropDuplicates(levels.back());
    return end_array();
  }
  bool end_array() {
    Json done = std::move(levels.back());
    levels.pop_back();
    return put(std::move(done));
  }
  bool parse_error(std::size_t, const std::string &, const Library::exception &) { return false; }

  Json result;

private:
  /// Files from anywhere must not use up the stack; those that are meant nest four deep.
  static constexpr std::size_t deepest = 200;

  bool open(Json begun) {
    levels.push_back(std::move(begun));
    return levels.size() <= deepest;
  }

  bool put(Json value) {
    if (levels.empty())
      result = std::move(value);
    else
      levels.back().elements.push_back(std::move(value));
    return true;
  }

  void dropDuplicates(Json &object) {
    std::vector<std::string_view> sorted(object.names.begin(), object.names.end());
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice == sorted.end())
      return;
    if (duplicate)
      *duplicate = *twice;
    Json once = Json::object();
    for (std::size_t i = 0; i < object.names.size(); ++i)
      once[object.names[i]] = std::move(object.elements[i]);
    object = std::move(once);
  }

  std::string *const duplicate;
  std::vector<Json> levels;
};

Json Json::parse(std::string_view text, std::string *duplicate) {
  JsonReader reader(duplicate);
  if (!Library::sax_parse(text.begin(), text.end(), &reader)) {
    reader.result = Json();
    reader.result.is = Kind::invalid;
  }
  return std::move(reader.result);
}

class JsonWriter {
public:
  static Library written(const Json &json) {
    switch (json.is) {
    case Json::Kind::invalid:
    case Json::Kind::null:
      break;
    case Json::Kind::boolean:
      return json.bits != 0;
    case Json::Kind::negative:
      return static_cast<std::int64_t>(json.bits);
    case Json::Kind::whole:
      return json.bits;
    case Json::Kind::real:
      return std::bit_cast<double>(json.bits);
    case Json::Kind::string:
      return json.text;
    case Json::Kind::array: {
      Library::array_t elements;
      for (const Json &element : json.elements)
        elements.push_back(written(element));
      return elements;
    }
    case Json::Kind::object: {
      // Its keys are known to differ; the library would look through all of them for each.
      Library::object_t members;
      for (std::size_t i = 0; i < json.elements.size(); ++i)
        members.push_back({json.names[i], written(json.elements[i])});
      return members;
    }
    }
    return nullptr;
  }
};

std::string Json::dump(int indent) const {
  return JsonWriter::written(*this).dump(indent, ' ', false, Library::error_handler_t::replace);
}

} // namespace sluice
