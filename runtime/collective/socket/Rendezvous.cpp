//===- Rendezvous.cpp - connects the processes of a job ----------------------------===//
#include "runtime/collective/socket/Rendezvous.h"

#include "runtime/base/Text.h"
#include <algorithm>
#include <array>
#include <cstring>
#include <poll.h>
#include <random>

namespace sluice::socket {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<char, 8> magic = {'S', 'L', 'U', 'I', 'C', 'E', '0', '1'};
/// A connection that does not send the magic within this time is not a rank.
constexpr auto greetingTime = std::chrono::seconds(2);
constexpr std::size_t longestAddress = 64, longestReason = 1024;

/// A rank to rank 0.
struct Greeting {
  std::array<char, 8> magic{};
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::uint16_t port = 0;
  std::uint16_t unused = 0;
  std::uint32_t version = 1;
};

/// Rank 0 to a rank: a refusal, or the secret number, which the addresses follow.
struct Answer {
  std::uint64_t token = 0;
  std::uint32_t refused = 0;
  std::uint32_t unused = 0;
  std::array<char, longestReason> reason{};
};

struct Address {
  std::array<char, longestAddress> address{};
  std::uint16_t port = 0;
};

/// A rank to a rank.
struct Introduction {
  std::uint64_t token = 0;
  std::int32_t rank = 0;
  std::int32_t unused = 0;
};

template <typename T> std::span<const std::byte> bytesOf(const T &value) { return std::as_bytes(std::span(&value, 1)); }
template <typename T> std::span<std::byte> writableBytesOf(T &value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

template <std::size_t n> void copyText(std::array<char, n> &to, const std::string &text) {
  std::memcpy(to.data(), text.data(), std::min(text.size(), n - 1));
}
template <std::size_t n> std::string textOf(const std::array<char, n> &from) {
  return {from.data(), strnlen(from.data(), n)};
}

class Rendezvous {
public:
  explicit Rendezvous(const RendezvousOptions &options)
      : options(options), connections(static_cast<std::size_t>(options.size)),
        deadline(Clock::now() +
                 std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds))) {}

  Result<std::vector<Socket>> run() {
    if (options.size == 1)
      return std::move(connections);
    SLUICE_RETURN_IF_ERROR(options.rank == 0 ? runRankZero() : runOtherRank());
    return std::move(connections);
  }

private:
  Status runRankZero() {
    SLUICE_ASSIGN_OR_RETURN(Socket listening, listenAt(options.listen, options.port));
    std::vector<Address> addresses(connections.size());
    Status status = acceptRanks(listening, addresses);
    Answer answer;
    std::random_device random;
    answer.token = std::uint64_t(random()) << 32 | random();
    answer.refused = !status.isOk();
    copyText(answer.reason, status.message());
    for (std::size_t r = 1; r < connections.size(); ++r) {
      if (!connections[r].isOpen())
        continue;
      Status sent = sendAll(connections[r], bytesOf(answer), deadline + greetingTime);
      for (std::size_t other = 1; other < addresses.size() && status.isOk() && sent.isOk(); ++other)
        sent = sendAll(connections[r], bytesOf(addresses[other]), deadline + greetingTime);
      if (!sent.isOk() && status.isOk())
        return failedError(concat("rank ", r, " was lost during the rendezvous: ", sent.message()));
    }
    return status;
  }

  Status acceptRanks(const Socket &listening, std::vector<Address> &addresses) {
    for (std::size_t count = 1; count < connections.size();) {
      Result<Socket> accepted = acceptUntil(listening, deadline);
      if (!accepted.isOk())
        return missingRanks();
      Greeting greeting;
      // A connection that is not of a rank is closed without an answer.
      if (!receiveAll(*accepted, writableBytesOf(greeting), std::min(deadline, Clock::now() + greetingTime)).isOk() ||
          greeting.magic != magic)
        continue;
      const auto r = static_cast<std::size_t>(greeting.rank);
      Status status;
      if (greeting.size != options.size)
        status = failedError(concat("world size, expected ", options.size, " as on rank 0 but got ", greeting.size,
                                    " on rank ", greeting.rank));
      else if (r >= connections.size() || r == 0 || connections[r].isOpen())
        status = failedError(
            concat("rank ", greeting.rank, " connected twice, expected ranks 0 to ", options.size - 1, " once each"));
      if (!status.isOk()) {
        Answer answer;
        answer.refused = 1;
        copyText(answer.reason, status.message());
        (void)sendAll(*accepted, bytesOf(answer), Clock::now() + greetingTime);
        return status;
      }
      copyText(addresses[r].address, addressOfPeer(*accepted));
      addresses[r].port = greeting.port;
      connections[r] = std::move(*accepted);
      ++count;
    }
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

  Status runOtherRank() {
    SLUICE_ASSIGN_OR_RETURN(Socket listening, listenAt(options.listen, 0));
    Result<Socket> rankZero = connectUntil(options.address, options.port, deadline);
    if (!rankZero.isOk())
      return failedError("rank 0 did not accept a connection within " + formatNumber(options.seconds) +
                         " s: " + rankZero.status().message());
    Greeting greeting;
    greeting.magic = magic;
    greeting.rank = options.rank;
    greeting.size = options.size;
    greeting.port = portOf(listening);
    Answer answer;
    // Rank 0 may have started later, and reports the missing ranks at its deadline.
    const Deadline patience =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds)) +
        2 * greetingTime;
    Status status = sendAll(*rankZero, bytesOf(greeting), patience);
    if (status.isOk())
      status = receiveAll(*rankZero, writableBytesOf(answer), patience);
    if (!status.isOk())
      return failedError("rank 0 was lost during the rendezvous: " + status.message());
    if (answer.refused)
      return failedError(textOf(answer.reason));
    connections[0] = std::move(*rankZero);
    std::vector<Address> addresses(connections.size());
    for (std::size_t r = 1; r < addresses.size(); ++r)
      if (Status got = receiveAll(connections[0], writableBytesOf(addresses[r]), patience); !got.isOk())
        return failedError("rank 0 was lost during the rendezvous: " + got.message());
    return connectPeers(listening, addresses, answer.token, patience);
  }

  /// Each rank connects to lower ranks and accepts higher ones.
  Status connectPeers(const Socket &listening, const std::vector<Address> &addresses, std::uint64_t token,
                      Deadline patience) {
    const auto own = static_cast<std::size_t>(options.rank);
    for (std::size_t r = 1; r < own; ++r) {
      Result<Socket> connection = connectUntil(textOf(addresses[r].address), addresses[r].port, patience);
      const Introduction introduction{token, options.rank, 0};
      Status status = connection.isOk() ? sendAll(*connection, bytesOf(introduction), patience) : connection.status();
      if (!status.isOk())
        return failedError(concat("rank ", r, " was lost during the rendezvous: ", status.message()));
      connections[r] = std::move(*connection);
    }
    for (std::size_t count = own + 1; count < connections.size();) {
      Result<Socket> connection = acceptUntil(listening, patience);
      if (!connection.isOk())
        return failedError(concat("rank ", count, " was lost during the rendezvous: ", connection.status().message()));
      Introduction introduction;
      if (!receiveAll(*connection, writableBytesOf(introduction), std::min(patience, Clock::now() + greetingTime))
               .isOk() ||
          introduction.token != token)
        continue;
      const auto r = static_cast<std::size_t>(introduction.rank);
      if (r <= own || r >= connections.size() || connections[r].isOpen())
        continue;
      connections[r] = std::move(*connection);
      ++count;
    }
    return {};
  }

  const RendezvousOptions options;
  std::vector<Socket> connections;
  const Deadline deadline;
};

} // namespace

Result<std::vector<Socket>> connectRanks(const RendezvousOptions &options) { return Rendezvous(options).run(); }

} // namespace sluice::socket
