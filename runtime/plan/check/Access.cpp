//===- Access.cpp - instructions as reads and writes of byte ranges ------------------------===//
//
// See Access.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Access.h"

#include <numeric>
#include <ranges>
#include <set>
#include <unordered_map>

namespace sluice::check {

Padding PaddingIds::of(const std::vector<std::uint32_t> &axes, std::int64_t chunk, std::int64_t total) {
  if ((unsigned __int128)(chunk)*groupSize(plan, axes) == (unsigned __int128)(total))
    return clean;
  const std::int64_t divisor = std::max<std::int64_t>(1, std::gcd(chunk, total));
  return ids.insert({{axes, chunk / divisor, total / divisor}, Padding(ids.size())}).first->second;
}

Padding PaddingIds::of(const plan::ViewT &view) {
  // With several padded dims only the first is followed: shards are padded in one dim in this version.
  for (const auto &valid : view.valid)
    return of(valid->axes, valid->chunk, valid->total);
  return clean;
}

namespace {

/// The parameters by the buffers of their gradients: an update reads a gradient after its parameter, or a copy of it.
std::unordered_map<std::uint32_t, const plan::ParameterT *> findGradients(const plan::PlanT &plan,
                                                                          const plan::EntryT &entry) {
  std::unordered_map<std::uint32_t, const plan::ParameterT *> parameters, gradients;
  for (const auto &parameter : plan.parameters)
    parameters[parameter->buffer] = parameter.get();
  const auto passOn = [](auto &owners, const plan::ViewT &source, const plan::ViewT &destination) {
    if (const auto owner = owners.find(destination.buffer); owner != owners.end())
      owners.try_emplace(source.buffer, owner->second);
  };
  std::vector<const plan::InstructionT *> instructions;
  forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
    instructions.push_back(&instruction);
  });
  for (const plan::InstructionT *instruction : instructions | std::views::reverse) {
    if (const plan::CopyT *copy = instruction->operation.AsCopy()) {
      passOn(gradients, *copy->source, *copy->destination);
      passOn(parameters, *copy->source, *copy->destination);
    }
    const plan::LaunchT *launch = instruction->operation.AsLaunch();
    if (!launch || launch->inputs.empty())
      continue;
    if (launch->inputs.size() == 1 && launch->outputs.size() == 1)
      passOn(gradients, *launch->inputs[0], *launch->outputs[0]);
    std::unordered_map<std::uint32_t, const plan::ParameterT *> updated;
    for (const auto &output : launch->outputs)
      if (const auto found = parameters.find(output->buffer); found != parameters.end())
        updated.insert(*found);
    for (std::size_t k = 0; k + 1 < launch->inputs.size() && !updated.empty(); ++k)
      if (const auto found = updated.find(launch->inputs[k]->buffer); found != updated.end())
        gradients.try_emplace(launch->inputs[k + 1]->buffer, found->second);
  }
  return gradients;
}

class Resolver {
public:
  Resolver(const plan::PlanT &plan, const plan::EntryT &entry, PaddingIds &paddings, Actions &actions)
      : plan(plan), gradients(findGradients(plan, entry)), paddings(paddings), actions(actions) {
    for (const auto &port : entry.outputs)
      outputs.insert(port->view->buffer);
  }

  /// The instruction is in a section of `repeat` repetitions.
  void resolve(const plan::InstructionT &instruction, std::uint32_t issue, std::uint32_t repeat) {
    otherRepetitions = repeat - 1;
    Action action;
    action.instruction = &instruction;
    action.issue = issue;
    action.kind = instruction.operation.type;
    action.firstAccess = std::uint32_t(actions.accesses.size());
    if (const plan::LaunchT *launch = instruction.operation.AsLaunch()) {
      for (const auto &view : launch->inputs)
        read(*view);
      if (readsOutput(plan, *launch))
        for (const auto &view : launch->outputs)
          read(*view);
      for (const auto &view : launch->outputs)
        write(*view);
    } else if (const plan::CollectiveT *collective = instruction.operation.AsCollective()) {
      action.gathers = collective->kind == plan::CollectiveKind::all_gather;
      resolveCollective(instruction, *collective);
    } else if (const plan::CopyT *copy = instruction.operation.AsCopy()) {
      const bool isWhole = copy->source->shape == copy->destination->shape && isDense(*copy->source) &&
                           isDense(*copy->destination) && copy->source->valid.empty() &&
                           copy->destination->valid.empty() && !outputs.contains(copy->destination->buffer);
      read(*copy->source);
      actions.accesses.back().carriesPadding = isWhole;
      write(*copy->destination);
      actions.accesses.back().paddingFrom = isWhole ? 0 : -1;
    } else if (const plan::FillT *fill = instruction.operation.AsFill()) {
      write(*fill->destination);
    } else if (const plan::RecordT *record = instruction.operation.AsRecord()) {
      action.event = record->event;
    } else if (const plan::WaitT *wait = instruction.operation.AsWait()) {
      action.event = wait->event;
      action.carried = wait->carried;
    }
    action.accesses = std::uint32_t(actions.accesses.size()) - action.firstAccess;
    actions.actions.push_back(action);
  }

private:
  Access &add(const plan::ViewT &view, bool isWrite) {
    const plan::BufferT &buffer = *plan.buffers[view.buffer];
    Access access;
    access.buffer = view.buffer;
    access.space = buffer.space;
    access.begin = buffer.offset + view.offset;
    access.end = access.begin + *viewBytes(view);
    access.repetitionStride = view.repetition_stride;
    access.reach = view.repetition_stride * otherRepetitions;
    access.isWrite = isWrite;
    access.neededBytes = access.end - access.begin;
    access.padding = paddings.of(view);
    if (!isDense(view)) {
      access.windows = std::int32_t(actions.windows.size());
      actions.windows.push_back(windowsOf(view));
    }
    return actions.accesses.emplace_back(access);
  }
  void read(const plan::ViewT &view) { add(view, false); }
  void write(const plan::ViewT &view) {
    Access &access = add(view, true);
    // A shard that persists keeps zeros in its padding: only views with its valid extent write there (Shards.cpp).
    if (plan.buffers[view.buffer]->entry == -1)
      access.padding = clean;
  }

  void resolveCollective(const plan::InstructionT &instruction, const plan::CollectiveT &collective) {
    const std::size_t count = collective.segments.size();
    const bool scatters = collective.kind == plan::CollectiveKind::reduce_scatter;
    // Padding would be in the middle of the destination.
    const bool movesPadding = collective.kind != plan::CollectiveKind::all_to_all;
    const std::vector<int> bySize = segmentParameters(plan, instruction, collective);
    const auto parameterOf = [&](std::size_t s) -> const plan::ParameterT * {
      // Parameters with chunks of one size may have different padding.
      const plan::ViewT &shard = *collective.segments[s]->destination;
      if (const auto own = gradients.find(shard.buffer);
          scatters && own != gradients.end() && shardElements(*own->second) == elementCount(shard.shape))
        return own->second;
      return bySize[s] >= 0 ? plan.parameters[bySize[s]].get() : nullptr;
    };
    for (std::size_t s = 0; s < count; ++s) {
      Access &access = add(*collective.segments[s]->source, false);
      access.carriesPadding = movesPadding;
      if (const plan::ParameterT *parameter = parameterOf(s); parameter && scatters)
        access.neededBytes = wholeBytes(*parameter, collective.dtype, access.neededBytes);
    }
    for (std::size_t s = 0; s < count; ++s) {
      Access &access = add(*collective.segments[s]->destination, true);
      access.paddingFrom = movesPadding ? std::int32_t(s) : -1;
      const plan::ParameterT *parameter = parameterOf(s);
      if (!parameter || !isPadded(plan, *parameter))
        continue;
      if (scatters)
        access.padding = paddings.of(parameter->axes, parameter->chunk, cutShape(*parameter)[cutDim(*parameter)]);
      else if (collective.kind == plan::CollectiveKind::all_gather)
        access.dataBytes = wholeBytes(*parameter, collective.dtype, access.end - access.begin);
    }
  }

  /// Bytes of the unsharded parameter without padding, if they are the first part of the gathered form.
  std::uint64_t wholeBytes(const plan::ParameterT &parameter, plan::DType dtype, std::uint64_t otherwise) const {
    if (cutDim(parameter) != 0)
      return otherwise;
    return std::min(otherwise, *elementCount(partShape(parameter)) * dtypeBytes(baseType(dtype)));
  }

  const plan::PlanT &plan;
  /// Parameters by the buffers of their gradients.
  std::unordered_map<std::uint32_t, const plan::ParameterT *> gradients;
  PaddingIds &paddings;
  Actions &actions;
  std::uint32_t otherRepetitions = 0;
  /// Buffers that the host reads, which have no padding.
  std::set<std::uint32_t> outputs;
};

} // namespace

Actions resolveActions(const plan::PlanT &plan, const plan::EntryT &entry, PaddingIds &paddings) {
  Actions actions;
  actions.actions.reserve(instructionCount(entry));
  Resolver resolver(plan, entry, paddings, actions);
  forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t s) {
    resolver.resolve(instruction, i, entry.sections[s]->repeat);
  });
  return actions;
}

} // namespace sluice::check
