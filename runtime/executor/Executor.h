//===- Executor.h - one rank's run of a plan -------------------------------------===//
//
// Takes a plan that was read and checked (runtime/plan/Reader.h, Checker.h), gets its memory, binds every view to
// addresses, prepares every kernel, and then runs entry points by issuing prepared commands: a step allocates
// nothing after create(). One Executor serves one rank; all its methods are called by one thread, the rank's.
//
// A failure of an instruction is reported with its entry point, instruction and unit; it ends the world, so that no
// other rank waits forever, and synchronize() returns it. After that the executor runs nothing.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_EXECUTOR_EXECUTOR_H
#define SLUICE_RUNTIME_EXECUTOR_EXECUTOR_H

#include "runtime/collective/Communicator.h"
#include "runtime/device/Device.h"
#include "runtime/executor/InstructionObserver.h"
#include "runtime/kernel/Kernel.h"
#include "runtime/plan/Plan.h"

#include <functional>
#include <optional>

namespace sluice {

namespace cuda {
class Algorithms;
class DnnUse;
} // namespace cuda

/// Returns the function that prepares a kernel; null if there is no such kernel.
using KernelFinder = std::function<PrepareFunction(std::string_view name, KernelFlavour flavour)>;

/// Whether a GPU's steps are recorded once and replayed. `automatic` issues them if recording fails.
enum class GraphMode : std::uint8_t { automatic, on, off };

struct ExecutorOptions {
  KernelFlavour flavour = KernelFlavour::fast;
  /// Compute threads of a rank, at most the plan's target.threads; 0: as many as that.
  int threads = 0;
  /// Not owned; null: none.
  DelayInjector *delays = nullptr;
  /// Written to the input port `seed` of every entry point that has one.
  std::uint64_t seed = 0;
  /// Empty: findCpuKernel.
  KernelFinder findKernel;
  /// Instructions of a stream whose times are kept until clearTrace(); 0: none are.
  std::size_t traceCapacity = 0;
  /// Instruction set to assume for this machine; empty: detected.
  std::string isa;
  /// For a GPU: the index of the device, whether steps are recorded, and whether f32 products may round their inputs to
  /// TF32.
  int device = 0;
  GraphMode graphs = GraphMode::automatic;
  bool tf32 = false;
  /// The algorithms of matrix products; null: the library's heuristic chooses.
  std::shared_ptr<cuda::Algorithms> algorithms;
  /// Lets cuDNN compute the kernels that it has, and records which; null: only Sluice's kernels.
  std::shared_ptr<cuda::DnnUse> dnn;
  /// For debugging, on the CPU: creates the observer that is called between instructions, which then run one at a time.
  ObserverFactory observe;
  /// On the CPU: arenas are resident from the start. Else the first access to a page makes it resident.
  bool prefault = true;
  /// Allocates the memory of copyState().
  bool writesCheckpoints = false;
  /// Called once, at the first failure of this rank, on the thread that found it, before the world is ended.
  std::function<void(const Status &)> onFailure;
};

/// Memory of an input or output of an entry point, in host space. Write inputs before runEntry(), read outputs after
/// awaitPorts() or synchronize().
struct PortMemory {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  /// Bytes of one repetition.
  std::uint64_t bytes = 0;
  /// 1 unless every repetition of the first section has its own slice.
  std::uint32_t repetitions = 1;
  /// Exclusive upper bound of an integer input; 0: unbounded.
  std::uint64_t limit = 0;
  std::byte *base = nullptr;
  std::uint64_t stride = 0;

  void *at(std::uint32_t repetition = 0) const { return base + repetition * stride; }
  template <typename T> T *as(std::uint32_t repetition = 0) const { return static_cast<T *>(at(repetition)); }
};

/// When an instruction ran, in nanoseconds of the steady clock.
struct TraceRecord {
  std::uint32_t entry = 0;
  std::uint32_t instruction = 0;
  std::uint32_t repetition = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Memory of a buffer, which outlives the executor while there is an owner.
struct SharedMemory {
  std::span<std::byte> bytes;
  std::shared_ptr<void> owner;
};

struct NonFinite;

class Executor {
public:
  virtual ~Executor() = default;

  /// Called on every rank of the world. Refuses (StatusCode::refused) what cannot run here, and a plan that differs
  /// from another rank's. `plan` outlives the executor. A failure ends the world.
  static Result<std::unique_ptr<Executor>> create(const plan::PlanT &plan, std::shared_ptr<World> world, int rank,
                                                  const ExecutorOptions &options = {});

  virtual const plan::PlanT &plan() const = 0;
  virtual int rank() const = 0;

  /// Issues the entry point's instructions and returns, usually before they have run. It may be called again while they
  /// run: a run of the same entry point overlaps with the previous one as far as the plan allows; a run of a different
  /// entry point starts after all earlier work.
  virtual Status runEntry(std::string_view name) = 0;
  /// Waits until the outputs of the entry point's last run are written and its inputs are read; other instructions may
  /// still run. Then outputs may be read, and inputs may be written for the next run of this entry point. Ports of
  /// different entry points may share memory: synchronize() between them.
  virtual Status awaitPorts(std::string_view name) = 0;
  /// Waits until all issued instructions have run; returns the first failure.
  virtual Status synchronize() = 0;

  /// runEntry(), then synchronize().
  Status finishEntry(std::string_view name) {
    Status issued = runEntry(name), finished = synchronize();
    return issued.isOk() ? finished : issued;
  }
  /// runEntry(), then awaitPorts(); synchronize() waits for the rest.
  Status startEntry(std::string_view name) {
    Status issued = runEntry(name);
    if (issued.isOk())
      return awaitPorts(name);
    (void)synchronize();
    return issued;
  }

  virtual Result<PortMemory> input(std::string_view entry, std::string_view name) const = 0;
  virtual Result<PortMemory> output(std::string_view entry, std::string_view name) const = 0;

  /// Between steps: the bytes of a buffer (index in Plan.buffers) from `offset` on, in any memory space.
  virtual Status read(std::uint32_t buffer, std::uint64_t offset, std::span<std::byte> out) const = 0;
  virtual Status write(std::uint32_t buffer, std::uint64_t offset, std::span<const std::byte> data) = 0;

  /// The memory of a buffer, to read and write between steps; StatusCode::refused if the memory is that of a GPU.
  virtual Result<SharedMemory> memory(std::uint32_t buffer) const = 0;
  /// Repeats a run that changed no parameter, on its inputs, up to the first instruction that writes one, and searches
  /// it (NonFinite.h); nullopt: all values are finite. Nothing that persists changes. Called on every rank of the world
  /// after synchronize(). StatusCode::refused on a GPU.
  virtual Result<std::optional<NonFinite>> findNonFinite(std::string_view entry) = 0;

  /// Between steps: copies what the rank writes to its memory of checkpoints (CheckpointMemory.h).
  virtual Status copyState() = 0;
  /// That memory; empty unless ExecutorOptions::writesCheckpoints. Any thread may use it until the next copyState().
  virtual std::span<std::byte> checkpointMemory() const = 0;

  /// Bytes that this rank has requested, arena, workspace and memory of checkpoints, counted where they are requested.
  virtual std::uint64_t allocatedBytes(MemorySpace space) const = 0;

  /// The spans of a stream since the last clearTrace(), in order. Call synchronize() before.
  virtual std::span<const TraceRecord> trace(std::uint32_t stream) const = 0;
  virtual void clearTrace() = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_EXECUTOR_EXECUTOR_H
