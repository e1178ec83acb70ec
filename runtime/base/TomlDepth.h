//===- TomlDepth.h - the limit of parts of a key in TOML ---------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_TOMLDEPTH_H
#define SLUICE_RUNTIME_BASE_TOMLDEPTH_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

/// The library bounds how deep values nest, but not the parts of a key: each is a table within the table before it.
inline constexpr std::size_t mostKeyParts = 64;

/// The line, from 1, of the first key with more parts.
std::optional<std::uint32_t> findDeepKey(std::string_view text);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_TOMLDEPTH_H
