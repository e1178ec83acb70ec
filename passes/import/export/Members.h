//===- Members.h - members of the JSON of a torch.export program --------------------------===//
//
// A null pointer is a value that is missing or of another type: reading from it gives null again, so that a chain of
// members needs one test.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_MEMBERS_H
#define SLUICE_PASSES_IMPORT_EXPORT_MEMBERS_H

#include "runtime/base/Status.h"
#include "runtime/base/Text.h"

#include "llvm/ADT/StringRef.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <optional>

namespace sluice::exported {

inline const nlohmann::json *getMember(const nlohmann::json *value, llvm::StringRef name) {
  if (!value || !value->is_object())
    return nullptr;
  const auto found = value->find(name.str());
  return found == value->end() ? nullptr : &*found;
}
inline const nlohmann::json *getObject(const nlohmann::json *value, llvm::StringRef name) {
  const nlohmann::json *member = getMember(value, name);
  return member && member->is_object() ? member : nullptr;
}
inline const nlohmann::json *getArray(const nlohmann::json *value, llvm::StringRef name) {
  const nlohmann::json *member = getMember(value, name);
  return member && member->is_array() ? member : nullptr;
}
/// Refers to the value.
inline std::optional<llvm::StringRef> asString(const nlohmann::json *value) {
  const auto *text = value ? value->get_ptr<const std::string *>() : nullptr;
  return text ? std::optional<llvm::StringRef>(*text) : std::nullopt;
}
/// Of no float.
inline std::optional<std::int64_t> asInteger(const nlohmann::json *value) {
  if (!value || !value->is_number_integer())
    return std::nullopt;
  if (const auto *number = value->get_ptr<const nlohmann::json::number_unsigned_t *>();
      number && *number > static_cast<nlohmann::json::number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
    return std::nullopt;
  return *value->get_ptr<const nlohmann::json::number_integer_t *>();
}
inline std::optional<llvm::StringRef> getString(const nlohmann::json *value, llvm::StringRef name) {
  return asString(getMember(value, name));
}
inline std::optional<std::int64_t> getInteger(const nlohmann::json *value, llvm::StringRef name) {
  return asInteger(getMember(value, name));
}

/// The only member of an object: its name is the case of a union. `what` is for the error.
inline Result<std::pair<llvm::StringRef, const nlohmann::json *>> unionCase(const nlohmann::json &value,
                                                                            llvm::StringRef what) {
  if (!value.is_object() || value.size() != 1)
    return inputError(concat(what.str(), ", expected an object with one member"));
  return std::pair(llvm::StringRef(value.begin().key()), &*value.begin());
}

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_MEMBERS_H
