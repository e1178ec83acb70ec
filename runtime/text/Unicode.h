//===- Unicode.h - code points, their properties and normal forms, by ICU ----------------===//
//
// All texts are valid UTF-8, unless stated otherwise.
//
//===--------------------------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TEXT_UNICODE_H
#define SLUICE_RUNTIME_TEXT_UNICODE_H

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::text {

/// The offset of the first byte that is not part of a UTF-8 sequence; nullopt if the text is UTF-8.
std::optional<std::size_t> findInvalid(std::string_view text);
/// Invalid sequences become U+FFFD, one for each maximal part of a sequence.
std::string replaceInvalid(std::string_view text);

/// The code point at `at`, which is advanced to the next.
char32_t nextCodePoint(std::string_view text, std::size_t &at);
void appendCodePoint(std::string &text, char32_t c);
std::string utf8(char32_t c);
/// Number of bytes of the sequence that begins with `first`.
std::size_t sequenceBytes(char first);
std::size_t countCodePoints(std::string_view text);

/// White_Space.
bool isSpace(char32_t c);
/// Letters, marks, decimal digits, connectors.
bool isWord(char32_t c);
/// Nd, Nl, No.
bool isNumeric(char32_t c);
/// P*, and ASCII's symbols.
bool isPunctuation(char32_t c);
/// C*, without unassigned code points.
bool isOther(char32_t c);
/// M*; Mn.
bool isMark(char32_t c);
bool isNonspacingMark(char32_t c);

void appendLower(std::string &text, char32_t c);

enum class NormalForm { nfc, nfd, nfkc, nfkd };
std::string normalize(std::string_view text, NormalForm form);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_UNICODE_H
