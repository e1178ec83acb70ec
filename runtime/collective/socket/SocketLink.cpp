//===- SocketLink.cpp - frames over connected sockets ----------------------------===//
//
// One thread reads from all peers. Whoever sends holds the peer's way for a whole frame; what is posted meanwhile waits
// in a queue, which the holder empties before it goes.
//
//===----------------------------------------------------------------------===//
#include "runtime/collective/socket/SocketLink.h"

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
/// How long a frame that has begun may still take when the world has failed.
constexpr auto hurriedTime = std::chrono::seconds(2);

/// The way to one process.
struct Way {
  Socket socket;
  /// Held while a frame is being sent.
  std::mutex sending;
  /// Guards `queue`.
  std::mutex queueing;
  std::deque<std::vector<std::byte>> queue;
  /// Bytes of the queue's first frame that have gone; under `sending`.
  std::size_t gone = 0;
  std::atomic<bool> lost = false;

  /// The frame that is coming in; the reading thread's own.
  FrameHeader header;
  std::size_t headerBytes = 0;
  std::vector<std::byte> payload;
  std::size_t payloadBytes = 0;
};

class SocketLink final : public Link {
public:
  SocketLink(int rank, std::vector<Socket> sockets) : ownRank(rank) {
    for (Socket &socket : sockets) {
      ways.push_back(std::make_unique<Way>());
      ways.back()->socket = std::move(socket);
      ways.back()->payload.resize(maxFrameBytes);
    }
  }
  ~SocketLink() override { stop(false); }

  int rank() const override { return ownRank; }
  int size() const override { return static_cast<int>(ways.size()); }
  std::string_view name() const override { return "socket"; }

  Status start(FrameSink &given) override {
    sink = &given;
    wake = Socket(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake.isOpen())
      return failedError(std::string("cannot make an event: ") + std::strerror(errno));
    try {
      thread = std::thread([this] { read(); });
    } catch (const std::system_error &error) {
      return failedError(std::string("cannot start the thread of the socket communicator: ") + error.what());
    }
    return {};
  }

  Status send(int peer, FrameKind kind, std::uint64_t channel, std::span<const Part> parts) override {
    Way &way = *ways[static_cast<std::size_t>(peer)];
    FrameHeader header{channel, 0, kind, {}};
    std::vector<iovec> pieces{{&header, sizeof header}};
    for (const Part &part : parts) {
      header.bytes += static_cast<std::uint32_t>(part.size());
      pieces.push_back({const_cast<std::byte *>(part.data()), part.size()});
    }
    Status status;
    {
      std::lock_guard lock(way.sending);
      while (status.isOk() && !flush(way))
        status = waitForRoom(way);
      if (status.isOk())
        status = write(way, pieces);
    }
    flushAgain(way);
    return status;
  }

  void post(int peer, FrameKind kind, std::uint64_t channel, Part payload) override {
    Way &way = *ways[static_cast<std::size_t>(peer)];
    if (way.lost)
      return;
    const FrameHeader header{channel, static_cast<std::uint32_t>(payload.size()), kind, {}};
    std::vector<std::byte> frame(sizeof header + payload.size());
    std::memcpy(frame.data(), &header, sizeof header);
    if (!payload.empty())
      std::memcpy(frame.data() + sizeof header, payload.data(), payload.size());
    {
      std::lock_guard lock(way.queueing);
      way.queue.push_back(std::move(frame));
    }
    flushAgain(way);
  }

  void hurry() override {
    std::int64_t none = 0;
    hurriedAt.compare_exchange_strong(none, Clock::now().time_since_epoch().count());
  }

  void stop(bool) override {
    if (!thread.joinable())
      return;
    stopping = true;
    awake();
    thread.join();
    // What was posted last, a goodbye say, still goes out where there is room.
    for (const auto &way : ways)
      if (way->socket.isOpen()) {
        flushAgain(*way);
        shutdown(way->socket.get(), SHUT_WR);
      }
  }

private:
  void awake() {
    const std::uint64_t one = 1;
    (void)!::write(wake.get(), &one, sizeof one);
  }

  /// Sends what is queued as far as there is room; true where nothing is left. Under `sending`.
  bool flush(Way &way) {
    while (!way.lost) {
      std::vector<std::byte> *first = nullptr;
      {
        std::lock_guard lock(way.queueing);
        if (way.queue.empty())
          return true;
        first = &way.queue.front();
      }
      const ssize_t count =
          ::send(way.socket.get(), first->data() + way.gone, first->size() - way.gone, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0) {
        if (errno == EINTR)
          continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
          return false;
        // The reading thread finds out why and says so.
        way.lost = true;
        return true;
      }
      way.gone += static_cast<std::size_t>(count);
      if (way.gone == first->size()) {
        std::lock_guard lock(way.queueing);
        way.queue.pop_front();
        way.gone = 0;
      }
    }
    return true;
  }

  /// For who has left the way: what was queued while it was held must not stay behind.
  void flushAgain(Way &way) {
    while (true) {
      {
        std::unique_lock lock(way.sending, std::try_to_lock);
        // Whoever holds the way comes here afterwards.
        if (!lock.owns_lock())
          return;
        if (!flush(way)) {
          awake();
          return;
        }
      }
      std::lock_guard lock(way.queueing);
      if (way.queue.empty() || way.lost)
        return;
    }
  }

  Status waitForRoom(Way &way) {
    if (way.lost || stopping)
      return failedError("the connection has broken");
    const std::int64_t hurried = hurriedAt;
    if (hurried != 0 && Clock::now() - Clock::time_point(Clock::duration(hurried)) > hurriedTime)
      return failedError("the world has ended");
    waitFor(way.socket.get(), POLLOUT, Clock::now() + tickInterval);
    return {};
  }

  /// Sends all pieces. Under `sending`.
  Status write(Way &way, std::vector<iovec> &pieces) {
    constexpr std::size_t mostPieces = 512;
    std::size_t at = 0;
    while (true) {
      while (at < pieces.size() && pieces[at].iov_len == 0)
        ++at;
      if (at == pieces.size())
        return {};
      if (way.lost)
        return failedError("the connection has broken");
      msghdr message{};
      message.msg_iov = &pieces[at];
      message.msg_iovlen = std::min(pieces.size() - at, mostPieces);
      const ssize_t count = sendmsg(way.socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
          if (Status status = waitForRoom(way); !status.isOk()) {
            // A frame that was begun and not ended: nothing can follow it.
            way.lost = true;
            return status;
          }
        } else if (errno != EINTR)
          way.lost = true;
        continue;
      }
      for (auto left = static_cast<std::size_t>(count); left != 0;) {
        const std::size_t taken = std::min(left, pieces[at].iov_len);
        pieces[at].iov_base = static_cast<std::byte *>(pieces[at].iov_base) + taken;
        pieces[at].iov_len -= taken;
        left -= taken;
        if (pieces[at].iov_len == 0)
          ++at;
      }
    }
  }

  void read() {
    std::vector<pollfd> polled;
    std::vector<int> who;
    std::vector<bool> over(ways.size());
    over[static_cast<std::size_t>(ownRank)] = true;
    Clock::time_point nextTick = Clock::now() + tickInterval;
    while (!stopping) {
      polled.assign(1, {wake.get(), POLLIN, 0});
      who.assign(1, -1);
      for (std::size_t p = 0; p < ways.size(); ++p) {
        if (over[p])
          continue;
        std::lock_guard lock(ways[p]->queueing);
        const bool full = !ways[p]->queue.empty() && !ways[p]->lost;
        polled.push_back({ways[p]->socket.get(), static_cast<short>(POLLIN | (full ? POLLOUT : 0)), 0});
        who.push_back(static_cast<int>(p));
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
        const int peer = who[i];
        if (polled[i].revents & POLLOUT)
          flushAgain(*ways[static_cast<std::size_t>(peer)]);
        if (polled[i].revents & (POLLIN | POLLHUP | POLLERR))
          over[static_cast<std::size_t>(peer)] = !take(peer);
      }
    }
  }

  /// Reads what has come from one process; false when no more will.
  bool take(int peer) {
    Way &way = *ways[static_cast<std::size_t>(peer)];
    const auto lose = [&](std::string_view why) {
      way.lost = true;
      sink->onLost(peer, why);
      return false;
    };
    // Fair to the others: one frame's bytes at a time.
    for (std::size_t budget = maxFrameBytes; budget != 0;) {
      const bool inHeader = way.headerBytes < sizeof way.header;
      std::byte *to = inHeader ? reinterpret_cast<std::byte *>(&way.header) + way.headerBytes
                               : way.payload.data() + way.payloadBytes;
      const std::size_t wanted = inHeader ? sizeof way.header - way.headerBytes : way.header.bytes - way.payloadBytes;
      ssize_t count = 0;
      if (wanted != 0) {
        count = recv(way.socket.get(), to, std::min(wanted, budget), MSG_DONTWAIT);
        if (count == 0)
          return lose("connection closed");
        if (count < 0) {
          if (errno == EAGAIN || errno == EWOULDBLOCK)
            return true;
          if (errno == EINTR)
            continue;
          return lose(std::strerror(errno));
        }
        budget -= static_cast<std::size_t>(count);
      }
      (inHeader ? way.headerBytes : way.payloadBytes) += static_cast<std::size_t>(count);
      if (way.headerBytes < sizeof way.header)
        continue;
      if (way.header.bytes > maxFrameBytes || way.header.kind > FrameKind::goodbye)
        return lose("what it sends is no frame");
      if (way.payloadBytes < way.header.bytes)
        continue;
      sink->onFrame(peer, way.header, Part(way.payload).first(way.header.bytes));
      way.headerBytes = way.payloadBytes = 0;
    }
    return true;
  }

  const int ownRank;
  std::vector<std::unique_ptr<Way>> ways;
  FrameSink *sink = nullptr;
  Socket wake;
  std::thread thread;
  std::atomic<bool> stopping = false;
  std::atomic<std::int64_t> hurriedAt = 0;
};

} // namespace

std::unique_ptr<process::Link> createSocketLink(int rank, std::vector<Socket> ways) {
  return std::make_unique<SocketLink>(rank, std::move(ways));
}

} // namespace sluice::socket
