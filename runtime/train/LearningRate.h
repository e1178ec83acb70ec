//===- LearningRate.h - the learning rate of each step --------------------------===//
//
// The schedule is in the plan. The rate is an input of the step.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_LEARNINGRATE_H
#define SLUICE_RUNTIME_TRAIN_LEARNINGRATE_H

#include "runtime/plan/Plan.h"

#include <cstdint>

namespace sluice {

class LearningRate {
public:
  /// The plan's schedule for a run of `steps`, which are the schedule's length if it has none. Always 0 for a plan
  /// without a schedule, which no entry point reads.
  LearningRate(const plan::PlanT &plan, std::uint64_t steps);

  /// The rate of a step, counted from 0. It is at the peak in the last step of the warmup, then changes by shape, and
  /// is at the minimum in the last step of the schedule and after it (constant: at the peak). docs/recipe.md has the
  /// formulas.
  double at(std::uint64_t step) const;

private:
  plan::LearningRateT schedule;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_LEARNINGRATE_H
