//===- LearningRateTest.cpp - schedules against their formulas ----------------------===//
#include "runtime/train/LearningRate.h"
#include "test/unit/train/Fixture.h"

#include <cmath>

using namespace sluice;
using namespace sluice::test;

namespace {

LearningRate schedule(const std::string &shape, std::uint64_t steps = 7) {
  std::vector<std::string> recipe{"optimizer.lr = 0.5",       "schedule.forward_prefetch = 1", "schedule.lr = \"" + shape + "\"",
                                  "schedule.min_lr = 0.1",    "schedule.total_steps = 20",     "schedule.warmup_steps = 4"};
  Result<LearningRate> rate = LearningRate::parse(recipe, steps);
  EXPECT_TRUE(rate.isOk()) << rate.status().message();
  return *rate;
}

TEST(LearningRateTest, WarmupIsTheSameForAll) {
  for (const char *shape : {"constant", "linear", "cosine", "wsd"}) {
    LearningRate rate = schedule(shape);
    EXPECT_DOUBLE_EQ(rate.at(0), 0.125) << shape;
    EXPECT_DOUBLE_EQ(rate.at(3), 0.5) << shape;
    EXPECT_DOUBLE_EQ(rate.at(4), 0.5) << shape;
  }
}

TEST(LearningRateTest, Shapes) {
  EXPECT_DOUBLE_EQ(schedule("constant").at(1000), 0.5);
  EXPECT_DOUBLE_EQ(schedule("linear").at(12), 0.3);
  EXPECT_DOUBLE_EQ(schedule("linear").at(20), 0.1);
  EXPECT_DOUBLE_EQ(schedule("linear").at(1000), 0.1);
  EXPECT_DOUBLE_EQ(schedule("cosine").at(8), 0.1 + 0.4 * 0.5 * (1 + std::cos(M_PI * 0.25)));
  EXPECT_NEAR(schedule("cosine").at(20), 0.1, 1e-15);
  EXPECT_DOUBLE_EQ(schedule("wsd").at(16), 0.5);
  EXPECT_DOUBLE_EQ(schedule("wsd").at(17), 0.1 + 0.4 * 0.5);
  EXPECT_DOUBLE_EQ(schedule("wsd").at(20), 0.1);
}

TEST(LearningRateTest, DefaultsAndTheRunsOwnLength) {
  Result<LearningRate> plain = LearningRate::parse({}, 10);
  ASSERT_TRUE(plain.isOk());
  EXPECT_DOUBLE_EQ(plain->at(5), 1e-3);
  std::vector<std::string> recipe{"optimizer.lr = 1", "schedule.lr = linear"};
  Result<LearningRate> linear = LearningRate::parse(recipe, 10);
  ASSERT_TRUE(linear.isOk());
  EXPECT_DOUBLE_EQ(linear->at(5), 0.5);
}

TEST(LearningRateTest, BadRecipes) {
  auto refuses = [](const std::string &line, const std::string &text) {
    std::vector<std::string> recipe{line};
    expectError(LearningRate::parse(recipe, 10).status(), StatusCode::refused, text);
  };
  refuses("schedule.lr = \"cosin\"", "expected constant, linear, cosine or wsd but got 'cosin'");
  refuses("optimizer.lr = fast", "optimizer.lr, expected a number of at least 0 but got 'fast'");
  refuses("optimizer.lr = -1", "optimizer.lr, expected a number of at least 0 but got '-1'");
  refuses("schedule.warmup_steps = 1.5", "schedule.warmup_steps, expected a number of at least 0 but got '1.5'");
}

} // namespace
