//===- Rendezvous.h - connects the processes of a job ------------------------------===//
//
// Rank 0 listens at an address that all ranks know; the others connect and send their rank. When all are connected,
// rank 0 sends each one the addresses of the others, each pair connects, and each rank reports this to rank 0, which
// lets all of them return. Every connection begins with a handshake (Handshake.h). An error names a rank that does not
// connect in time, or that dies after it has connected. A rank that connects twice, or has a different world size, ends
// the rendezvous for all.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_SOCKET_RENDEZVOUS_H
#define SLUICE_RUNTIME_COLLECTIVE_SOCKET_RENDEZVOUS_H

#include "runtime/base/Sha256.h"
#include "runtime/collective/socket/Socket.h"

#include <vector>

namespace sluice::socket {

struct RendezvousOptions {
  int rank = 0;
  int size = 1;
  /// Address of rank 0.
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  /// Address at which this process listens (default: loopback).
  std::string listen = "127.0.0.1";
  double seconds = 60;
  /// See Secret.h.
  Digest secret = {};
};

/// Connections by rank; that of this rank is not open.
Result<std::vector<Socket>> connectRanks(const RendezvousOptions &options);

} // namespace sluice::socket

#endif // SLUICE_RUNTIME_COLLECTIVE_SOCKET_RENDEZVOUS_H
