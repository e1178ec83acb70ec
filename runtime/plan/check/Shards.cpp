//===- Shards.cpp - P8 without following the data: shards partition each tensor ----------===//
//
// A parameter's chunks cover its dim without gap or overlap. Its buffers and states hold exactly one chunk. Every
// collective of a unit transfers full chunks of its parameters. A write to a padded shard uses a view that keeps the
// padding at the zeros of a new arena. The rest of P8, that padding of other buffers is not read, follows the data
// (Simulate.cpp).
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Check.h"

#include "runtime/base/Text.h"

#include <unordered_map>

namespace sluice::check {
namespace {

/// The parameter whose shard a persistent buffer holds.
using Owners = std::unordered_map<std::uint32_t, std::uint32_t>;

Verdict checkShardBuffer(const plan::PlanT &plan, std::uint32_t p, std::uint32_t index, const std::string &name,
                         Owners &owners) {
  const plan::ParameterT &parameter = *plan.parameters[p];
  const plan::BufferT &buffer = *plan.buffers[index];
  const std::vector<std::int64_t> shard = shardShape(parameter);
  if (buffer.entry != -1)
    return refuse(8, name + ", expected a persistent buffer but '" + buffer.name + "' belongs to an entry point");
  if (buffer.shape != shard)
    return refuse(8, name + ", expected a shard of " + formatShape(shard) + " but buffer '" + buffer.name + "' holds " +
                         formatShape(buffer.shape));
  if (!owners.insert({index, p}).second)
    return refuse(8, name + ", its buffer '" + buffer.name + "' is also the shard of a different tensor");
  return {};
}

Verdict checkParameter(const plan::PlanT &plan, std::uint32_t p, Owners &owners) {
  const plan::ParameterT &parameter = *plan.parameters[p];
  const std::string name = "parameter '" + parameter.name + "'";
  if (parameter.dim >= 0) {
    const std::uint64_t group = groupSize(plan, parameter.axes);
    const std::int64_t extent = cutShape(parameter)[cutDim(parameter)];
    const std::int64_t chunk = extent / std::int64_t(group) + (extent % std::int64_t(group) != 0);
    if (parameter.chunk != chunk)
      return refuse(8, concat(name, ", expected chunks of ", chunk, " to partition dim ", cutDim(parameter), " of ",
                              extent, " over ", group, " ranks but got ", parameter.chunk));
  } else if (!parameter.axes.empty() && groupSize(plan, parameter.axes) != 1) {
    return refuse(8, name + ", a replicated parameter cannot have axes");
  }
  SLUICE_CHECK(checkShardBuffer(plan, p, parameter.buffer, name, owners));
  if (plan.buffers[parameter.buffer]->dtype != parameter.dtype)
    return refuse(8, name + ", expected a buffer of " + plan::EnumNameDType(parameter.dtype));
  for (const auto &state : parameter.states)
    SLUICE_CHECK(checkShardBuffer(plan, p, state->buffer, name + ", state '" + state->name + "'", owners));
  return {};
}

/// True if the valid extent equals that of the parameter's chunks, in units of an inner extent.
bool fitsParameter(const plan::ValidT &valid, const plan::ParameterT &parameter) {
  return valid.axes == parameter.axes &&
         __int128(valid.chunk) * cutShape(parameter)[cutDim(parameter)] == __int128(valid.total) * parameter.chunk;
}

/// Views of a shard: their valid extents are the parameter's; a write to padding uses one.
Verdict checkView(const plan::PlanT &plan, const Owners &owners, const plan::ViewT &view, bool isWrite,
                  const std::string &where) {
  for (const auto &valid : view.valid) {
    const unsigned __int128 covered = (unsigned __int128)(valid->chunk) * groupSize(plan, valid->axes);
    if (covered < (unsigned __int128)(valid->total))
      return refuse(
          8, concat(where, ", the chunks of ", valid->chunk, " of a valid extent leave a hole in ", valid->total));
  }
  const auto owner = owners.find(view.buffer);
  if (owner == owners.end())
    return {};
  const plan::ParameterT &parameter = *plan.parameters[owner->second];
  if (parameter.dim < 0)
    return {};
  for (const auto &valid : view.valid)
    if (!fitsParameter(*valid, parameter))
      return refuse(8, concat(where, ", expected the valid extent of parameter '", parameter.name, "', chunk ",
                              parameter.chunk, " of ", cutShape(parameter)[cutDim(parameter)], " along '",
                              axesName(plan, parameter.axes), "', but got chunk ", valid->chunk, " of ", valid->total));
  if (isWrite && view.valid.empty() && isPadded(plan, parameter))
    return refuse(8, where + ", writes the padding of the shard of parameter '" + parameter.name +
                         "', expected a view with its valid extent");
  return {};
}

/// The parts of one operation may be gathered for a different one.
bool gathersParts(const plan::ParameterT &parameter, const plan::SegmentT &segment,
                  const plan::CollectiveT &collective) {
  return parameter.split && parameter.dim < 0 && parameter.split->axes == collective.axes &&
         *elementCount(segment.source->shape) == shardElements(parameter);
}

Verdict checkCollective(const plan::PlanT &plan, const Owners &owners, const plan::InstructionT &instruction,
                        const plan::CollectiveT &collective, const std::string &where) {
  const bool gathers = collective.kind == plan::CollectiveKind::all_gather;
  const bool scatters = collective.kind == plan::CollectiveKind::reduce_scatter;
  const std::vector<int> parameters = segmentParameters(plan, instruction, collective);
  for (std::size_t s = 0; s < collective.segments.size(); ++s) {
    const plan::SegmentT &segment = *collective.segments[s];
    const auto source = owners.find(segment.source->buffer);
    if (gathers && source != owners.end() && !gathersParts(*plan.parameters[source->second], segment, collective)) {
      const plan::ParameterT &parameter = *plan.parameters[source->second];
      if (parameter.dim < 0 || parameter.axes != collective.axes ||
          *elementCount(segment.source->shape) != shardElements(parameter))
        return refuse(8, concat(where, ", segment ", s, ", expected the full shard of parameter '", parameter.name,
                                "' along its own axes"));
    } else if ((gathers || scatters) && instruction.unit >= 0 && parameters[s] < 0) {
      return refuse(8, concat(where, ", segment ", s, ", its chunk of ",
                              *elementCount((gathers ? segment.source : segment.destination)->shape),
                              " elements is the shard of no parameter of unit '", plan.units[instruction.unit]->name,
                              "'"));
    }
    const auto target = owners.find(segment.destination->buffer);
    const bool inPlace = segment.source->buffer == segment.destination->buffer;
    if (target != owners.end() && isPadded(plan, *plan.parameters[target->second]) && !inPlace)
      return refuse(8, concat(where, ", segment ", s, ", writes the padding of the shard of parameter '",
                              plan.parameters[target->second]->name, "'"));
  }
  return {};
}

Verdict checkInstruction(const plan::PlanT &plan, const Owners &owners, const plan::InstructionT &instruction,
                         const std::string &where) {
  if (const plan::CollectiveT *collective = instruction.operation.AsCollective())
    return checkCollective(plan, owners, instruction, *collective, where);
  // Zeros may be written anywhere.
  const plan::FillT *fill = instruction.operation.AsFill();
  const bool writesZeros = fill && fill->value == 0;
  Verdict verdict;
  forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
    if (!verdict)
      verdict = checkView(plan, owners, view, isWrite && !writesZeros, where);
  });
  return verdict;
}

} // namespace

Verdict shardsPartition(const plan::PlanT &plan, Findings &findings) {
  Owners owners;
  for (std::uint32_t p = 0; p < plan.parameters.size(); ++p)
    SLUICE_CHECK(checkParameter(plan, p, owners));
  findings[8].facts += owners.size();
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e) {
    std::uint32_t i = 0;
    for (const auto &section : plan.entries[e]->sections)
      for (const auto &instruction : section->instructions) {
        const std::uint32_t at = i++;
        if (Verdict verdict = checkInstruction(plan, owners, *instruction, ""))
          return refuse(8, place(plan, e, at) + verdict->message);
      }
  }
  return {};
}

} // namespace sluice::check
