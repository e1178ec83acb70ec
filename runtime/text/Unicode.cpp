//===- Unicode.cpp - code points, their properties and normal forms, by ICU --------------===//
#include "runtime/text/Unicode.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/ustring.h>
#include <unicode/utf8.h>

namespace sluice::text {

static UChar32 next(std::string_view text, std::size_t &at) {
  const auto *bytes = reinterpret_cast<const std::uint8_t *>(text.data());
  UChar32 c = 0;
  // The macro reads at most the bytes of one sequence.
  int32_t i = 0;
  const auto length = static_cast<int32_t>(std::min<std::size_t>(text.size() - at, 4));
  U8_NEXT(bytes + at, i, length, c);
  at += static_cast<std::size_t>(i);
  return c;
}

std::optional<std::size_t> findInvalid(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    if (next(text, at) < 0)
      return begin;
  }
  return std::nullopt;
}

std::string replaceInvalid(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    if (next(text, at) < 0)
      result += "\uFFFD";
    else
      result += text.substr(begin, at - begin);
  }
  return result;
}

char32_t nextCodePoint(std::string_view text, std::size_t &at) { return static_cast<char32_t>(next(text, at)); }

void appendCodePoint(std::string &text, char32_t c) {
  char bytes[4];
  int32_t length = 0;
  U8_APPEND_UNSAFE(bytes, length, c);
  text.append(bytes, static_cast<std::size_t>(length));
}

std::string utf8(char32_t c) {
  std::string text;
  appendCodePoint(text, c);
  return text;
}

std::size_t sequenceBytes(char first) {
  return 1 + static_cast<std::size_t>(U8_COUNT_TRAIL_BYTES_UNSAFE(static_cast<std::uint8_t>(first)));
}

std::size_t countCodePoints(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text)
    count += (c & 0xC0) != 0x80;
  return count;
}

static bool isIn(char32_t c, std::uint32_t categories) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & categories) != 0;
}

bool isSpace(char32_t c) { return u_isUWhiteSpace(static_cast<UChar32>(c)); }
bool isWord(char32_t c) {
  return u_isUAlphabetic(static_cast<UChar32>(c)) || isIn(c, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK) ||
         u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_JOIN_CONTROL);
}
bool isNumeric(char32_t c) { return isIn(c, U_GC_N_MASK); }
bool isPunctuation(char32_t c) {
  return isIn(c, U_GC_P_MASK) || (c > ' ' && c < 0x7F && !u_isalnum(static_cast<UChar32>(c)));
}
bool isOther(char32_t c) { return isIn(c, U_GC_C_MASK & ~U_GC_CN_MASK); }
bool isMark(char32_t c) { return isIn(c, U_GC_M_MASK); }
bool isNonspacingMark(char32_t c) { return isIn(c, U_GC_MN_MASK); }

void appendLower(std::string &text, char32_t c) {
  // The only code point whose lower case has two, in every locale.
  if (c == U'\u0130')
    text += "i\u0307";
  else
    appendCodePoint(text, static_cast<char32_t>(u_tolower(static_cast<UChar32>(c))));
}

static const icu::Normalizer2 *normalizerOf(NormalForm form, UErrorCode &error) {
  switch (form) {
  case NormalForm::nfc:
    return icu::Normalizer2::getNFCInstance(error);
  case NormalForm::nfd:
    return icu::Normalizer2::getNFDInstance(error);
  case NormalForm::nfkc:
    return icu::Normalizer2::getNFKCInstance(error);
  case NormalForm::nfkd:
    return icu::Normalizer2::getNFKDInstance(error);
  }
  return nullptr;
}

std::string normalize(std::string_view text, NormalForm form) {
  // ICU's data are part of its library: none of these calls fails.
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2 *normalizer = normalizerOf(form, error);
  std::string result;
  icu::StringByteSink<std::string> sink(&result);
  if (normalizer)
    normalizer->normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())), sink, nullptr,
                              error);
  return result;
}

} // namespace sluice::text
