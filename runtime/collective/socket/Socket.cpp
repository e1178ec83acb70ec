//===- Socket.cpp - TCP connections with time limits ------------------------------===//
#include "runtime/collective/socket/Socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace sluice::socket {
namespace {

using Clock = std::chrono::steady_clock;

std::string reason(int error) { return std::strerror(error); }

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Result<Addresses> resolve(const std::string &address, std::uint16_t port, bool passive) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = passive ? AI_PASSIVE : 0;
  addrinfo *list = nullptr;
  if (const int error = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &list); error != 0)
    return failedError("address '" + address + "' is not known: " + gai_strerror(error));
  return Addresses(list, freeaddrinfo);
}

Result<Socket> open(const addrinfo &address) {
  Socket socket(::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol));
  if (!socket.isOpen())
    return failedError("cannot create a socket: " + reason(errno));
  const int one = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return socket;
}

} // namespace

bool waitFor(int descriptor, short events, Deadline deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd one{descriptor, events, 0};
    const int ready = poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
    if (ready > 0)
      return true;
    if (ready < 0 && errno != EINTR)
      return false;
    if (Clock::now() >= deadline)
      return false;
  }
}

Result<Socket> listenAt(const std::string &address, std::uint16_t port) {
  const std::string where = address + ":" + std::to_string(port);
  SLUICE_ASSIGN_OR_RETURN(Addresses list, resolve(address, port, true));
  SLUICE_ASSIGN_OR_RETURN(Socket socket, open(*list));
  const int one = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(socket.get(), list->ai_addr, list->ai_addrlen) != 0 || listen(socket.get(), SOMAXCONN) != 0)
    return failedError("cannot listen at " + where + ": " + reason(errno));
  return socket;
}

std::uint16_t portOf(const Socket &listening) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  getsockname(listening.get(), reinterpret_cast<sockaddr *>(&address), &length);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6 &>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in &>(address).sin_port);
}

Result<Socket> acceptOne(const Socket &listening) {
  Socket socket(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.isOpen()) {
    if (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK || errno == ECONNABORTED)
      return socket;
    return failedError("cannot accept a connection: " + reason(errno));
  }
  const int one = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return socket;
}

Result<Socket> connectUntil(const std::string &address, std::uint16_t port, Deadline deadline) {
  std::string last = "no process listens there";
  do {
    SLUICE_ASSIGN_OR_RETURN(Addresses list, resolve(address, port, false));
    for (const addrinfo *one = list.get(); one; one = one->ai_next) {
      SLUICE_ASSIGN_OR_RETURN(Socket socket, open(*one));
      int error = connect(socket.get(), one->ai_addr, one->ai_addrlen) == 0 ? 0 : errno;
      if (error == EINPROGRESS) {
        socklen_t length = sizeof error;
        if (!waitFor(socket.get(), POLLOUT, deadline))
          error = ETIMEDOUT;
        else
          getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
      }
      if (error == 0)
        return socket;
      last = reason(error);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (Clock::now() < deadline);
  return failedError("cannot reach " + address + ":" + std::to_string(port) + ": " + last);
}

std::string addressOfPeer(const Socket &socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  char text[NI_MAXHOST] = "";
  if (getpeername(socket.get(), reinterpret_cast<sockaddr *>(&address), &length) == 0)
    getnameinfo(reinterpret_cast<const sockaddr *>(&address), length, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return text;
}

Status sendAll(const Socket &socket, std::span<const std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!waitFor(socket.get(), POLLOUT, deadline))
        return failedError("the peer did not read in time");
    } else if (errno != EINTR)
      return failedError("the connection has broken: " + reason(errno));
  }
  return {};
}

Status receiveAll(const Socket &socket, std::span<std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t count = recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    else if (count == 0)
      return failedError("the connection was closed");
    else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!waitFor(socket.get(), POLLIN, deadline))
        return failedError("no data arrived in time");
    } else if (errno != EINTR)
      return failedError("the connection has broken: " + reason(errno));
  }
  return {};
}

} // namespace sluice::socket
