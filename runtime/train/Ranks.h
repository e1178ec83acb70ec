//===- Ranks.h - the interface of the trainer to the running ranks -----------------===//
//
// The ranks with their arenas: run an entry point on all of them, read and write buffers between runs. The ranks are
// threads of this process, or processes: then all processes run the same code in the same order, each has one rank, and
// the process of rank 0, the root, writes files and the console. openRanks() creates the executor's implementations;
// tests of the trainer implement the interface.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_RANKS_H
#define SLUICE_RUNTIME_TRAIN_RANKS_H

#include "runtime/collective/Communicator.h"
#include "runtime/device/Device.h"
#include "runtime/executor/Executor.h"
#include "runtime/executor/ResidentPages.h"
#include "runtime/plan/ChromeTrace.h"
#include "runtime/plan/Reader.h"
#include "runtime/train/Exchange.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// As an exchange, for the thread that runs the ranks. Loops that write skip ranks of other processes.
class Ranks : public Exchange {
public:
  virtual const plan::PlanT &plan() const = 0;
  /// Runs the entry point on all ranks and waits for them; the first failure is returned.
  virtual Status run(std::string_view entry) = 0;
  /// Runs the entry point on all ranks and waits until its outputs can be read and its inputs be written for the next
  /// start of the same entry point. The rest continues: call finish() before any other run, read or write.
  virtual Status start(std::string_view entry) { return run(entry); }
  virtual Status finish() { return Status::ok(); }
  /// After a run that changed no parameter: repeats it up to its first update. The result names the first value over
  /// all ranks that is not finite (runtime/executor/NonFinite.h); empty: all are finite. Nothing that persists changes.
  virtual Result<std::string> findNonFinite(std::string_view entry) { return std::string(); }
  /// Between runs, and for ports after start(): bytes of a buffer (index in Plan.buffers) of one rank. Ranges are
  /// within the buffer. Every process gets them; within onRoot() only the root. Writes to a rank of a different process
  /// are dropped.
  virtual Status read(int rank, std::uint32_t buffer, std::uint64_t offset, std::span<std::byte> out) const = 0;
  virtual Status write(int rank, std::uint32_t buffer, std::uint64_t offset, std::span<const std::byte> data) = 0;
  /// The same as read() for a rank of this process: no other process takes part.
  virtual Status readOwn(int rank, std::uint32_t buffer, std::uint64_t offset, std::span<std::byte> out) const {
    return read(rank, buffer, offset, out);
  }
  /// The memory of a buffer of a rank of this process, for views between runs. StatusCode::refused if the memory is
  /// that of a GPU.
  virtual Result<SharedMemory> memoryOf(int rank, std::uint32_t buffer) const = 0;
  /// Between runs: calls the function for each rank of this process, on its thread, all at the same time, and returns
  /// after them. An error is that of ranks that cannot run.
  virtual Status forEachRank(const std::function<void(int rank)> &function) const {
    for (int rank = 0; rank < size(); ++rank)
      if (holds(rank))
        function(rank);
    return Status::ok();
  }
  /// Between runs: copies what the ranks of this process write to their memory of checkpoints.
  virtual Status copyState() const = 0;
  /// That memory of a rank of this process, divided as CheckpointMemory.h says; empty unless
  /// RanksOptions::writesCheckpoints. Any thread may use it, also during runs, until the next copyState().
  virtual std::span<std::byte> checkpointMemory(int rank) const = 0;
  /// Bytes that one rank has requested, counted where they are requested; the largest over the ranks.
  virtual std::uint64_t requestedBytes(plan::Space space) const = 0;
  /// Pages of one rank's arena as they were measured between instructions, the largest over the ranks; zeros unless
  /// RanksOptions::measurePages.
  virtual PageBytes pageBytes(plan::Space space) const { return {}; }
  /// The spans since the last call, if tracing is on; the root gets those of all ranks.
  virtual std::vector<Span> takeTrace() { return {}; }

  /// Runs `work` only on the root; meanwhile the other processes send it the data that it reads.
  virtual Status onRoot(const std::function<Status()> &work) const { return work(); }
  /// For a second thread of each process, also during runs.
  virtual const Exchange &background() const { return *this; }
  /// This process works on files while others may wait for it, so it is not stuck. An error if a rank has failed or
  /// ended meanwhile.
  virtual Status noteWork() const { return {}; }
  /// As agree(), without waiting for the others: if ranks are processes, the result is that of the previous call's
  /// values.
  virtual Result<bool> agreeLater(bool value) { return value; }
};

struct RanksOptions {
  /// Compute threads of a rank; 0: the plan's target.threads. A larger number is an error.
  int threads = 0;
  std::uint64_t seed = 0;
  /// The entry points that the run needs: memory is allocated for these; empty: all.
  std::vector<std::string> entries = {};
  bool trace = false;
  /// Refuses a plan of which a property is not proved.
  bool requiresProof = false;
  /// Allocates the memory of checkpoints.
  bool writesCheckpoints = false;
  /// On the CPU, for debugging: bytes are overwritten when their lifespan ends; resident pages are measured. Not both.
  bool poison = false;
  bool measurePages = false;
  /// For a GPU: "auto", "on" or "off" (steps recorded as a graph), and whether f32 products may use TF32.
  std::string cudaGraph = "auto";
  bool tf32 = false;
  /// A file of measured algorithms, created if it is missing; empty: the library's heuristic chooses.
  std::string algorithms = {};
  /// "auto", "on" or "off": whether cuDNN computes the kernels that it has.
  std::string cudnn = "auto";
  /// Receives notes for the user about the start of the run.
  std::function<void(const std::string &)> note = {};
  /// Seconds after which an unfinished collective ends the run; 0: never.
  double watchdogSeconds = 25;
  /// Seconds within which GPUs are connected; 0: no limit.
  double joinSeconds = 60;
  /// Ends the process with a failure if a library blocks the rank's thread afterwards. Called on a different thread.
  std::function<void(const Status &)> endProcess = {};
  /// The world of processes that this one is `rank` of; null: all ranks are in this process.
  std::shared_ptr<World> world = nullptr;
  int rank = 0;
  /// Injected faults of this process's rank, for tests; not owned; may be null.
  DelayInjector *delays = nullptr;
};

/// Reads, verifies and checks a plan file, then starts its ranks in this process, one thread group per rank; in a world
/// of processes, its one rank.
Result<std::unique_ptr<Ranks>> openRanks(const std::string &path, const RanksOptions &options);
/// The same with a plan that was read from `path`, and is checked here.
Result<std::unique_ptr<Ranks>> openRanks(PlanFile file, const std::string &path, const RanksOptions &options);

/// The part of openRanks() for a world of processes: starts the rank of this process. The plan was read and checked.
Result<std::unique_ptr<Ranks>> openProcessRanks(plan::PlanT plan, const RanksOptions &options);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_RANKS_H
