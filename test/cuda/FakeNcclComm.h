//===- FakeNcclComm.h - communicators of the emulated NCCL ----------------------------------===//
//
// These follow NCCL 2.28.9:
//
//   - A communicator counts the captured graphs that hold its collectives. Destroying or aborting it waits until they
//   are
//     gone (localPersistentRefs). Here the wait ends after a while, with an error.
//   - Aborting ends only this rank's running collectives on this communicator: peers continue to wait.
//   - Within a node a dead peer is no asynchronous error.
//   - The first collective of a communicator allocates device memory.
//   - Two ranks on one device are refused.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_CUDA_FAKENCCLCOMM_H
#define SLUICE_TEST_CUDA_FAKENCCLCOMM_H

#include "runtime/base/cuda/Api.h"
#include "runtime/collective/Communicator.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>

namespace sluice::test {

/// The members of a communicator wait here until all have reached a collective.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, std::uint64_t> arrivals;
  std::set<int> aborted;
  bool hasEnded = false;
};

struct Root {
  std::shared_ptr<World> world;
  std::map<std::string, std::shared_ptr<Gate>> gates;
};

struct FakeComm {
  std::shared_ptr<Root> root;
  std::shared_ptr<Gate> gate;
  /// Of this rank in the root, and the members' ranks there.
  int rank = 0, device = 0;
  std::vector<int> members;
  std::unique_ptr<Communicator> way;
  int splits = 0;
  std::map<int, double> scales;
  int nextOp = 5;
  /// Groups that were launched.
  unsigned long launches = 0;
  /// Collectives that are enqueued, and those in graphs that exist.
  std::atomic<int> running = 0, persistentRefs = 0;
  std::uint64_t deviceBytes = 0;
  bool splitShare = false;
  int maxCtas = 0, ctaPolicy = 0;
};

/// Counts one while it lives.
class CountRef {
public:
  explicit CountRef(std::atomic<int> &count) : count(count) { ++count; }
  ~CountRef() { --count; }
  CountRef(const CountRef &) = delete;

private:
  std::atomic<int> &count;
};

std::shared_ptr<Root> rootOf(const std::string &id, int ranks);
/// The part of `rank` in a group; called by all members. Null if the test has ended.
std::unique_ptr<FakeComm> join(std::shared_ptr<Root> root, int rank, std::vector<int> members, const std::string &name);
/// Communicators that a failed rank does not destroy are freed at the end of the test, too.
FakeComm *keepUntilTestEnds(std::unique_ptr<FakeComm> comm);
/// Communicators and registrations that have not been destroyed.
int liveNcclObjects();
/// Waits for the other members; false if this rank's collectives were aborted.
bool meet(const FakeComm &comm);
/// Aborts the running collectives of this rank.
void endCollectives(FakeComm &comm);
/// The first collective allocates.
cuda::Code connect(FakeComm &comm);
/// As commDestroySync of NCCL: waits for running collectives and for the graphs that hold collectives of this
/// communicator.
cuda::Code retire(FakeComm *comm, const char *call);
void forgetRegistrations();

} // namespace sluice::test

#endif // SLUICE_TEST_CUDA_FAKENCCLCOMM_H
