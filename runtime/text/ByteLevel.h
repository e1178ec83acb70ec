//===- ByteLevel.h - GPT-2's characters for bytes ------------------------------------------===//
//
// Each of the 256 bytes has a printable character: itself in Latin-1 if that is printable and no blank, else one from
// U+0100 on.
//
//===----------------------------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TEXT_BYTELEVEL_H
#define SLUICE_RUNTIME_TEXT_BYTELEVEL_H

#include <optional>
#include <string>
#include <string_view>

namespace sluice::text {

/// GPT-2's pattern, by which ByteLevel splits a text.
inline constexpr std::string_view gpt2Pattern =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// The characters of the bytes.
std::string toByteCharacters(std::string_view bytes);
/// The bytes of the characters; nullopt if one of them is not the character of a byte.
std::optional<std::string> fromByteCharacters(std::string_view text);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_BYTELEVEL_H
