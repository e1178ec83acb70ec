//===- ProcessWorldTest.cpp - the frames that a world sends -----------------------===//
#include "runtime/collective/process/ProcessWorld.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace sluice::process {
namespace {

struct Sent {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<FrameKind> kinds;
  FrameSink *sink = nullptr;
};

/// Rank 0 of two. Records the kinds of frames; the test delivers those of rank 1.
class RecordingLink final : public Link {
public:
  explicit RecordingLink(Sent &sent) : sent(sent) {}
  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::string_view name() const override { return "recording"; }
  Status start(FrameSink &sink) override {
    sent.sink = &sink;
    return {};
  }
  Status send(int, FrameKind kind, std::uint64_t, std::span<const Part>) override {
    add(kind);
    return {};
  }
  void post(int, FrameKind kind, std::uint64_t, Part) override { add(kind); }
  void abandonSends() override {}
  void stop(bool) override {}

private:
  void add(FrameKind kind) {
    std::lock_guard lock(sent.mutex);
    sent.kinds.push_back(kind);
    sent.changed.notify_all();
  }
  Sent &sent;
};

// The other process ends its link after the last goodbye, so a later frame would arrive in a group that it has freed.
TEST(ProcessWorldTest, AGoodbyeIsTheLastFrame) {
  Sent sent;
  auto world = ProcessWorld::create(std::make_unique<RecordingLink>(sent), {});
  ASSERT_TRUE(world.isOk());
  bool orderly = false;
  std::thread ending([&] { orderly = (*world)->end(); });
  {
    std::unique_lock lock(sent.mutex);
    sent.changed.wait(lock, [&] { return sent.kinds.back() == FrameKind::goodbye; });
  }
  // Long enough for a heartbeat.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  sent.sink->onTick();
  FrameHeader header;
  header.kind = FrameKind::abort;
  sent.sink->onFrame(1, header, {});
  header.kind = FrameKind::goodbye;
  sent.sink->onFrame(1, header, {});
  ending.join();
  EXPECT_TRUE(orderly);
  EXPECT_EQ(sent.kinds, (std::vector{FrameKind::hello, FrameKind::goodbye}));
}

} // namespace
} // namespace sluice::process
