//===- Communicator.h - collectives between ranks -------------------------------===//
//
// There is one Communicator per rank, group of ranks (which differ along some mesh axes) and channel. All members call
// the collectives of a communicator in the same order. Different streams use different channels, because NCCL requires
// different communicators. Calls run on the calling stream (CPU: they block the stream's thread). If a member calls a
// different collective or size, all members return an error that names both calls; none of them waits forever.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_COMMUNICATOR_H
#define SLUICE_RUNTIME_COLLECTIVE_COMMUNICATOR_H

#include "runtime/base/DType.h"
#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// The values of ReduceOp in runtime/plan/plan.fbs.
enum class Reduction : std::uint8_t { none, sum, mean, premulSum, max };

/// One tensor of a coalesced call. `count` is in elements: the chunk of each member for all_gather (source),
/// reduce_scatter (destination) and all_to_all (both), the full tensor for all_reduce and broadcast.
struct SegmentPointers {
  const void *source = nullptr;
  void *destination = nullptr;
  std::uint64_t count = 0;

  const std::byte *sourceAt(std::uint64_t bytes) const { return static_cast<const std::byte *>(source) + bytes; }
  std::byte *destinationAt(std::uint64_t bytes) const { return static_cast<std::byte *>(destination) + bytes; }
};

/// The metadata on which the members must agree besides the order; errors print it.
struct CallLabel {
  /// Index of the instruction in the plan.
  std::uint32_t instruction = 0;
  /// The name of the unit, or the purpose of the call.
  std::string_view what;
};

/// CollectiveKind in runtime/plan/plan.fbs, in its order, and the calls that no plan has.
enum class CallKind : std::uint8_t { allGather, reduceScatter, allReduce, broadcast, allToAll, barrier };

/// The call of one member.
struct Call {
  CallKind kind = CallKind::barrier;
  DType dtype = DType::u8;
  Reduction op = Reduction::none;
  double scale = 1;
  int root = 0;
  std::span<const SegmentPointers> segments = {};
  CallLabel label;
};

class Communicator {
public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Destination holds size() chunks in order of rank. In-place where source is this rank's chunk. ncclAllGather.
  Status allGather(std::span<const SegmentPointers> segments, DType dtype, const CallLabel &label, void *nativeStream) {
    return run({CallKind::allGather, dtype, Reduction::none, 1, 0, segments, label}, nativeStream);
  }
  /// Source holds size() chunks. Sums in order of rank 0, 1, ...; mean multiplies the sum by 1 / size();
  /// premulSum multiplies each addend by `scale` first; f32 and f64 in their own type, bf16 and f16 in f32.
  /// ncclReduceScatter.
  Status reduceScatter(std::span<const SegmentPointers> segments, DType dtype, Reduction op, double scale,
                       const CallLabel &label, void *nativeStream) {
    return run({CallKind::reduceScatter, dtype, op, scale, 0, segments, label}, nativeStream);
  }
  /// As reduceScatter, with the full result on every member; in-place allowed. ncclAllReduce.
  Status allReduce(std::span<const SegmentPointers> segments, DType dtype, Reduction op, double scale,
                   const CallLabel &label, void *nativeStream) {
    return run({CallKind::allReduce, dtype, op, scale, 0, segments, label}, nativeStream);
  }
  /// ncclBroadcast.
  Status broadcast(std::span<const SegmentPointers> segments, DType dtype, int root, const CallLabel &label,
                   void *nativeStream) {
    return run({CallKind::broadcast, dtype, Reduction::none, 1, root, segments, label}, nativeStream);
  }
  /// Source holds a chunk for each member, in order of rank, and destination a chunk from each; not in-place.
  /// ncclSend and ncclRecv.
  Status allToAll(std::span<const SegmentPointers> segments, DType dtype, const CallLabel &label, void *nativeStream) {
    return run({CallKind::allToAll, dtype, Reduction::none, 1, 0, segments, label}, nativeStream);
  }
  /// Waits for all members.
  Status barrier(const CallLabel &label) { return run({.label = label}, nullptr); }
  /// Any of these calls.
  virtual Status run(const Call &call, void *nativeStream) = 0;
  /// Makes every pending and later call on all members return `reason`. Thread-safe.
  virtual void abort(const Status &reason) = 0;
};

/// The world of one process per rank or one thread per rank: creates communicators.
class World {
public:
  virtual ~World() = default;
  virtual int size() const = 0;
  /// The communicator of `rank` in the group `members` (ascending world ranks, `rank` included) on `channel`.
  /// Called by each member, before the first collective; returns when all members have called.
  virtual Result<std::unique_ptr<Communicator>> create(int rank, std::span<const int> members,
                                                       std::string_view channel) = 0;
  /// The communicator of all ranks on `channel`.
  Result<std::unique_ptr<Communicator>> createForAll(int rank, std::string_view channel) {
    std::vector<int> members(static_cast<std::size_t>(size()));
    std::iota(members.begin(), members.end(), 0);
    return create(rank, members, channel);
  }
  /// A rank has failed: every rank's pending and later calls return `reason`. Thread-safe.
  virtual void abort(const Status &reason) = 0;
  /// Ok until the world is aborted, then the reason. Thread-safe.
  virtual Status state() const = 0;

  /// The rank of this process has run an instruction of an entry point. A world of processes sends this to the others,
  /// so that an error can name the last instruction of a stuck rank. Thread-safe.
  virtual void noteProgress(std::uint32_t entry, std::uint32_t instruction) {}
  /// Sets the function that prints instructions, the same on all ranks because they run one plan.
  virtual void nameProgress(std::function<std::string(std::uint32_t entry, std::uint32_t instruction)> names) {}
  /// After the world failed: the rank that prints the reason, the lowest one that answers and is not itself the reason.
  /// In a world of processes it may wait for the answers for some seconds.
  virtual int reporter() { return 0; }
};

/// Ranks are threads of this process. Reductions are `ordered`: ((x0 + x1) + x2) + ...
std::shared_ptr<World> createLocalWorld(int size);

} // namespace sluice

#endif // SLUICE_RUNTIME_COLLECTIVE_COMMUNICATOR_H
