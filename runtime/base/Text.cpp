//===- Text.cpp - numbers as people read them -----------------------------------===//
//
// See Text.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Text.h"

#include <algorithm>

#include <charconv>
#include <cmath>

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

std::string padRight(std::string_view text, std::size_t width) {
  std::string result(text);
  if (result.size() < width)
    result.append(width - result.size(), ' ');
  return result;
}

std::string padLeft(std::string_view text, std::size_t width) {
  return (text.size() < width ? std::string(width - text.size(), ' ') : std::string()) + std::string(text);
}

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
