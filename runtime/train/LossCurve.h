//===- LossCurve.h - the losses of a run as a diagram of text -----------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_LOSSCURVE_H
#define SLUICE_RUNTIME_TRAIN_LOSSCURVE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice {

/// A diagram with a column for each step, or for several steps, of which it shows the mean. Its memory does not grow
/// with the run.
class LossCurve {
public:
  /// A step of 1 to `steps`. A loss that is not finite is left out.
  void add(std::uint64_t step, std::uint64_t steps, double loss);
  /// Lines with the largest and the smallest mean at the left and the first and the last step below; empty if fewer
  /// than two columns have a loss.
  std::string text() const;

private:
  static constexpr std::size_t width = 64;
  static constexpr std::size_t height = 10;

  struct Column {
    double sum = 0;
    std::uint64_t count = 0;
  };
  std::array<Column, width> columns;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_LOSSCURVE_H
