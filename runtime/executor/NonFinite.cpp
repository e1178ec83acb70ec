//===- NonFinite.cpp - searches a step for the first value that is not finite --------===//
#include "runtime/executor/NonFinite.h"

#include "runtime/base/Text.h"
#include "runtime/executor/Commands.h"
#include "runtime/kernel/cpu/Walk.h"
#include "runtime/plan/LaunchAttributes.h"

#include <cmath>

namespace sluice {
namespace {

std::uint8_t kindOf(double value) { return std::isnan(value) ? 1 : !std::isinf(value) ? 0 : value > 0 ? 2 : 4; }

/// Kinds of the numbers that the instruction writes without reading them.
std::uint8_t kindsOfSettings(const plan::InstructionT &instruction) {
  std::uint8_t kinds = 0;
  if (const plan::FillT *fill = instruction.operation.AsFill())
    kinds = kindOf(fill->value);
  if (const plan::LaunchT *launch = instruction.operation.AsLaunch())
    for (const Attributes::Item &item : attributesOf(*launch).all())
      kinds |= kindOf(item.number);
  return kinds;
}

/// "[2, 5]" of a row-major index; empty for a scalar.
std::string indexText(std::uint64_t index, const Operand &operand) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(operand.rank));
  for (int d = operand.rank - 1; d >= 0; --d) {
    const auto extent = static_cast<std::uint64_t>(operand.extent[d]);
    at[static_cast<std::size_t>(d)] = static_cast<std::int64_t>(index % extent);
    index /= extent;
  }
  return at.empty() ? std::string() : " at [" + join(at, ", ") + "]";
}

} // namespace

NonFiniteSearch::NonFiniteSearch(const plan::PlanT &plan, int rank, const RankMemory &memory)
    : plan(plan), rank(rank), binder(plan, rank), isStatistic(plan.buffers.size()) {
  binder.arenas = memory.arenas;
  for (const auto &variable : plan.variables)
    isStatistic[variable->buffer] = true;
}

NonFiniteSearch::Content NonFiniteSearch::contentOf(const Operand &operand, const bool *isRead) {
  Content content;
  if (!isFloat(operand.dtype))
    return content;
  std::uint64_t index = 0;
  cpu::walk<1>(operand.rank, operand.extent, {operand.strides}, [&](const auto &at) {
    const std::uint64_t current = index++;
    if (isRead && !isRead[static_cast<std::uint64_t>(at[0]) * dtypeBytes(operand.dtype)])
      return;
    const double value = cpu::load(operand, at[0]);
    if (!std::isfinite(value)) {
      if (content.count++ == 0) {
        content.index = current;
        content.value = value;
      }
      content.kinds |= kindOf(value);
    }
    ++content.elements;
  });
  return content;
}

Result<std::unique_ptr<bool[]>> NonFiniteSearch::readBytes(std::uint32_t buffer) const {
  auto isRead = std::make_unique<bool[]>(plan.buffers[buffer]->bytes);
  Status status;
  for (const plan::InstructionT *instruction : instructions)
    if (!instruction->operation.AsCollective())
      forEachView(*instruction, [&](const plan::ViewT &view, bool isWrite) {
        if (isWrite || view.buffer != buffer || !status.isOk())
          return;
        const Result<BoundView> bound = binder.bind(view, 1);
        if (!bound.isOk())
          status = bound.status();
        else
          cpu::walk<1>(bound->operand.rank, bound->operand.extent, {bound->operand.strides}, [&](const auto &at) {
            isRead[view.offset + static_cast<std::uint64_t>(at[0]) * dtypeBytes(bound->operand.dtype)] = true;
          });
      });
  SLUICE_RETURN_IF_ERROR(std::move(status));
  return isRead;
}

void NonFiniteSearch::record(std::string what, const Operand &operand, const Content &content) {
  const std::span<const std::int64_t> extents(operand.extent.data(), static_cast<std::size_t>(operand.rank));
  first = NonFinite{position, concat("rank ", rank, ", ", what, " (", dtypeName(operand.dtype), "[",
                                     formatShape(extents), "]) has ", content.count, " of ", content.elements,
                                     " elements that are not finite, the first is ",
                                     formatNumber(withoutNanSign(content.value)), indexText(content.index, operand))};
}

/// Of a value that the step finds in memory.
Status NonFiniteSearch::lookAt(const plan::ViewT &view, std::uint32_t repetitions, const std::string &what) {
  SLUICE_ASSIGN_OR_RETURN(const BoundView bound, binder.bind(view, repetitions));
  for (std::uint32_t repetition = 0; repetition < repetitions && !first; ++repetition) {
    Operand operand = bound.operand;
    operand.data = bound.at(repetition);
    if (const Content content = contentOf(operand); content.count != 0)
      record(
          concat("before the step: ", what, repetitions > 1 ? concat(" of micro-batch ", repetition) : std::string()),
          operand, content);
  }
  return {};
}

Status NonFiniteSearch::beforeEntry(std::uint32_t index) {
  const plan::EntryT &entry = *plan.entries[index];
  instructions.clear();
  forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
    instructions.push_back(&instruction);
  });
  kinds.assign(plan.buffers.size(), 0);
  position = 0;
  const auto lookAtBuffer = [&](std::uint32_t buffer, const std::string &what) {
    plan::ViewT view;
    view.buffer = buffer;
    view.dtype = plan.buffers[buffer]->dtype;
    view.shape = plan.buffers[buffer]->shape;
    return lookAt(view, 1, what);
  };
  for (const auto &parameter : plan.parameters) {
    SLUICE_RETURN_IF_ERROR(lookAtBuffer(parameter->buffer, concat("parameter '", parameter->name, "'")));
    for (const auto &state : parameter->states)
      SLUICE_RETURN_IF_ERROR(
          lookAtBuffer(state->buffer, concat("optimizer state '", state->name, "' of '", parameter->name, "'")));
  }
  for (const auto &port : entry.inputs)
    SLUICE_RETURN_IF_ERROR(
        lookAt(*port->view, port->per_repetition ? entry.sections[0]->repeat : 1, concat("input '", port->name, "'")));
  return {};
}

std::string NonFiniteSearch::describePlace(const ObservedInstruction &at, const plan::InstructionT &instruction) const {
  const plan::EntryT &entry = *plan.entries[at.entry];
  std::uint32_t section = 0;
  for (std::uint32_t begin = 0; begin != at.section.begin; ++section)
    begin += static_cast<std::uint32_t>(entry.sections[section]->instructions.size());
  std::string text =
      concat(describe(plan, {at.entry, at.index, &instruction, 1}), ", ", plan::EnumNamePhase(instruction.phase));
  if (entry.sections[section]->repeat > 1)
    text += concat(" of micro-batch ", at.repetition);
  if (instruction.location >= 0)
    text += concat(", source '", plan.locations[static_cast<std::size_t>(instruction.location)], "'");
  return text;
}

Status NonFiniteSearch::afterInstruction(const ObservedInstruction &at) {
  ++position;
  if (first || !at.isIssued)
    return {};
  const plan::InstructionT &instruction = *instructions[at.index];
  Kinds known = kindsOfSettings(instruction);
  forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
    if (!isWrite)
      known |= kinds[view.buffer];
  });
  Status status;
  forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
    if (isWrite && !isStatistic[view.buffer] && status.isOk())
      status = lookAtOutput(at, instruction, view, known);
  });
  return status;
}

Status NonFiniteSearch::lookAtOutput(const ObservedInstruction &at, const plan::InstructionT &instruction,
                                     const plan::ViewT &view, Kinds known) {
  SLUICE_ASSIGN_OR_RETURN(BoundView bound, binder.bind(view, at.repetition + 1));
  bound.operand.data = bound.at(at.repetition);
  Content content = contentOf(bound.operand);
  if (content.count != 0 && instruction.operation.AsCollective()) {
    // A collective also transfers padding, which may have any value: only bytes that are read later count.
    SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<bool[]> isRead, readBytes(view.buffer));
    content = contentOf(bound.operand, isRead.get() + view.offset + at.repetition * view.repetition_stride);
  }
  const plan::BufferT &buffer = *plan.buffers[view.buffer];
  const bool isAll = viewBytes(view) == buffer.bytes && isDense(view);
  kinds[view.buffer] = static_cast<Kinds>(content.kinds | (isAll ? 0 : kinds[view.buffer]));
  if (!first && (content.kinds & ~known) != 0)
    record(concat(describePlace(at, instruction), ": '", buffer.name, "'"), bound.operand, content);
  return {};
}

} // namespace sluice
