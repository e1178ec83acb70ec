//===- Text.h - numbers as people read them -------------------------------------===//
//
// Formatting functions that reports share. Nothing depends on the locale.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_TEXT_H
#define SLUICE_RUNTIME_BASE_TEXT_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

/// "1536" becomes "1.50 KiB", "300" becomes "300 B".
std::string formatBytes(std::uint64_t bytes);

/// Both: "1536 (1.50 KiB)"; below 1 KiB only the number and unit, "300 B".
std::string formatBytesExact(std::uint64_t bytes);

/// "4x64"; empty extents are a scalar, written as nothing.
std::string formatShape(std::span<const std::int64_t> shape);

/// The shortest text that reads back as the same double.
std::string formatNumber(double value);

/// For people: NaN is printed as "nan", never "-nan".
double withoutNanSign(double value);

/// Padded with spaces to `width` columns of ASCII.
std::string padRight(std::string_view text, std::size_t width);
std::string padLeft(std::string_view text, std::size_t width);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_TEXT_H
