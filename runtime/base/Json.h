//===- Json.h - a value of JSON -------------------------------------------------------===//
//
// What the runtime reads and writes of JSON: headers of weights, descriptions of hardware, what sluice-plan prints.
// Members keep their order. nlohmann's library reads and writes the text (JsonText.cpp); nothing here throws.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_JSON_H
#define SLUICE_RUNTIME_BASE_JSON_H

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct JsonMember;

// A face of the library without its templates: what includes this compiles in little time.
class Json {
public:
  /// `invalid` is what a text that is no JSON reads as.
  enum class Kind : std::uint8_t { invalid, null, boolean, negative, whole, real, string, array, object };

  Json();
  Json(bool value);
  Json(int value);
  Json(unsigned value);
  Json(long value);
  Json(unsigned long value);
  Json(long long value);
  Json(unsigned long long value);
  Json(double value);
  Json(const char *value);
  Json(std::string_view value);
  Json(std::string value);
  /// An object: `{{"name", name}, {"bytes", 8}}`.
  Json(std::initializer_list<JsonMember> members);
  /// An array.
  template <typename T> Json(const std::vector<T> &elements) : Json(array()) {
    for (const T &element : elements)
      append(element);
  }
  Json(const Json &other);
  Json(Json &&other) noexcept;
  Json &operator=(const Json &other);
  Json &operator=(Json &&other) noexcept;
  ~Json();

  static Json array();
  static Json object();

  /// Invalid where the text is no JSON, or nests deeper than any that Sluice reads. Of a key that an object has twice the
  /// last value stays, and `duplicate`, if given, is set to it.
  static Json parse(std::string_view text, std::string *duplicate = nullptr);

  /// One line, or lines indented by `indent` blanks a level. What is not UTF-8 is replaced; what is no number is null.
  std::string dump(int indent = -1) const;

  Kind kind() const { return is; }
  bool isNull() const { return is == Kind::null; }
  bool isString() const { return is == Kind::string; }
  bool isArray() const { return is == Kind::array; }
  bool isObject() const { return is == Kind::object; }
  /// A number without fraction or exponent that is not below 0.
  bool isWhole() const { return is == Kind::whole; }
  /// "null", "boolean", "number", "string", "array" or "object".
  std::string_view typeName() const;

  /// Of another kind: false, 0 and "".
  bool asBool() const { return is == Kind::boolean && bits; }
  std::uint64_t asWhole() const { return is == Kind::whole ? bits : 0; }
  const std::string &asString() const { return text; }

  /// Elements, or members; 0 of what is neither.
  std::size_t size() const { return elements.size(); }
  bool empty() const { return elements.empty(); }

  void append(Json element);
  Json &back() { return elements.back(); }
  Json &operator[](std::size_t index) { return elements[index]; }
  const Json &operator[](std::size_t index) const { return elements[index]; }
  // A literal 0 could be a key, else.
  const Json &operator[](int index) const { return elements[static_cast<std::size_t>(index)]; }
  Json &operator[](int index) { return elements[static_cast<std::size_t>(index)]; }

  /// The members' names, in order; their values are at the same indices.
  const std::vector<std::string> &keys() const { return names; }
  bool contains(std::string_view key) const;
  /// The member, added as null where there is none.
  Json &operator[](std::string_view key);
  Json &operator[](const char *key) { return (*this)[std::string_view(key)]; }
  /// The member, or a null where there is none.
  const Json &operator[](std::string_view key) const;
  const Json &operator[](const char *key) const { return (*this)[std::string_view(key)]; }
  /// Adds a member that the object does not have yet, without a look at those that it has.
  void add(std::string key, Json value);
  /// Orders an object's members by name.
  void sortKeys();

  bool operator==(const Json &other) const;

private:
  friend class JsonReader;
  friend class JsonWriter;

  Kind is = Kind::null;
  /// Of a boolean and of numbers; a negative one as two's complement, a real one as its bits.
  std::uint64_t bits = 0;
  std::string text;
  std::vector<Json> elements;
  std::vector<std::string> names;
};

struct JsonMember {
  std::string_view key;
  /// Taken out of the list that it is written in.
  mutable Json value;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_JSON_H
