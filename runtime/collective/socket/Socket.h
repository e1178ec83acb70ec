//===- Socket.h - TCP connections with time limits --------------------------------===//
//
// The calls that a rendezvous needs. Every wait ends at a deadline.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_SOCKET_SOCKET_H
#define SLUICE_RUNTIME_COLLECTIVE_SOCKET_SOCKET_H

#include "runtime/base/Descriptor.h"
#include "runtime/base/Status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::socket {

using Deadline = std::chrono::steady_clock::time_point;

using Socket = Descriptor;

/// Listens at an address ("127.0.0.1", "::1", a host's name) and port; port 0: any.
Result<Socket> listenAt(const std::string &address, std::uint16_t port);
/// The port that a listening socket has.
std::uint16_t portOf(const Socket &listening);
/// A connection that waits to be accepted; a socket that is not open if there is no connection.
Result<Socket> acceptOne(const Socket &listening);
/// Retries until a socket listens there or the deadline passes.
Result<Socket> connectUntil(const std::string &address, std::uint16_t port, Deadline deadline);
/// The address of the other end, in numbers.
std::string addressOfPeer(const Socket &socket);

/// All bytes, or an error.
Status sendAll(const Socket &socket, std::span<const std::byte> bytes, Deadline deadline);
Status receiveAll(const Socket &socket, std::span<std::byte> bytes, Deadline deadline);

/// Waits for an event of poll(2) on one descriptor; false at the deadline.
bool waitFor(int descriptor, short events, Deadline deadline);

} // namespace sluice::socket

#endif // SLUICE_RUNTIME_COLLECTIVE_SOCKET_SOCKET_H
