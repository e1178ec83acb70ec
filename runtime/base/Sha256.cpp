//===- Sha256.cpp - the digest of plans ----------------------------------------===//
//
// FIPS 180-4, section 6.2, word by word.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice {
namespace {

constexpr std::uint32_t roundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t bigEndian(const std::uint8_t *bytes) {
  return std::uint32_t(bytes[0]) << 24 | std::uint32_t(bytes[1]) << 16 | std::uint32_t(bytes[2]) << 8 | bytes[3];
}

} // namespace

Sha256::Sha256()
    : state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

void Sha256::compress(const std::uint8_t *block) {
  std::uint32_t w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = bigEndian(block + 4 * i);
  for (int i = 16; i < 64; ++i) {
    std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + roundConstants[i] + w[i];
    std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::uint32_t add[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i)
    state[i] += add[i];
}

void Sha256::update(std::span<const std::uint8_t> bytes) {
  totalBytes += bytes.size();
  if (pendingBytes != 0) {
    std::size_t taken = std::min(bytes.size(), pending.size() - pendingBytes);
    std::copy_n(bytes.begin(), taken, pending.begin() + pendingBytes);
    pendingBytes += taken;
    bytes = bytes.subspan(taken);
    if (pendingBytes < pending.size())
      return;
    compress(pending.data());
    pendingBytes = 0;
  }
  while (bytes.size() >= pending.size()) {
    compress(bytes.data());
    bytes = bytes.subspan(pending.size());
  }
  std::copy(bytes.begin(), bytes.end(), pending.begin());
  pendingBytes = bytes.size();
}

Digest Sha256::finish() {
  const std::uint64_t bits = totalBytes * 8;
  pending[pendingBytes++] = 0x80;
  if (pendingBytes > 56) {
    std::fill(pending.begin() + pendingBytes, pending.end(), 0);
    compress(pending.data());
    pendingBytes = 0;
  }
  std::fill(pending.begin() + pendingBytes, pending.begin() + 56, 0);
  for (int i = 0; i < 8; ++i)
    pending[56 + i] = std::uint8_t(bits >> (56 - 8 * i));
  compress(pending.data());
  Digest digest;
  for (int i = 0; i < 32; ++i)
    digest[i] = std::uint8_t(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest sha256(std::span<const std::uint8_t> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
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
