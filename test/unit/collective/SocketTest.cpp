//===- SocketTest.cpp - errors of connections --------------------------------------===//
//
// Each fault happens on this machine, through loopback, with short deadlines.
//
//===----------------------------------------------------------------------===//
#include "runtime/collective/socket/Rendezvous.h"

#include <gtest/gtest.h>

#include <array>
#include <poll.h>
#include <sys/socket.h>
#include <thread>

namespace sluice::socket {
namespace {

Deadline soon() { return std::chrono::steady_clock::now() + std::chrono::milliseconds(50); }
Deadline later() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }

Result<Socket> acceptNext(const Socket &listening) {
  EXPECT_TRUE(waitFor(listening.get(), POLLIN, later()));
  return acceptOne(listening);
}

/// Two ends of a connection.
std::array<Socket, 2> makePair() {
  Result<Socket> listening = listenAt("127.0.0.1", 0);
  EXPECT_TRUE(listening.isOk());
  Result<Socket> guest = connectUntil("127.0.0.1", portOf(*listening), later());
  EXPECT_TRUE(guest.isOk());
  Result<Socket> host = acceptNext(*listening);
  EXPECT_TRUE(host.isOk());
  return {std::move(*guest), std::move(*host)};
}

void expectFailed(const Status &status, const std::string &text) {
  EXPECT_EQ(status.code(), StatusCode::failed);
  EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
}

TEST(SocketTest, Addresses) {
  expectFailed(listenAt("no such host", 0).status(), "address 'no such host' is not known: ");
  Result<Socket> first = listenAt("127.0.0.1", 0);
  ASSERT_TRUE(first.isOk());
  const std::uint16_t port = portOf(*first);
  expectFailed(listenAt("127.0.0.1", port).status(),
               "cannot listen at 127.0.0.1:" + std::to_string(port) + ": Address already in use");
  EXPECT_FALSE(acceptOne(*first)->isOpen());
  first = Socket();
  expectFailed(connectUntil("127.0.0.1", port, soon()).status(),
               "cannot reach 127.0.0.1:" + std::to_string(port) + ": Connection refused");
}

TEST(SocketTest, ReceiveTimesOutOrIsClosed) {
  std::array<Socket, 2> ends = makePair();
  std::array<std::byte, 4> bytes{};
  expectFailed(receiveAll(ends[0], bytes, soon()), "no data arrived in time");
  ends[1] = Socket();
  expectFailed(receiveAll(ends[0], bytes, later()), "the connection was closed");
}

TEST(SocketTest, SendTimesOutOrIsClosed) {
  std::array<Socket, 2> ends = makePair();
  const std::vector<std::byte> many(std::size_t(64) << 20);
  expectFailed(sendAll(ends[0], many, soon()), "the peer did not read in time");
  // The sent bytes were not read, so closing resets the connection.
  ends[1] = Socket();
  Status status;
  for (const Deadline deadline = later(); status.isOk() && std::chrono::steady_clock::now() < deadline;)
    status = sendAll(ends[0], std::span(many).first(1), later());
  expectFailed(status, "the connection has broken: ");
  std::array<Socket, 2> others = makePair();
  const linger at{1, 0};
  setsockopt(others[1].get(), SOL_SOCKET, SO_LINGER, &at, sizeof at);
  others[1] = Socket();
  std::array<std::byte, 4> bytes{};
  expectFailed(receiveAll(others[0], bytes, later()), "the connection has broken: Connection reset by peer");
}

// Rank 0 accepts, and ends before it replies.
TEST(SocketTest, RankZeroEndsDuringTheRendezvous) {
  Result<Socket> listening = listenAt("127.0.0.1", 0);
  ASSERT_TRUE(listening.isOk());
  std::thread rankZero([&] {
    Result<Socket> guest = acceptNext(*listening);
    std::array<std::byte, 1> first{};
    if (guest.isOk())
      (void)receiveAll(*guest, first, later());
  });
  RendezvousOptions options;
  options.rank = 1;
  options.size = 2;
  options.port = portOf(*listening);
  options.seconds = 20;
  expectFailed(connectRanks(options).status(), "rank 0 was lost during the rendezvous: the connection ");
  rankZero.join();
}

} // namespace
} // namespace sluice::socket
