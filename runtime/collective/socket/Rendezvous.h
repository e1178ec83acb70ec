//===- Rendezvous.h - how the processes of a job find each other -----------------===//
//
// Rank 0 listens at an address that all know; the others connect and say who they are. When all have come, rank 0 gives
// every one the addresses of the others and a number that only they know, and each pair connects. A rank that does not
// come in time is named; a rank that comes twice, or believes in another world size, ends the rendezvous for all.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_SOCKET_RENDEZVOUS_H
#define SLUICE_RUNTIME_COLLECTIVE_SOCKET_RENDEZVOUS_H

#include "runtime/collective/socket/Socket.h"

#include <vector>

namespace sluice::socket {

struct RendezvousOptions {
  int rank = 0;
  int size = 1;
  /// Where rank 0 is found.
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  /// Where this process listens; loopback unless told.
  std::string listen = "127.0.0.1";
  double seconds = 60;
};

/// A connection to every other rank; that of the own rank is not open.
Result<std::vector<Socket>> meet(const RendezvousOptions &options);

} // namespace sluice::socket

#endif // SLUICE_RUNTIME_COLLECTIVE_SOCKET_RENDEZVOUS_H
