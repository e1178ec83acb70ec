//===- Text.cpp - numbers as people read them -----------------------------------===//
//
// See Text.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace sluice {

static std::string fixedText(double value, int digits) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed, digits).ptr);
}

std::string formatBytes(std::uint64_t bytes) {
  constexpr const char *units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024)
    return std::to_string(bytes) + " B";
  int unit = 0;
  double value = double(bytes) / 1024;
  for (; value >= 1024 && unit < 5; ++unit)
    value /= 1024;
  return fixedText(value, 2) + " " + units[unit];
}

std::string formatBytesExact(std::uint64_t bytes) {
  if (bytes < 1024)
    return formatBytes(bytes);
  return std::to_string(bytes) + " (" + formatBytes(bytes) + ")";
}

std::string formatSeconds(double seconds) {
  return seconds >= 1      ? fixedText(seconds, 3) + " s"
         : seconds >= 1e-3 ? fixedText(seconds * 1e3, 3) + " ms"
                           : fixedText(seconds * 1e6, 1) + " us";
}

std::string formatShape(std::span<const std::int64_t> shape) { return join(shape, "x"); }

std::string formatNumber(double value) {
  char text[64];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

double withoutNanSign(double value) { return std::isnan(value) ? std::fabs(value) : value; }

/// Bytes of the UTF-8 sequence at the start of `rest`; 0 if it is not UTF-8. A sequence that the end of `rest` cuts off
/// counts as complete.
static std::size_t utf8Length(std::string_view rest) {
  const auto first = static_cast<unsigned char>(rest[0]);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  for (std::size_t i = 1; i < std::min(length, rest.size()); ++i)
    if ((static_cast<unsigned char>(rest[i]) & 0xc0) != 0x80)
      return 0;
  return length;
}

/// The code point that begins at `at` and its number of bytes; 0 bytes: it is not UTF-8.
static std::pair<std::uint32_t, std::size_t> codePointAt(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const std::size_t count = utf8Length(text.substr(at));
  if (count == 0 || count > text.size() - at)
    return {0, 0};
  std::uint32_t c = count == 1 ? byte(0) : byte(0) & (0x7fu >> count);
  for (std::size_t i = 1; i < count; ++i)
    c = c << 6 | (byte(i) & 0x3fu);
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  return c < least[count] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? std::pair<std::uint32_t, std::size_t>()
                                                                         : std::pair(c, count);
}

static bool isControl(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

std::string printable(std::string_view text, bool isLine) {
  const auto escaped = [](std::string_view prefix, std::uint32_t value, std::size_t digits) {
    char hex[8];
    const char *end = std::to_chars(hex, hex + sizeof hex, value, 16).ptr;
    return concat(prefix, std::string(digits - static_cast<std::size_t>(end - hex), '0'), std::string_view(hex, end));
  };
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto [c, bytes] = codePointAt(text, at);
    if (bytes == 0)
      result += escaped("\\x", static_cast<unsigned char>(text[at]), 2);
    else if (isControl(c) && (isLine || (c != '\n' && c != '\t')))
      result += escaped("\\u", c, 4);
    else
      result += text.substr(at, bytes);
    at += std::max<std::size_t>(bytes, 1);
  }
  return result;
}

std::string padRight(std::string_view text, std::size_t width) {
  std::string result(text);
  if (result.size() < width)
    result.append(width - result.size(), ' ');
  return result;
}

std::string padLeft(std::string_view text, std::size_t width) {
  return (text.size() < width ? std::string(width - text.size(), ' ') : std::string()) + std::string(text);
}

std::size_t findNotUtf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = utf8Length(text.substr(at));
    if (length == 0)
      return at;
    at += length;
  }
  return text.size();
}

} // namespace sluice
