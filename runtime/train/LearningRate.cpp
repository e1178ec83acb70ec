//===- LearningRate.cpp - the learning rate of each step -------------------------===//
#include "runtime/train/LearningRate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sluice {

/// The part of a wsd schedule, at its end, in which the rate decays.
static constexpr double wsdDecay = 0.2;

LearningRate::LearningRate(const plan::PlanT &plan, std::uint64_t steps) {
  if (plan.learning_rate)
    schedule = *plan.learning_rate;
  if (schedule.total == 0)
    schedule.total = steps;
}

double LearningRate::at(std::uint64_t step) const {
  const auto &[shape, peak, minimum, warmup, total] = schedule;
  if (step < warmup)
    return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (shape == plan::RateShape::constant)
    return peak;
  double begin = static_cast<double>(warmup), end = static_cast<double>(total);
  if (shape == plan::RateShape::wsd)
    begin = std::max(begin, std::floor((1 - wsdDecay) * end));
  double now = static_cast<double>(step);
  if (now < begin)
    return peak;
  // The completed fraction of the decay.
  double part = end > begin ? std::min((now - begin) / (end - begin), 1.0) : 1.0;
  double left = shape == plan::RateShape::cosine ? 0.5 * (1 + std::cos(std::numbers::pi * part))
                : shape == plan::RateShape::wsd  ? 1 - std::sqrt(part)
                                                 : 1 - part;
  return minimum + left * (peak - minimum);
}

} // namespace sluice
