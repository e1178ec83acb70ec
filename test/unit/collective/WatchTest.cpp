//===- WatchTest.cpp - the watch over ranks that make no progress -------------------===//
#include "runtime/collective/process/Channel.h"
#include "runtime/collective/process/ProcessWorld.h"
#include "runtime/collective/socket/SocketLink.h"

#include <gtest/gtest.h>

#include <array>
#include <sys/socket.h>
#include <thread>

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

TEST(WatchTest, ReasonThatCannotBeRead) {
  const std::array<std::byte, 3> bytes{};
  EXPECT_EQ(decodeStatus(bytes).message(), "a different rank ended the run with a reason that cannot be read");
}

} // namespace
} // namespace sluice::process
