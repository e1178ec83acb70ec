//===- LossScale.h - the factor on the loss that half precision needs ----------===//
//
// As torch's GradScaler: a step with gradients that are not finite changes nothing and halves the scale; after 2000
// finite steps in a row it is doubled.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_LOSSSCALE_H
#define SLUICE_RUNTIME_TRAIN_LOSSSCALE_H

#include <cstdint>

namespace sluice {

class LossScale {
public:
  double value() const { return scale; }
  /// Takes note of a step. False where a smaller scale is no help: it would be below 1.
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
  /// Steps since the scale last changed.
  std::uint64_t row = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_LOSSSCALE_H
