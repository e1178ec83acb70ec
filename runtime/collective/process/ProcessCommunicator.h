//===- ProcessCommunicator.h - one member's calls on a channel -------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_PROCESS_PROCESSCOMMUNICATOR_H
#define SLUICE_RUNTIME_COLLECTIVE_PROCESS_PROCESSCOMMUNICATOR_H

#include "runtime/collective/process/Blocks.h"
#include "runtime/collective/process/ProcessWorld.h"

namespace sluice::process {

class ProcessCommunicator final : public Communicator {
public:
  ProcessCommunicator(ProcessWorld &world, std::shared_ptr<Channel> channel);
  ~ProcessCommunicator() override;

  int rank() const override { return channel->own; }
  int size() const override { return channel->size(); }
  Status run(const Call &call, void *nativeStream) override;
  void abort(const Status &reason) override;

private:
  using Lock = std::unique_lock<std::mutex>;

  /// Sends the call to the others and compares it with theirs.
  Status exchangeCalls(const Call &call);
  Status work(const Call &call);
  Status reduceInBlocks(const Call &call);
  Status sendToOthers(const Call &call);
  /// Sets the destinations of this call's results, and slots for blocks. Under the mutex.
  void prepareDestinations(const Call &call);
  void addDestination(int member, std::byte *to, std::uint64_t bytes);
  /// Sends ranges of the segments' memory; `source`: theirs, else the destinations.
  Status sendRanges(int member, FrameKind kind, const Call &call, std::span<const BlockRange> ranges, bool source);
  void reduceRanges(const Call &call, std::span<const BlockRange> ranges, std::uint64_t block);
  /// Waits until `ready()`; returns the failure of the channel or the world.
  template <typename Ready> Status waitFor(Lock &lock, Ready &&ready);
  Status failureOf() const { return channel->failure.isOk() ? world.failure : channel->failure; }
  Inbound &from(int member) { return channel->inbound[static_cast<std::size_t>(member)]; }
  /// Calls `visit(member)` for all other members, starting with the next rank, so that not all send to the same one.
  template <typename Visit> Status forOthers(Visit &&visit);

  ProcessWorld &world;
  const std::shared_ptr<Channel> channel;
  std::vector<std::byte> encoded;
  std::vector<DecodedCall> decoded;
  std::vector<const Call *> calls;
  std::vector<BlockRange> ranges;
  std::vector<Part> parts;
};

} // namespace sluice::process

#endif // SLUICE_RUNTIME_COLLECTIVE_PROCESS_PROCESSCOMMUNICATOR_H
