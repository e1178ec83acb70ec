//===- BadSizesTest.cpp - sizes that overflow, and declarations of one name or key ---------===//
#include "BadPlan.h"
#include "SmallPlan.h"

#include "runtime/plan/check/Check.h"

namespace sluice::test {
namespace {

const Bad sizes[] = {
    {"BytesOverflow", 1, "its shape 4611686018427387904 is negative or overflows",
     [](HandPlan &h) { h.buffer("x").shape = {1ll << 62}; }},
    {"KeyOfAnotherUniformParameter", 14, "'a.weight' and 'b.weight' have the same initial values, both with key 0",
     [](HandPlan &h) {
       for (const char *name : {"a.weight", "b.weight"}) {
         h.parameter(name).initializer = std::make_unique<plan::InitializerT>();
         h.parameter(name).initializer->kind = plan::InitializerKind::uniform;
         h.parameter(name).key = 0;
       }
     }},
    {"VariableOfTheNameOfAParameter", 1, "variable 'a.weight', its name is empty or used twice",
     [](HandPlan &h) {
       plan::BufferT &buffer = h.buffer("x");
       buffer.entry = -1;
       buffer.begin = buffer.end = 0;
       buffer.offset = 1152;
       buffer.class_ = plan::BufferClass::state;
       h.plan.arenas[0]->bytes = h.plan.arenas[0]->persistent = 1216;
       h.plan.variables.push_back(std::make_unique<plan::VariableT>());
       h.plan.variables[0]->name = "a.weight";
       h.plan.variables[0]->buffer = h.bufferId("x");
     }},
};

INSTANTIATE_TEST_SUITE_P(Sizes, BadPlan, testing::ValuesIn(sizes), nameOf);

TEST(ViewBytes, OverflowIsNoSize) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  plan::ViewT view;
  view.dtype = plan::DType::u8;
  const auto bytes = [&](Shape shape, Shape strides) {
    view.shape = std::move(shape);
    view.strides = std::move(strides);
    return viewBytes(view);
  };
  EXPECT_EQ(bytes({3}, {most}), 2 * std::uint64_t(most) + 1);
  EXPECT_FALSE(bytes({4}, {most})) << "the reach of a dim";
  EXPECT_FALSE(bytes({2, 3}, {most, most})) << "the sum of two dims";
  EXPECT_FALSE(bytes({3, 2}, {most, 1})) << "one past the last element";
  view.dtype = plan::DType::f32;
  EXPECT_FALSE(bytes({3}, {most / 2})) << "the bytes of the elements";
}

/// The output is the first column, which a strided copy writes.
TEST(Windows, AnOutputIsMoreThanAColumn) {
  SmallPlan plan;
  const std::uint32_t all = plan.buffer("all", {2, 2}, f32, host), in = plan.buffer("in", {2});
  plan.section();
  plan.port(plan.plan.entries[0]->outputs, "y", plan.view(all));
  plan.fill(compute, plan.view(in), 1);
  plan.copy(compute, plan.view(in), plan.view(all, {2}, 0, {2}));
  plan.expectRefused(12, "output 'y' of 'step' is not there at the end of the step");
}

} // namespace
} // namespace sluice::test
