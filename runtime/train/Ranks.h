//===- Ranks.h - what the trainer needs of the running ranks --------------------===//
//
// The ranks with their arenas: run an entry point on all of them, read and write buffers between runs. They are threads
// of this process, or each is a process of its own: then all processes run the same code in the same order, each holds one
// rank, and rank 0's, the root, writes files and the console. The executor's implementations are made by openRanks();
// tests of the trainer bring their own.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_RANKS_H
#define SLUICE_RUNTIME_TRAIN_RANKS_H

#include "runtime/collective/Communicator.h"
#include "runtime/device/Device.h"
#include "runtime/plan/Plan.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// One instruction as it ran, in microseconds from a common start.
struct Span {
  int rank = 0;
  std::string stream;
  std::string name;
  double begin = 0;
  double end = 0;
};

class Ranks {
public:
  virtual ~Ranks() = default;
  virtual const plan::PlanT &plan() const = 0;
  /// Number of ranks.
  virtual int size() const = 0;
  /// Runs the entry point on all ranks and waits for them; the first failure is returned.
  virtual Status run(std::string_view entry) = 0;
  /// Runs the entry point on all ranks and waits until its outputs can be read and its inputs be written anew for another
  /// start of the same one. The rest goes on: before anything else is run, read or written, finish() waits for it.
  virtual Status start(std::string_view entry) { return run(entry); }
  virtual Status finish() { return Status::ok(); }
  /// Between runs, and of ports after start(): bytes of a buffer (index in Plan.buffers) of one rank. Ranges lie within the buffer. Every process gets
  /// them; within onRoot() the root alone. What is written to a rank that this process does not hold is dropped.
  virtual Status read(int rank, std::uint32_t buffer, std::uint64_t offset, std::span<std::byte> out) const = 0;
  virtual Status write(int rank, std::uint32_t buffer, std::uint64_t offset, std::span<const std::byte> data) = 0;
  /// Bytes that one rank has requested, counted where they are requested; the largest over the ranks.
  virtual std::uint64_t requestedBytes(plan::Space space) const = 0;
  /// What ran since the last call, where tracing is on; the root gets it of all ranks.
  virtual std::vector<Span> takeTrace() { return {}; }

  /// Is this rank in this process? Loops that write pass over those that are not.
  virtual bool holds(int rank) const { return true; }
  bool isRoot() const { return holds(0); }
  /// Runs `work` on the root alone; the other processes meanwhile give it what it reads of them.
  virtual Status onRoot(const std::function<Status()> &work) const { return work(); }
  /// True on all processes where it is on any.
  virtual Result<bool> agree(bool value) const { return value; }
  /// As agree(), without waiting for the others: where ranks are processes, of the values of the call before.
  virtual Result<bool> agreeLater(bool value) { return value; }
};

struct RanksOptions {
  /// Compute threads of a rank; 0: the plan's target.threads. More than these is an error.
  int threads = 0;
  std::uint64_t seed = 0;
  bool trace = false;
  /// Of a plan for a GPU: "auto", "on" or "off" (steps recorded as a graph), and whether f32 products may use TF32.
  std::string cudaGraph = "auto";
  bool tf32 = false;
  /// A file of measured algorithms, made where there is none; empty: the library's heuristic chooses.
  std::string algorithms = {};
  /// "auto", "on" or "off": whether cuDNN computes what it can.
  std::string cudnn = "auto";
  /// Told what the user should know of the run's start.
  std::function<void(const std::string &)> note = {};
  /// Seconds after which a collective that does not end ends the run; 0: never.
  double watchdogSeconds = 25;
  /// Seconds within which GPUs are connected; 0: for ever.
  double joinSeconds = 60;
  /// Ends the process with a failure, where a library keeps the rank's thread after it. Called on another thread.
  std::function<void(const Status &)> endProcess = {};
  /// The world of processes that this one is `rank` of; null: all ranks are in this process.
  std::shared_ptr<World> world = nullptr;
  int rank = 0;
  /// Where the rank of this process sleeps or dies, for tests; not owned; null: nowhere.
  DelayInjector *delays = nullptr;
};

/// Reads, verifies and checks a plan file, then starts its ranks in this process, one thread group a rank; in a world of
/// processes, its one rank.
Result<std::unique_ptr<Ranks>> openRanks(const std::string &path, const RanksOptions &options);

/// A port by name; null where there is none.
const plan::PortT *findInput(const plan::EntryT &entry, std::string_view name);
const plan::PortT *findOutput(const plan::EntryT &entry, std::string_view name);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_RANKS_H
