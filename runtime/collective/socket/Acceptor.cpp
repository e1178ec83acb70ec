//===- Acceptor.cpp - accepts the connections of ranks ---------------------------------===//
#include "runtime/collective/socket/Acceptor.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <vector>

namespace sluice::socket {
namespace {

using Clock = std::chrono::steady_clock;

/// Time in which a connection completes the handshake. A rank on a busy machine needs some of it.
constexpr auto handshakeTime = std::chrono::seconds(10);
constexpr std::size_t mostUnfinished = 256;

} // namespace

Result<Acceptor> Acceptor::listen(const std::string &address, std::uint16_t port, const Digest &secret) {
  SLUICE_ASSIGN_OR_RETURN(Socket listening, listenAt(address, port));
  return Acceptor(std::move(listening), secret);
}

Result<std::optional<Guest>> Acceptor::next(std::span<const int> watched, Deadline deadline) {
  std::vector<pollfd> polled;
  while (true) {
    for (auto one = unfinished.begin(); one != unfinished.end();) {
      if (one->complete) {
        Guest guest{std::move(one->socket), one->greeting.introduction};
        unfinished.erase(one);
        return std::optional(std::move(guest));
      }
      one = one->failed || one->deadline <= Clock::now() ? unfinished.erase(one) : one + 1;
    }
    const Deadline first = unfinished.empty() ? deadline : std::min(deadline, unfinished.front().deadline);
    polled.assign(1, {listening.get(), POLLIN, 0});
    for (const Unfinished &one : unfinished)
      polled.push_back({one.socket.get(), POLLIN, 0});
    for (int descriptor : watched)
      polled.push_back({descriptor, POLLIN, 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now()).count();
    // After an interruption nothing is ready.
    if (poll(polled.data(), polled.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000))) < 0)
      for (pollfd &one : polled)
        one.revents = 0;
    for (std::size_t i = 0; i < unfinished.size(); ++i)
      if (polled[i + 1].revents != 0)
        receive(unfinished[i]);
    const auto watchedFrom = polled.begin() + 1 + static_cast<std::ptrdiff_t>(unfinished.size());
    if (polled[0].revents != 0)
      SLUICE_RETURN_IF_ERROR(accept());
    if (std::any_of(watchedFrom, polled.end(), [](const pollfd &one) { return one.revents != 0; }) ||
        Clock::now() >= deadline)
      return std::optional<Guest>();
  }
}

Status Acceptor::accept() {
  SLUICE_ASSIGN_OR_RETURN(Socket socket, acceptOne(listening));
  if (!socket.isOpen())
    return {};
  if (unfinished.size() == mostUnfinished)
    unfinished.erase(std::ranges::find(unfinished, false, &Unfinished::complete));
  unfinished.push_back({std::move(socket), Clock::now() + handshakeTime, {}, {}, {}});
  return {};
}

void Acceptor::receive(Unfinished &one) const {
  while (!one.failed && !one.complete) {
    const bool inHello = one.received < sizeof one.hello;
    const std::span<std::byte> to = inHello ? writableBytesOf(one.hello).subspan(one.received)
                                            : writableBytesOf(one.greeting).subspan(one.received - sizeof one.hello);
    const ssize_t count = recv(one.socket.get(), to.data(), to.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return;
    one.failed = count <= 0;
    if (one.failed)
      return;
    one.received += static_cast<std::size_t>(count);
    take(one);
  }
}

void Acceptor::take(Unfinished &one) const {
  if (one.received == sizeof one.hello) {
    one.challenge.nonce = randomNonce();
    one.challenge.proof = proofOfChallenge(secret, one.hello, one.challenge.nonce);
    // The empty buffer of a new connection has room for it.
    one.failed = one.hello.magic != helloMagic ||
                 send(one.socket.get(), &one.challenge, sizeof one.challenge, MSG_NOSIGNAL | MSG_DONTWAIT) !=
                     static_cast<ssize_t>(sizeof one.challenge);
  } else if (one.received == sizeof one.hello + sizeof one.greeting) {
    one.complete = isEqualInConstantTime(
        one.greeting.proof, proofOfGreeting(secret, one.hello, one.challenge.nonce, one.greeting.introduction));
    one.failed = !one.complete;
  }
}

} // namespace sluice::socket
