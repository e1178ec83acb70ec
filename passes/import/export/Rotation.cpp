//===- Rotation.cpp - tables of rotary positions -----------------------------------------===//

#include "passes/import/export/Rotation.h"

#include "dialect/model/Model.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numbers>

using namespace sluice;
using namespace sluice::exported;

namespace {

constexpr double divisorUnit = model::RopeOp::divisorUnit;

/// The frequencies of the two halves of a head, and the factor of cosines and sines.
struct Rotation {
  std::vector<double> frequencies;
  double factor = 1;
};

std::optional<Rotation> readRotation(const Constant &cosines, const Constant &sines, std::int64_t positions,
                                     std::int64_t size) {
  const std::size_t rank = cosines.shape.size();
  if (rank < 2 || cosines.shape != sines.shape || cosines.shape[rank - 1] != size ||
      cosines.shape[rank - 2] != positions || size % 2 != 0)
    return std::nullopt;
  const auto half = static_cast<std::size_t>(size / 2);
  std::vector<std::vector<double>> rows;
  std::vector<double> row(static_cast<std::size_t>(size)), other(row.size());
  Shape index(rank - 1, 0);
  const auto read = [&](std::int64_t position) {
    index.back() = position;
    cosines.row(index, row);
    sines.row(index, other);
  };
  // Position 0 has the factor, position 1 the frequencies.
  Rotation rotation;
  read(0);
  rotation.factor = row[0];
  if (!(rotation.factor > 0))
    return std::nullopt;
  rotation.frequencies.assign(half, 1);
  if (positions > 1) {
    read(1);
    for (std::size_t i = 0; i < half; ++i)
      rotation.frequencies[i] = std::atan2(other[i], row[i]);
  }
  // A later position gives more digits: the number of turns up to it is known by the digits so far.
  for (std::int64_t position = 2; position < positions; position *= 2) {
    read(position);
    for (std::size_t i = 0; i < half; ++i) {
      double &frequency = rotation.frequencies[i];
      const double expected = frequency * static_cast<double>(position),
                   rest = std::remainder(std::atan2(other[i], row[i]) - expected, 2 * std::numbers::pi);
      if (std::fabs(rest) < 1)
        frequency = (expected + rest) / static_cast<double>(position);
    }
  }
  return rotation;
}

/// True if the tables are those of the frequencies, for every leading index.
bool agrees(const Constant &cosines, const Constant &sines, const Rotation &rotation,
            llvm::ArrayRef<double> frequencies) {
  bool isEqual = true;
  const std::size_t half = frequencies.size();
  std::vector<double> other(2 * half);
  cosines.forEachRow([&](Index index, llvm::ArrayRef<double> row) {
    sines.row(index, other);
    for (std::size_t i = 0; i < 2 * half && isEqual; ++i) {
      const double angle = static_cast<double>(index.back()) * frequencies[i % half];
      const double tolerance = 1e-6 * rotation.factor * std::max(1.0, std::fabs(angle));
      isEqual = std::fabs(row[i] - rotation.factor * std::cos(angle)) <= tolerance &&
                std::fabs(other[i] - rotation.factor * std::sin(angle)) <= tolerance;
    }
    return isEqual;
  });
  return isEqual;
}

} // namespace

std::optional<RotaryTables> exported::fitRotation(const Constant &cosines, const Constant &sines,
                                                  std::int64_t positions, std::int64_t size) {
  const std::optional<Rotation> rotation = readRotation(cosines, sines, positions, size);
  if (!rotation)
    return std::nullopt;
  RotaryTables tables;
  tables.factor = rotation->factor;
  const std::vector<double> &frequencies = rotation->frequencies;
  const auto half = static_cast<double>(frequencies.size());
  const auto powers = [&](double theta) {
    std::vector<double> result;
    for (std::size_t i = 0; i < frequencies.size(); ++i)
      result.push_back(std::pow(theta, -static_cast<double>(i) / half));
    return result;
  };
  // theta^(-2i/D), if a theta gives all frequencies; else a divisor for each.
  double theta = tables.theta;
  if (frequencies.size() > 1) {
    const double fitted = std::pow(frequencies.back(), -half / (half - 1)), whole = std::round(fitted);
    theta = std::fabs(fitted - whole) <= 1e-4 * fitted ? whole : fitted;
  }
  if (theta > 0 && std::isfinite(theta) && agrees(cosines, sines, *rotation, powers(theta))) {
    tables.theta = theta;
    return tables;
  }
  if (!agrees(cosines, sines, *rotation, frequencies))
    return std::nullopt;
  for (auto [power, frequency] : llvm::zip_equal(powers(tables.theta), frequencies)) {
    const double divisor = power / frequency * divisorUnit;
    if (!(divisor >= 1 && divisor < 0x1p62))
      return std::nullopt;
    tables.divisors.push_back(std::llround(divisor));
  }
  return tables;
}
