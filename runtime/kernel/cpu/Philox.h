//===- Philox.h - random numbers by counter -----------------------------------===//
//
// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"). The number of an element is a function
// only of seed, key and the element's global index, so any sharding gives the same tensor. Element i uses word i % 4 of
// block i / 4; a normal deviate uses a Box-Muller pair of words (0, 1) or (2, 3), even elements the cosine.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_PHILOX_H
#define SLUICE_RUNTIME_KERNEL_CPU_PHILOX_H

#include <array>
#include <cmath>
#include <cstdint>

namespace sluice::cpu {

using PhiloxBlock = std::array<std::uint32_t, 4>;

inline PhiloxBlock philox(std::uint64_t seed, std::uint64_t key, std::uint64_t block) {
  PhiloxBlock x = {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                   static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    std::uint64_t a = std::uint64_t(0xD2511F53u) * x[0], b = std::uint64_t(0xCD9E8D57u) * x[2];
    x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ k0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ k1, static_cast<std::uint32_t>(a)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return x;
}

/// Uniform in [0, 1), a multiple of 2^-24: exact in f32.
inline double philoxUniform(const PhiloxBlock &block, int word) { return (block[word] >> 8) * 0x1p-24; }

/// Two standard normals, of words `word` (even) and the one after it.
inline std::array<double, 2> philoxNormals(const PhiloxBlock &block, int word) {
  double u = (block[word] + 0.5) * 0x1p-32, v = block[word + 1] * 0x1p-32;
  double radius = std::sqrt(-2 * std::log(u)), angle = 6.283185307179586477 * v;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}
/// Standard normal; words 2n and 2n + 1 share one pair.
inline double philoxNormal(const PhiloxBlock &block, int word) { return philoxNormals(block, word & 2)[word & 1]; }

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_PHILOX_H
