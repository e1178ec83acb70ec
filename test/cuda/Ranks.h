//===- Ranks.h - ranks on emulated devices, for tests ------------------------------------===//
#ifndef SLUICE_TEST_CUDA_RANKS_H
#define SLUICE_TEST_CUDA_RANKS_H

#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/executor/Executor.h"
#include "test/cuda/Fake.h"
#include "test/unit/executor/ShardedPlan.h"

#include <gtest/gtest.h>
#include <numeric>
#include <thread>

namespace sluice::test {

inline FakeOptions devices(std::uint32_t count) {
  FakeOptions options;
  options.devices = static_cast<int>(count);
  return options;
}

/// The calls, without the collectives of one byte by which NCCL connects the ranks.
inline std::vector<FakeCall> takeCallsOfSteps() {
  std::vector<FakeCall> calls = FakeCuda::takeCalls();
  std::erase_if(calls, [](const FakeCall &call) {
    return call.kind == FakeCall::Kind::collective && call.type == cuda::nccl::typeU8;
  });
  return calls;
}

inline std::vector<int> allRanks(int size) {
  std::vector<int> members(static_cast<std::size_t>(size));
  std::iota(members.begin(), members.end(), 0);
  return members;
}

/// Runs body(rank, device) on a thread for each rank, on device `rank` if the machine has as many.
template <typename Body> void forRanks(int size, Body body) {
  int devices = 0;
  FakeCuda::table().driver.deviceCount(&devices);
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r)
    threads.emplace_back([&body, r, devices] {
      CudaDeviceOptions options;
      options.ordinal = r % devices;
      auto device = CudaDevice::create(options);
      ASSERT_TRUE(device.isOk()) << device.status().message();
      ASSERT_TRUE((*device)->createStream("gather", 0).isOk());
      body(r, **device);
    });
  for (std::thread &thread : threads)
    thread.join();
}

inline plan::PlanT onCuda(std::uint32_t ranks) {
  plan::PlanT plan = std::move(sharded(ranks).plan);
  plan.target->device = "cuda";
  return plan;
}

/// The plan without its wait for an event of an earlier step, which a graph cannot have.
inline plan::PlanT recordable(std::uint32_t ranks) {
  plan::PlanT plan = onCuda(ranks);
  auto &first = plan.entries[0]->sections[0]->instructions;
  first.erase(first.begin() + waitUpdate);
  return plan;
}

/// The parameter's shard after the steps, of each rank.
using Shards = std::vector<std::vector<float>>;

inline Status runSteps(Executor &executor, std::vector<float> &shard, int steps = 4) {
  const std::uint32_t weight = executor.plan().parameters[0]->buffer;
  shard.assign(shardElements(executor.rank(), static_cast<int>(meshSize(executor.plan()))),
               0.5f + static_cast<float>(executor.rank()));
  SLUICE_RETURN_IF_ERROR(executor.write(weight, 0, std::as_bytes(std::span(shard))));
  for (int step = 0; step < steps; ++step) {
    SLUICE_ASSIGN_OR_RETURN(PortMemory x, executor.input("train_step", "x"));
    for (std::uint32_t r = 0; r < x.repetitions; ++r)
      for (std::uint64_t i = 0; i < x.bytes / 4; ++i)
        x.as<float>(r)[i] = static_cast<float>(executor.rank() + 1) * 0.1f + static_cast<float>(i % 7) * 0.3f;
    SLUICE_RETURN_IF_ERROR(executor.runEntry("train_step"));
    SLUICE_RETURN_IF_ERROR(executor.synchronize());
  }
  return executor.read(weight, 0, std::as_writable_bytes(std::span(shard)));
}

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_RANKS_H
