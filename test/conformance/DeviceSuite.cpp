//===- DeviceSuite.cpp - the order, memory and errors of a Device ------------------===//
#include "test/conformance/Backends.h"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

namespace sluice::test {
namespace {

class DeviceSuite : public testing::TestWithParam<const DeviceBackend *> {
protected:
  void SetUp() override { make(nullptr); }

  void make(DelayInjector *delays) {
    commands.clear();
    Result<std::unique_ptr<Device>> created = GetParam()->create(delays);
    ASSERT_TRUE(created.isOk()) << created.status().message();
    device = std::move(*created);
    for (int s = 0; s < 3; ++s) {
      Result<StreamId> stream = device->createStream("stream" + std::to_string(s), 0);
      ASSERT_TRUE(stream.isOk());
      ASSERT_EQ(*stream, static_cast<StreamId>(s));
    }
    ASSERT_TRUE(device->createEvents(4).isOk());
  }

  Command &command(std::function<Status(std::uint32_t)> body) {
    commands.push_back(GetParam()->command(static_cast<std::uint32_t>(commands.size()), std::move(body)));
    return *commands.back();
  }
  /// A command that appends `mark` to `log`.
  Command &note(int mark) {
    return command([this, mark](std::uint32_t) {
      std::lock_guard lock(logMutex);
      log.push_back(mark);
      return Status();
    });
  }
  Command &waitAt(Gate &gate) {
    commands.push_back(GetParam()->wait(static_cast<std::uint32_t>(commands.size()), gate));
    return *commands.back();
  }

  std::vector<std::unique_ptr<Command>> commands;
  std::mutex logMutex;
  std::vector<int> log;
  /// Destroyed first: its streams use the other members.
  std::unique_ptr<Device> device;
};

// Tests that a stream runs its commands in order, with their repetition.
TEST_P(DeviceSuite, RunsInOrder) {
  std::vector<std::uint32_t> seen;
  Command &push = command([&](std::uint32_t repetition) {
    seen.push_back(repetition);
    return Status();
  });
  for (std::uint32_t i = 0; i < 100; ++i)
    ASSERT_TRUE(device->enqueue(0, push, i).isOk());
  ASSERT_TRUE(device->synchronize().isOk());
  ASSERT_EQ(seen.size(), 100u);
  for (std::uint32_t i = 0; i < 100; ++i)
    EXPECT_EQ(seen[i], i);
}

// Tests that enqueue returns before the command has run, and that streams do not wait for each other without a wait.
TEST_P(DeviceSuite, StreamsRunAsynchronously) {
  Gate gate, reached;
  Command &held = waitAt(gate);
  Command &opens = command([&](std::uint32_t) {
    reached.open();
    return Status();
  });
  ASSERT_TRUE(device->enqueue(0, held, 0).isOk());
  ASSERT_TRUE(device->enqueue(1, opens, 0).isOk());
  ASSERT_TRUE(reached.pass());
  gate.open();
  ASSERT_TRUE(device->synchronize().isOk());
}

// Tests the shape of prefetch: a gather that is held open until the compute issued before it has ended.
TEST_P(DeviceSuite, DelayedGatherDoesNotStopCompute) {
  Gate computed;
  Command &gather = waitAt(computed);
  Command &compute = command([&](std::uint32_t) {
    computed.open();
    return Status();
  });
  ASSERT_TRUE(device->enqueue(1, gather, 0).isOk());
  ASSERT_TRUE(device->record(1, 0).isOk());
  ASSERT_TRUE(device->enqueue(0, compute, 0).isOk());
  ASSERT_TRUE(device->wait(0, 0).isOk());
  ASSERT_TRUE(device->enqueue(0, note(1), 0).isOk());
  Status status = device->synchronize();
  EXPECT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(log, std::vector<int>({1}));
}

// Tests that work after a wait runs after the work before the record.
TEST_P(DeviceSuite, EventsOrderStreams) {
  Gate gate;
  ASSERT_TRUE(device->enqueue(0, waitAt(gate), 0).isOk());
  ASSERT_TRUE(device->enqueue(0, note(1), 0).isOk());
  ASSERT_TRUE(device->record(0, 2).isOk());
  for (StreamId s : {1u, 2u}) {
    ASSERT_TRUE(device->wait(s, 2).isOk());
    ASSERT_TRUE(device->enqueue(s, note(2), 0).isOk());
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  {
    std::lock_guard lock(logMutex);
    EXPECT_TRUE(log.empty());
  }
  gate.open();
  ASSERT_TRUE(device->synchronize().isOk());
  EXPECT_EQ(log, std::vector<int>({1, 2, 2}));
}

// Tests that a wait is for the latest record issued, not for an older one that is complete.
TEST_P(DeviceSuite, SecondRecordResetsTheEvent) {
  Gate gate;
  ASSERT_TRUE(device->record(0, 0).isOk());
  ASSERT_TRUE(device->synchronize().isOk());
  ASSERT_TRUE(device->enqueue(0, waitAt(gate), 0).isOk());
  ASSERT_TRUE(device->enqueue(0, note(1), 0).isOk());
  ASSERT_TRUE(device->record(0, 0).isOk());
  ASSERT_TRUE(device->wait(1, 0).isOk());
  ASSERT_TRUE(device->enqueue(1, note(2), 0).isOk());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  gate.open();
  ASSERT_TRUE(device->synchronize().isOk());
  EXPECT_EQ(log, std::vector<int>({1, 2}));
}

// Tests that a wait issued before a second record does not wait for that one.
TEST_P(DeviceSuite, WaitIsForTheEarlierRecord) {
  Gate first, second, ran;
  ASSERT_TRUE(device->enqueue(0, waitAt(first), 0).isOk());
  ASSERT_TRUE(device->record(0, 0).isOk());
  ASSERT_TRUE(device->wait(1, 0).isOk());
  ASSERT_TRUE(device
                  ->enqueue(1, command([&](std::uint32_t) {
                              ran.open();
                              return Status();
                            }),
                            0)
                  .isOk());
  ASSERT_TRUE(device->enqueue(0, waitAt(second), 0).isOk());
  ASSERT_TRUE(device->record(0, 0).isOk());
  first.open();
  EXPECT_TRUE(ran.pass());
  second.open();
  ASSERT_TRUE(device->synchronize().isOk());
}

// Tests that waiting for an event that was never recorded does nothing.
TEST_P(DeviceSuite, WaitWithoutRecordPasses) {
  ASSERT_TRUE(device->wait(1, 3).isOk());
  ASSERT_TRUE(device->enqueue(1, note(1), 0).isOk());
  ASSERT_TRUE(device->synchronize().isOk());
  EXPECT_EQ(log.size(), 1u);
}

// Tests that two streams can alternate with two events more often than a queue has entries.
TEST_P(DeviceSuite, PingPong) {
  int value = 0;
  bool wrong = false;
  Command &even = command([&](std::uint32_t i) {
    wrong = wrong || value != static_cast<int>(2 * i);
    ++value;
    return Status();
  });
  Command &odd = command([&](std::uint32_t i) {
    wrong = wrong || value != static_cast<int>(2 * i + 1);
    ++value;
    return Status();
  });
  constexpr std::uint32_t times = 3000;
  for (std::uint32_t i = 0; i < times; ++i) {
    ASSERT_TRUE(device->wait(0, 1).isOk());
    ASSERT_TRUE(device->enqueue(0, even, i).isOk());
    ASSERT_TRUE(device->record(0, 0).isOk());
    ASSERT_TRUE(device->wait(1, 0).isOk());
    ASSERT_TRUE(device->enqueue(1, odd, i).isOk());
    ASSERT_TRUE(device->record(1, 1).isOk());
  }
  ASSERT_TRUE(device->synchronize().isOk());
  EXPECT_EQ(value, static_cast<int>(2 * times));
  EXPECT_FALSE(wrong);
}

// Tests that the host waits for one record, the latest, and not for later work.
TEST_P(DeviceSuite, HostAwaitsARecord) {
  Gate first, second, third;
  Command &a = waitAt(first), &b = waitAt(second), &c = waitAt(third);
  EXPECT_TRUE(device->await(3).isOk()) << "nothing was recorded";
  ASSERT_TRUE(device->enqueue(0, a, 0).isOk());
  ASSERT_TRUE(device->recordForHost(0, 0).isOk());
  ASSERT_TRUE(device->enqueue(0, b, 0).isOk());
  ASSERT_TRUE(device->enqueue(0, note(1), 0).isOk());
  ASSERT_TRUE(device->recordForHost(0, 0).isOk());
  ASSERT_TRUE(device->enqueue(0, c, 0).isOk());
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    first.open();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    second.open();
  });
  Status status = device->await(0);
  EXPECT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(log, std::vector<int>({1}));
  opener.join();
  third.open();
  ASSERT_TRUE(device->synchronize().isOk());
  EXPECT_TRUE(device->await(0).isOk());
}

// Tests that await() reports a failure before the record, and synchronize() reports it again.
TEST_P(DeviceSuite, AwaitReportsAFailure) {
  Command &fails = command([](std::uint32_t) { return failedError("the first"); });
  (void)device->enqueue(0, fails, 0);
  ASSERT_TRUE(device->recordForHost(0, 0).isOk());
  EXPECT_EQ(device->await(0).message(), "the first");
  EXPECT_EQ(device->synchronize().message(), "the first");
  EXPECT_FALSE(device->await(9).isOk());
}

// Tests that the first failure is kept, that later commands do not run on any stream, that waits do not hang on it, and
// that the device works again after the failure was returned.
TEST_P(DeviceSuite, FirstFailureStopsCommands) {
  // enqueue may already return the failure.
  (void)device->enqueue(0, command([&](std::uint32_t) { return failedError("first"); }), 0);
  (void)device->enqueue(0, command([&](std::uint32_t) { return failedError("second"); }), 0);
  (void)device->enqueue(0, note(1), 0);
  ASSERT_TRUE(device->record(0, 0).isOk());
  ASSERT_TRUE(device->wait(1, 0).isOk());
  (void)device->enqueue(1, note(2), 0);
  Status status = device->synchronize();
  EXPECT_EQ(status.code(), StatusCode::failed);
  EXPECT_EQ(status.message(), "first");
  EXPECT_TRUE(log.empty());
  EXPECT_TRUE(device->synchronize().isOk());
  ASSERT_TRUE(device->enqueue(0, note(3), 0).isOk());
  ASSERT_TRUE(device->synchronize().isOk());
  EXPECT_EQ(log, std::vector<int>({3}));
}

// Tests that enqueue returns a known failure.
TEST_P(DeviceSuite, EnqueueReturnsKnownFailure) {
  (void)device->enqueue(0, command([&](std::uint32_t) { return failedError("broken"); }), 0);
  Command &nothing = note(1);
  Status status;
  for (int i = 0; i < 10000 && status.isOk(); ++i) {
    status = device->enqueue(1, nothing, 0);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  EXPECT_EQ(status.message(), "broken");
  EXPECT_FALSE(device->synchronize().isOk());
}

// Tests that memory is zeroed, aligned, counted to the byte, and separate for each space.
TEST_P(DeviceSuite, MemoryIsZeroedAlignedAndCounted) {
  Result<void *> a = device->allocate(MemorySpace::device, 100001, "arena");
  Result<void *> b = device->allocate(MemorySpace::host, 77, "ports");
  Result<void *> none = device->allocate(MemorySpace::device, 0, "nothing");
  ASSERT_TRUE(a.isOk() && b.isOk() && none.isOk());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(*a) % 4096, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(*b) % 4096, 0u);
  EXPECT_EQ(device->allocatedBytes(MemorySpace::device), 100001u);
  EXPECT_EQ(device->allocatedBytes(MemorySpace::host), 77u);
  if (GetParam()->sharesMemory()) {
    for (std::size_t i = 0; i < 100001; ++i)
      ASSERT_EQ(static_cast<const unsigned char *>(*a)[i], 0);
  }
}

// Tests that a request for more memory than any machine has is an error with its purpose.
TEST_P(DeviceSuite, TooMuchMemoryIsAnError) {
  Result<void *> memory = device->allocate(MemorySpace::device, std::uint64_t(1) << 60, "the arena of rank 3");
  ASSERT_FALSE(memory.isOk());
  EXPECT_NE(
      memory.status().message().find("cannot get 1152921504606846976 bytes of device memory for the arena of rank 3"),
      std::string::npos)
      << memory.status().message();
  EXPECT_EQ(device->allocatedBytes(MemorySpace::device), 0u);
}

// Tests that unknown streams and events are errors.
TEST_P(DeviceSuite, UnknownStreamsAndEventsAreErrors) {
  EXPECT_EQ(device->enqueue(7, note(1), 0).message(), "stream 7, expected one of 3");
  EXPECT_EQ(device->record(0, 9).message(), "event 9, expected one of 4");
  EXPECT_EQ(device->wait(0, 9).message(), "event 9, expected one of 4");
}

// Tests that the injected delay is read before each command, by stream, instruction and repetition.
TEST_P(DeviceSuite, DelaysAreInjected) {
  struct Recorder final : DelayInjector {
    void before(std::string_view stream, std::uint32_t instruction, std::uint32_t repetition) override {
      std::lock_guard lock(mutex);
      calls.push_back(std::string(stream) + ":" + std::to_string(instruction) + ":" + std::to_string(repetition));
    }
    std::mutex mutex;
    std::vector<std::string> calls;
  } recorder;
  device.reset();
  make(&recorder);
  ASSERT_TRUE(device->enqueue(2, note(1), 5).isOk());
  ASSERT_TRUE(device->enqueue(2, note(1), 6).isOk());
  ASSERT_TRUE(device->synchronize().isOk());
  EXPECT_EQ(recorder.calls, std::vector<std::string>({"stream2:0:5", "stream2:1:6"}));
  device.reset();
}

// Tests that the destructor of a device runs all enqueued work first.
TEST_P(DeviceSuite, DestructionDrains) {
  std::atomic<int> count = 0;
  Command &slow = command([&](std::uint32_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++count;
    return Status();
  });
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(device->enqueue(0, slow, 0).isOk());
  device.reset();
  EXPECT_EQ(count, 10);
}

INSTANTIATE_TEST_SUITE_P(Backends, DeviceSuite, testing::ValuesIn(deviceBackends()),
                         [](const auto &info) { return info.param->name(); });

} // namespace
} // namespace sluice::test
