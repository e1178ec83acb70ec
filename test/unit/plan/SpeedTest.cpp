//===- SpeedTest.cpp - the time of a check grows with the size of the plan ----------===//
//
// Plans with many operands in one instruction. The limits are far above the time of a linear check, and far below that
// of a quadratic one.
//
//===----------------------------------------------------------------------===//
#include "SmallPlan.h"

#include <ctime>

namespace sluice::test {
namespace {

constexpr std::int64_t many = 40000;
constexpr double mostSeconds = 4;

/// Processor seconds: other programs may use the processors.
double secondsOf(SmallPlan &plan) {
  const std::clock_t start = std::clock();
  plan.expectAccepted();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

TEST(Speed, ManyInputsOfALaunch) {
  SmallPlan plan;
  const std::uint32_t all = plan.buffer("all", {many}), sum = plan.buffer("sum", {});
  plan.section();
  plan.fill(compute, plan.view(all), 1);
  std::vector<plan::ViewT> inputs;
  for (std::int64_t k = 0; k < many; ++k)
    inputs.push_back(plan.view(all, {1}, std::uint64_t(k) * 4));
  plan.launch(compute, "power_sum", std::move(inputs), {plan.view(sum)}).operation.AsLaunch()->reduction =
      plan::ReductionClass::ordered;
  EXPECT_LT(secondsOf(plan), mostSeconds);
}

TEST(Speed, ManySegmentsOfACollective) {
  SmallPlan plan;
  const std::uint32_t all = plan.buffer("all", {many});
  plan.section();
  plan.fill(compute, plan.view(all), 1);
  std::vector<std::pair<plan::ViewT, plan::ViewT>> segments;
  for (std::int64_t k = 0; k < many; ++k) {
    const plan::ViewT view = plan.view(all, {1}, std::uint64_t(k) * 4);
    segments.push_back({view, view});
  }
  plan.collective(compute, plan::CollectiveKind::all_reduce, {0}, plan::ReduceOp::max, std::move(segments))
      .operation.AsCollective()
      ->reduction = plan::ReductionClass::ordered;
  EXPECT_LT(secondsOf(plan), mostSeconds);
}

// Windows that interleave are compared in pairs, so an instruction may have only so many.
TEST(Speed, ManyWindowsOfALaunch) {
  for (std::int64_t columns : {100, 3000}) {
    SmallPlan plan;
    const std::uint32_t all = plan.buffer("all", {2, columns}), gradient = plan.buffer("gradient", {2, 1}),
                        scalar = plan.buffer("scalar", {});
    plan.section();
    plan.fill(compute, plan.view(all), 1);
    plan.fill(compute, plan.view(gradient), 1);
    plan.fill(compute, plan.view(scalar), 1);
    std::vector<plan::ViewT> inputs, outputs;
    for (std::int64_t k = 0; k < columns; ++k) {
      outputs.push_back(plan.view(all, {2, 1}, std::uint64_t(k) * 4, {columns, 1}));
      inputs.push_back(outputs.back());
      inputs.push_back(plan.view(gradient));
    }
    inputs.insert(inputs.end(), 4, plan.view(scalar));
    plan.launch(compute, "sgd", std::move(inputs), std::move(outputs));
    if (columns == 100)
      plan.expectAccepted();
    else
      plan.expectRefused(2, "has more than 576256 pairs of operands whose ranges overlap");
  }
}

// Repetitions that are alike are followed only a few times.
TEST(Speed, ManyRepetitionsOfRecords) {
  SmallPlan plan;
  plan.section(1 << 20);
  for (std::uint32_t event = 0; event < 570; ++event)
    plan.record(compute, event);
  EXPECT_LT(secondsOf(plan), mostSeconds);
}

// The bytes of a buffer that are written one by one.
TEST(Speed, ManyFillsOfOneElement) {
  SmallPlan plan;
  constexpr std::int64_t fills = 32000;
  const std::uint32_t all = plan.buffer("all", {fills});
  plan.section();
  for (std::int64_t k = 0; k < fills; ++k)
    plan.fill(compute, plan.view(all, {1}, std::uint64_t(k) * 4), 1);
  EXPECT_LT(secondsOf(plan), mostSeconds);
}

} // namespace
} // namespace sluice::test
