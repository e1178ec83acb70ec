//===- Sha256.h - the digest of plans ------------------------------------------===//
//
// SHA-256 by libcrypto. Used to recognise a plan, not to keep secrets.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_SHA256_H
#define SLUICE_RUNTIME_BASE_SHA256_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace sluice {

inline constexpr std::size_t digestBytes = 32;
using Digest = std::array<std::uint8_t, digestBytes>;

Digest sha256(std::span<const std::uint8_t> bytes);
/// The digest of the concatenated parts.
Digest sha256(std::initializer_list<std::span<const std::uint8_t>> parts);

/// Two lower-case hexadecimal digits per byte.
std::string toHex(std::span<const std::uint8_t> bytes);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_SHA256_H
