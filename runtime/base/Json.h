//===- Json.h - JSON of nlohmann's library, without exceptions -------------------------===//
//
// Code that reads members includes <nlohmann/json.hpp> and uses only calls that do not throw: is_*, find, get_ptr,
// contains.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_JSON_H
#define SLUICE_RUNTIME_BASE_JSON_H

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Keeps the order of members, so that finding one is a linear search. nlohmann::json sorts them by name.
using Json = nlohmann::ordered_json;

/// Both are for nlohmann::json and Json.
/// Discarded (`is_discarded()`) where the text is not JSON, or nests deeper than any JSON that Sluice reads. If an
/// object has a key twice, the last value is kept and `duplicate`, if not null, is set to the key.
template <typename J> J parseJson(std::string_view text, std::string *duplicate = nullptr);
/// Why a text is not JSON: "byte 17 is not UTF-8", "byte 17 is not expected there", "it is empty". Bytes count from 0.
std::string whyNotJson(std::string_view text);
/// The names of the members of an object, or of the first object of a list, at the beginning of a text. The text may
/// end within it, and other text may follow.
std::vector<std::string> firstMembers(std::string_view text);
/// One line, or lines indented by `indent` blanks a level. Bytes that are not UTF-8 are replaced by U+FFFD; numbers
/// that are not finite become null.
template <typename J> std::string dumpJson(const J &json, int indent = -1);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_JSON_H
