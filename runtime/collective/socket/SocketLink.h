//===- SocketLink.h - frames over connected sockets ------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_SOCKET_SOCKETLINK_H
#define SLUICE_RUNTIME_COLLECTIVE_SOCKET_SOCKETLINK_H

#include "runtime/collective/process/Link.h"
#include "runtime/collective/socket/Socket.h"

#include <memory>
#include <vector>

namespace sluice::socket {

/// `sockets`: those of connectRanks().
std::unique_ptr<process::Link> createSocketLink(int rank, std::vector<Socket> sockets);

} // namespace sluice::socket

#endif // SLUICE_RUNTIME_COLLECTIVE_SOCKET_SOCKETLINK_H
