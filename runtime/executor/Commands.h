//===- Commands.h - the instructions of a plan as commands of a device -----------===//
//
// A command is made at load and run any number of times; running it allocates nothing. The base class times it, and
// turns its failure into the rank's failure: with the instruction's name in front, and with the world ended before the
// stream goes on, because peers may already wait for what will not come.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_EXECUTOR_COMMANDS_H
#define SLUICE_RUNTIME_EXECUTOR_COMMANDS_H

#include "runtime/base/cuda/Nvtx.h"
#include "runtime/device/StreamClock.h"
#include "runtime/executor/Binding.h"

#include <atomic>

namespace sluice {

/// What the commands of a rank share.
struct RankContext {
  const plan::PlanT &plan;
  std::shared_ptr<World> world;
  int rank = 0;
  std::function<void(const Status &)> onFailure;
  std::atomic<bool> failed = false;
  /// A step is being recorded: it runs nothing, so what fails does not end the world.
  bool isRecording = false;
  /// What moves memory; null where that is plain memory of the host.
  Device *mover = nullptr;
  /// Tells when streams did their work; null where a stream's own thread sees that.
  StreamClock *clock = nullptr;
  /// Of a GPU, where a profiler wants ranges: each instruction is one, under its name. Null: none.
  const cuda::Nvtx *ranges = nullptr;

  RankContext(const plan::PlanT &plan, std::shared_ptr<World> world, int rank,
              std::function<void(const Status &)> onFailure)
      : plan(plan), world(std::move(world)), rank(rank), onFailure(std::move(onFailure)) {}

  /// Tells the owner once and ends the world.
  void fail(const Status &status);
};

/// Times of a stream's instructions; written by the stream's thread.
struct StreamTrace {
  std::vector<TraceRecord> records;
  std::size_t used = 0;
  /// Where there is a clock: records from here on hold marks in the place of times.
  std::size_t timed = 0;
};

/// Which instruction a command is.
struct InstructionPlace {
  std::uint32_t entry = 0;
  /// In issue order within the entry point.
  std::uint32_t index = 0;
  const plan::InstructionT *instruction = nullptr;
  /// How often its section runs.
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
  /// The time, or a mark of the stream that will tell it.
  Status stamp(std::int64_t &at, void *nativeStream) const;

  StreamTrace *trace = nullptr;
  /// Empty where nobody asks for it.
  std::string rangeName;
};

/// What a launch needs beside its views.
struct LaunchSetting {
  PrepareFunction prepare = nullptr;
  int threads = 1;
  void *workspace = nullptr;
  cuda::KernelContext *cuda = nullptr;
};

using MadeCommand = Result<std::unique_ptr<InstructionCommand>>;

MadeCommand makeLaunch(RankContext &context, const InstructionPlace &place, const plan::LaunchT &launch,
                       const Binder &binder, const LaunchSetting &setting);
MadeCommand makeCollective(RankContext &context, const InstructionPlace &place, const plan::CollectiveT &collective,
                           const Binder &binder, Communicator &communicator);
MadeCommand makeCopy(RankContext &context, const InstructionPlace &place, const plan::CopyT &copy,
                     const Binder &binder);
MadeCommand makeFill(RankContext &context, const InstructionPlace &place, const plan::FillT &fill,
                     const Binder &binder);

} // namespace sluice

#endif // SLUICE_RUNTIME_EXECUTOR_COMMANDS_H
