//===- Handshake.h - both ends of a connection prove that they have the secret --------===//
//
// The end that connects sends a Hello; the other end replies with a Challenge, which proves that it has the secret; the
// first end then sends a Greeting with its proof. A proof is the HMAC-SHA256 of both random numbers and the sender's
// role, and of the greeting. All messages have a fixed size. The rest of the connection is neither encrypted nor
// authenticated.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_SOCKET_HANDSHAKE_H
#define SLUICE_RUNTIME_COLLECTIVE_SOCKET_HANDSHAKE_H

#include "runtime/base/Sha256.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::socket {

using Nonce = std::array<std::byte, 32>;

/// Of a connection between ranks of this version of the protocol.
inline constexpr std::array<char, 8> helloMagic = {'S', 'L', 'U', 'I', 'C', 'E', '0', '2'};

struct Hello {
  std::array<char, 8> magic{};
  Nonce nonce{};
};

struct Challenge {
  Nonce nonce{};
  Digest proof{};
};

/// The rank that connects. `token` is 0 to rank 0, else the number that rank 0 has sent to all ranks of the job.
struct Introduction {
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::uint64_t token = 0;
  /// At which the rank listens.
  std::uint16_t port = 0;
  std::uint8_t unused[6] = {};
};

struct Greeting {
  Introduction introduction;
  Digest proof{};
};
static_assert(sizeof(Hello) == 40 && sizeof(Challenge) == 64 && sizeof(Greeting) == 56);

/// From the operating system's generator.
Nonce randomNonce();

/// The proof of the end that accepts, and of the end that connects.
Digest proofOfChallenge(const Digest &secret, const Hello &hello, const Nonce &nonce);
Digest proofOfGreeting(const Digest &secret, const Hello &hello, const Nonce &nonce, const Introduction &introduction);

template <typename T> std::span<const std::byte> bytesOf(const T &value) { return std::as_bytes(std::span(&value, 1)); }
template <typename T> std::span<std::byte> writableBytesOf(T &value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

} // namespace sluice::socket

#endif // SLUICE_RUNTIME_COLLECTIVE_SOCKET_HANDSHAKE_H
