//===- Rendezvous.h - connects the processes of a job ------------------------------===//
//
// Rank 0 listens at an address that all ranks know; the others connect and send their rank. When all are connected,
// rank 0 sends each one the addresses of the others and a secret number, and each pair connects. An error names a rank
// that does not connect in time. A rank that connects twice, or has a different world size, ends the rendezvous for
// all.
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
  /// Address of rank 0.
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  /// Address at which this process listens (default: loopback).
  std::string listen = "127.0.0.1";
  double seconds = 60;
};

/// Connections by rank; that of this rank is not open.
Result<std::vector<Socket>> connectRanks(const RendezvousOptions &options);

} // namespace sluice::socket

#endif // SLUICE_RUNTIME_COLLECTIVE_SOCKET_RENDEZVOUS_H
