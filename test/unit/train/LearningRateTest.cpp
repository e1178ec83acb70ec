//===- LearningRateTest.cpp - schedules against their formulas ----------------------===//
#include "runtime/train/LearningRate.h"
#include "test/unit/train/Fixture.h"

#include <cmath>

using namespace sluice;
using namespace sluice::test;

namespace {

using enum plan::RateShape;

LearningRate rateOf(const plan::LearningRateT &schedule, std::uint64_t steps) {
  plan::PlanT plan;
  plan.learning_rate = std::make_unique<plan::LearningRateT>(schedule);
  return LearningRate(plan, steps);
}

LearningRate schedule(plan::RateShape shape, std::uint64_t steps = 7) {
  plan::LearningRateT schedule;
  schedule.shape = shape;
  schedule.peak = 0.5;
  schedule.minimum = 0.1;
  schedule.warmup = 4;
  schedule.total = 20;
  schedule.decay = 4;
  return rateOf(schedule, steps);
}

TEST(LearningRateTest, WarmupIsTheSameForAll) {
  for (plan::RateShape shape : plan::EnumValuesRateShape()) {
    SCOPED_TRACE(plan::EnumNameRateShape(shape));
    LearningRate rate = schedule(shape);
    EXPECT_DOUBLE_EQ(rate.at(0), 0.125);
    EXPECT_DOUBLE_EQ(rate.at(2), 0.375);
    EXPECT_DOUBLE_EQ(rate.at(3), 0.5);
  }
}

TEST(LearningRateTest, Schedules) {
  EXPECT_DOUBLE_EQ(schedule(constant).at(1000), 0.5);
  EXPECT_DOUBLE_EQ(schedule(linear).at(11), 0.3);
  EXPECT_DOUBLE_EQ(schedule(cosine).at(7), 0.1 + 0.4 * 0.5 * (1 + std::cos(M_PI * 0.25)));
  EXPECT_DOUBLE_EQ(schedule(wsd).at(15), 0.5);
  EXPECT_DOUBLE_EQ(schedule(wsd).at(16), 0.1 + 0.4 * 0.5);
}

TEST(LearningRateTest, OnePeakAndTheMinimumInTheLastStep) {
  for (plan::RateShape shape : {linear, cosine, wsd}) {
    SCOPED_TRACE(plan::EnumNameRateShape(shape));
    LearningRate rate = schedule(shape);
    int peaks = 0;
    for (std::uint64_t step = 0; step < 20; ++step)
      peaks += rate.at(step) == 0.5;
    EXPECT_EQ(peaks, shape == wsd ? 13 : 1);
    EXPECT_GT(rate.at(18), 0.1);
    EXPECT_DOUBLE_EQ(rate.at(19), 0.1);
    EXPECT_DOUBLE_EQ(rate.at(1000), 0.1);
  }
}

TEST(LearningRateTest, TotalStepsDefaultToThoseOfTheRun) {
  plan::LearningRateT schedule;
  schedule.shape = linear;
  schedule.peak = 1;
  EXPECT_DOUBLE_EQ(rateOf(schedule, 11).at(5), 0.5);
}

// Of an untrusted plan: more steps of decay than of the schedule.
TEST(LearningRateTest, DecayLongerThanTheSchedule) {
  plan::LearningRateT schedule;
  schedule.shape = wsd;
  schedule.peak = 1;
  schedule.total = 5;
  schedule.decay = ~std::uint64_t(0);
  EXPECT_DOUBLE_EQ(rateOf(schedule, 5).at(0), 1);
  EXPECT_DOUBLE_EQ(rateOf(schedule, 5).at(4), 0);
}

TEST(LearningRateTest, PlanWithoutSchedule) { EXPECT_DOUBLE_EQ(LearningRate({}, 10).at(5), 0); }

} // namespace
