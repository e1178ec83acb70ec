//===- Commands.h - base class of commands, and launches ---------------------------===//
//
// A command is created at load and run any number of times; running it allocates nothing. The base class measures its
// time and turns its failure into the rank's failure: it puts the instruction's name before the message and ends the
// world before the stream continues, because other ranks may already wait for this one.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_EXECUTOR_COMMANDS_H
#define SLUICE_RUNTIME_EXECUTOR_COMMANDS_H

#include "runtime/base/cuda/Nvtx.h"
#include "runtime/device/StreamClock.h"
#include "runtime/executor/Binding.h"

#include <atomic>

namespace sluice {

/// State that the commands of a rank share.
struct RankContext {
  const plan::PlanT &plan;
  std::shared_ptr<World> world;
  int rank = 0;
  std::function<void(const Status &)> onFailure;
  std::atomic<bool> failed = false;
  /// A step is being recorded: it runs nothing, so a failure does not end the world.
  bool isRecording = false;
  /// The device that copies memory; null if it is host memory.
  Device *mover = nullptr;
  /// Reports when streams did their work; null if the stream's thread measures it.
  StreamClock *clock = nullptr;
  /// Ranges for a GPU profiler, one per instruction; null if there is no profiler.
  const cuda::Nvtx *ranges = nullptr;

  RankContext(const plan::PlanT &plan, std::shared_ptr<World> world, int rank,
              std::function<void(const Status &)> onFailure)
      : plan(plan), world(std::move(world)), rank(rank), onFailure(std::move(onFailure)) {}

  /// Reports to the owner once and ends the world.
  void fail(const Status &status);
};

/// Times of a stream's instructions; written by the stream's thread.
struct StreamTrace {
  std::vector<TraceRecord> records;
  std::size_t used = 0;
  /// With a clock, later records contain marks instead of times.
  std::size_t timed = 0;
};

/// The instruction of a command.
struct InstructionPlace {
  std::uint32_t entry = 0;
  /// In issue order within the entry point.
  std::uint32_t index = 0;
  const plan::InstructionT *instruction = nullptr;
  /// Repetitions of its section.
  std::uint32_t repeat = 1;
};

/// "train_step, instruction 12 (launch matmul, unit h.0)".
std::string describe(const plan::PlanT &plan, const InstructionPlace &place);

class InstructionCommand : public Command {
public:
  InstructionCommand(RankContext &context, const InstructionPlace &place);

  Status execute(void *nativeStream, std::uint32_t repetition) final;
  std::uint32_t instruction() const final { return place.index; }
  void setTrace(StreamTrace *streamTrace) { trace = streamTrace; }

protected:
  virtual Status perform(void *nativeStream, std::uint32_t repetition) = 0;
  RankContext &context;
  const InstructionPlace place;

private:
  /// The time, or a mark of the stream from which it is read later.
  Status stamp(std::int64_t &at, void *nativeStream) const;

  StreamTrace *trace = nullptr;
  /// Empty if tracing is off.
  std::string rangeName;
};

/// The settings of a launch in addition to its views.
struct LaunchSetting {
  PrepareFunction prepare = nullptr;
  int threads = 1;
  void *workspace = nullptr;
  cuda::KernelContext *cuda = nullptr;
};

using CommandResult = Result<std::unique_ptr<InstructionCommand>>;

CommandResult makeLaunch(RankContext &context, const InstructionPlace &place, const plan::LaunchT &launch,
                         const Binder &binder, const LaunchSetting &setting);
CommandResult makeCollective(RankContext &context, const InstructionPlace &place, const plan::CollectiveT &collective,
                             const Binder &binder, Communicator &communicator);
CommandResult makeCopy(RankContext &context, const InstructionPlace &place, const plan::CopyT &copy,
                       const Binder &binder);
CommandResult makeFill(RankContext &context, const InstructionPlace &place, const plan::FillT &fill,
                       const Binder &binder);

} // namespace sluice

#endif // SLUICE_RUNTIME_EXECUTOR_COMMANDS_H
