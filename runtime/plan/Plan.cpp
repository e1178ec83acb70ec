//===- Plan.cpp - functions of plans --------------------------------------------===//
//
// See Plan.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Plan.h"

#include "runtime/base/Sha256.h"
#include "runtime/base/ShardMath.h"
#include "runtime/base/Text.h"

#include <algorithm>

namespace sluice {

std::uint64_t meshSize(const plan::PlanT &plan) {
  std::uint64_t size = 1;
  for (const auto &axis : plan.mesh)
    size *= axis->size;
  return size;
}

std::uint64_t groupSize(const plan::PlanT &plan, std::span<const std::uint32_t> axes) {
  std::uint64_t size = 1;
  for (std::uint32_t axis : axes)
    size *= plan.mesh[axis]->size;
  return size;
}

std::vector<std::uint32_t> meshSizes(const plan::PlanT &plan) {
  std::vector<std::uint32_t> sizes;
  for (const auto &axis : plan.mesh)
    sizes.push_back(axis->size);
  return sizes;
}

std::uint32_t coordinateAlong(const plan::PlanT &plan, std::uint32_t rank, std::span<const std::uint32_t> axes) {
  return positionInGroup(meshSizes(plan), rank, axes);
}

std::vector<int> groupMembers(const plan::PlanT &plan, std::uint32_t rank, std::span<const std::uint32_t> axes) {
  return groupMembers(meshSizes(plan), rank, axes);
}

std::string_view axisBase(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size() ||
      name.find_first_not_of("0123456789", dot + 1) != std::string_view::npos)
    return name;
  return name.substr(0, dot);
}

std::string axesName(const plan::PlanT &plan, std::span<const std::uint32_t> axes) {
  std::string name;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::string next = "?";
    if (axes[i] < plan.mesh.size()) {
      next = plan.mesh[axes[i]]->name;
      // The sub-axes of an axis are adjacent.
      const std::string base(axisBase(next));
      std::size_t parts = 0;
      for (const auto &axis : plan.mesh)
        parts += base != next && axisBase(axis->name) == base;
      bool isWhole = parts > 0 && i + parts <= axes.size();
      for (std::size_t p = 0; isWhole && p < parts; ++p)
        isWhole = axes[i + p] < plan.mesh.size() && axisBase(plan.mesh[axes[i + p]]->name) == base;
      if (isWhole) {
        next = base;
        i += parts - 1;
      }
    }
    name += (name.empty() ? "" : "*") + next;
  }
  return name;
}

std::optional<std::uint64_t> elementCount(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (std::int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count))
      return std::nullopt;
  return std::uint64_t(count);
}

std::vector<std::int64_t> partShape(const plan::ParameterT &parameter) {
  std::vector<std::int64_t> shape = parameter.shape;
  if (parameter.split && parameter.split->dim < shape.size())
    shape[parameter.split->dim] = parameter.split->extent;
  return shape;
}

bool isFlat(const plan::ParameterT &parameter) {
  return parameter.dim >= 0 && static_cast<std::size_t>(parameter.dim) == parameter.shape.size();
}

std::vector<std::int64_t> cutShape(const plan::ParameterT &parameter) {
  std::vector<std::int64_t> part = partShape(parameter);
  return isFlat(parameter) ? std::vector{static_cast<std::int64_t>(elementCount(part).value_or(0))} : part;
}

int cutDim(const plan::ParameterT &parameter) {
  return static_cast<std::size_t>(parameter.dim) == parameter.shape.size() ? 0 : parameter.dim;
}

std::vector<std::int64_t> shardShape(const plan::ParameterT &parameter) {
  std::vector<std::int64_t> shape = cutShape(parameter);
  if (parameter.dim >= 0)
    shape[static_cast<std::size_t>(cutDim(parameter))] = parameter.chunk;
  return shape;
}

std::vector<std::uint32_t> shardAxes(const plan::ParameterT &parameter) {
  std::vector<std::uint32_t> axes;
  if (parameter.split)
    axes = parameter.split->axes;
  if (parameter.dim >= 0)
    axes.insert(axes.end(), parameter.axes.begin(), parameter.axes.end());
  return axes;
}

bool isDense(const plan::ViewT &view) {
  if (view.strides.empty())
    return true;
  std::int64_t expected = 1;
  for (std::size_t d = view.shape.size(); d-- > 0;) {
    if (view.shape[d] != 1 && view.strides[d] != expected)
      return false;
    expected *= view.shape[d];
  }
  return true;
}

std::optional<std::uint64_t> viewBytes(const plan::ViewT &view) {
  const std::uint64_t element = dtypeBytes(baseType(view.dtype));
  const std::optional<std::uint64_t> count = elementCount(view.shape);
  std::uint64_t bytes = 0;
  if (!count)
    return std::nullopt;
  if (view.strides.empty() || *count == 0)
    return __builtin_mul_overflow(*count, element, &bytes) ? std::nullopt : std::optional(bytes);
  std::uint64_t last = 0;
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    std::uint64_t reach = 0;
    if (view.strides[d] < 0 ||
        __builtin_mul_overflow(std::uint64_t(view.shape[d] - 1), std::uint64_t(view.strides[d]), &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return std::nullopt;
  }
  if (__builtin_add_overflow(last, std::uint64_t(1), &last) || __builtin_mul_overflow(last, element, &bytes))
    return std::nullopt;
  return bytes;
}

std::uint64_t viewElementBytes(const plan::ViewT &view) {
  return elementCount(view.shape).value_or(0) * dtypeBytes(baseType(view.dtype));
}

std::uint64_t collectiveBytes(const plan::CollectiveT &collective) {
  std::uint64_t bytes = 0;
  for (const auto &segment : collective.segments)
    bytes += std::max(viewElementBytes(*segment->source), viewElementBytes(*segment->destination));
  return bytes;
}

bool isIssued(const plan::InstructionT &instruction, std::uint32_t repetition, std::uint32_t repeat) {
  switch (instruction.when) {
  case plan::When::all:
    return true;
  case plan::When::first:
    return repetition == 0;
  case plan::When::not_first:
    return repetition != 0;
  case plan::When::last:
    return repetition + 1 == repeat;
  case plan::When::not_last:
    return repetition + 1 != repeat;
  case plan::When::listed:
    return std::find(instruction.repetitions.begin(), instruction.repetitions.end(), repetition) !=
           instruction.repetitions.end();
  }
  return false;
}

int findEntry(const plan::PlanT &plan, std::string_view name) {
  for (std::size_t e = 0; e < plan.entries.size(); ++e)
    if (plan.entries[e]->name == name)
      return int(e);
  return -1;
}

Result<std::uint32_t> entryIndex(const plan::PlanT &plan, const std::string &name) {
  const int entry = findEntry(plan, name);
  if (entry < 0)
    return inputError("plan '" + plan.name + "' has no entry point '" + name + "'")
        .withNote("it has " + join(plan.entries, ", ", [](const auto &each) { return "'" + each->name + "'"; }));
  return static_cast<std::uint32_t>(entry);
}

std::uint32_t instructionCount(const plan::EntryT &entry) {
  std::uint32_t count = 0;
  for (const auto &section : entry.sections)
    count += std::uint32_t(section->instructions.size());
  return count;
}

std::uint32_t microbatchOf(const plan::EntryT &entry, std::uint32_t section, std::uint32_t repetition) {
  if (entry.sections[section]->repeat > 1)
    return repetition;
  for (std::uint32_t s = 0; s < section; ++s)
    if (entry.sections[s]->repeat > 1)
      return entry.sections[s]->repeat - 1;
  return 0;
}

const plan::InstructionT *instructionAt(const plan::EntryT &entry, std::uint32_t issue) {
  for (const auto &section : entry.sections) {
    if (issue < section->instructions.size())
      return section->instructions[issue].get();
    issue -= std::uint32_t(section->instructions.size());
  }
  return nullptr;
}

const plan::ArenaT *arenaOf(const plan::PlanT &plan, plan::Space space) {
  const auto found = std::ranges::find(plan.arenas, space, [](const auto &arena) { return arena->space; });
  return found == plan.arenas.end() ? nullptr : found->get();
}

std::string typeText(plan::DType dtype, std::span<const std::int64_t> shape) {
  return std::string(plan::EnumNameDType(dtype)) + "[" + formatShape(shape) + "]";
}

std::string operationName(const plan::PlanT &plan, const plan::InstructionT &instruction) {
  if (const plan::LaunchT *launch = instruction.operation.AsLaunch())
    return "launch " + plan.kernels[launch->kernel];
  if (const plan::CollectiveT *collective = instruction.operation.AsCollective())
    return plan::EnumNameCollectiveKind(collective->kind);
  switch (instruction.operation.type) {
  case plan::Operation::Copy:
    return "copy";
  case plan::Operation::Fill:
    return "fill";
  case plan::Operation::Record:
    return "record";
  case plan::Operation::Wait:
    return "wait";
  case plan::Operation::Release:
    return "release";
  default:
    return "nothing";
  }
}

std::string digestText(const plan::PlanT &plan) { return toHex(plan.digest); }

} // namespace sluice
