//===- Fields.h - members of a JSON object of a tokenizer's files -------------------------===//
//
// The first missing or mistyped member is the error, which names file, object and member. After an error every member
// has its default value, so a caller reads all of them and then checks status() once.
//
//===---------------------------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TEXT_FIELDS_H
#define SLUICE_RUNTIME_TEXT_FIELDS_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace sluice::text {

class Fields {
public:
  /// `where`: "'FILE': PATH OF THE OBJECT". The JSON must outlive the reader.
  Fields(const nlohmann::json &json, std::string where);

  /// nullptr for a missing member, and for null.
  const nlohmann::json *find(std::string_view name) const;
  /// A required member.
  std::string text(std::string_view name);
  /// Optional members.
  std::string text(std::string_view name, std::string_view byDefault);
  bool flag(std::string_view name, bool byDefault);
  std::int64_t integer(std::string_view name, std::int64_t byDefault);
  /// A required member of type object or array; an empty one after an error.
  const nlohmann::json &object(std::string_view name);
  const nlohmann::json &array(std::string_view name);

  /// The member `type`.
  std::string type() { return text("type"); }
  /// The reader of a member that is an object, and the place of a member.
  Fields child(std::string_view name);
  std::string placeOf(std::string_view name) const;
  const std::string &where() const { return place; }
  /// Records an error of this object, unless there is one already.
  void refuse(const std::string &problem);
  const Status &status() const { return first; }

private:
  const nlohmann::json &required(std::string_view name, nlohmann::json::value_t type, std::string_view expected);

  const nlohmann::json &json;
  std::string place;
  Status first;
};

/// The error for an object whose type this version does not implement, with the types that it does.
Status unsupportedType(const std::string &where, std::string_view kind, const std::string &type,
                       std::string_view supported);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_FIELDS_H
