//===- DataMixture.h - the source of each row ---------------------------------------===//
//
// A stateless map from the position of a row (DataOrder.h) to one of several sources of data, so that each source has
// its share of the rows, and to the number of rows of that source before it. Among any consecutive rows the number of
// rows of a source differs from its share by a few rows only: the fractional parts of (offset + position * golden
// ratio) are spread evenly over [0, 1), which the sources divide by their weights.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_DATAMIXTURE_H
#define SLUICE_RUNTIME_TRAIN_DATAMIXTURE_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

class DataMixture {
public:
  /// One positive weight per source; only their ratios matter. The seed determines the offset.
  DataMixture(std::span<const double> weights, std::uint64_t seed);

  struct Row {
    std::size_t source = 0;
    /// Rows of this source at earlier positions.
    std::uint64_t index = 0;
  };
  Row at(std::uint64_t position) const;
  /// Rows of a source at the first `positions` positions.
  std::uint64_t count(std::size_t source, std::uint64_t positions) const;
  std::size_t sources() const { return bounds.size() - 1; }

private:
  __extension__ using Wide = unsigned __int128;

  std::uint64_t offset = 0;
  /// Source i has the values from bounds[i] to bounds[i + 1], in units of 2^-64; the last bound is 1.
  std::vector<Wide> bounds;

  static Wide sumOfQuotients(Wide count, Wide divisor, Wide factor, Wide first);
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_DATAMIXTURE_H
