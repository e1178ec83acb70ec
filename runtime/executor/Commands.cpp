//===- Commands.cpp - base class of commands, and launches -------------------------===//
#include "runtime/executor/Commands.h"

#include "runtime/plan/LaunchAttributes.h"

#include <algorithm>
#include <chrono>

namespace sluice {
namespace {

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Addresses of a launch's operands in the current repetition. Only the kernel keeps the Operands: a rank has
/// thousands, and an Operand is large.
class BoundOperands {
public:
  /// Appends to `operands`, from which the kernel is prepared.
  Status bind(const std::vector<std::unique_ptr<plan::ViewT>> &list, const Binder &binder, std::uint32_t repeat,
              std::vector<Operand> &operands) {
    addresses.reserve(list.size());
    for (const auto &view : list) {
      SLUICE_ASSIGN_OR_RETURN(BoundView bound, binder.bind(*view, repeat));
      operands.push_back(bound.operand);
      addresses.push_back(bound.operand.data);
      if (bound.stride != 0)
        moving.push_back({addresses.size() - 1, bound.operand.data, bound.stride});
    }
    return {};
  }
  std::span<void *const> at(std::uint32_t repetition) {
    for (const Moving &operand : moving)
      addresses[operand.index] = static_cast<std::byte *>(operand.first) + repetition * operand.stride;
    return addresses;
  }

private:
  /// An operand whose address depends on the repetition.
  struct Moving {
    std::size_t index;
    void *first;
    std::uint64_t stride;
  };
  std::vector<void *> addresses;
  std::vector<Moving> moving;
};

class LaunchCommand final : public InstructionCommand {
public:
  using InstructionCommand::InstructionCommand;

  Status prepare(const plan::LaunchT &launch, const Binder &binder, const LaunchSetting &setting) {
    std::vector<Operand> read, written;
    SLUICE_RETURN_IF_ERROR(inputs.bind(launch.inputs, binder, place.repeat, read));
    SLUICE_RETURN_IF_ERROR(outputs.bind(launch.outputs, binder, place.repeat, written));
    // If the outputs are empty on this rank, nothing is computed.
    if (std::all_of(written.begin(), written.end(), [](const Operand &operand) { return operand.elements() == 0; }))
      return {};
    const Attributes attributes = attributesOf(launch);
    workspace = setting.workspace;
    KernelRequest request;
    request.inputs = read;
    request.outputs = written;
    request.attributes = &attributes;
    request.threads = setting.threads;
    request.workspace = launch.workspace;
    request.cuda = setting.cuda;
    request.smMargin = launch.sm_margin;
    SLUICE_ASSIGN_OR_RETURN(kernel, setting.prepare(request));
    return {};
  }

  Status perform(void *nativeStream, std::uint32_t repetition) override {
    return !kernel ? Status::ok()
                   : kernel->enqueue(nativeStream, inputs.at(repetition), outputs.at(repetition), workspace);
  }

private:
  BoundOperands inputs;
  BoundOperands outputs;
  void *workspace = nullptr;
  /// Null if there is nothing to do.
  std::unique_ptr<BoundKernel> kernel;
};

} // namespace

void RankContext::fail(const Status &status) {
  if (!failed.exchange(true) && onFailure)
    onFailure(status);
  world->abort(status);
}

std::string describe(const plan::PlanT &plan, const InstructionPlace &place) {
  // The kernel of a plan that was not checked may not exist.
  const plan::LaunchT *launch = place.instruction->operation.AsLaunch();
  const bool named = !launch || launch->kernel < plan.kernels.size();
  std::string text = plan.entries[place.entry]->name + ", instruction " + std::to_string(place.index) + " (" +
                     (named ? operationName(plan, *place.instruction) : std::string("launch"));
  const std::int32_t unit = place.instruction->unit;
  if (unit >= 0 && static_cast<std::size_t>(unit) < plan.units.size())
    text += ", unit " + plan.units[unit]->name;
  return text + ")";
}

InstructionCommand::InstructionCommand(RankContext &context, const InstructionPlace &place)
    : context(context), place(place) {
  if (context.ranges)
    rangeName = describe(context.plan, place);
}

Status InstructionCommand::stamp(std::int64_t &at, void *nativeStream) const {
  if (!context.clock || !nativeStream) {
    at = now();
    return {};
  }
  SLUICE_ASSIGN_OR_RETURN(at, context.clock->mark(nativeStream));
  return {};
}

Status InstructionCommand::execute(void *nativeStream, std::uint32_t repetition) {
  TraceRecord *const record = trace && trace->used < trace->records.size() ? &trace->records[trace->used++] : nullptr;
  if (record)
    *record = {place.entry, place.index, repetition, 0, 0};
  const cuda::NvtxRange range(context.ranges, rangeName.c_str());
  Status status = record ? stamp(record->begin, nativeStream) : Status();
  if (status.isOk())
    status = perform(nativeStream, repetition);
  if (record && status.isOk())
    status = stamp(record->end, nativeStream);
  if (status.isOk()) {
    context.world->noteProgress(place.entry, place.index);
    return status;
  }
  Status named(status.code(),
               "rank " + std::to_string(context.rank) + ", " + describe(context.plan, place) + ": " + status.message());
  for (const std::string &note : status.notes())
    named.addNote(note);
  // A host function of a GPU's driver must not call CUDA, which ending the world may do: the rank's thread ends it.
  if ((!context.mover || nativeStream) && !context.isRecording)
    context.fail(named);
  return named;
}

CommandResult makeLaunch(RankContext &context, const InstructionPlace &place, const plan::LaunchT &launch,
                         const Binder &binder, const LaunchSetting &setting) {
  auto command = std::make_unique<LaunchCommand>(context, place);
  SLUICE_RETURN_IF_ERROR(command->prepare(launch, binder, setting));
  return std::unique_ptr<InstructionCommand>(std::move(command));
}

} // namespace sluice
