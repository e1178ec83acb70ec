//===- Sha256.cpp - SHA-256 and message authentication codes -------------------===//
#include "runtime/base/Sha256.h"

#include <memory>
#include <new>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace sluice {

Digest sha256(std::initializer_list<std::span<const std::uint8_t>> parts) {
  // Without the system's openssl.cnf: a plan has one digest on all machines.
  bool done = OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr) == 1;
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  done = done && context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  for (std::span<const std::uint8_t> part : parts)
    done = done && EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1;
  Digest digest;
  done = done && EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) == 1;
  // SHA-256 is part of every libcrypto: its calls fail only if memory is exhausted.
  if (!done)
    throw std::bad_alloc();
  return digest;
}

Digest sha256(std::span<const std::uint8_t> bytes) { return sha256({bytes}); }

Digest hmacSha256(const Digest &key, std::span<const std::byte> message) {
  Digest code;
  // Fails only as sha256() does.
  if (!HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
            reinterpret_cast<const unsigned char *>(message.data()), message.size(), code.data(), nullptr))
    throw std::bad_alloc();
  return code;
}

bool isEqualInConstantTime(const Digest &a, const Digest &b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string toHex(std::span<const std::uint8_t> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (std::uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

} // namespace sluice
