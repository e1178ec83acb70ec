//===- ExecutorTest.cpp - plans for a GPU that cannot run, and a GPU that fails
//------------------------------------===//
#include "runtime/collective/nccl/NcclWorld.h"
#include "runtime/executor/NonFinite.h"
#include "runtime/executor/RankGroup.h"
#include "test/cuda/Ranks.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <thread>

namespace sluice::test {
namespace {

Status statusOf(const plan::PlanT &plan) {
  auto group = RankGroup::create(plan);
  return group.isOk() ? (*group)->runEntry("train_step") : group.takeStatus();
}

// Tests that the sharded step of the executor's unit tests runs on the device, on one rank and on several.
TEST(CudaExecutor, RunsTheShardedStep) {
  for (std::uint32_t ranks : {1u, 2u, 4u}) {
    FakeCuda fake;
    const plan::PlanT plan = onCuda(ranks);
    const Status status = statusOf(plan);
    EXPECT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(fake.complaint(), "");
    EXPECT_EQ(fake.liveObjects(), 0);
  }
}

// Tests that values are not searched in the memory of a GPU.
TEST(CudaExecutor, RefusesASearch) {
  FakeCuda fake;
  const plan::PlanT plan = onCuda(1);
  auto group = RankGroup::create(plan);
  ASSERT_TRUE(group.isOk()) << group.status().message();
  const Status status = (*group)->executor(0).findNonFinite("train_step").status();
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_EQ(status.message(), "values are searched between instructions of the CPU, and the plan is for CUDA");
}

// Tests that ranks with NCCL, with steps issued and with steps replayed from a graph, give the CPU's results;
// that each collective is one group whose counts are the unit's chunks, padding included; and that the arena
// is registered.
TEST(CudaExecutor, RanksWithNccl) {
  constexpr std::uint32_t ranks = 3;
  Shards want(ranks);
  {
    const plan::PlanT plan = std::move(sharded(ranks).plan);
    auto group = RankGroup::create(plan);
    ASSERT_TRUE(group.isOk()) << group.status().message();
    ASSERT_TRUE((*group)
                    ->forEachRank([&](Executor &executor) {
                      return runSteps(executor, want[static_cast<std::size_t>(executor.rank())]);
                    })
                    .isOk());
  }
  for (GraphMode graphs : {GraphMode::off, GraphMode::on}) {
    FakeCuda fake(devices(ranks));
    const plan::PlanT plan = recordable(ranks);
    const auto host = createLocalWorld(ranks);
    Shards got(ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < static_cast<int>(ranks); ++rank)
      threads.emplace_back([&, rank] {
        auto world = createNcclWorld(host, rank, {});
        ASSERT_TRUE(world.isOk()) << world.status().message();
        ExecutorOptions options;
        options.graphs = graphs;
        options.device = rank;
        auto executor = Executor::create(plan, *world, rank, options);
        ASSERT_TRUE(executor.isOk()) << executor.status().message();
        EXPECT_FALSE(FakeCuda::registered().empty());
        const Status status = runSteps(**executor, got[static_cast<std::size_t>(rank)]);
        EXPECT_TRUE(status.isOk()) << status.message();
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(got, want);
    EXPECT_EQ(fake.complaint(), "");
    EXPECT_EQ(fake.liveObjects(), 0);
    int gathers = 0, reductions = 0, replays = 0;
    // 10 rows of 3 over 3 ranks: chunks of 4 rows, the last one padded.
    for (const FakeCall &call : takeCallsOfSteps()) {
      if (call.kind == FakeCall::Kind::graph) {
        ++replays;
        EXPECT_EQ(call.flags, cuda::instantiateNodePriority);
      }
      if (call.kind != FakeCall::Kind::collective)
        continue;
      EXPECT_EQ(call.counts, std::vector<std::uint64_t>({12}));
      EXPECT_EQ(call.type, cuda::nccl::typeF32);
      gathers += call.name == "ncclAllGather";
      reductions += call.name == "ncclReduceScatter" && call.op == cuda::nccl::average;
    }
    // A gather per micro-batch, a reduction per step; a graph is recorded at the second of four steps and launched from
    // then on.
    const int steps = graphs == GraphMode::off ? 4 : 2;
    EXPECT_EQ(gathers, 2 * steps * static_cast<int>(ranks));
    EXPECT_EQ(reductions, steps * static_cast<int>(ranks));
    EXPECT_EQ(replays, graphs == GraphMode::off ? 0 : 3 * static_cast<int>(ranks));
  }
}

/// Every graph is launched after the work of all ranks' streams and before their later work; "" or the
/// violation. `streams` are those of all ranks.
std::string replayOutOfOrder(const std::vector<FakeCall> &calls, std::size_t streams) {
  using Kind = FakeCall::Kind;
  for (auto graph = calls.begin(); graph != calls.end(); ++graph) {
    if (graph->kind != Kind::graph)
      continue;
    std::set<cuda::Event> before, after;
    for (auto call = graph; call-- != calls.begin() && call->kind != Kind::graph;)
      if (call->kind == Kind::wait && call->stream == graph->stream && !call->captured)
        before.insert(call->event);
    const auto told = std::find_if(graph, calls.end(), [&](const FakeCall &call) {
      return call.kind == Kind::record && call.stream == graph->stream;
    });
    std::set<cuda::Stream> waiting;
    for (auto call = told; call != calls.end() && (call == told || call->kind != Kind::graph); ++call)
      if (call->kind == Kind::wait && call->event == told->event)
        waiting.insert(call->stream);
    if (before.size() + 1 < streams)
      return "a graph is launched behind " + std::to_string(before.size()) + " other streams";
    if (waiting.size() + 1 != streams)
      return "behind a graph go on " + std::to_string(waiting.size()) + " other streams";
  }
  return "";
}

// Tests that ranks that share the device are one graph: recorded once by all of them, launched once per step, with the
// bits of steps that are issued; and that their memory and streams are freed afterwards.
TEST(CudaExecutor, VirtualRanksAreOneGraph) {
  constexpr std::uint32_t ranks = 3;
  Shards shards[2] = {Shards(ranks), Shards(ranks)};
  for (GraphMode graphs : {GraphMode::off, GraphMode::on}) {
    FakeCuda fake;
    const plan::PlanT plan = recordable(ranks);
    ExecutorOptions options;
    options.graphs = graphs;
    {
      auto group = RankGroup::create(plan, options);
      ASSERT_TRUE(group.isOk()) << group.status().message();
      const Status status = (*group)->forEachRank([&](Executor &executor) {
        return runSteps(executor, shards[graphs == GraphMode::on][static_cast<std::size_t>(executor.rank())]);
      });
      ASSERT_TRUE(status.isOk()) << status.message();
    }
    EXPECT_EQ(fake.complaint(), "");
    EXPECT_EQ(fake.liveObjects(), 0);
    int replays = 0, captured = 0, issued = 0;
    const std::vector<FakeCall> calls = FakeCuda::takeCalls();
    for (const FakeCall &call : calls) {
      replays += call.kind == FakeCall::Kind::graph;
      if (call.name == "sluice_memberReduce")
        ++(call.captured ? captured : issued);
    }
    // Recorded at the second of four steps and launched from then on, once for all ranks.
    EXPECT_EQ(replays, graphs == GraphMode::on ? 3 : 0);
    EXPECT_EQ(captured, graphs == GraphMode::on ? static_cast<int>(ranks) : 0);
    EXPECT_EQ(issued, static_cast<int>(ranks) * (graphs == GraphMode::on ? 1 : 4));
    EXPECT_EQ(replayOutOfOrder(calls, ranks * plan.streams.size()), "");
    // A notification of the host is on no stream on which the graph computes.
    std::set<cuda::Stream> notifying, computing;
    for (const FakeCall &call : calls)
      if (call.captured && (call.kind == FakeCall::Kind::host || call.kind == FakeCall::Kind::launch))
        (call.kind == FakeCall::Kind::host ? notifying : computing).insert(call.stream);
    EXPECT_EQ(notifying.size(), graphs == GraphMode::on ? ranks : 0);
    EXPECT_TRUE(std::ranges::none_of(notifying, [&](cuda::Stream stream) { return computing.contains(stream); }));
  }
  EXPECT_EQ(shards[0], shards[1]);
}

/// Four steps of the sharded plan on virtual ranks, or on ranks of NCCL with a device each; the first failure.
Status runStepsOnRanks(std::uint32_t ranks, bool byNccl, GraphMode graphs, Shards &shards) {
  const plan::PlanT plan = recordable(ranks);
  shards.assign(ranks, {});
  ExecutorOptions options;
  options.graphs = graphs;
  if (!byNccl) {
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<RankGroup> group, RankGroup::create(plan, options));
    return group->forEachRank(
        [&](Executor &executor) { return runSteps(executor, shards[static_cast<std::size_t>(executor.rank())]); });
  }
  const auto host = createLocalWorld(static_cast<int>(ranks));
  std::vector<Status> statuses(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < static_cast<int>(ranks); ++rank)
    threads.emplace_back([&, rank] {
      const auto run = [&]() -> Status {
        SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<DeviceWorld> world, createNcclWorld(host, rank, {}));
        ExecutorOptions own = options;
        own.device = rank;
        SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor, Executor::create(plan, world, rank, own));
        return runSteps(*executor, shards[static_cast<std::size_t>(rank)]);
      };
      statuses[static_cast<std::size_t>(rank)] = run();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (Status &status : statuses)
    SLUICE_RETURN_IF_ERROR(status);
  return {};
}

// Tests that a step that cannot be captured is issued with --cuda-graph auto, to the bit and without a graph, for every
// failure of the capture, and ends the run with --cuda-graph on.
TEST(CudaExecutor, AFailedCaptureFallsBackToIssuedSteps) {
  for (const bool byNccl : {false, true})
    for (const std::uint32_t ranks : {1u, 3u}) {
      Shards want;
      FakeOptions machine;
      machine.devices = static_cast<int>(ranks);
      {
        FakeCuda fake(machine);
        ASSERT_TRUE(runStepsOnRanks(ranks, byNccl, GraphMode::off, want).isOk());
      }
      for (const CaptureFault fault :
           {CaptureFault::begin, CaptureFault::launch, CaptureFault::end, CaptureFault::instantiate}) {
        machine.captureFault = fault;
        SCOPED_TRACE(std::to_string(static_cast<int>(fault)) + (byNccl ? " by NCCL" : " on virtual ranks"));
        FakeCuda fake(machine);
        Shards got;
        Status status = runStepsOnRanks(ranks, byNccl, GraphMode::automatic, got);
        EXPECT_TRUE(status.isOk()) << status.message();
        EXPECT_EQ(got, want);
        EXPECT_EQ(fake.complaint(), "");
        EXPECT_EQ(fake.liveObjects(), 0);
        for (const FakeCall &call : FakeCuda::takeCalls())
          EXPECT_NE(call.kind, FakeCall::Kind::graph);
        status = runStepsOnRanks(ranks, byNccl, GraphMode::on, got);
        EXPECT_EQ(status.code(), StatusCode::failed);
        EXPECT_EQ(fake.complaint(), "");
        // After a failure with NCCL nothing is freed until the process ends.
        if (!byNccl) {
          EXPECT_EQ(fake.liveObjects(), 0);
        }
      }
    }
}

// Tests that if rank 0 cannot begin a capture and a graph is required, the other ranks do not wait for it.
TEST(CudaExecutor, ACaptureThatCannotBeginFailsOnAllRanks) {
  FakeOptions fails;
  fails.captureFault = CaptureFault::begin;
  FakeCuda fake(fails);
  const plan::PlanT plan = onCuda(2);
  ExecutorOptions options;
  options.graphs = GraphMode::on;
  auto group = RankGroup::create(plan, options);
  ASSERT_TRUE(group.isOk()) << group.status().message();
  ASSERT_TRUE((*group)->runEntry("train_step").isOk());
  Status statuses[2];
  (void)(*group)->forEachRank(
      [&](Executor &executor) { return statuses[executor.rank()] = executor.runEntry("train_step"); });
  EXPECT_TRUE(statuses[0].message().starts_with("cuStreamBeginCapture: ")) << statuses[0].message();
  EXPECT_EQ(statuses[1].message(), "a different rank of the graph failed");
}

// Tests that a launch that fails while ranks record together ends all of them, with its name.
TEST(CudaExecutor, AFailureDuringCaptureEndsAllRanks) {
  FakeOptions fails;
  // Of the second step.
  fails.failingLaunch = 12;
  FakeCuda fake(fails);
  const plan::PlanT plan = recordable(2);
  auto group = RankGroup::create(plan);
  ASSERT_TRUE(group.isOk()) << group.status().message();
  Status status;
  for (int step = 0; step < 4 && status.isOk(); ++step)
    status = (*group)->runEntry("train_step");
  EXPECT_EQ(status.code(), StatusCode::failed);
  EXPECT_NE(status.message().find("unspecified launch failure"), std::string::npos) << status.message();
}

/// Sleeps before one instruction of the stream `compute`.
class OnePause final : public DelayInjector {
public:
  void before(std::string_view, std::uint32_t instruction, std::uint32_t) override {
    if (instruction == update)
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }
};

// Tests that a trace has the times of the streams, not those of issue: a pause of a stream is between the
// instructions that it separates; and that a traced step is issued, never replayed.
TEST(CudaExecutor, TracesTheTimesOfStreams) {
  FakeCuda fake;
  const plan::PlanT plan = onCuda(1);
  OnePause pause;
  ExecutorOptions options;
  options.delays = &pause;
  options.traceCapacity = 100;
  options.graphs = GraphMode::automatic;
  {
    auto group = RankGroup::create(plan, options);
    ASSERT_TRUE(group.isOk()) << group.status().message();
    Executor &executor = (*group)->executor(0);
    const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); };
    // Another program may have the processor while the clocks are compared.
    bool isNear = false;
    for (int step = 0; step < 3 || (!isNear && step < 50); ++step) {
      const std::int64_t before = now();
      const Status status = (*group)->runEntry("train_step");
      ASSERT_TRUE(status.isOk()) << status.message();
      const std::int64_t after = now(), slack = 2000000;
      const std::span<const TraceRecord> records = executor.trace(compute);
      // Two micro-batches, the update, the copy of the result.
      ASSERT_EQ(records.size(), 4u);
      EXPECT_EQ(records[2].instruction, update);
      EXPECT_EQ(records[3].instruction, copyShard);
      std::int64_t last = records.front().begin;
      for (const TraceRecord &record : records) {
        EXPECT_LE(last, record.begin);
        EXPECT_LE(record.begin, record.end);
        last = record.end;
      }
      isNear |= before - slack <= records.front().begin && last <= after + slack;
      EXPECT_GE(records[2].begin - records[1].end, 55000000);
      executor.clearTrace();
      EXPECT_TRUE(executor.trace(compute).empty());
    }
    EXPECT_TRUE(isNear);
  }
  for (const FakeCall &call : FakeCuda::takeCalls())
    EXPECT_NE(call.kind, FakeCall::Kind::graph);
  EXPECT_EQ(fake.complaint(), "");
  EXPECT_EQ(fake.liveObjects(), 0);
}

TEST(CudaExecutor, RefusesAPlanForALaterGpu) {
  FakeCuda fake;
  plan::PlanT plan = onCuda(1);
  plan.target->arch = "sm_100";
  const Status status = statusOf(plan);
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_EQ(status.message(), "architecture of the device, expected sm_100 as the plan's target.arch but got sm_90");
  EXPECT_EQ(fake.liveObjects(), 0);
}

TEST(CudaExecutor, RefusesAKernelThatCudaLacks) {
  FakeCuda fake;
  plan::PlanT plan = onCuda(1);
  plan.kernels.push_back("conv3d");
  const Status status = statusOf(plan);
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_EQ(status.message(), "kernel of the plan, expected one that the cuda device has but got 'conv3d'");
}

// Tests that more processes than GPUs is an error of the one that has none.
TEST(CudaExecutor, RefusesAMissingDevice) {
  FakeCuda fake;
  const plan::PlanT plan = onCuda(1);
  ExecutorOptions options;
  options.device = 1;
  auto group = RankGroup::create(plan, options);
  ASSERT_FALSE(group.isOk());
  EXPECT_EQ(group.status().code(), StatusCode::refused);
  EXPECT_EQ(group.status().message(), "cuda device 1, expected less than the machine's 1");
}

// Tests that too little memory is an error before the first launch, with the largest buffers.
TEST(CudaExecutor, TooLittleMemoryNamesTheLargestBuffers) {
  FakeOptions options;
  options.memory = 100;
  FakeCuda fake(options);
  const Status status = statusOf(onCuda(1));
  EXPECT_EQ(status.code(), StatusCode::failed);
  EXPECT_NE(status.message().find("memory for the arena of rank 0: the device has 100 of 100 bytes free"),
            std::string::npos)
      << status.message();
  ASSERT_EQ(status.notes().size(), 3u);
  EXPECT_EQ(status.notes()[0], "buffer 'shard' takes 120 bytes");
  for (const FakeCall &call : FakeCuda::takeCalls())
    EXPECT_NE(call.kind, FakeCall::Kind::launch);
}

// Tests that a launch that fails is named, and that everything is freed.
TEST(CudaExecutor, AFailedLaunchIsNamed) {
  FakeOptions options;
  options.failingLaunch = 0;
  FakeCuda fake(options);
  const Status status = statusOf(onCuda(1));
  EXPECT_EQ(status.code(), StatusCode::failed);
  EXPECT_TRUE(status.message().starts_with("rank 0, train_step, instruction ")) << status.message();
  EXPECT_NE(status.message().find("cuLaunchKernel: unspecified launch failure (CUDA_ERROR_LAUNCH_FAILED)"),
            std::string::npos)
      << status.message();
}

} // namespace
} // namespace sluice::test
