//===- LearningRate.cpp - the learning rate of each step -------------------------===//
#include "runtime/train/LearningRate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sluice {

LearningRate::LearningRate(const plan::PlanT &plan, std::uint64_t steps) {
  if (plan.learning_rate)
    schedule = *plan.learning_rate;
  if (schedule.total == 0)
    schedule.total = steps;
}

double LearningRate::at(std::uint64_t step) const {
  const auto &[shape, peak, minimum, warmup, total, decay] = schedule;
  const double now = static_cast<double>(step) + 1, top = static_cast<double>(std::max<std::uint64_t>(warmup, 1)),
               end = static_cast<double>(total);
  if (now < top)
    return peak * now / top;
  const double begin = shape == plan::RateShape::wsd ? std::max(top, end - static_cast<double>(decay)) : top;
  if (shape == plan::RateShape::constant || now <= begin)
    return peak;
  // The completed fraction of the decay.
  const double part = end > begin ? std::min((now - begin) / (end - begin), 1.0) : 1.0;
  const double left = shape == plan::RateShape::cosine ? 0.5 * (1 + std::cos(std::numbers::pi * part))
                      : shape == plan::RateShape::wsd  ? 1 - std::sqrt(part)
                                                       : 1 - part;
  return minimum + left * (peak - minimum);
}

} // namespace sluice
