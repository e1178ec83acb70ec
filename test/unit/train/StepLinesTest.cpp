//===- StepLinesTest.cpp - the steps of a run that have a line -------------------------===//
#include "runtime/train/StepLines.h"

#include <gtest/gtest.h>
#include <vector>

using namespace sluice;

namespace {

StepReport report(std::uint64_t step, std::uint64_t steps, double milliseconds) {
  StepReport report;
  report.step = step;
  report.steps = steps;
  report.tokens = 8;
  report.milliseconds = milliseconds;
  return report;
}

/// The steps that have a line, each of a time.
std::vector<std::uint64_t> linesOf(std::uint64_t every, std::uint64_t steps, double milliseconds) {
  StepLines lines(every);
  std::vector<std::uint64_t> printed;
  for (std::uint64_t step = 1; step <= steps; ++step)
    if (lines.add(report(step, steps, milliseconds)))
      printed.push_back(step);
  return printed;
}

using Steps = std::vector<std::uint64_t>;

TEST(StepLines, FirstStepsThenAnInterval) {
  EXPECT_EQ(linesOf(0, 0, 1), Steps());
  EXPECT_EQ(linesOf(0, 1, 1), Steps({1}));
  EXPECT_EQ(linesOf(0, 12, 6000), Steps({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(linesOf(0, 26, 1000), Steps({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 25, 26}));
  EXPECT_EQ(linesOf(0, 1200, 1), Steps({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1200}));
}

TEST(StepLines, EverySoManySteps) {
  EXPECT_EQ(linesOf(1, 12, 1), Steps({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(linesOf(10, 25, 60000), Steps({10, 20, 25}));
}

// Tests that a line has what happened since the line before it.
TEST(StepLines, SumsTokensAndTime) {
  StepLines lines(4);
  for (std::uint64_t step = 1; step <= 3; ++step)
    EXPECT_FALSE(lines.add(report(step, 100, 2)));
  const std::optional<StepLines::Line> line = lines.add(report(4, 100, 2));
  ASSERT_TRUE(line);
  EXPECT_EQ(line->steps, 4u);
  EXPECT_EQ(line->report.tokens, 32u);
  EXPECT_EQ(line->report.milliseconds, 8);
  EXPECT_EQ(line->report.tokensPerSecond(), 4000);
}

TEST(StepLines, SpecialSteps) {
  StepLines lines(100);
  StepReport evaluated = report(3, 100, 1), guarded = report(4, 100, 1);
  evaluated.evaluationLoss = 1.5;
  guarded.guard = false;
  EXPECT_FALSE(lines.add(report(2, 100, 1)));
  EXPECT_TRUE(lines.add(evaluated));
  EXPECT_TRUE(lines.add(guarded));
  EXPECT_FALSE(lines.add(report(5, 100, 1)));
}

} // namespace
