//===- ProcessWorld.h - a world of one process per rank --------------------------===//
//
// Collectives over the frames of a Link, the same for every kind of link: members first exchange and compare their
// calls, then move the data, and reduce it in order of rank with the local communicator's arithmetic, so results equal
// those of the local communicator to the bit. A watch finds processes that died or are stuck, and ends the world with
// an error that names them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_PROCESS_PROCESSWORLD_H
#define SLUICE_RUNTIME_COLLECTIVE_PROCESS_PROCESSWORLD_H

#include "runtime/collective/process/Watch.h"

#include <atomic>
#include <map>
#include <set>

namespace sluice::process {

struct ProcessWorldOptions {
  /// Time after which a process that sends nothing, or runs nothing while others wait for it, ends the world; 0: never.
  double watchdogSeconds = 25;
};

class ProcessWorld final : public World, private FrameSink {
public:
  /// Starts the link and sends hello to the other processes.
  static Result<std::unique_ptr<ProcessWorld>> create(std::unique_ptr<Link> link, const ProcessWorldOptions &options);
  /// Waits until every other process has sent its hello: from then on this process notices its end.
  Status waitForHellos();
  /// end(), if it was not called.
  ~ProcessWorld() override;
  /// Sends a goodbye, waits for those of the others (only briefly if the world has failed), and ends the link. True if
  /// all have sent theirs. Communicators must be destroyed before.
  bool end();

  int rank() const { return link->rank(); }
  int size() const override { return link->size(); }
  Result<std::unique_ptr<Communicator>> create(int rank, std::span<const int> members,
                                               std::string_view channel) override;
  void abort(const Status &reason) override;
  Status state() const override;
  void noteProgress(std::uint32_t entry, std::uint32_t instruction) override;
  void nameProgress(std::function<std::string(std::uint32_t, std::uint32_t)> names) override;
  int reporter() override;

private:
  friend class ProcessCommunicator;
  ProcessWorld(std::unique_ptr<Link> link, const ProcessWorldOptions &options);

  void onFrame(int source, const FrameHeader &header, Part payload) override;
  void onLost(int source, std::string_view why) override;
  void onTick() override;

  void receiveHello(int source, Part payload);
  /// The progress of this process.
  Heartbeat ownHeartbeat() const;
  void receiveHeartbeat(Peer &peer, Part payload);
  void receiveOnChannel(int source, const FrameHeader &header, Part payload);
  void checkPeers(Clock::time_point now);
  void checkWaits(Clock::time_point now);
  /// Notices that this process did not run for some time. Called before anything else that the link reports.
  void checkSleep();
  /// The reason, or, if this process slept for so long that the others ended the world, that.
  Status unlessSlept(Status reason) const;
  /// Posts a frame to every process that is not lost. A goodbye is the last frame.
  void postToAll(FrameKind kind, Part payload);
  /// The first reason stays; wakes all ranks. `accused`: the rank that is the reason, if one is. Under the mutex.
  void fail(const Status &reason, int accused = -1);
  std::string progressOf(int peer) const {
    return describeProgress(peers[static_cast<std::size_t>(peer)].heartbeat, names);
  }

  const std::unique_ptr<Link> link;
  const ProcessWorldOptions options;
  mutable std::mutex mutex;
  /// Notified when a peer greets or leaves.
  std::condition_variable changed;
  Status failure;
  std::vector<Peer> peers;
  ProgressNames names;
  std::map<std::uint64_t, std::shared_ptr<Channel>> channels;
  /// Members that have created a channel before this process, by channel.
  std::map<std::uint64_t, std::set<int>> early;
  /// Number of channels created with this name and these members.
  std::map<std::string, std::uint64_t> generations;
  bool ended = false;
  /// When the link reported last, by the clock that also counts the time in which the machine is suspended.
  double lastRun = 0;
  /// The latest time in seconds in which this process did not run, and its end.
  double slept = 0;
  Clock::time_point woke;

  std::atomic<std::uint64_t> progressCount = 0;
  /// Entry point and instruction; all ones: none yet.
  std::atomic<std::uint64_t> progressPlace = ~std::uint64_t(0);
};

} // namespace sluice::process

#endif // SLUICE_RUNTIME_COLLECTIVE_PROCESS_PROCESSWORLD_H
