//===- Text.cpp - numbers as people read them -----------------------------------===//
//
// See Text.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Text.h"

#include <charconv>
#include <cmath>

namespace sluice {

std::string formatBytes(std::uint64_t bytes) {
  constexpr const char *units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024)
    return std::to_string(bytes) + " B";
  int unit = 0;
  double value = double(bytes) / 1024;
  for (; value >= 1024 && unit < 5; ++unit)
    value /= 1024;
  char text[32];
  auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed, 2).ptr;
  return std::string(text, end) + " " + units[unit];
}

std::string formatBytesExact(std::uint64_t bytes) {
  if (bytes < 1024)
    return formatBytes(bytes);
  return std::to_string(bytes) + " (" + formatBytes(bytes) + ")";
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

} // namespace sluice
