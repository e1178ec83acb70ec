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
  return rateOf(schedule, steps);
}

TEST(LearningRateTest, WarmupIsTheSameForAll) {
  for (plan::RateShape shape : plan::EnumValuesRateShape()) {
    SCOPED_TRACE(plan::EnumNameRateShape(shape));
    LearningRate rate = schedule(shape);
    EXPECT_DOUBLE_EQ(rate.at(0), 0.125);
    EXPECT_DOUBLE_EQ(rate.at(3), 0.5);
    EXPECT_DOUBLE_EQ(rate.at(4), 0.5);
  }
}

TEST(LearningRateTest, Schedules) {
  EXPECT_DOUBLE_EQ(schedule(constant).at(1000), 0.5);
  EXPECT_DOUBLE_EQ(schedule(linear).at(12), 0.3);
  EXPECT_DOUBLE_EQ(schedule(linear).at(20), 0.1);
  EXPECT_DOUBLE_EQ(schedule(linear).at(1000), 0.1);
  EXPECT_DOUBLE_EQ(schedule(cosine).at(8), 0.1 + 0.4 * 0.5 * (1 + std::cos(M_PI * 0.25)));
  EXPECT_NEAR(schedule(cosine).at(20), 0.1, 1e-15);
  EXPECT_DOUBLE_EQ(schedule(wsd).at(16), 0.5);
  EXPECT_DOUBLE_EQ(schedule(wsd).at(17), 0.1 + 0.4 * 0.5);
  EXPECT_DOUBLE_EQ(schedule(wsd).at(20), 0.1);
}

TEST(LearningRateTest, TotalStepsDefaultToThoseOfTheRun) {
  plan::LearningRateT schedule;
  schedule.shape = linear;
  schedule.peak = 1;
  EXPECT_DOUBLE_EQ(rateOf(schedule, 10).at(5), 0.5);
}

TEST(LearningRateTest, PlanWithoutSchedule) { EXPECT_DOUBLE_EQ(LearningRate({}, 10).at(5), 0); }

} // namespace
