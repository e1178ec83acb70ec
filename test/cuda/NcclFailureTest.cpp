//===- NcclFailureTest.cpp - ranks that fail, hang or never call, on the emulated device
//---------------------------===//
//
// The peers of such a rank wait in collectives that never end, as NCCL's kernels do. Each of them returns the failure
// within its deadline, with steps issued or replayed, and can then be destroyed without waiting.
//
//===----------------------------------------------------------------------===//
#include "runtime/collective/nccl/NcclWorld.h"
#include "test/cuda/Ranks.h"

#include <algorithm>
#include <atomic>
#include <chrono>

namespace sluice::test {
namespace {

/// Waits for NCCL as an executor's device does.
void watchBy(CudaDevice &device, DeviceWorld &world) {
  device.watchWaits([&world](auto since) { return world.checkWait(since); });
}

/// A device that was abandoned is used until the process ends.
void keep(std::unique_ptr<CudaDevice> device) {
  static auto *const kept = new std::vector<std::unique_ptr<CudaDevice>>;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  kept->push_back(std::move(device));
}

std::unique_ptr<CudaDevice> deviceOf(int rank) {
  CudaDeviceOptions options;
  options.ordinal = rank;
  auto device = CudaDevice::create(options);
  EXPECT_TRUE(device.isOk()) << device.status().message();
  EXPECT_TRUE((*device)->createStream("gather", 0).isOk());
  return std::move(*device);
}

/// Runs body(rank) on a thread for each rank.
template <typename Body> void onThreads(int ranks, Body body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&body, rank] { body(rank); });
  for (std::thread &thread : threads)
    thread.join();
}

// Tests that a rank whose peer does not call is not left waiting, and that the error names rank, channel, instruction,
// unit.
TEST(NcclFailure, AHangingPeerIsReportedWithTheInstruction) {
  FakeCuda fake(devices(2));
  const auto host = createLocalWorld(2);
  onThreads(2, [&](int rank) {
    std::unique_ptr<CudaDevice> device = deviceOf(rank);
    NcclOptions options;
    options.watchdogSeconds = 0.3;
    auto world = createNcclWorld(host, rank, options);
    ASSERT_TRUE(world.isOk());
    auto all = (*world)->createForDevice(rank, allRanks(2), "gather");
    ASSERT_TRUE(all.isOk()) << all.status().message();
    watchBy(*device, **world);
    const std::string wanted = "rank 0 has waited 0 s for its peers on channel 'gather' at instruction 12 (h.0)";
    if (rank == 1) {
      EXPECT_EQ((*all)->barrier({1, "test"}).message(), wanted);
      return;
    }
    float own = 1, both[2] = {};
    const SegmentPointers segment{&own, both, 1};
    ASSERT_TRUE((*all)->allGather({&segment, 1}, DType::f32, {12, "h.0"}, device->stream(0)).isOk());
    EXPECT_EQ(device->synchronize().message(), wanted);
    EXPECT_TRUE(device->isAbandoned());
    EXPECT_EQ((*world)->state().message(), wanted);
    EXPECT_EQ((*all)->allGather({&segment, 1}, DType::f32, {13, "h.1"}, device->stream(0)).message(),
              "channel 'gather' was ended by an earlier failure");
    keep(std::move(device));
  });
}

/// The error of rank 0 if rank 1 runs `steps` steps and then dies or hangs.
Status runBesideALostRank(int steps, GraphMode graphs, bool dies) {
  const plan::PlanT plan = recordable(2);
  const auto host = createLocalWorld(2);
  std::atomic<bool> done = false;
  Status reported;
  onThreads(2, [&](int rank) {
    NcclOptions options;
    options.watchdogSeconds = dies ? 0 : 0.4;
    auto world = createNcclWorld(host, rank, options);
    ASSERT_TRUE(world.isOk());
    ExecutorOptions chosen;
    chosen.graphs = graphs;
    chosen.device = rank;
    auto executor = Executor::create(plan, *world, rank, chosen);
    ASSERT_TRUE(executor.isOk()) << executor.status().message();
    std::vector<float> shard;
    if (rank == 0) {
      reported = runSteps(**executor, shard, steps + 1);
      done = true;
      return;
    }
    EXPECT_TRUE(runSteps(**executor, shard, steps).isOk());
    // A world of processes detects the end of a process.
    if (dies) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      host->abort(failedError("rank 1 has died, its last instruction was train_step, instruction 12"));
    }
    while (!done)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  return reported;
}

// Tests that the death of a rank ends the others, in an issued step and in a replayed one.
TEST(NcclFailure, ADeadPeerEndsAllRanks) {
  for (const auto &[steps, graphs] : {std::pair(1, GraphMode::off), std::pair(3, GraphMode::on)}) {
    FakeCuda fake(devices(2));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(runBesideALostRank(steps, graphs, true).message(),
              "rank 1 has died, its last instruction was train_step, instruction 12");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
    EXPECT_EQ(fake.complaint(), "");
  }
}

// Tests that a rank that hangs is reported by its peers with the collective, also if a graph replays it.
TEST(NcclFailure, AHangInAReplayIsReported) {
  for (const auto &[steps, graphs] : {std::pair(1, GraphMode::off), std::pair(3, GraphMode::on)}) {
    FakeCuda fake(devices(2));
    EXPECT_EQ(runBesideALostRank(steps, graphs, false).message(),
              "rank 0 has waited 0 s for its peers on channel 'gather' at instruction 1 (h.0)");
    const auto calls = FakeCuda::takeCalls();
    EXPECT_EQ(std::ranges::count(calls, FakeCall::Kind::graph, &FakeCall::kind) > 0, graphs == GraphMode::on);
    EXPECT_EQ(fake.complaint(), "");
  }
}

// Tests that a rank that gets a failure outside of a wait destroys its communicators without waiting;
// and that an asynchronous error names the running collective.
TEST(NcclFailure, NothingIsDestroyedAfterAFailure) {
  for (const bool byNccl : {false, true}) {
    FakeCuda fake(devices(2));
    const auto host = createLocalWorld(2);
    onThreads(2, [&](int rank) {
      std::unique_ptr<CudaDevice> device = deviceOf(rank);
      auto world = createNcclWorld(host, rank, {});
      ASSERT_TRUE(world.isOk());
      auto all = (*world)->createForDevice(rank, allRanks(2), "gather");
      ASSERT_TRUE(all.isOk()) << all.status().message();
      watchBy(*device, **world);
      if (rank == 1) {
        EXPECT_FALSE((*all)->barrier({1, "test"}).isOk());
        return;
      }
      float own = 1, both[2] = {};
      const SegmentPointers segment{&own, both, 1};
      ASSERT_TRUE((*all)->allGather({&segment, 1}, DType::f32, {12, "h.0"}, device->stream(0)).isOk());
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (byNccl) {
        FakeCuda::setNcclError(6);
        for (int i = 0; i < 200 && (*world)->state().isOk(); ++i)
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        EXPECT_EQ((*world)->state().message(), "rank 0, channel 'gather' at instruction 12 (h.0): nccl: remote process "
                                               "exited or network error (nccl code 6)");
      } else {
        host->abort(failedError("rank 1 has died"));
      }
      const auto begin = std::chrono::steady_clock::now();
      all->reset();
      world->reset();
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
      keep(std::move(device));
    });
    EXPECT_EQ(fake.complaint(), "");
  }
}

// Tests that an asynchronous error of NCCL ends the world, and that the process ends if the rank's thread does not
// return.
TEST(NcclFailure, AThreadThatDoesNotReturnEndsTheProcess) {
  FakeCuda fake(devices(1));
  const auto host = createLocalWorld(1);
  std::atomic<bool> ended = false;
  std::string reason;
  NcclOptions options;
  options.graceSeconds = 0.1;
  options.endProcess = [&](const Status &status) {
    reason = status.message();
    ended = true;
  };
  std::unique_ptr<CudaDevice> device = deviceOf(0);
  auto world = createNcclWorld(host, 0, options);
  ASSERT_TRUE(world.isOk());
  auto all = (*world)->createForDevice(0, allRanks(1), "gather");
  ASSERT_TRUE(all.isOk());
  FakeCuda::setNcclError(6);
  for (int i = 0; i < 200 && !ended; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(ended);
  EXPECT_EQ(reason, "rank 0, channel 'gather': nccl: remote process exited or network error (nccl code 6)");
  EXPECT_EQ((*world)->state().message(), reason);
}

// Tests that a rank that NCCL never connects is an error after the deadline, not a wait.
TEST(NcclFailure, ConnectionHasADeadline) {
  FakeCuda fake(devices(2));
  const auto host = createLocalWorld(2);
  onThreads(2, [&](int rank) {
    if (rank == 1) {
      // The rank is in the rendezvous on the host, but not in NCCL's.
      auto all = host->create(1, allRanks(2), "nccl");
      ASSERT_TRUE(all.isOk());
      cuda::Uuid own{}, uuids[2];
      own.bytes[0] = 1;
      const SegmentPointers uuid{&own, uuids, sizeof own};
      ASSERT_TRUE((*all)->allGather({&uuid, 1}, DType::u8, {0, "GPUs of the ranks"}, nullptr).isOk());
      cuda::nccl::UniqueId id;
      const SegmentPointers segment{&id, &id, sizeof id};
      ASSERT_TRUE((*all)->broadcast({&segment, 1}, DType::u8, 0, {0, "nccl's id"}, nullptr).isOk());
      (void)(*all)->barrier({0, "test"});
      return;
    }
    std::unique_ptr<CudaDevice> device = deviceOf(rank);
    NcclOptions options;
    options.startSeconds = 0.3;
    auto world = createNcclWorld(host, rank, options);
    ASSERT_TRUE(world.isOk());
    const Status status = (*world)->createForDevice(rank, allRanks(2), "gather").status();
    EXPECT_EQ(status.message(), "ncclCommInitRankConfig: nccl has not connected the ranks within 0 s");
    EXPECT_EQ(status.notes().size(), 1u);
  });
}

// Tests that two ranks on one GPU are refused by name, before NCCL starts.
TEST(NcclFailure, TwoRanksOnOneGpuAreRefused) {
  FakeCuda fake(devices(2));
  const auto host = createLocalWorld(3);
  onThreads(3, [&](int rank) {
    std::unique_ptr<CudaDevice> device = deviceOf(rank % 2);
    auto world = createNcclWorld(host, rank, {});
    ASSERT_TRUE(world.isOk());
    const Status status = (*world)->createForDevice(rank, allRanks(3), "gather").status();
    EXPECT_EQ(status.code(), StatusCode::refused);
    EXPECT_EQ(status.message(), "rank 0 and rank 2 use the same GPU (GPU-00000000-0000-0000-0000-000000000000)");
  });
  EXPECT_EQ(fake.liveObjects(), 0);
}

/// Creating the executors of two ranks on devices of `memory` bytes, of which each communicator takes `ncclBytes`.
Status createWithMemory(std::uint64_t memory, std::uint64_t ncclBytes) {
  FakeOptions machine = devices(2);
  machine.memory = memory;
  machine.ncclBytes = ncclBytes;
  FakeCuda fake(machine);
  const plan::PlanT plan = onCuda(2);
  const auto host = createLocalWorld(2);
  Status statuses[2];
  onThreads(2, [&](int rank) {
    auto world = createNcclWorld(host, rank, {});
    ASSERT_TRUE(world.isOk());
    ExecutorOptions options;
    options.device = rank;
    statuses[rank] = Executor::create(plan, *world, rank, options).status();
  });
  EXPECT_EQ(fake.complaint(), "");
  return statuses[0].notes().size() >= statuses[1].notes().size() ? statuses[0] : statuses[1];
}

// Tests that NCCL connects before the arena is allocated: an error of too little memory names NCCL's memory.
TEST(NcclFailure, NcclAllocatesBeforeTheArena) {
  EXPECT_TRUE(createWithMemory(std::uint64_t(1) << 30, 1 << 16).isOk());
  const std::uint64_t each = 1 << 20;
  const Status arena = createWithMemory(2 * each + 100, each);
  EXPECT_NE(arena.message().find("memory for the arena of rank"), std::string::npos) << arena.message();
  ASSERT_EQ(arena.notes().size(), 4u);
  EXPECT_EQ(arena.notes()[3], "nccl takes 2097152 bytes for its communicators");
  const Status connecting = createWithMemory(each - 1, each);
  EXPECT_TRUE(connecting.message().starts_with("connecting channel 'gather': unhandled cuda error"))
      << connecting.message();
  ASSERT_FALSE(connecting.notes().empty());
  EXPECT_NE(connecting.notes()[0].find("bytes free; nccl has allocated "), std::string::npos) << connecting.notes()[0];
}

// Tests that split communicators share the buffers of the first.
TEST(NcclFailure, SplitCommunicatorsShareResources) {
  FakeCuda fake(devices(2));
  const auto host = createLocalWorld(2);
  forRanks(2, [&](int rank, CudaDevice &device) {
    auto world = createNcclWorld(host, rank, {});
    ASSERT_TRUE(world.isOk());
    auto all = (*world)->createForDevice(rank, allRanks(2), "gather");
    ASSERT_TRUE(all.isOk());
    float own = 1, both[2] = {};
    const SegmentPointers segment{&own, both, 1};
    ASSERT_TRUE((*all)->allGather({&segment, 1}, DType::f32, {0, "h.0"}, device.stream(0)).isOk());
    ASSERT_TRUE(device.synchronize().isOk());
    ASSERT_TRUE((*all)->barrier({1, "test"}).isOk());
    for (const FakeCall &call : FakeCuda::takeCalls(-1))
      if (call.kind == FakeCall::Kind::collective) {
        EXPECT_TRUE(FakeCuda::sharesResources(call.communicator));
      }
  });
}

} // namespace
} // namespace sluice::test
