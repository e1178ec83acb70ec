//===- OverlapTest.cpp - runs that follow one another without the host ----------------===//
//
// A gate stops running work at one instruction; the tests check which other work continues.
//
//===----------------------------------------------------------------------===//
#include "test/unit/executor/RunAlone.h"

#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>

namespace sluice::test {
namespace {

/// Holds a stream at an instruction until it is opened; counts how often each stream reached which.
class Gate : public DelayInjector {
public:
  Gate(std::string stream, std::uint32_t instruction) : held(std::move(stream)), at(instruction) {}
  void before(std::string_view stream, std::uint32_t instruction, std::uint32_t) override {
    std::unique_lock lock(mutex);
    ++seen[{std::string(stream), instruction}];
    changed.notify_all();
    if (stream == held && instruction == at && !changed.wait_for(lock, limit, [&] { return isOpen; }))
      ADD_FAILURE() << "the gate stayed shut";
  }
  void open() {
    std::lock_guard lock(mutex);
    isOpen = true;
    changed.notify_all();
  }
  /// True after a stream has reached an instruction this number of times.
  bool comes(const std::string &stream, std::uint32_t instruction, int times,
             std::chrono::milliseconds patience = std::chrono::seconds(20)) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, patience, [&] { return seen[{stream, instruction}] >= times; });
  }

private:
  static constexpr std::chrono::seconds limit{30};
  const std::string held;
  const std::uint32_t at;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<std::string, std::uint32_t>, int> seen;
  bool isOpen = false;
};

/// out = x, then two updates; on a different stream a copy of the first updated buffer, after its update in the
/// previous run and before that of this run.
///   0 side: wait (carried); 1 side: first -> seen; 2 side: record; 3 compute: x -> in; 4 compute: in -> out;
///   5 compute: wait; 6 compute: first += in; 7 compute: record; 8 compute: second += in;
/// then the same as a different entry point, without the instructions for `side`.
PlanBuilder updating() {
  PlanBuilder builder;
  const auto compute = builder.stream("compute"), side = builder.stream("side");
  const auto first = builder.buffer("first", {1}), second = builder.buffer("second", {1}),
             seen = builder.buffer("seen", {1}), in = builder.buffer("in", {1});
  const auto x = builder.buffer("x", {1}, f32, host), out = builder.buffer("out", {1}, f32, host);
  for (const char *name : {"step", "other"}) {
    plan::EntryT &entry = builder.entry(name, 2);
    builder.section();
    if (entry.name == "step") {
      builder.wait(side, 0).operation.AsWait()->carried = true;
      builder.copy(side, builder.view(first), builder.view(seen));
      builder.record(side, 1);
    }
    builder.copy(compute, builder.view(x), builder.view(in));
    builder.copy(compute, builder.view(in), builder.view(out));
    if (entry.name == "step")
      builder.wait(compute, 1);
    builder.launch(compute, "add", {builder.view(first), builder.view(in)}, {builder.view(first)});
    builder.record(compute, 0);
    builder.launch(compute, "add", {builder.view(second), builder.view(in)}, {builder.view(second)});
    builder.port(entry.inputs, "x", builder.view(x));
    builder.port(entry.outputs, "out", builder.view(out));
  }
  return builder;
}

Result<std::unique_ptr<Executor>> start(const PlanBuilder &builder, DelayInjector *gate) {
  ExecutorOptions options;
  options.delays = gate;
  return Executor::create(builder.plan, createLocalWorld(1), 0, options);
}

float &number(Executor &executor, const char *port, bool isInput, const char *entry = "step") {
  return *(isInput ? executor.input(entry, port) : executor.output(entry, port))->as<float>();
}

// Tests that ports are complete while updates are delayed, and that the inputs may then be those of the next run.
TEST(Overlap, PortsCompleteFirst) {
  const PlanBuilder builder = updating();
  Gate gate("compute", 6);
  auto executor = start(builder, &gate);
  ASSERT_TRUE(executor.isOk()) << executor.status().message();
  EXPECT_TRUE((*executor)->awaitPorts("step").isOk()) << "nothing has run";
  number(**executor, "x", true) = 3;
  ASSERT_TRUE((*executor)->runEntry("step").isOk());
  ASSERT_TRUE((*executor)->awaitPorts("step").isOk());
  EXPECT_EQ(number(**executor, "out", false), 3);
  number(**executor, "x", true) = 5;
  gate.open();
  ASSERT_TRUE((*executor)->runEntry("step").isOk());
  ASSERT_TRUE((*executor)->synchronize().isOk());
  EXPECT_EQ(number(**executor, "out", false), 5);
  EXPECT_EQ((*executor)->awaitPorts("nothing").code(), StatusCode::input);
}

// Tests that a run after one of the same entry point waits only for the record of that run.
TEST(Overlap, CarriedWaitIsForThePreviousRun) {
  const PlanBuilder builder = updating();
  for (std::uint32_t held : {6u, 8u}) {
    SCOPED_TRACE(held);
    Gate gate("compute", held);
    auto executor = start(builder, &gate);
    ASSERT_TRUE(executor.isOk());
    for (int run = 0; run < 2; ++run)
      ASSERT_TRUE((*executor)->runEntry("step").isOk());
    // The first run does not wait, since nothing ran before.
    EXPECT_TRUE(gate.comes("side", 1, 1));
    const bool passes = held == 8;
    EXPECT_EQ(gate.comes("side", 1, 2, std::chrono::milliseconds(passes ? 20000 : 100)), passes);
    gate.open();
    ASSERT_TRUE((*executor)->synchronize().isOk());
    EXPECT_TRUE(gate.comes("side", 1, 2));
  }
}

// Tests that a run after one of a different entry point starts after all of it.
TEST(Overlap, DifferentEntryPointStartsAfterAll) {
  const PlanBuilder builder = updating();
  // The entry point 'other', whose last instruction is its fifth.
  Gate gate("compute", 4);
  auto executor = start(builder, &gate);
  ASSERT_TRUE(executor.isOk());
  ASSERT_TRUE((*executor)->runEntry("other").isOk());
  ASSERT_TRUE((*executor)->runEntry("step").isOk());
  EXPECT_FALSE(gate.comes("side", 1, 1, std::chrono::milliseconds(100)));
  gate.open();
  ASSERT_TRUE((*executor)->synchronize().isOk());
  EXPECT_TRUE(gate.comes("side", 1, 1));
}

// Tests that a failure after the ports ends the next wait and the next run, and is kept.
TEST(Overlap, FailureAfterThePortsIsReported) {
  const PlanBuilder builder = updating();
  Gate gate("compute", 6);
  ExecutorOptions options;
  options.delays = &gate;
  options.findKernel = [](std::string_view, KernelFlavour) -> PrepareFunction {
    return [](const KernelRequest &) -> Result<std::unique_ptr<BoundKernel>> {
      class Failing final : public BoundKernel {
        Status run(std::span<void *const>, std::span<void *const>, void *) override { return failedError("it broke"); }
      };
      return std::unique_ptr<BoundKernel>(std::make_unique<Failing>());
    };
  };
  auto executor = Executor::create(builder.plan, createLocalWorld(1), 0, options);
  ASSERT_TRUE(executor.isOk());
  ASSERT_TRUE((*executor)->runEntry("step").isOk());
  ASSERT_TRUE((*executor)->awaitPorts("step").isOk());
  gate.open();
  const std::string message = "rank 0, step, instruction 6 (launch add): it broke";
  EXPECT_EQ((*executor)->synchronize().message(), message);
  EXPECT_EQ((*executor)->awaitPorts("step").message(), message);
  EXPECT_EQ((*executor)->runEntry("step").message(), message);
}

} // namespace
} // namespace sluice::test
