//===- Handshake.cpp - both ends of a connection prove that they have the secret ------===//
#include "runtime/collective/socket/Handshake.h"

#include <cerrno>
#include <string_view>
#include <sys/random.h>
#include <system_error>
#include <vector>

namespace sluice::socket {
namespace {

/// The role is part of the message, so that no end can send back the other's proof.
Digest prove(const Digest &secret, std::string_view role, const Hello &hello, const Nonce &nonce,
             std::span<const std::byte> more) {
  std::vector<std::byte> message;
  for (const std::span<const std::byte> part : {std::as_bytes(std::span(role)), bytesOf(hello), bytesOf(nonce), more})
    message.insert(message.end(), part.begin(), part.end());
  return hmacSha256(secret, message);
}

} // namespace

Nonce randomNonce() {
  Nonce nonce{};
  // Fails only for more than 256 bytes, or on a kernel without the call.
  if (::getentropy(nonce.data(), nonce.size()) != 0)
    throw std::system_error(errno, std::generic_category(), "getentropy");
  return nonce;
}

Digest proofOfChallenge(const Digest &secret, const Hello &hello, const Nonce &nonce) {
  return prove(secret, "accepts ", hello, nonce, {});
}

Digest proofOfGreeting(const Digest &secret, const Hello &hello, const Nonce &nonce, const Introduction &introduction) {
  return prove(secret, "connects", hello, nonce, bytesOf(introduction));
}

} // namespace sluice::socket
