//===- HostStreamTest.cpp - host instructions in the order of a GPU's streams
//-----------------------------===//
#include "runtime/executor/RankGroup.h"
#include "test/cuda/Fake.h"
#include "test/unit/executor/RunAlone.h"

#include <gtest/gtest.h>
#include <thread>

namespace sluice::test {
namespace {

enum : std::uint32_t { compute, host };
/// Instructions, in order of issue.
enum : std::uint32_t { copyIn, meet, copyOut, recordCopied, waitCopied, addOnHost, recordAdded, waitAdded, giveOut };

/// The device copies x in, adds it up over the ranks and copies it back; the host adds x to it; the device copies the
/// sum out.
plan::PlanT planWithHost(std::uint32_t ranks) {
  PlanBuilder made({ranks});
  made.plan.target->device = "cuda";
  made.stream("compute");
  made.stream("host");
  made.plan.streams[host]->processor = plan::Processor::host;
  const auto space = plan::Space::host;
  const auto x = made.buffer("x", {100}, plan::DType::f32, space),
             kept = made.buffer("kept", {100}, plan::DType::f32, space);
  const auto sum = made.buffer("sum", {100}, plan::DType::f32, space),
             out = made.buffer("out", {100}, plan::DType::f32, space);
  const auto there = made.buffer("there", {100});
  plan::EntryT &entry = made.entry("step", 2);
  made.section();
  made.copy(compute, made.view(x), made.view(there));
  made.collective(compute, plan::CollectiveKind::all_reduce, {0}, plan::ReduceOp::sum,
                  {{made.view(there), made.view(there)}});
  made.copy(compute, made.view(there), made.view(kept));
  made.record(compute, 0);
  made.wait(host, 0);
  made.launch(host, "add", {made.view(kept), made.view(x)}, {made.view(sum)});
  made.record(host, 1);
  made.wait(compute, 1);
  made.copy(compute, made.view(sum), made.view(out));
  made.port(entry.inputs, "x", made.view(x));
  made.port(entry.outputs, "out", made.view(out));
  return std::move(made.plan);
}

/// Sleeps before one instruction of every rank.
class Late final : public DelayInjector {
public:
  explicit Late(std::uint32_t which) : which(which) {}
  void before(std::string_view, std::uint32_t instruction, std::uint32_t) override {
    if (instruction == which)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

private:
  const std::uint32_t which;
};

// Tests that the host reads the copies of the device and the device reads the sums of the host, if either is
// late, over several steps; and that the host's instructions are host functions of a stream, none of them in a graph.
TEST(HostStream, IsOrderedWithTheDevicesStreams) {
  for (const std::uint32_t ranks : {1u, 2u})
    for (const std::uint32_t late : {copyIn, copyOut, addOnHost, giveOut}) {
      FakeCuda fake;
      const plan::PlanT plan = planWithHost(ranks);
      Late delays(late);
      ExecutorOptions options;
      options.delays = &delays;
      {
        auto group = RankGroup::create(plan, options);
        ASSERT_TRUE(group.isOk()) << group.status().message();
        for (int step = 1; step < 4; ++step) {
          for (int rank = 0; rank < (*group)->size(); ++rank) {
            auto x = (*group)->executor(rank).input("step", "x");
            for (int i = 0; i < 100; ++i)
              x->as<float>()[i] = static_cast<float>(i * step + rank);
          }
          const Status status = (*group)->runEntry("step");
          ASSERT_TRUE(status.isOk()) << status.message();
          for (int rank = 0; rank < (*group)->size(); ++rank) {
            auto out = (*group)->executor(rank).output("step", "out");
            for (int i = 0; i < 100; ++i)
              EXPECT_EQ(out->as<float>()[i],
                        static_cast<float>(i * step * (static_cast<int>(ranks) + 1) + (ranks == 2 ? 1 : 0) + rank));
          }
        }
        EXPECT_GT(FakeCuda::pinnedBytes(), 0u);
      }
      EXPECT_EQ(fake.complaint(), "");
      EXPECT_EQ(fake.liveObjects(), 0);
    }
}

// Tests that steps with such a stream are issued, never captured, and that `--cuda-graph on` is refused by name.
TEST(HostStream, IsNotCaptured) {
  FakeCuda fake;
  const plan::PlanT plan = planWithHost(1);
  {
    auto group = RankGroup::create(plan);
    ASSERT_TRUE(group.isOk()) << group.status().message();
    for (int step = 0; step < 3; ++step)
      ASSERT_TRUE((*group)->runEntry("step").isOk());
  }
  for (const FakeCall &call : FakeCuda::takeCalls()) {
    EXPECT_FALSE(call.captured);
    EXPECT_NE(call.kind, FakeCall::Kind::graph);
  }
  ExecutorOptions options;
  options.graphs = GraphMode::on;
  auto group = RankGroup::create(plan, options);
  ASSERT_FALSE(group.isOk());
  EXPECT_EQ(group.status().code(), StatusCode::refused);
  EXPECT_EQ(
      group.status().message(),
      "streams of a plan that is run as a graph, expected those of the device but got 'host', which the host runs");
  ASSERT_EQ(group.status().notes().size(), 1u);
  EXPECT_EQ(group.status().notes()[0], "run it with --cuda-graph auto, which issues its steps");
}

class Broken final : public BoundKernel {
public:
  Status run(std::span<void *const>, std::span<void *const>, void *) override { return failedError("it broke"); }
};

// Tests that a kernel that fails on the host is named by its instruction, that all ranks end without a
// hang, and that no CUDA function is called in a host function (the fake reports an error).
TEST(HostStream, AFailureNamesItsInstruction) {
  FakeCuda fake;
  const plan::PlanT plan = planWithHost(2);
  ExecutorOptions options;
  options.findKernel = [](std::string_view, KernelFlavour) -> PrepareFunction {
    return [](const KernelRequest &) -> Result<std::unique_ptr<BoundKernel>> {
      return std::unique_ptr<BoundKernel>(std::make_unique<Broken>());
    };
  };
  std::atomic<int> told = 0;
  options.onFailure = [&](const Status &) { ++told; };
  {
    auto group = RankGroup::create(plan, options);
    ASSERT_TRUE(group.isOk()) << group.status().message();
    for (int time = 0; time < 2; ++time) {
      const Status status = (*group)->runEntry("step");
      EXPECT_EQ(status.code(), StatusCode::failed);
      EXPECT_NE(status.message().find(", step, instruction 5 (launch add): it broke"), std::string::npos)
          << status.message();
    }
  }
  EXPECT_GE(told, 1);
  EXPECT_EQ(fake.complaint(), "");
  EXPECT_EQ(fake.liveObjects(), 0);
}

// Tests that a trace has the host's times and those of the device's streams.
TEST(HostStream, IsTraced) {
  FakeCuda fake;
  const plan::PlanT plan = planWithHost(1);
  Late delays(copyOut);
  ExecutorOptions options;
  options.delays = &delays;
  options.traceCapacity = 16;
  auto group = RankGroup::create(plan, options);
  ASSERT_TRUE(group.isOk()) << group.status().message();
  ASSERT_TRUE((*group)->runEntry("step").isOk());
  const std::span<const TraceRecord> device = (*group)->executor(0).trace(compute),
                                     onHost = (*group)->executor(0).trace(host);
  ASSERT_EQ(onHost.size(), 1u);
  EXPECT_EQ(onHost[0].instruction, addOnHost);
  EXPECT_LE(onHost[0].begin, onHost[0].end);
  ASSERT_EQ(device.size(), 4u);
  // After the copy in and before the copy out; the clocks of device and host agree to a millisecond.
  constexpr std::int64_t slack = 2000000;
  EXPECT_LE(device[2].end, onHost[0].begin + slack);
  EXPECT_LE(onHost[0].end, device[3].begin + slack);
}

} // namespace
} // namespace sluice::test
