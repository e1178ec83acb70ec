//===- ExecutorTest.cpp - one rank alone ---------------------------------------------===//
#include "test/unit/executor/RunAlone.h"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

/// out += in[repetition], for each of four repetitions, with `first` setting out to 100 before.
PlanBuilder accumulating() {
  PlanBuilder builder;
  const auto s = builder.stream("compute", 256);
  const auto in = builder.buffer("in", {4, 3}, f32, host);
  const auto sum = builder.buffer("sum", {3});
  const auto out = builder.buffer("out", {3}, f32, host);
  plan::EntryT &entry = builder.entry("train_step");
  plan::ViewT slice = builder.view(in, {3});
  slice.repetition_stride = 3 * sizeof(float);
  builder.section(4);
  builder.fill(s, builder.view(sum), 100).when = plan::When::first;
  builder.launch(s, "accumulate", {slice}, {builder.view(sum)});
  builder.section();
  builder.copy(s, builder.view(sum), builder.view(out));
  builder.port(entry.inputs, "x", slice).per_repetition = true;
  builder.port(entry.outputs, "sum", builder.view(out));
  return builder;
}

// Tests repetitions, the stride of a repeated input, ports of both kinds, and that a second step starts from the
// beginning.
TEST(Executor, RunsSectionsAndRepetitions) {
  PlanBuilder builder = accumulating();
  auto executor = runAlone(builder.plan);
  ASSERT_TRUE(executor.isOk()) << executor.status().message();
  Result<PortMemory> x = (*executor)->input("train_step", "x");
  Result<PortMemory> sum = (*executor)->output("train_step", "sum");
  ASSERT_TRUE(x.isOk() && sum.isOk());
  EXPECT_EQ(x->repetitions, 4u);
  EXPECT_EQ(x->bytes, 12u);
  EXPECT_EQ(x->shape, Shape({3}));
  EXPECT_EQ(sum->repetitions, 1u);
  for (int step = 0; step < 3; ++step) {
    for (std::uint32_t r = 0; r < 4; ++r)
      for (int i = 0; i < 3; ++i)
        x->as<float>(r)[i] = static_cast<float>(10 * r + i + step);
    ASSERT_TRUE((*executor)->runEntry("train_step").isOk());
    Status status = (*executor)->synchronize();
    ASSERT_TRUE(status.isOk()) << status.message();
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(sum->as<float>()[i], static_cast<float>(100 + 60 + 4 * i + 4 * step));
  }
}

// Tests each predicate over the repetitions: which of five repetitions add their power of ten.
TEST(Executor, HonoursPredicates) {
  const std::vector<std::pair<plan::When, double>> cases = {
      {plan::When::all, 11111},  {plan::When::first, 1},       {plan::When::not_first, 11110},
      {plan::When::last, 10000}, {plan::When::not_last, 1111}, {plan::When::listed, 1010},
  };
  for (const auto &[when, want] : cases) {
    PlanBuilder builder;
    const auto s = builder.stream("compute");
    const auto in = builder.buffer("in", {5}, f32, host);
    const auto sum = builder.buffer("sum", {1}, f32, host);
    plan::EntryT &entry = builder.entry("step");
    plan::ViewT slice = builder.view(in, {1});
    slice.repetition_stride = sizeof(float);
    builder.section(5);
    plan::InstructionT &add = builder.launch(s, "accumulate", {slice}, {builder.view(sum)});
    add.when = when;
    add.repetitions = {1, 3};
    builder.port(entry.inputs, "x", slice).per_repetition = true;
    builder.port(entry.outputs, "sum", builder.view(sum));
    auto executor = runAlone(builder.plan);
    ASSERT_TRUE(executor.isOk()) << executor.status().message();
    const PortMemory x = *(*executor)->input("step", "x");
    float power = 1;
    for (std::uint32_t r = 0; r < 5; ++r, power *= 10)
      *x.as<float>(r) = power;
    ASSERT_TRUE((*executor)->runEntry("step").isOk());
    ASSERT_TRUE((*executor)->synchronize().isOk());
    EXPECT_EQ(*(*executor)->output("step", "sum")->as<float>(), static_cast<float>(want)) << plan::EnumNameWhen(when);
  }
}

// Tests that two entry points share persistent buffers, and that their events are separate.
TEST(Executor, EntryPointsShareState) {
  PlanBuilder builder;
  const auto a = builder.stream("a"), b = builder.stream("b");
  const auto state = builder.buffer("state", {2});
  const auto out = builder.buffer("out", {2}, f32, host);
  builder.entry("init", 1);
  builder.section();
  builder.fill(a, builder.view(state), 5);
  builder.record(a, 0);
  builder.wait(b, 0);
  builder.copy(b, builder.view(state), builder.view(out));
  plan::EntryT &step = builder.entry("step", 1);
  builder.section();
  builder.launch(a, "add", {builder.view(state), builder.view(state)}, {builder.view(state)});
  builder.record(a, 0);
  builder.wait(b, 0);
  builder.copy(b, builder.view(state), builder.view(out));
  builder.port(step.outputs, "out", builder.view(out));
  auto executor = runAlone(builder.plan);
  ASSERT_TRUE(executor.isOk()) << executor.status().message();
  float want = 5;
  ASSERT_TRUE((*executor)->runEntry("init").isOk());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE((*executor)->synchronize().isOk());
    ASSERT_TRUE((*executor)->runEntry("step").isOk());
    want *= 2;
  }
  ASSERT_TRUE((*executor)->synchronize().isOk());
  EXPECT_EQ((*executor)->output("step", "out")->as<float>()[1], want);
}

// Tests that the requested memory is the plan's arenas and workspaces to the byte, by space.
TEST(Executor, RequestsThePlansMemory) {
  PlanBuilder builder = accumulating();
  builder.plan.arenas[0]->bytes += 12345;
  auto executor = runAlone(builder.plan);
  ASSERT_TRUE(executor.isOk());
  EXPECT_EQ((*executor)->allocatedBytes(MemorySpace::device),
            builder.plan.arenas[0]->bytes + builder.plan.arenas[0]->workspace);
  EXPECT_EQ((*executor)->allocatedBytes(MemorySpace::host), builder.plan.arenas[1]->bytes);
}

// Tests that the input `seed` gets the seed.
TEST(Executor, WritesTheSeed) {
  PlanBuilder builder = accumulating();
  const auto seed = builder.buffer("seed", {}, plan::DType::i64, host);
  builder.port(builder.plan.entries[0]->inputs, "seed", builder.view(seed));
  ExecutorOptions options;
  options.seed = 42;
  auto executor = runAlone(builder.plan, options);
  ASSERT_TRUE(executor.isOk()) << executor.status().message();
  EXPECT_EQ(*(*executor)->input("train_step", "seed")->as<std::int64_t>(), 42);
}

// Tests the times of instructions: one record for each issue, in order, until the memory for them is full.
TEST(Executor, TracesInstructions) {
  PlanBuilder builder = accumulating();
  ExecutorOptions options;
  options.traceCapacity = 8;
  auto executor = runAlone(builder.plan, options);
  ASSERT_TRUE(executor.isOk());
  ASSERT_TRUE((*executor)->runEntry("train_step").isOk());
  ASSERT_TRUE((*executor)->synchronize().isOk());
  std::span<const TraceRecord> trace = (*executor)->trace(0);
  ASSERT_EQ(trace.size(), 6u);
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> want = {{0, 0}, {1, 0}, {1, 1}, {1, 2}, {1, 3}, {2, 0}};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(std::make_pair(trace[i].instruction, trace[i].repetition), want[i]);
    EXPECT_LE(trace[i].begin, trace[i].end);
    if (i > 0) {
      EXPECT_LE(trace[i - 1].end, trace[i].begin);
    }
  }
  ASSERT_TRUE((*executor)->runEntry("train_step").isOk());
  ASSERT_TRUE((*executor)->synchronize().isOk());
  EXPECT_EQ((*executor)->trace(0).size(), 8u);
  (*executor)->clearTrace();
  EXPECT_TRUE((*executor)->trace(0).empty());
}

// Tests names that the plan does not have.
TEST(Executor, UnknownNamesAreErrors) {
  PlanBuilder builder = accumulating();
  auto executor = runAlone(builder.plan);
  ASSERT_TRUE(executor.isOk());
  EXPECT_EQ((*executor)->runEntry("nope").message(), "entry point 'nope' is not in the plan");
  EXPECT_EQ((*executor)->input("nope", "x").status().message(), "entry point 'nope' is not in the plan");
  EXPECT_EQ((*executor)->input("train_step", "y").status().message(),
            "input of entry point 'train_step' 'y' is not in the plan");
  EXPECT_EQ((*executor)->output("train_step", "x").status().message(),
            "output of entry point 'train_step' 'x' is not in the plan");
}

// Tests copies between windows with strides, and fills of every type.
TEST(Executor, CopiesAndFillsWindows) {
  PlanBuilder builder;
  const auto s = builder.stream("compute");
  const auto from = builder.buffer("from", {4, 6}, f32, host);
  const auto to = builder.buffer("to", {3, 2}, f32, host);
  plan::EntryT &entry = builder.entry("step");
  builder.section();
  // Columns 1 and 4 of rows 1 to 3, with their order of dims exchanged in the destination.
  builder.copy(s, builder.view(from, {3, 2}, 7 * sizeof(float), {6, 3}), builder.view(to, {3, 2}, 0, {1, 3}));
  builder.port(entry.inputs, "from", builder.view(from));
  builder.port(entry.outputs, "to", builder.view(to));
  const std::vector<std::pair<plan::DType, std::uint64_t>> bits = {{plan::DType::f32, 0x3fc00000},
                                                                   {plan::DType::f64, 0x3ff8000000000000},
                                                                   {plan::DType::bf16, 0x3fc0},
                                                                   {plan::DType::f16, 0x3e00},
                                                                   {plan::DType::i32, 1},
                                                                   {plan::DType::i64, 1},
                                                                   {plan::DType::u8, 1}};
  for (const auto &[dtype, _] : bits) {
    const std::string name = plan::EnumNameDType(dtype);
    const auto filled = builder.buffer(name, {2, 3}, dtype, host);
    builder.fill(s, builder.view(filled, {2, 2}, dtypeBytes(baseType(dtype)), {3, 1}), 1.5);
    builder.port(entry.outputs, name, builder.view(filled));
  }
  auto executor = runAlone(builder.plan);
  ASSERT_TRUE(executor.isOk()) << executor.status().message();
  float *source = (*executor)->input("step", "from")->as<float>();
  for (int i = 0; i < 24; ++i)
    source[i] = static_cast<float>(i);
  ASSERT_TRUE((*executor)->runEntry("step").isOk());
  ASSERT_TRUE((*executor)->synchronize().isOk());
  const float *got = (*executor)->output("step", "to")->as<float>();
  EXPECT_EQ(std::vector<float>(got, got + 6), std::vector<float>({7, 13, 19, 10, 16, 22}));
  for (const auto &[dtype, want] : bits) {
    const auto *bytes = static_cast<const std::byte *>((*executor)->output("step", plan::EnumNameDType(dtype))->at());
    const std::size_t size = dtypeBytes(baseType(dtype));
    for (std::size_t i = 0; i < 6; ++i) {
      std::uint64_t value = 0;
      std::memcpy(&value, bytes + i * size, size);
      EXPECT_EQ(value, i % 3 == 0 ? 0 : want) << plan::EnumNameDType(dtype) << " " << i;
    }
  }
}

} // namespace
} // namespace sluice::test
