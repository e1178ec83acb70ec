//===- LossCurveTest.cpp - the losses of a run as a diagram of text ------------------===//
#include "runtime/train/LossCurve.h"

#include <gtest/gtest.h>
#include <limits>

using namespace sluice;

namespace {

TEST(LossCurve, HasAColumnPerStep) {
  LossCurve curve;
  for (std::uint64_t step = 1; step <= 10; ++step)
    curve.add(step, 10, 10.5 - static_cast<double>(step));
  EXPECT_EQ(curve.text(), "loss\n"
                          "     9.5 |*\n"
                          "         | *\n"
                          "         |  *\n"
                          "         |   *\n"
                          "         |    *\n"
                          "         |     *\n"
                          "         |      *\n"
                          "         |       *\n"
                          "         |        *\n"
                          "     0.5 |         *\n"
                          "         +----------\n"
                          "          step 1  10\n");
}

TEST(LossCurve, AColumnIsTheMeanOfItsSteps) {
  LossCurve curve;
  // Columns of four steps, of which one is not finite: 1 for the first half of the run, then 0.
  for (std::uint64_t step = 1; step <= 256; ++step) {
    const double mean = step <= 128 ? 1 : 0;
    curve.add(step, 256, step % 4 == 0 ? std::numeric_limits<double>::quiet_NaN() : mean + double(step % 4) - 2);
  }
  const std::string text = curve.text();
  EXPECT_NE(text.find("       1 |" + std::string(32, '*') + "\n"), std::string::npos) << text;
  EXPECT_NE(text.find("       0 |" + std::string(32, ' ') + std::string(32, '*') + "\n"), std::string::npos) << text;
  EXPECT_NE(text.find("step 1" + std::string(55, ' ') + "255\n"), std::string::npos) << text;
}

TEST(LossCurve, ARunThatWasStoppedEndsEarlier) {
  LossCurve curve;
  for (std::uint64_t step = 1; step <= 50; ++step)
    curve.add(step, 100, 1);
  EXPECT_NE(curve.text().find("+" + std::string(32, '-') + "\n"), std::string::npos) << curve.text();
}

TEST(LossCurve, IsEmptyForOneColumn) {
  LossCurve curve;
  EXPECT_EQ(curve.text(), "");
  curve.add(1, 5, 3);
  EXPECT_EQ(curve.text(), "");
}

} // namespace
