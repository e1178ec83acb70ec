//===- Acceptor.h - accepts the connections of ranks -----------------------------------===//
//
// Any process can connect to a listening port. The acceptor handles all unfinished connections at the same time, so one
// that sends nothing or something else does not delay the others. It closes them after some time, and the oldest ones
// if there are many. It answers only those that complete the handshake.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_SOCKET_ACCEPTOR_H
#define SLUICE_RUNTIME_COLLECTIVE_SOCKET_ACCEPTOR_H

#include "runtime/collective/socket/Handshake.h"
#include "runtime/collective/socket/Socket.h"

#include <deque>
#include <optional>
#include <span>

namespace sluice::socket {

/// The connection of a process that has the secret, and the message that it sent.
struct Guest {
  Socket socket;
  Introduction introduction;
};

class Acceptor {
public:
  static Result<Acceptor> listen(const std::string &address, std::uint16_t port, const Digest &secret);

  std::uint16_t port() const { return portOf(listening); }
  /// The next connection; nullopt if one of the `watched` descriptors is readable or closed, or at the deadline.
  Result<std::optional<Guest>> next(std::span<const int> watched, Deadline deadline);

private:
  struct Unfinished {
    Socket socket;
    Deadline deadline;
    Hello hello;
    Challenge challenge;
    Greeting greeting;
    std::size_t received = 0;
    /// Its greeting has arrived, or it is to be closed.
    bool complete = false, failed = false;
  };

  Acceptor(Socket listening, const Digest &secret) : listening(std::move(listening)), secret(secret) {}
  Status accept();
  /// Receives what has arrived.
  void receive(Unfinished &one) const;
  void take(Unfinished &one) const;

  Socket listening;
  Digest secret;
  /// In order of time.
  std::deque<Unfinished> unfinished;
};

} // namespace sluice::socket

#endif // SLUICE_RUNTIME_COLLECTIVE_SOCKET_ACCEPTOR_H
