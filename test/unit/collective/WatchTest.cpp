//===- WatchTest.cpp - the watch over ranks that make no progress -------------------===//
#include "runtime/collective/process/Channel.h"
#include "runtime/collective/process/ProcessWorld.h"
#include "runtime/collective/socket/SocketLink.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <sys/socket.h>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace sluice::process {
namespace {

/// Two connected worlds of one process, as ranks 0 and 1.
std::array<std::unique_ptr<ProcessWorld>, 2> makeWorlds(const ProcessWorldOptions &options) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  std::array<std::unique_ptr<ProcessWorld>, 2> worlds;
  for (int r = 0; r < 2; ++r) {
    std::vector<socket::Socket> sockets(2);
    sockets[1 - r] = socket::Socket(ends[r]);
    auto world = ProcessWorld::create(socket::createSocketLink(r, std::move(sockets)), options);
    EXPECT_TRUE(world.isOk()) << world.status().message();
    worlds[r] = std::move(*world);
  }
  return worlds;
}

// Rank 0 is in a barrier of one communicator and rank 1 in that of the other: both wait, so neither is the cause.
TEST(WatchTest, RanksThatWaitForEachOther) {
  ProcessWorldOptions options;
  options.watchdogSeconds = 2;
  auto worlds = makeWorlds(options);
  std::array<Status, 2> statuses;
  auto run = [&](int r) {
    const int members[] = {0, 1};
    auto a = worlds[r]->create(r, members, "a");
    auto b = worlds[r]->create(r, members, "b");
    ASSERT_TRUE(a.isOk() && b.isOk());
    worlds[r]->noteProgress(0, 0);
    statuses[r] = (r == 0 ? *a : *b)->barrier({});
    a->reset();
    b->reset();
    worlds[r].reset();
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  for (const Status &status : statuses) {
    EXPECT_EQ(status.code(), StatusCode::failed);
    EXPECT_EQ(status.message().find("no rank has run anything for 2 s while "), 0u) << status.message();
  }
}

/// A link whose frames the test delivers, in place of the other processes.
class HandLink final : public Link {
public:
  HandLink(int own, int ranks) : own(own), ranks(ranks) {}
  int rank() const override { return own; }
  int size() const override { return ranks; }
  std::string_view name() const override { return "test"; }
  Status start(FrameSink &frames) override {
    sink = &frames;
    return {};
  }
  Status send(int, FrameKind, std::uint64_t, std::span<const Part>) override { return {}; }
  void post(int, FrameKind kind, std::uint64_t channel, Part) override {
    if (kind == FrameKind::join)
      joined = channel;
  }
  void abandonSends() override {}
  void stop(bool) override {}

  /// The reason of a world that has ended, as `source` sends it on.
  void deliverAbort(int source, int accused) const {
    std::vector<std::byte> payload(sizeof accused);
    std::memcpy(payload.data(), &accused, sizeof accused);
    for (std::byte byte : encodeStatus(failedError("reason")))
      payload.push_back(byte);
    FrameHeader header;
    header.kind = FrameKind::abort;
    header.bytes = static_cast<std::uint32_t>(payload.size());
    sink->onFrame(source, header, payload);
  }

  void deliver(int source, FrameKind kind, std::uint64_t channel) const {
    FrameHeader header;
    header.kind = kind;
    header.channel = channel;
    sink->onFrame(source, header, {});
  }

  FrameSink *sink = nullptr;
  /// The latest channel that the world has created.
  std::atomic<std::uint64_t> joined = 0;

private:
  int own, ranks;
};

struct HandWorld {
  HandWorld(int own, int ranks, double watchdogSeconds = 25) : link(new HandLink(own, ranks)) {
    ProcessWorldOptions options;
    options.watchdogSeconds = watchdogSeconds;
    auto made = ProcessWorld::create(std::unique_ptr<Link>(link), options);
    EXPECT_TRUE(made.isOk());
    world = std::move(*made);
  }
  ~HandWorld() {
    for (int p = 0; p < world->size(); ++p)
      if (p != world->rank())
        link->sink->onLost(p, "end");
  }
  HandLink *link;
  std::unique_ptr<ProcessWorld> world;
};

// Tests that one rank prints the reason of a failure: the lowest one that runs and is not itself the reason.
TEST(WatchTest, Reporter) {
  for (const auto &[own, aborts, expected] :
       {std::tuple(1, std::vector{std::pair(2, 0)}, 1), std::tuple(2, std::vector{std::pair(1, 0)}, 1),
        std::tuple(2, std::vector{std::pair(0, -1), std::pair(1, -1)}, 0),
        std::tuple(2, std::vector{std::pair(1, 0), std::pair(0, -1)}, 1)}) {
    HandWorld hand(own, 4);
    for (const auto &[source, accused] : aborts)
      hand.link->deliverAbort(source, accused);
    EXPECT_EQ(hand.world->reporter(), expected) << own;
    EXPECT_EQ(hand.world->state().message(), "reason");
  }
  // Rank 1 has ended, or does not answer.
  HandWorld lost(2, 4);
  lost.link->sink->onLost(1, "connection closed");
  lost.link->deliverAbort(3, 0);
  EXPECT_EQ(lost.world->reporter(), 2);
  HandWorld silent(2, 4);
  silent.link->deliverAbort(3, 0);
  EXPECT_EQ(silent.world->reporter(), 2);
}

// Tests that a process that did not run for longer than the others wait names itself, and not a rank that ended
// meanwhile.
TEST(WatchTest, ProcessThatSlept) {
  HandWorld hand(0, 2, 2);
  hand.link->sink->onTick();
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  hand.link->sink->onLost(1, "connection closed");
  const Status status = hand.world->state();
  EXPECT_EQ(status.message().find("rank 0 did not run for "), 0u) << status.message();
  EXPECT_NE(status.message().find(" s, and the other ranks have ended"), std::string::npos) << status.message();
  EXPECT_EQ(status.notes(), std::vector<std::string>{"its process was stopped, or its machine suspended"});
  HandWorld awake(0, 2);
  awake.link->sink->onTick();
  awake.link->sink->onLost(1, "connection closed");
  EXPECT_EQ(awake.world->state().message(), "rank 1 has died (connection closed), it has run no instruction");
}

// Tests that a rank cannot fill the memory of another with calls or channels.
TEST(WatchTest, FramesThatNobodyTakes) {
  HandWorld hand(0, 2);
  const int members[] = {0, 1};
  std::unique_ptr<Communicator> communicator;
  std::thread creating([&] { communicator = std::move(*hand.world->create(0, members, "a")); });
  while (hand.link->joined == 0)
    std::this_thread::yield();
  hand.link->deliver(1, FrameKind::join, hand.link->joined);
  creating.join();
  for (std::size_t i = 0; i < mostQueuedCalls; ++i)
    hand.link->deliver(1, FrameKind::call, hand.link->joined);
  EXPECT_TRUE(hand.world->state().isOk());
  hand.link->deliver(1, FrameKind::call, hand.link->joined);
  EXPECT_EQ(hand.world->state().message(), "rank 1 has sent what channel 'a' does not expect");
  communicator.reset();
  HandWorld channels(0, 2);
  for (std::uint64_t id = 1; id <= 1 << 16; ++id)
    channels.link->deliver(1, FrameKind::join, id);
  channels.link->deliver(1, FrameKind::join, 1);
  EXPECT_TRUE(channels.world->state().isOk());
  channels.link->deliver(1, FrameKind::join, 1 << 17);
  EXPECT_EQ(channels.world->state().message(), "rank 1 has created too many channels");
}

// Tests that a frame is refused whose bytes were changed in transfer, also in a way that the sum of TCP does not
// notice.
TEST(WatchTest, ChangedFrames) {
  for (int changed = 0; changed < 4; ++changed) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    std::vector<socket::Socket> sockets(2);
    sockets[1] = socket::Socket(ends[0]);
    const socket::Socket other(ends[1]);
    auto world = ProcessWorld::create(socket::createSocketLink(0, std::move(sockets)), {});
    ASSERT_TRUE(world.isOk());
    std::array<std::uint16_t, 32> words{};
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = static_cast<std::uint16_t>(i * 257);
    const Part payload = std::as_bytes(std::span(words));
    FrameHeader header;
    header.channel = 5;
    header.kind = FrameKind::block;
    header.bytes = static_cast<std::uint32_t>(payload.size());
    header.checksum = frameChecksum(header, std::span(&payload, 1));
    if (changed == 1)
      std::swap(words[3], words[7]);
    else if (changed == 2)
      words[31] ^= 1;
    else if (changed == 3)
      header.channel = 4;
    ASSERT_EQ(::write(other.get(), &header, sizeof header), static_cast<ssize_t>(sizeof header));
    ASSERT_EQ(::write(other.get(), payload.data(), payload.size()), static_cast<ssize_t>(payload.size()));
    // The frame of an unknown channel is dropped; the goodbye after it is received.
    header.kind = FrameKind::goodbye;
    header.bytes = 0;
    header.checksum = frameChecksum(header, {});
    ASSERT_EQ(::write(other.get(), &header, sizeof header), static_cast<ssize_t>(sizeof header));
    const bool orderly = (*world)->end();
    EXPECT_EQ(orderly, changed == 0);
    EXPECT_EQ((*world)->state().message(), changed == 0 ? ""
                                                        : "rank 1 has died (a frame was changed in transfer), it has "
                                                          "run no instruction");
  }
}

TEST(WatchTest, ReasonThatCannotBeRead) {
  const std::array<std::byte, 3> bytes{};
  EXPECT_EQ(decodeStatus(bytes).message(), "a different rank ended the run with a reason that cannot be read");
}

} // namespace
} // namespace sluice::process
