//===- CpuWorkspace.h - workspace of the CPU kernels -------------------------------===//
//
// Pure arithmetic, shared by the kernels and by the caps of their records: a cap is enough because it is the same
// formula, on extents that are at least as large. Bytes.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CATALOGUE_CPUWORKSPACE_H
#define SLUICE_RUNTIME_KERNEL_CATALOGUE_CPUWORKSPACE_H

#include <algorithm>
#include <cstdint>

namespace sluice::cpu {

/// Runs of rows whose sums are added in order.
inline constexpr std::int64_t normRuns = 16;
/// Gradients of `vectors` vectors: of the weight, and of layer norm's bias.
constexpr std::uint64_t normGradWorkspace(std::size_t vectors, std::int64_t columns) {
  return vectors * static_cast<std::uint64_t>(normRuns * columns) * 4;
}

constexpr std::uint64_t crossEntropyWorkspace(std::int64_t rows) { return static_cast<std::uint64_t>(rows) * 8; }

/// A chunk of logits; and the row of numbers, in double, of the plain form.
constexpr std::uint64_t linearLossLogits(std::int64_t chunk, std::int64_t classes, std::size_t bytes) {
  return (static_cast<std::uint64_t>(chunk * classes) * bytes + 63) / 64 * 64;
}
constexpr std::uint64_t plainLinearLossWorkspace(std::int64_t columns, std::int64_t classes) {
  return static_cast<std::uint64_t>(std::max(columns, classes)) * 8;
}

/// The widest panel of all instruction sets: sizes are rounded up to it.
inline constexpr std::int64_t widestPanel = 32;
constexpr std::int64_t roundUp(std::int64_t size, std::int64_t unit) { return (size + unit - 1) / unit * unit; }

/// Queries and keys of a tile of scores, forward. Rows are long, so that work per row and tile is rare.
inline constexpr std::int64_t wideQueryTile = 24, wideKeyTile = 256;
/// Backward.
inline constexpr std::int64_t queryTile = 48, keyTile = 64;

/// Floats of one thread: packed keys and values, a tile of queries, of scores and of outputs, row statistics.
constexpr std::int64_t attentionFloats(std::int64_t keys, std::int64_t size) {
  std::int64_t paddedKeys = roundUp(keys, keyTile), paddedSize = roundUp(size, widestPanel);
  return paddedKeys * paddedSize * 2 + wideQueryTile * (2 * paddedSize + wideKeyTile) + 64;
}
/// Floats of one thread: keys packed twice, values; queries and output gradients as rows and packed; sums of the three
/// gradients; two tiles of scores; deltas.
constexpr std::int64_t attentionGradFloats(std::int64_t queries, std::int64_t keys, std::int64_t size) {
  std::int64_t paddedKeys = roundUp(keys, keyTile), paddedSize = roundUp(size, widestPanel);
  std::int64_t paddedQueries = roundUp(queries, queryTile);
  return paddedKeys * paddedSize * 5 + paddedQueries * paddedSize * 5 + 2 * queryTile * keyTile + paddedQueries + 64;
}

/// Panels of a bf16 or f16 product that is widened to f32.
inline constexpr std::int64_t widenM = 256, widenN = 512, widenK = 1024;
/// Rows of a panel are padded by this: rows at distances of a power of two would map to the same cache set.
inline constexpr std::int64_t widenSlack = 16;
/// Floats of a panel in either layout.
constexpr std::int64_t widenPanelFloats(std::int64_t rows, std::int64_t columns) {
  return roundUp((rows + widenSlack) * (columns + widenSlack), 16);
}
constexpr std::uint64_t widenWorkspace(std::int64_t m, std::int64_t n, std::int64_t k) {
  m = std::min(m, widenM), n = std::min(n, widenN), k = std::min(k, widenK);
  return static_cast<std::uint64_t>(widenPanelFloats(m, k) + widenPanelFloats(k, n) + widenPanelFloats(m, n)) * 4;
}

/// True if one dim of a matrix is contiguous and the other has no overlap, as the library requires.
constexpr bool hasLibraryLayout(std::int64_t rows, std::int64_t columns, std::int64_t rowStride,
                                std::int64_t columnStride) {
  const bool byRows = (columns == 1 || columnStride == 1) && (rows == 1 || rowStride >= columns);
  const bool byColumns = (rows == 1 || rowStride == 1) && (columns == 1 || columnStride >= rows);
  return byRows || byColumns;
}

/// Runs of rows whose channel sums are added in order, and floats of one run: two sums per channel, or the subtracted
/// value and two sums.
inline constexpr std::int64_t batchNormRuns = 64;
constexpr std::uint64_t batchNormWorkspace(std::int64_t channels) {
  return static_cast<std::uint64_t>((batchNormRuns * 3 + 2) * channels) * 4;
}

/// Bytes of a convolution's weight as the library packs it, channels rounded up to a vector's.
constexpr std::uint64_t packedWeightBytes(std::int64_t groups, std::int64_t out, std::int64_t in, std::int64_t kernel) {
  std::int64_t channels = out == 1 && in == 1 ? roundUp(groups, 16) : groups * roundUp(out, 16) * roundUp(in, 16);
  return static_cast<std::uint64_t>(roundUp(channels * kernel, 16)) * 4;
}
/// A weight with its channels exchanged and its taps in the other direction, plain.
constexpr std::uint64_t transposedWeightBytes(std::int64_t out, std::int64_t in, std::int64_t kernel) {
  return static_cast<std::uint64_t>(roundUp(out * in * kernel, 16)) * 4;
}
/// Scratch memory of an implementation by matrix products: unrolled windows and partial weights. If that is large, the
/// library has a direct implementation without scratch memory.
constexpr std::uint64_t unrolledBytes(std::int64_t images, std::int64_t windows, std::int64_t inputs,
                                      std::int64_t outputs, std::int64_t kernel) {
  constexpr std::int64_t most = std::int64_t(4) << 20;
  if (windows > most || inputs > most || kernel > most || outputs > most || windows * inputs > most ||
      windows * inputs * kernel > most || outputs * inputs > most || images > 64)
    return 0;
  std::int64_t floats = 2 * windows * inputs * kernel + (images + 1) * outputs * inputs * kernel;
  return floats > 4 * most ? 0 : static_cast<std::uint64_t>(floats) * 4;
}

/// The largest scratchpad of oneDNN; implementations that need more are not used.
constexpr std::uint64_t libraryWorkspace(int threads, bool avx512) {
  return (avx512 ? std::uint64_t(2) << 20 : std::uint64_t(64) << 10) *
         static_cast<std::uint64_t>(threads < 1 ? 1 : threads);
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CATALOGUE_CPUWORKSPACE_H
