//===- Sha256.h - the digest of plans ------------------------------------------===//
//
// SHA-256 (FIPS 180-4), incremental. Used to recognise a plan, not to keep secrets.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_SHA256_H
#define SLUICE_RUNTIME_BASE_SHA256_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sluice {

inline constexpr std::size_t digestBytes = 32;
using Digest = std::array<std::uint8_t, digestBytes>;

class Sha256 {
public:
  Sha256();
  void update(std::span<const std::uint8_t> bytes);
  /// Ends the message. The object is of no further use.
  Digest finish();

private:
  void compress(const std::uint8_t *block);

  std::array<std::uint32_t, 8> state;
  std::array<std::uint8_t, 64> pending{};
  std::size_t pendingBytes = 0;
  std::uint64_t totalBytes = 0;
};

Digest sha256(std::span<const std::uint8_t> bytes);

/// 64 lower-case hexadecimal digits.
std::string toHex(std::span<const std::uint8_t> bytes);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_SHA256_H
