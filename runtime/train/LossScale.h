//===- LossScale.h - the factor on the loss that half precision needs ----------===//
//
// As torch's GradScaler: a step with gradients that are not finite changes nothing and halves the scale; after 2000
// consecutive finite steps it is doubled.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_LOSSSCALE_H
#define SLUICE_RUNTIME_TRAIN_LOSSSCALE_H

#include <cstdint>

namespace sluice {

class LossScale {
public:
  LossScale() = default;
  /// As a run left it.
  LossScale(double value, std::uint64_t unchangedSteps) : scale(value), row(unchangedSteps) {}

  double value() const { return scale; }
  /// Steps since the scale last changed.
  std::uint64_t unchangedSteps() const { return row; }
  /// Records a step. False if the scale would have to be below 1.
  bool update(bool changedWeights) {
    if (!changedWeights) {
      row = 0;
      scale /= 2;
      return scale >= 1;
    }
    if (++row == growthInterval) {
      row = 0;
      scale *= 2;
    }
    return true;
  }

  static constexpr std::uint64_t growthInterval = 2000;

private:
  double scale = 65536;
  std::uint64_t row = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_LOSSSCALE_H
