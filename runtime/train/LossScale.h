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
  /// False if half of it is below 1.
  bool canDecrease() const { return scale / 2 >= 1; }
  /// Records a step.
  void update(bool changedWeights) {
    if (!changedWeights) {
      row = 0;
      scale /= 2;
    } else if (++row == growthInterval) {
      row = 0;
      scale *= 2;
    }
  }

  static constexpr std::uint64_t growthInterval = 2000;

private:
  double scale = 65536;
  std::uint64_t row = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_LOSSSCALE_H
