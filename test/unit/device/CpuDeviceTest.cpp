//===- CpuDeviceTest.cpp - properties of the CPU device only -----------------------===//
#include "runtime/device/cpu/CpuStream.h"

#include <atomic>
#include <ctime>
#include <functional>
#include <gtest/gtest.h>
#include <omp.h>

namespace sluice {
namespace {

class Body final : public Command {
public:
  explicit Body(std::function<void()> body) : body(std::move(body)) {}
  Status execute(void *, std::uint32_t) override {
    body();
    return {};
  }
  std::uint32_t instruction() const override { return 0; }

private:
  std::function<void()> body;
};

// Tests that the stream's thread, not the caller's, has the requested number of compute threads.
TEST(CpuDevice, SetsComputeThreadsOfItsStreams) {
  const int before = omp_get_max_threads();
  auto device = createCpuDevice({/*threads=*/7, nullptr});
  ASSERT_TRUE(device.isOk());
  ASSERT_TRUE((*device)->createStream("compute", 0).isOk());
  int seen = 0;
  Body look([&] { seen = omp_get_max_threads(); });
  ASSERT_TRUE((*device)->enqueue(0, look, 0).isOk());
  ASSERT_TRUE((*device)->synchronize().isOk());
  EXPECT_EQ(seen, 7);
  EXPECT_EQ(omp_get_max_threads(), before);
}

TEST(CpuDevice, NeedsAThread) {
  EXPECT_EQ(createCpuDevice({/*threads=*/0, nullptr}).status().message(),
            "threads of a rank, expected at least 1 but got 0");
}

double processSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Tests that streams with nothing to do, or that wait for an event, use no processor time.
TEST(CpuDevice, SleepsWhenIdle) {
  auto device = createCpuDevice({/*threads=*/1, nullptr});
  ASSERT_TRUE(device.isOk());
  for (const char *name : {"a", "b", "c", "d"})
    ASSERT_TRUE((*device)->createStream(name, 0).isOk());
  ASSERT_TRUE((*device)->createEvents(1).isOk());
  std::atomic<bool> go = false;
  Body hold([&] { go.wait(false); });
  ASSERT_TRUE((*device)->enqueue(0, hold, 0).isOk());
  ASSERT_TRUE((*device)->record(0, 0).isOk());
  ASSERT_TRUE((*device)->wait(1, 0).isOk());
  const double before = processSeconds();
  const timespec pause{0, 200'000'000};
  nanosleep(&pause, nullptr);
  const double used = processSeconds() - before;
  go = true;
  go.notify_all();
  ASSERT_TRUE((*device)->synchronize().isOk());
  EXPECT_LT(used, 0.05);
}

// Tests that generations of an event complete in order if they are recorded on two streams.
TEST(CpuEvents, GenerationsCompleteInOrder) {
  CpuEvents events;
  events.resize(1);
  const std::uint64_t first = events.openGeneration(0), second = events.openGeneration(0);
  std::atomic<int> done = 0;
  std::thread late([&] {
    events.complete(0, second);
    ++done;
  });
  const timespec pause{0, 10'000'000};
  nanosleep(&pause, nullptr);
  EXPECT_EQ(done, 0);
  events.complete(0, first);
  late.join();
  events.await(0, second);
  EXPECT_EQ(done, 1);
}

// Tests that a full ring blocks the caller and loses nothing.
TEST(CpuStream, FullRingBlocks) {
  CpuEvents events;
  FirstFailure failure;
  CpuStream stream("s", {/*threads=*/1, nullptr}, events, failure);
  ASSERT_TRUE(stream.start().isOk());
  std::atomic<bool> go = false;
  Body hold([&] { go.wait(false); });
  std::size_t ran = 0;
  Body count([&] { ++ran; });
  stream.push({CpuStreamItem::Kind::run, &hold, 0, 0, 0});
  std::atomic<std::size_t> pushed = 0;
  std::thread host([&] {
    for (std::size_t i = 0; i < 3 * CpuStream::ringCapacity; ++i, ++pushed)
      stream.push({CpuStreamItem::Kind::run, &count, 0, 0, 0});
  });
  const timespec pause{0, 20'000'000};
  nanosleep(&pause, nullptr);
  EXPECT_LT(pushed, CpuStream::ringCapacity);
  go = true;
  go.notify_all();
  host.join();
  stream.drain();
  EXPECT_EQ(ran, 3 * CpuStream::ringCapacity);
}

} // namespace
} // namespace sluice
