//===- Text.h - formatting of messages and reports -------------------------------===//
//
// Formatting functions that reports share. Nothing depends on the locale.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_TEXT_H
#define SLUICE_RUNTIME_BASE_TEXT_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace sluice {

/// The parts one after another; numbers as std::to_string writes them.
template <typename... Parts> std::string concat(const Parts &...parts) {
  std::string text;
  const auto append = [&](const auto &part) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(part)>>)
      text += std::to_string(part);
    else
      text += part;
  };
  (append(parts), ...);
  return text;
}

/// The parts of the texts or numbers of a list, with a separator between them.
template <typename List, typename TextOf = std::identity>
std::string join(const List &list, std::string_view separator, TextOf textOf = {}) {
  std::string text;
  for (std::size_t i = 0; const auto &item : list)
    text += concat(i++ == 0 ? std::string_view() : separator, textOf(item));
  return text;
}

/// "1536" becomes "1.50 KiB", "300" becomes "300 B".
std::string formatBytes(std::uint64_t bytes);

/// Both: "1536 (1.50 KiB)"; below 1 KiB only the number and unit, "300 B".
std::string formatBytesExact(std::uint64_t bytes);

/// "1.234 ms", "12.3 us".
std::string formatSeconds(double seconds);

/// "4x64"; empty extents are a scalar, written as nothing.
std::string formatShape(std::span<const std::int64_t> shape);

/// The shortest text that reads back as the same double.
std::string formatNumber(double value);

/// For people: NaN is printed as "nan", never "-nan".
double withoutNanSign(double value);

/// The offset of the first byte that is not part of a UTF-8 sequence; otherwise the size of the text. A sequence
/// that the end of the text cuts off counts as complete.
std::size_t findNotUtf8(std::string_view text);

/// A text that may come from a file or another user, for a terminal: control characters, and those that change the
/// direction of text, are written as in "\u001b", and bytes that are not UTF-8 as in "\xff". `isLine`: so are ends of
/// lines and tabs.
std::string printable(std::string_view text, bool isLine = true);

/// Padded with spaces to `width` columns of ASCII.
std::string padRight(std::string_view text, std::size_t width);
std::string padLeft(std::string_view text, std::size_t width);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_TEXT_H
