//===- DataMixture.cpp - the source of each row -------------------------------------===//
#include "runtime/train/DataMixture.h"
#include "runtime/train/DataOrder.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace sluice {

/// The fractional part of the golden ratio, in units of 2^-64.
static constexpr std::uint64_t goldenRatio = 0x9e3779b97f4a7c15u;

DataMixture::DataMixture(std::span<const double> weights, std::uint64_t seed) : offset(mixBits(~mixBits(seed))) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  bounds.push_back(0);
  for (double weight : weights.first(weights.size() - 1))
    bounds.push_back(static_cast<Wide>(std::ldexp(std::min((sum += weight) / total, 1.0), 64)));
  bounds.push_back(Wide(1) << 64);
}

/// The sum over i < count of (factor * i + first) / divisor rounded down, modulo 2^128. Each round counts the points
/// below a line after its axes are exchanged, as Euclid's algorithm does: the number of rounds is logarithmic.
DataMixture::Wide DataMixture::sumOfQuotients(Wide count, Wide divisor, Wide factor, Wide first) {
  Wide sum = 0;
  while (count != 0) {
    sum += count * (count - 1) / 2 * (factor / divisor) + count * (first / divisor);
    factor %= divisor;
    first %= divisor;
    const Wide last = factor * count + first;
    count = last / divisor;
    first = last % divisor;
    std::swap(divisor, factor);
  }
  return sum;
}

std::uint64_t DataMixture::count(std::size_t source, std::uint64_t positions) const {
  if (sources() == 1)
    return positions;
  // A value x modulo 2^64 is at least a bound b exactly if (x + 2^64 - b) / 2^64 is larger than x / 2^64.
  const Wide one = Wide(1) << 64;
  const auto sum = [&](Wide bound) { return sumOfQuotients(positions, one, goldenRatio, offset + (one - bound)); };
  return static_cast<std::uint64_t>(sum(bounds[source]) - sum(bounds[source + 1]));
}

DataMixture::Row DataMixture::at(std::uint64_t position) const {
  const std::uint64_t value = offset + position * goldenRatio;
  const auto next = std::upper_bound(bounds.begin(), bounds.end(), Wide(value));
  const auto source = static_cast<std::size_t>(next - bounds.begin()) - 1;
  return {source, count(source, position)};
}

} // namespace sluice
