//===- Rendezvous.cpp - connects the processes of a job ----------------------------===//
#include "runtime/collective/socket/Rendezvous.h"
#include "runtime/base/Text.h"
#include "runtime/collective/socket/Acceptor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <poll.h>

namespace sluice::socket {
namespace {

using Clock = std::chrono::steady_clock;

/// Time to send a message of the rendezvous, and to receive the rest of one that has begun.
constexpr auto messageTime = std::chrono::seconds(2);
constexpr std::size_t longestAddress = 64, longestReason = 1024;
/// Time of an attempt to connect, between which rank 0 can report an error.
constexpr auto attemptTime = std::chrono::milliseconds(200);

/// Between rank 0 and a rank, in both directions: a stage of the rendezvous is complete, or has failed.
struct Report {
  /// Identifies the job to its ranks.
  std::uint64_t token = 0;
  std::uint32_t failed = 0;
  std::uint32_t unused = 0;
  std::array<char, longestReason> reason{};
};

struct Address {
  std::array<char, longestAddress> address{};
  std::uint16_t port = 0;
};

template <std::size_t n> void copyText(std::array<char, n> &to, const std::string &text) {
  std::memcpy(to.data(), text.data(), std::min(text.size(), n - 1));
}
template <std::size_t n> std::string textOf(const std::array<char, n> &from) {
  return {from.data(), strnlen(from.data(), n)};
}

Report reportOf(const Status &status) {
  Report report;
  report.failed = !status.isOk();
  copyText(report.reason, status.message());
  return report;
}

Status statusOf(const Report &report) { return report.failed ? failedError(textOf(report.reason)) : Status(); }

Clock::duration inSeconds(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

class Rendezvous {
public:
  explicit Rendezvous(const RendezvousOptions &options)
      : options(options), own(static_cast<std::size_t>(options.rank)),
        connections(static_cast<std::size_t>(options.size)), deadline(Clock::now() + inSeconds(options.seconds)) {}

  Result<std::vector<Socket>> run() {
    if (options.size == 1)
      return std::move(connections);
    SLUICE_RETURN_IF_ERROR(own == 0 ? runRankZero() : runOtherRank());
    return std::move(connections);
  }

private:
  Status runRankZero() {
    SLUICE_ASSIGN_OR_RETURN(Acceptor acceptor, Acceptor::listen(options.listen, options.port, options.secret));
    std::vector<Address> addresses(connections.size());
    Status status = acceptRanks(acceptor, addresses);
    // The ranks connect to each other before the first frame, so that each learns of a rank that has died meanwhile.
    if (status.isOk())
      status = sendAddresses(addresses);
    if (status.isOk())
      status = receiveReports();
    const Report report = reportOf(status);
    for (std::size_t r = 1; r < connections.size(); ++r)
      if (connections[r].isOpen())
        if (Status sent = sendAll(connections[r], bytesOf(report), Clock::now() + messageTime);
            !sent.isOk() && status.isOk())
          status = lost(r);
    return status;
  }

  static Status lost(std::size_t rank) { return failedError(concat("rank ", rank, " has died during the rendezvous")); }

  Status acceptRanks(Acceptor &acceptor, std::vector<Address> &addresses) {
    for (std::size_t count = 1; count < connections.size();) {
      std::vector<int> watched;
      for (const Socket &connection : connections)
        if (connection.isOpen())
          watched.push_back(connection.get());
      SLUICE_ASSIGN_OR_RETURN(std::optional<Guest> guest, acceptor.next(watched, deadline));
      // Before all are connected, a rank sends nothing.
      for (std::size_t r = 1; r < connections.size(); ++r)
        if (connections[r].isOpen() && waitFor(connections[r].get(), POLLIN, Clock::now()))
          return lost(r);
      if (!guest && Clock::now() >= deadline)
        return missingRanks();
      if (!guest)
        continue;
      if (Status status = checkRank(guest->introduction); !status.isOk()) {
        (void)sendAll(guest->socket, bytesOf(reportOf(status)), Clock::now() + messageTime);
        return status;
      }
      const auto r = static_cast<std::size_t>(guest->introduction.rank);
      copyText(addresses[r].address, addressOfPeer(guest->socket));
      addresses[r].port = guest->introduction.port;
      connections[r] = std::move(guest->socket);
      ++count;
    }
    return {};
  }

  Status checkRank(const Introduction &guest) const {
    const auto r = static_cast<std::size_t>(guest.rank);
    if (guest.size != options.size)
      return failedError(
          concat("world size, expected ", options.size, " as on rank 0 but got ", guest.size, " on rank ", guest.rank));
    if (r >= connections.size() || r == 0 || connections[r].isOpen())
      return failedError(
          concat("rank ", guest.rank, " connected twice, expected ranks 0 to ", options.size - 1, " once each"));
    return {};
  }

  Status missingRanks() const {
    std::vector<std::size_t> ranks;
    for (std::size_t r = 1; r < connections.size(); ++r)
      if (!connections[r].isOpen())
        ranks.push_back(r);
    return failedError(concat((ranks.size() == 1 ? "rank " : "ranks "), join(ranks, ", "), " did not connect within ",
                              formatNumber(options.seconds), " s, expected ", options.size, " ranks at ",
                              options.address, ":", options.port));
  }

  Status sendAddresses(const std::vector<Address> &addresses) {
    Report report;
    const Nonce nonce = randomNonce();
    std::memcpy(&report.token, nonce.data(), sizeof report.token);
    for (std::size_t r = 1; r < connections.size(); ++r) {
      Status sent = sendAll(connections[r], bytesOf(report), Clock::now() + messageTime);
      if (sent.isOk())
        sent = sendAll(connections[r], std::as_bytes(std::span(addresses)), Clock::now() + messageTime);
      if (!sent.isOk())
        return lost(r);
    }
    return {};
  }

  /// Of every rank that it is connected to the others.
  Status receiveReports() {
    std::vector<pollfd> polled;
    for (const Socket &connection : connections)
      polled.push_back({connection.get(), POLLIN, 0});
    const Deadline patience = Clock::now() + inSeconds(options.seconds);
    for (std::size_t count = 1; count < connections.size();) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(patience - Clock::now()).count();
      poll(polled.data(), polled.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
      for (std::size_t r = 1; r < connections.size(); ++r) {
        if (polled[r].revents == 0)
          continue;
        Report report;
        if (!receiveAll(connections[r], writableBytesOf(report), Clock::now() + messageTime).isOk())
          return lost(r);
        SLUICE_RETURN_IF_ERROR(statusOf(report));
        // poll() ignores it from here on.
        polled[r] = {-1, 0, 0};
        ++count;
      }
      if (Clock::now() < patience)
        continue;
      std::vector<std::size_t> slow;
      for (std::size_t r = 1; r < connections.size(); ++r)
        if (polled[r].fd >= 0)
          slow.push_back(r);
      if (!slow.empty())
        return failedError(concat((slow.size() == 1 ? "rank " : "ranks "), join(slow, ", "),
                                  " did not connect to all ranks within ", formatNumber(options.seconds), " s"));
    }
    return {};
  }

  Status runOtherRank() {
    SLUICE_ASSIGN_OR_RETURN(Acceptor acceptor, Acceptor::listen(options.listen, 0, options.secret));
    Result<Socket> rankZero = connectUntil(options.address, options.port, deadline);
    if (!rankZero.isOk())
      return failedError("rank 0 did not accept a connection within " + formatNumber(options.seconds) +
                         " s: " + rankZero.status().message());
    // Rank 0 may have started later, and reports the missing ranks at its deadline.
    patience = Clock::now() + inSeconds(options.seconds) + 2 * messageTime;
    SLUICE_RETURN_IF_ERROR(introduce(*rankZero, 0, {options.rank, options.size, 0, acceptor.port(), {}}));
    connections[0] = std::move(*rankZero);
    SLUICE_ASSIGN_OR_RETURN(const Report report, receiveReport());
    SLUICE_RETURN_IF_ERROR(statusOf(report));
    std::vector<Address> addresses(connections.size());
    SLUICE_RETURN_IF_ERROR(receiveFrom(connections[0], 0, std::as_writable_bytes(std::span(addresses))));
    Status status = connectLowerRanks(acceptor.port(), addresses, report.token);
    if (status.isOk())
      status = acceptHigherRanks(acceptor, report.token);
    // Rank 0 decides which error all ranks report.
    if (Status sent = sendAll(connections[0], bytesOf(reportOf(status)), Clock::now() + messageTime); !sent.isOk())
      return lost(0);
    SLUICE_ASSIGN_OR_RETURN(const Report last, receiveReport());
    return statusOf(last);
  }

  /// The end of a connection to `rank` that connects.
  Status introduce(const Socket &to, std::size_t rank, const Introduction &introduction) {
    const Hello hello{helloMagic, randomNonce()};
    Challenge challenge;
    if (!sendAll(to, bytesOf(hello), patience).isOk())
      return lost(rank);
    SLUICE_RETURN_IF_ERROR(receiveFrom(to, rank, writableBytesOf(challenge)));
    if (!isEqualInConstantTime(challenge.proof, proofOfChallenge(options.secret, hello, challenge.nonce)))
      return failedError(concat("rank ", rank, " has a different secret than rank ", options.rank))
          .withNote("start all ranks with the same --secret-file");
    const Greeting greeting{introduction, proofOfGreeting(options.secret, hello, challenge.nonce, introduction)};
    return sendAll(to, bytesOf(greeting), patience).isOk() ? Status() : lost(rank);
  }

  Result<Report> receiveReport() {
    Report report;
    SLUICE_RETURN_IF_ERROR(receiveFrom(connections[0], 0, writableBytesOf(report)));
    return report;
  }

  /// True if rank 0 has sent a report, or has died, in a stage in which a report is an error.
  bool isRankZeroReady() const {
    return connections[0].isOpen() && waitFor(connections[0].get(), POLLIN, Clock::now());
  }

  /// Receives from `rank`. Ends early if rank 0 reports an error meanwhile.
  Status receiveFrom(const Socket &from, std::size_t rank, std::span<std::byte> bytes) {
    while (rank != 0 && !waitFor(from.get(), POLLIN, std::min(patience, Clock::now() + attemptTime)))
      if (isRankZeroReady() || Clock::now() >= patience)
        return lost(rank);
    Status status = receiveAll(from, bytes, rank == 0 ? patience : std::min(patience, Clock::now() + messageTime));
    return status.isOk() ? status
                         : failedError(concat("rank ", rank, " was lost during the rendezvous: ", status.message()));
  }

  Status connectLowerRanks(std::uint16_t port, const std::vector<Address> &addresses, std::uint64_t token) {
    for (std::size_t r = 1; r < own; ++r) {
      Result<Socket> connection = lost(r);
      while (!connection.isOk() && !isRankZeroReady() && Clock::now() < patience)
        connection = connectUntil(textOf(addresses[r].address), addresses[r].port,
                                  std::min(patience, Clock::now() + attemptTime));
      if (!connection.isOk())
        return failedError(concat("rank ", r, " was lost during the rendezvous: ", connection.status().message()));
      SLUICE_RETURN_IF_ERROR(introduce(*connection, r, {options.rank, options.size, token, port, {}}));
      connections[r] = std::move(*connection);
    }
    return {};
  }

  Status acceptHigherRanks(Acceptor &acceptor, std::uint64_t token) {
    for (std::size_t count = own + 1; count < connections.size();) {
      const int watched[] = {connections[0].get()};
      SLUICE_ASSIGN_OR_RETURN(std::optional<Guest> guest, acceptor.next(watched, patience));
      if (isRankZeroReady() || (!guest && Clock::now() >= patience))
        return lost(count);
      const auto r = guest ? static_cast<std::size_t>(guest->introduction.rank) : 0;
      // A rank of a different job, which has the same secret.
      if (!guest || guest->introduction.token != token || r <= own || r >= connections.size() ||
          connections[r].isOpen())
        continue;
      connections[r] = std::move(guest->socket);
      ++count;
    }
    return {};
  }

  const RendezvousOptions options;
  const std::size_t own;
  std::vector<Socket> connections;
  const Deadline deadline;
  /// Until which another rank than 0 waits for the others.
  Deadline patience;
};

} // namespace

Result<std::vector<Socket>> connectRanks(const RendezvousOptions &options) { return Rendezvous(options).run(); }

} // namespace sluice::socket
