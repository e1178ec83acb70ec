//===- NcclTest.cpp - communicators of GPUs on the emulated device ------------------------------------------------===//
//
// A coalesced call is one NCCL group with its counts, type and operation; memory is registered only if requested.
// Virtual ranks on one GPU give the bits of the `local` communicator.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Half.h"
#include "runtime/collective/cuda/VirtualRanks.h"
#include "runtime/collective/nccl/NcclWorld.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "test/cuda/Ranks.h"

#include <gtest/gtest.h>
#include <random>
#include <thread>

namespace sluice::test {
namespace {

/// Two tensors of a unit, a rank's copy.
struct Unit {
  std::vector<float> a, b, outA, outB;
  std::vector<SegmentPointers> segments;
};
Unit unitOf(int rank, std::uint64_t in, std::uint64_t out, std::uint64_t count) {
  Unit unit;
  std::mt19937 engine(static_cast<unsigned>(rank + 1));
  std::normal_distribution<float> deviate;
  for (auto *values : {&unit.a, &unit.b})
    for (std::uint64_t i = 0; i < in; ++i)
      values->push_back(deviate(engine));
  unit.outA.resize(out);
  unit.outB.resize(out);
  unit.segments = {{unit.a.data(), unit.outA.data(), count}, {unit.b.data(), unit.outB.data(), count}};
  return unit;
}

TEST(Nccl, AnExchangeIsOneGroupOfSendsAndReceives) {
  constexpr int ranks = 3;
  FakeCuda fake(devices(ranks));
  const auto host = createLocalWorld(ranks);
  forRanks(ranks, [&](int rank, CudaDevice &device) {
    auto world = createNcclWorld(host, rank, {});
    ASSERT_TRUE(world.isOk()) << world.status().message();
    auto all = (*world)->createForDevice(rank, allRanks(ranks), "tensor");
    ASSERT_TRUE(all.isOk());
    Unit unit = unitOf(rank, 6, 6, 2);
    ASSERT_TRUE((*all)->allToAll(unit.segments, DType::f32, {7, "h.0"}, device.stream(0)).isOk());
    ASSERT_TRUE(device.synchronize().isOk());
    for (std::size_t r = 0; r < ranks; ++r)
      EXPECT_EQ(unit.outB[2 * r + 1], unitOf(static_cast<int>(r), 6, 6, 2).b[2 * static_cast<std::size_t>(rank) + 1]);
    all->reset();
  });
  int groups = 0;
  for (const FakeCall &call : takeCallsOfSteps()) {
    if (call.kind != FakeCall::Kind::collective)
      continue;
    ++groups;
    EXPECT_EQ(call.name, "ncclSend");
    // To and from three members, of two tensors.
    EXPECT_EQ(call.counts, std::vector<std::uint64_t>(12, 2));
  }
  EXPECT_EQ(groups, ranks);
  EXPECT_EQ(fake.complaint(), "");
}

TEST(Nccl, OneGroupPerUnit) {
  constexpr int ranks = 4;
  FakeCuda fake(devices(ranks));
  const auto host = createLocalWorld(ranks);
  forRanks(ranks, [&](int rank, CudaDevice &device) {
    auto world = createNcclWorld(host, rank, {});
    ASSERT_TRUE(world.isOk()) << world.status().message();
    // Pairs of ranks, along the inner of two axes.
    const std::vector<int> pair = {rank / 2 * 2, rank / 2 * 2 + 1};
    auto all = (*world)->createForDevice(rank, allRanks(ranks), "gather"),
         two = (*world)->createForDevice(rank, pair, "gather");
    ASSERT_TRUE(all.isOk() && two.isOk());
    EXPECT_EQ((*two)->rank(), rank % 2);
    Unit unit = unitOf(rank, 12, 3, 3);
    ASSERT_TRUE((*all)
                    ->reduceScatter(unit.segments, DType::f32, Reduction::premulSum, 0.5, {7, "h.0"}, device.stream(0))
                    .isOk());
    ASSERT_TRUE((*all)
                    ->reduceScatter(unit.segments, DType::f32, Reduction::premulSum, 0.5, {7, "h.0"}, device.stream(0))
                    .isOk());
    ASSERT_TRUE(device.synchronize().isOk());
    float want = 0;
    for (int r = 0; r < ranks; ++r)
      want += 0.5f * unitOf(r, 12, 3, 3).b[static_cast<std::size_t>(rank) * 3 + 1];
    EXPECT_FLOAT_EQ(unit.outB[1], want);
    Unit mean = unitOf(rank, 6, 3, 3);
    ASSERT_TRUE(
        (*two)->reduceScatter(mean.segments, DType::f32, Reduction::mean, 1, {8, "h.1"}, device.stream(0)).isOk());
    ASSERT_TRUE(device.synchronize().isOk());
    two->reset();
    all->reset();
    EXPECT_TRUE((*world)->state().isOk());
  });
  int groups = 0, means = 0;
  for (const FakeCall &call : takeCallsOfSteps()) {
    if (call.kind != FakeCall::Kind::collective)
      continue;
    EXPECT_EQ(call.name, "ncclReduceScatter");
    EXPECT_EQ(call.counts, std::vector<std::uint64_t>({3, 3}));
    EXPECT_EQ(call.type, cuda::nccl::typeF32);
    if (call.op == cuda::nccl::average) {
      ++means;
    } else {
      EXPECT_EQ(call.scale, 0.5);
      ++groups;
    }
  }
  EXPECT_EQ(groups, 2 * ranks);
  EXPECT_EQ(means, ranks);
  EXPECT_EQ(fake.complaint(), "");
  EXPECT_EQ(fake.liveObjects(), 0);
}

TEST(Nccl, RegistersIfRequested) {
  for (bool registers : {true, false}) {
    FakeCuda fake(devices(2));
    const auto host = createLocalWorld(2);
    forRanks(2, [&](int rank, CudaDevice &device) {
      auto arena = device.allocateForPeers(4096, "arena"), plain = device.allocate(MemorySpace::device, 4096, "arena");
      ASSERT_TRUE(arena.isOk() && plain.isOk());
      NcclOptions options;
      options.registers = registers;
      auto world = createNcclWorld(host, rank, options);
      ASSERT_TRUE(world.isOk());
      auto first = (*world)->createForDevice(rank, allRanks(2), "gather"),
           second = (*world)->createForDevice(rank, allRanks(2), "reduce");
      ASSERT_TRUE(first.isOk() && second.isOk());
      ASSERT_TRUE((*world)->registerMemory(*arena, 4096).isOk());
      ASSERT_TRUE((*first)->barrier({0, "test"}).isOk());
      if (rank == 0) {
        EXPECT_EQ(FakeCuda::registered().size(), registers ? 4u : 0u);
      }
      ASSERT_TRUE((*first)->barrier({0, "test"}).isOk());
      // Memory without a handle cannot be mapped by other ranks.
      if (registers) {
        EXPECT_EQ((*world)->registerMemory(*plain, 4096).message(),
                  "ncclCommWindowRegister of the arena: unhandled cuda error (nccl code 1)");
      }
    });
  }
}

// Tests that a communicator and a registration are objects of the emulated device until they are destroyed.
TEST(Nccl, CommunicatorsAreLiveObjects) {
  FakeCuda fake(devices(1));
  const auto host = createLocalWorld(1);
  forRanks(1, [&](int rank, CudaDevice &device) {
    auto arena = device.allocateForPeers(4096, "arena");
    NcclOptions options;
    options.registers = true;
    auto world = createNcclWorld(host, rank, options);
    ASSERT_TRUE(arena.isOk() && world.isOk());
    auto all = (*world)->createForDevice(rank, allRanks(1), "gather");
    ASSERT_TRUE(all.isOk()) << all.status().message();
    const int connected = FakeCuda::liveObjects();
    ASSERT_TRUE((*world)->registerMemory(*arena, 4096).isOk());
    EXPECT_EQ(FakeCuda::liveObjects(), connected + 1);
    all->reset();
    EXPECT_EQ(FakeCuda::liveObjects(), connected - 1);
  });
  EXPECT_EQ(FakeCuda::liveObjects(), 0);
}

// Tests that communicators have the plan's CTAs and policy, and NCCL's defaults if the plan has none.
TEST(Nccl, CtasOfCommunicators) {
  constexpr int undefined = cuda::nccl::Config::undefined;
  const std::tuple<std::uint32_t, bool, std::pair<int, int>> cases[] = {
      {0, false, {undefined, undefined}},
      {16, false, {16, undefined}},
      {0, true, {undefined, cuda::nccl::ctaPolicyZero}}};
  for (const auto &[maxCtas, copyEngines, expected] : cases) {
    FakeCuda fake(devices(2));
    const auto host = createLocalWorld(2);
    forRanks(2, [&](int rank, CudaDevice &device) {
      NcclOptions options;
      options.maxCtas = maxCtas;
      options.copyEngines = copyEngines;
      auto world = createNcclWorld(host, rank, options);
      ASSERT_TRUE(world.isOk());
      auto all = (*world)->createForDevice(rank, allRanks(2), "gather");
      ASSERT_TRUE(all.isOk());
      Unit unit = unitOf(rank, 3, 6, 3);
      ASSERT_TRUE((*all)->allGather(unit.segments, DType::f32, {1, "h.0"}, device.stream(0)).isOk());
      ASSERT_TRUE(device.synchronize().isOk());
      ASSERT_TRUE((*all)->barrier({0, "test"}).isOk());
      if (rank == 0)
        for (const FakeCall &call : FakeCuda::takeCalls())
          if (call.kind == FakeCall::Kind::collective) {
            EXPECT_EQ(FakeCuda::ctasOf(call.communicator), expected);
          }
      ASSERT_TRUE((*all)->barrier({0, "test"}).isOk());
    });
  }
}

TEST(Nccl, AMissingLibraryIsAnError) {
  FakeOptions options;
  options.nccl = false;
  FakeCuda fake(options);
  EXPECT_EQ(createNcclWorld(createLocalWorld(1), 0, {}).status().message(),
            "nccl, expected the library libnccl.so.2 but got: nothing");
}

// Tests that the arena has the alignment of plans and works if NCCL has no virtual memory API.
TEST(Nccl, AnArenaWithoutHandlesIsAligned) {
  FakeOptions machine = devices(2);
  machine.ncclWithoutHandles = true;
  FakeCuda fake(machine);
  const auto host = createLocalWorld(2);
  forRanks(2, [&](int rank, CudaDevice &device) {
    auto arena = device.allocateForPeers(5000, "arena");
    ASSERT_TRUE(arena.isOk()) << arena.status().message();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(*arena) % 4096, 0u);
    EXPECT_EQ(device.allocatedBytes(MemorySpace::device), 5000u);
    auto world = createNcclWorld(host, rank, {});
    ASSERT_TRUE(world.isOk());
    auto all = (*world)->createForDevice(rank, allRanks(2), "gather");
    ASSERT_TRUE(all.isOk());
    EXPECT_TRUE((*world)->registerMemory(*arena, 5000).isOk());
    ASSERT_TRUE((*all)->barrier({0, "test"}).isOk());
  });
  EXPECT_EQ(fake.complaint(), "");
  EXPECT_EQ(fake.liveObjects(), 0);
}

// Tests that virtual ranks give the bits of the local communicator, for every type, operation and kind.
TEST(VirtualRanks, EqualTheLocalCommunicator) {
  FakeCuda fake;
  constexpr int ranks = 3;
  constexpr std::uint64_t chunk = 1001;
  for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8})
    for (Reduction op : {Reduction::sum, Reduction::mean, Reduction::premulSum, Reduction::max}) {
      if (op == Reduction::premulSum && !isFloat(dtype))
        continue;
      const std::size_t bytes = dtypeBytes(dtype);
      std::vector<std::vector<std::byte>> results[2];
      for (int form = 0; form < 2; ++form) {
        const auto world = form == 0 ? createLocalWorld(ranks) : createVirtualRanks(ranks);
        results[form].resize(ranks);
        forRanks(ranks, [&](int rank, CudaDevice &device) {
          void *stream = form == 0 ? nullptr : device.stream(0);
          std::vector<std::byte> in(chunk * ranks * bytes), out(in.size()), gathered(in.size());
          std::mt19937 engine(static_cast<unsigned>(rank + 7));
          for (std::size_t i = 0; i < chunk * ranks; ++i) {
            const float value = std::normal_distribution<float>()(engine);
            const auto put = [&](auto x) { std::memcpy(in.data() + i * bytes, &x, bytes); };
            dtype == DType::f32    ? put(value)
            : dtype == DType::f64  ? put(static_cast<double>(value))
            : dtype == DType::bf16 ? put(floatToBf16(value))
            : dtype == DType::f16  ? put(floatToF16(value))
            : dtype == DType::i32  ? put(static_cast<std::int32_t>(value * 50))
            : dtype == DType::i64  ? put(static_cast<std::int64_t>(value * 50))
                                   : put(static_cast<std::uint8_t>(engine() % 50));
          }
          auto made = world->create(rank, allRanks(ranks), "gather");
          ASSERT_TRUE(made.isOk());
          Communicator &all = **made;
          const SegmentPointers scatter{in.data(), out.data(), chunk}, gather{out.data(), gathered.data(), chunk};
          const SegmentPointers reduce{gathered.data(), gathered.data(), chunk * ranks - 5},
              cast{gathered.data(), gathered.data(), chunk};
          Status status = all.reduceScatter({&scatter, 1}, dtype, op, 0.37, {1, "a"}, stream);
          ASSERT_TRUE(status.isOk()) << status.message();
          ASSERT_TRUE(all.allGather({&gather, 1}, dtype, {2, "a"}, stream).isOk());
          ASSERT_TRUE(all.allReduce({&reduce, 1}, dtype, op, 0.37, {3, "a"}, stream).isOk());
          ASSERT_TRUE(all.broadcast({&cast, 1}, dtype, 1, {4, "a"}, stream).isOk());
          std::vector<std::byte> exchanged(in.size());
          const SegmentPointers exchange{gathered.data(), exchanged.data(), chunk};
          ASSERT_TRUE(all.allToAll({&exchange, 1}, dtype, {5, "a"}, stream).isOk());
          ASSERT_TRUE(device.synchronize().isOk());
          ASSERT_TRUE(all.barrier({6, "a"}).isOk());
          results[form][static_cast<std::size_t>(rank)] = gathered;
          std::vector<std::byte> &own = results[form][static_cast<std::size_t>(rank)];
          own.insert(own.end(), exchanged.begin(), exchanged.end());
        });
      }
      EXPECT_EQ(results[0], results[1]) << dtypeName(dtype) << " operation " << static_cast<int>(op);
    }
  EXPECT_EQ(fake.complaint(), "");
  EXPECT_EQ(fake.liveObjects(), 0);
}

// Tests that different calls end the group, with an error that names both.
TEST(VirtualRanks, DifferentCallsAreNamed) {
  FakeCuda fake;
  const auto world = createVirtualRanks(2);
  forRanks(2, [&](int rank, CudaDevice &device) {
    auto all = world->create(rank, allRanks(2), "gather");
    ASSERT_TRUE(all.isOk());
    Unit unit = unitOf(rank, 8, 8, 4);
    const Status status =
        rank == 0 ? (*all)->allGather(unit.segments, DType::f32, {12, "h.0"}, device.stream(0))
                  : (*all)->reduceScatter(unit.segments, DType::f32, Reduction::sum, 1, {12, "h.0"}, device.stream(0));
    EXPECT_FALSE(status.isOk());
    EXPECT_NE(status.message().find("all_gather"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("reduce_scatter"), std::string::npos) << status.message();
  });
}

} // namespace
} // namespace sluice::test
