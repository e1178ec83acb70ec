//===- LearningRate.h - the rate of each step -----------------------------------===//
//
// A schedule read from the plan's resolved recipe. The rate is an input of the step, so that the same plan serves every
// schedule.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_LEARNINGRATE_H
#define SLUICE_RUNTIME_TRAIN_LEARNINGRATE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <string>

namespace sluice {

class LearningRate {
public:
  enum class Shape : std::uint8_t { constant, linear, cosine, wsd };

  /// Reads optimizer.lr and schedule.{lr,warmup_steps,total_steps,min_lr} from lines "key = value". Where the recipe
  /// gives no total_steps (or 0), `steps` of this run take its place.
  static Result<LearningRate> parse(std::span<const std::string> recipe, std::uint64_t steps);

  /// The rate of a step, counted from 0: rising to the peak over the warmup, then by shape. Beyond the last step of the
  /// schedule it stays at the least rate (constant: at the peak).
  double at(std::uint64_t step) const;

private:
  Shape shape = Shape::constant;
  double peak = 1e-3;
  double least = 0;
  std::uint64_t warmup = 0;
  std::uint64_t total = 1;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_LEARNINGRATE_H
