//===- Socket.h - TCP connections with time limits --------------------------------===//
//
// Descriptors that close themselves, and the few calls that a rendezvous needs. Every wait ends at a deadline.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_SOCKET_SOCKET_H
#define SLUICE_RUNTIME_COLLECTIVE_SOCKET_SOCKET_H

#include "runtime/base/Status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace sluice::socket {

using Deadline = std::chrono::steady_clock::time_point;

class Socket {
public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor(descriptor) {}
  Socket(Socket &&other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~Socket();

  int get() const { return descriptor; }
  bool isOpen() const { return descriptor >= 0; }

private:
  int descriptor = -1;
};

/// Listens at an address ("127.0.0.1", "::1", a host's name) and port; port 0: any.
Result<Socket> listenAt(const std::string &address, std::uint16_t port);
/// The port that a listening socket has.
std::uint16_t portOf(const Socket &listening);
/// The next connection, or none at the deadline.
Result<Socket> acceptUntil(const Socket &listening, Deadline deadline);
/// Retries until a socket listens there or the deadline passes.
Result<Socket> connectUntil(const std::string &address, std::uint16_t port, Deadline deadline);
/// The address of the other end, in numbers.
std::string addressOfPeer(const Socket &socket);

/// All bytes, or the reason why not.
Status sendAll(const Socket &socket, std::span<const std::byte> bytes, Deadline deadline);
Status receiveAll(const Socket &socket, std::span<std::byte> bytes, Deadline deadline);

/// Waits for an event of poll(2) on one descriptor; false at the deadline.
bool waitFor(int descriptor, short events, Deadline deadline);

} // namespace sluice::socket

#endif // SLUICE_RUNTIME_COLLECTIVE_SOCKET_SOCKET_H
