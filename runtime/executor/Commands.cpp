//===- Commands.cpp - what all commands share, and launches ----------------------===//
#include "runtime/executor/Commands.h"

#include <chrono>

namespace sluice {
namespace {

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Operands of a launch: bound views, and their addresses in the present repetition.
class BoundOperands {
public:
  Status bind(const std::vector<std::unique_ptr<plan::ViewT>> &list, const Binder &binder, std::uint32_t repeat) {
    for (const auto &view : list) {
      SLUICE_ASSIGN_OR_RETURN(BoundView bound, binder.bind(*view, repeat));
      moves = moves || bound.stride != 0;
      views.push_back(bound);
      operands.push_back(bound.operand);
      addresses.push_back(bound.operand.data);
    }
    return {};
  }
  std::span<const Operand> all() const { return operands; }
  std::span<void *const> at(std::uint32_t repetition) {
    if (moves)
      for (std::size_t i = 0; i < views.size(); ++i)
        addresses[i] = views[i].at(repetition);
    return addresses;
  }

private:
  std::vector<BoundView> views;
  std::vector<Operand> operands;
  std::vector<void *> addresses;
  bool moves = false;
};

Attributes attributesOf(const plan::LaunchT &launch) {
  std::vector<Attributes::Item> items;
  for (const auto &attribute : launch.attributes) {
    Attributes::Item item{attribute->name, attribute->integer, attribute->number, attribute->list};
    if (attribute->kind == 0)
      item.number = static_cast<double>(attribute->integer);
    items.push_back(std::move(item));
  }
  return Attributes(std::move(items));
}

class LaunchCommand final : public InstructionCommand {
public:
  using InstructionCommand::InstructionCommand;

  Status prepare(const plan::LaunchT &launch, const Binder &binder, const LaunchSetting &setting) {
    SLUICE_RETURN_IF_ERROR(inputs.bind(launch.inputs, binder, place.repeat));
    SLUICE_RETURN_IF_ERROR(outputs.bind(launch.outputs, binder, place.repeat));
    attributes = attributesOf(launch);
    workspace = setting.workspace;
    KernelRequest request;
    request.inputs = inputs.all();
    request.outputs = outputs.all();
    request.attributes = &attributes;
    request.threads = setting.threads;
    request.workspace = launch.workspace;
    SLUICE_ASSIGN_OR_RETURN(kernel, setting.prepare(request));
    return {};
  }

  Status perform(void *, std::uint32_t repetition) override {
    return kernel->run(inputs.at(repetition), outputs.at(repetition), workspace);
  }

private:
  BoundOperands inputs;
  BoundOperands outputs;
  Attributes attributes;
  void *workspace = nullptr;
  std::unique_ptr<BoundKernel> kernel;
};

} // namespace

void RankContext::fail(const Status &status) {
  if (!failed.exchange(true) && onFailure)
    onFailure(status);
  world->abort(status);
}

std::string describe(const plan::PlanT &plan, const InstructionPlace &place) {
  // Also for plans that have not been checked: a launch of no kernel has no name.
  const plan::LaunchT *launch = place.instruction->operation.AsLaunch();
  const bool named = !launch || launch->kernel < plan.kernels.size();
  std::string text = plan.entries[place.entry]->name + ", instruction " + std::to_string(place.index) + " (" +
                     (named ? operationName(plan, *place.instruction) : std::string("launch"));
  const std::int32_t unit = place.instruction->unit;
  if (unit >= 0 && static_cast<std::size_t>(unit) < plan.units.size())
    text += ", unit " + plan.units[unit]->name;
  return text + ")";
}

Status InstructionCommand::execute(void *nativeStream, std::uint32_t repetition) {
  const std::int64_t begin = trace ? now() : 0;
  Status status = perform(nativeStream, repetition);
  if (trace && trace->used < trace->records.size())
    trace->records[trace->used++] = {place.entry, place.index, repetition, begin, now()};
  if (status.isOk()) {
    context.world->noteProgress(place.entry, place.index);
    return status;
  }
  Status named(status.code(),
               "rank " + std::to_string(context.rank) + ", " + describe(context.plan, place) + ": " + status.message());
  for (const std::string &note : status.notes())
    named.addNote(note);
  context.fail(named);
  return named;
}

MadeCommand makeLaunch(RankContext &context, const InstructionPlace &place, const plan::LaunchT &launch,
                       const Binder &binder, const LaunchSetting &setting) {
  auto command = std::make_unique<LaunchCommand>(context, place);
  SLUICE_RETURN_IF_ERROR(command->prepare(launch, binder, setting));
  return std::unique_ptr<InstructionCommand>(std::move(command));
}

} // namespace sluice
