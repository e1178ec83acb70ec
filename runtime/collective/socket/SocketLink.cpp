//===- SocketLink.cpp - frames over connected sockets ----------------------------===//
//
// One thread reads from all peers. A sender holds the lock of a peer's connection for one complete frame; frames posted
// meanwhile wait in a queue, which the holder sends before it releases the lock.
//
//===----------------------------------------------------------------------===//
#include "runtime/collective/socket/SocketLink.h"
#include "runtime/base/Thread.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>

namespace sluice::socket {
namespace {

using namespace process;
using Clock = std::chrono::steady_clock;

constexpr auto tickInterval = std::chrono::milliseconds(100);
/// Time that a frame in transfer may still take after the world failed.
constexpr auto drainTime = std::chrono::seconds(2);

/// The connection to one process.
struct Connection {
  Socket socket;
  /// Held while a frame is being sent.
  std::mutex sending;
  /// Guards `queue`.
  std::mutex queueing;
  std::deque<std::vector<std::byte>> queue;
  /// Bytes of the queue's first frame that were sent; under `sending`.
  std::size_t sentBytes = 0;
  std::atomic<bool> lost = false;

  /// The frame that is being received; only for the reading thread.
  FrameHeader header;
  std::size_t headerBytes = 0;
  std::vector<std::byte> payload;
  std::size_t payloadBytes = 0;
};

class SocketLink final : public Link {
public:
  SocketLink(int rank, std::vector<Socket> sockets) : ownRank(rank) {
    for (Socket &socket : sockets) {
      connections.push_back(std::make_unique<Connection>());
      connections.back()->socket = std::move(socket);
      connections.back()->payload.resize(maxFrameBytes);
    }
  }
  ~SocketLink() override { stop(false); }

  int rank() const override { return ownRank; }
  int size() const override { return static_cast<int>(connections.size()); }
  std::string_view name() const override { return "socket"; }

  Status start(FrameSink &frames) override {
    sink = &frames;
    wake = Socket(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake.isOpen())
      return failedError(std::string("cannot create an event: ") + std::strerror(errno));
    return startThread(thread, "the socket communicator", [this] { read(); });
  }

  Status send(int peer, FrameKind kind, std::uint64_t channel, std::span<const Part> parts) override {
    Connection &connection = *connections[static_cast<std::size_t>(peer)];
    FrameHeader header{channel, 0, kind, {}, 0};
    std::vector<iovec> buffers{{&header, sizeof header}};
    for (const Part &part : parts) {
      header.bytes += static_cast<std::uint32_t>(part.size());
      buffers.push_back({const_cast<std::byte *>(part.data()), part.size()});
    }
    header.checksum = frameChecksum(header, parts);
    Status status;
    {
      std::lock_guard lock(connection.sending);
      while (status.isOk() && !flush(connection))
        status = waitForRoom(connection);
      if (status.isOk())
        status = write(connection, buffers);
    }
    flushUnlessHeld(connection);
    return status;
  }

  void post(int peer, FrameKind kind, std::uint64_t channel, Part payload) override {
    Connection &connection = *connections[static_cast<std::size_t>(peer)];
    if (connection.lost)
      return;
    FrameHeader header{channel, static_cast<std::uint32_t>(payload.size()), kind, {}, 0};
    header.checksum = frameChecksum(header, std::span(&payload, 1));
    std::vector<std::byte> frame(sizeof header + payload.size());
    std::memcpy(frame.data(), &header, sizeof header);
    if (!payload.empty())
      std::memcpy(frame.data() + sizeof header, payload.data(), payload.size());
    {
      std::lock_guard lock(connection.queueing);
      connection.queue.push_back(std::move(frame));
    }
    flushUnlessHeld(connection);
  }

  void abandonSends() override {
    std::int64_t none = 0;
    failedAt.compare_exchange_strong(none, Clock::now().time_since_epoch().count());
  }

  void stop(bool) override {
    if (!thread.joinable())
      return;
    stopping = true;
    wakeReader();
    thread.join();
    // The last posted frame, such as a goodbye, is still sent if the socket accepts it.
    for (const auto &connection : connections)
      if (connection->socket.isOpen()) {
        flushUnlessHeld(*connection);
        shutdown(connection->socket.get(), SHUT_WR);
      }
  }

private:
  void wakeReader() {
    const std::uint64_t one = 1;
    (void)!::write(wake.get(), &one, sizeof one);
  }

  /// Sends queued frames as far as the socket accepts them; true if the queue is empty. Under `sending`.
  bool flush(Connection &connection) {
    while (!connection.lost) {
      std::vector<std::byte> *first = nullptr;
      {
        std::lock_guard lock(connection.queueing);
        if (connection.queue.empty())
          return true;
        first = &connection.queue.front();
      }
      const ssize_t count = ::send(connection.socket.get(), first->data() + connection.sentBytes,
                                   first->size() - connection.sentBytes, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0) {
        if (errno == EINTR)
          continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
          return false;
        // The reading thread finds the reason and reports it.
        connection.lost = true;
        return true;
      }
      connection.sentBytes += static_cast<std::size_t>(count);
      if (connection.sentBytes == first->size()) {
        std::lock_guard lock(connection.queueing);
        connection.queue.pop_front();
        connection.sentBytes = 0;
      }
    }
    return true;
  }

  /// Sends queued frames unless another thread holds the connection: that thread calls this when it releases it.
  void flushUnlessHeld(Connection &connection) {
    while (true) {
      {
        std::unique_lock lock(connection.sending, std::try_to_lock);
        if (!lock.owns_lock())
          return;
        if (!flush(connection)) {
          wakeReader();
          return;
        }
      }
      std::lock_guard lock(connection.queueing);
      if (connection.queue.empty() || connection.lost)
        return;
    }
  }

  Status waitForRoom(Connection &connection) {
    if (connection.lost || stopping)
      return failedError("the connection has broken");
    const std::int64_t failed = failedAt;
    if (failed != 0 && Clock::now() - Clock::time_point(Clock::duration(failed)) > drainTime)
      return failedError("the world has ended");
    waitFor(connection.socket.get(), POLLOUT, Clock::now() + tickInterval);
    return {};
  }

  /// Sends all buffers. Under `sending`.
  Status write(Connection &connection, std::vector<iovec> &buffers) {
    constexpr std::size_t maxBuffers = 512;
    std::size_t at = 0;
    while (true) {
      while (at < buffers.size() && buffers[at].iov_len == 0)
        ++at;
      if (at == buffers.size())
        return {};
      if (connection.lost)
        return failedError("the connection has broken");
      msghdr message{};
      message.msg_iov = &buffers[at];
      message.msg_iovlen = std::min(buffers.size() - at, maxBuffers);
      const ssize_t count = sendmsg(connection.socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
          if (Status status = waitForRoom(connection); !status.isOk()) {
            // The frame is incomplete: no frame can follow it.
            connection.lost = true;
            return status;
          }
        } else if (errno != EINTR)
          connection.lost = true;
        continue;
      }
      for (auto left = static_cast<std::size_t>(count); left != 0;) {
        const std::size_t taken = std::min(left, buffers[at].iov_len);
        buffers[at].iov_base = static_cast<std::byte *>(buffers[at].iov_base) + taken;
        buffers[at].iov_len -= taken;
        left -= taken;
        if (buffers[at].iov_len == 0)
          ++at;
      }
    }
  }

  void read() {
    std::vector<pollfd> polled;
    std::vector<int> peers;
    std::vector<bool> closed(connections.size());
    closed[static_cast<std::size_t>(ownRank)] = true;
    Clock::time_point nextTick = Clock::now() + tickInterval;
    while (!stopping) {
      polled.assign(1, {wake.get(), POLLIN, 0});
      peers.assign(1, -1);
      for (std::size_t p = 0; p < connections.size(); ++p) {
        if (closed[p])
          continue;
        std::lock_guard lock(connections[p]->queueing);
        const bool full = !connections[p]->queue.empty() && !connections[p]->lost;
        polled.push_back({connections[p]->socket.get(), static_cast<short>(POLLIN | (full ? POLLOUT : 0)), 0});
        peers.push_back(static_cast<int>(p));
      }
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(nextTick - Clock::now()).count();
      poll(polled.data(), polled.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
      if (Clock::now() >= nextTick) {
        sink->onTick();
        nextTick = Clock::now() + tickInterval;
      }
      std::uint64_t count = 0;
      if (polled[0].revents != 0)
        (void)!::read(wake.get(), &count, sizeof count);
      for (std::size_t i = 1; i < polled.size(); ++i) {
        const int peer = peers[i];
        if (polled[i].revents & POLLOUT)
          flushUnlessHeld(*connections[static_cast<std::size_t>(peer)]);
        if (polled[i].revents & (POLLIN | POLLHUP | POLLERR))
          closed[static_cast<std::size_t>(peer)] = !receive(peer);
      }
    }
  }

  /// Reads the available bytes of one process; false at the end of the stream.
  bool receive(int peer) {
    Connection &connection = *connections[static_cast<std::size_t>(peer)];
    const auto reportLoss = [&](std::string_view why) {
      connection.lost = true;
      sink->onLost(peer, why);
      return false;
    };
    // At most the bytes of one frame, so that other connections are served too.
    for (std::size_t budget = maxFrameBytes; budget != 0;) {
      const bool inHeader = connection.headerBytes < sizeof connection.header;
      std::byte *to = inHeader ? reinterpret_cast<std::byte *>(&connection.header) + connection.headerBytes
                               : connection.payload.data() + connection.payloadBytes;
      const std::size_t needed = inHeader ? sizeof connection.header - connection.headerBytes
                                          : connection.header.bytes - connection.payloadBytes;
      ssize_t count = 0;
      if (needed != 0) {
        count = recv(connection.socket.get(), to, std::min(needed, budget), MSG_DONTWAIT);
        if (count == 0)
          return reportLoss("connection closed");
        if (count < 0) {
          if (errno == EAGAIN || errno == EWOULDBLOCK)
            return true;
          if (errno == EINTR)
            continue;
          return reportLoss(std::strerror(errno));
        }
        budget -= static_cast<std::size_t>(count);
      }
      (inHeader ? connection.headerBytes : connection.payloadBytes) += static_cast<std::size_t>(count);
      if (connection.headerBytes < sizeof connection.header)
        continue;
      if (connection.header.bytes > maxFrameBytes || connection.header.kind > FrameKind::goodbye)
        return reportLoss("it sent an invalid frame");
      if (connection.payloadBytes < connection.header.bytes)
        continue;
      const Part payload = Part(connection.payload).first(connection.header.bytes);
      if (frameChecksum(connection.header, std::span(&payload, 1)) != connection.header.checksum)
        return reportLoss(changedFrame);
      sink->onFrame(peer, connection.header, payload);
      connection.headerBytes = connection.payloadBytes = 0;
    }
    return true;
  }

  const int ownRank;
  std::vector<std::unique_ptr<Connection>> connections;
  FrameSink *sink = nullptr;
  Socket wake;
  std::thread thread;
  std::atomic<bool> stopping = false;
  std::atomic<std::int64_t> failedAt = 0;
};

} // namespace

std::unique_ptr<process::Link> createSocketLink(int rank, std::vector<Socket> connections) {
  return std::make_unique<SocketLink>(rank, std::move(connections));
}

} // namespace sluice::socket
