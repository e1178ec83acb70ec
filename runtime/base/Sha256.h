//===- Sha256.h - SHA-256 and message authentication codes ---------------------===//
//
// By libcrypto. The digest recognises plans and data; with a secret key it proves that the sender has the key.
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

/// HMAC (RFC 2104) of a message with SHA-256.
Digest hmacSha256(const Digest &key, std::span<const std::byte> message);
/// Takes the same time for all digests.
bool isEqualInConstantTime(const Digest &a, const Digest &b);

/// Two lower-case hexadecimal digits per byte.
std::string toHex(std::span<const std::uint8_t> bytes);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_SHA256_H
