//===- Check.cpp - common code of the checks ---------------------------------------===//
//
// See Check.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Check.h"

#include "runtime/plan/LaunchAttributes.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace sluice::check {

std::string place(const plan::PlanT &plan, std::uint32_t entry, std::uint32_t issue) {
  const plan::InstructionT &instruction = *instructionAt(*plan.entries[entry], issue);
  std::string text = "instruction " + std::to_string(issue) + " (" + operationName(plan, instruction);
  if (instruction.unit >= 0)
    text += " of unit '" + plan.units[instruction.unit]->name + "'";
  return text + " on stream '" + plan.streams[instruction.stream]->name + "') of '" + plan.entries[entry]->name + "'";
}

std::vector<std::uint32_t> sampleRepetitions(const plan::SectionT &section) {
  std::set<std::uint32_t> sample;
  auto take = [&](std::int64_t repetition) {
    if (repetition >= 0 && repetition < section.repeat)
      sample.insert(std::uint32_t(repetition));
  };
  for (std::int64_t repetition : {std::int64_t(0), std::int64_t(1), std::int64_t(2), std::int64_t(section.repeat) - 1})
    take(repetition);
  for (const auto &instruction : section.instructions)
    if (instruction->when == plan::When::listed)
      for (std::uint32_t repetition : instruction->repetitions)
        for (std::int64_t near = std::int64_t(repetition) - 1; near <= std::int64_t(repetition) + 1; ++near)
          take(near);
  return {sample.begin(), sample.end()};
}

std::string byteRange(plan::Space space, std::uint64_t begin, std::uint64_t end) {
  return "bytes [" + std::to_string(begin) + ", " + std::to_string(end) + ") of " + plan::EnumNameSpace(space);
}

namespace {

/// A view as equal contiguous runs that start at multiples of a period from its offset.
struct Runs {
  std::uint64_t run = 0;
  /// 0: one run only.
  std::uint64_t period = 0;
  bool regular = true;
};

Runs runsOf(const plan::ViewT &view) {
  Runs runs;
  runs.run = dtypeBytes(baseType(view.dtype));
  if (view.strides.empty()) {
    runs.run = *viewBytes(view);
    return runs;
  }
  const std::uint64_t element = runs.run;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> dims;
  for (std::size_t d = 0; d < view.shape.size(); ++d)
    if (view.shape[d] > 1 && view.strides[d] != 0)
      dims.push_back({std::uint64_t(view.strides[d]) * element, std::uint64_t(view.shape[d])});
  std::sort(dims.begin(), dims.end());
  for (auto [stride, extent] : dims) {
    if (runs.period == 0 && stride == runs.run)
      runs.run *= extent;
    else if (runs.period == 0)
      runs.period = stride;
    else
      runs.regular = runs.regular && stride % runs.period == 0;
  }
  return runs;
}

} // namespace

bool viewsDisjoint(const plan::ViewT &first, std::uint64_t a, const plan::ViewT &second, std::uint64_t b) {
  const std::uint64_t aBytes = *viewBytes(first), bBytes = *viewBytes(second);
  if (aBytes == 0 || bBytes == 0 || a + aBytes <= b || b + bBytes <= a)
    return true;
  const Runs x = runsOf(first), y = runsOf(second);
  if (!x.regular || !y.regular || x.period == 0 || x.period != y.period)
    return false;
  const std::uint64_t gap = (b % x.period + x.period - a % x.period) % x.period;
  return gap >= x.run && gap + y.run <= x.period;
}

std::string formProblem(std::span<const std::unique_ptr<plan::AttributeT>> attributes) {
  const std::string *last = nullptr;
  for (const auto &own : attributes) {
    const std::string name = "attribute '" + own->name + "'";
    if (own->kind > 2)
      return name + " is of unknown kind";
    if ((own->kind != 0 && own->integer != 0) || (own->kind != 1 && std::bit_cast<std::uint64_t>(own->number) != 0) ||
        (own->kind != 2 && !own->list.empty()))
      return name + " has a value in a field of another kind";
    if (own->name.empty() || (last && own->name <= *last))
      return name + ", expected attributes with separate names, in their order";
    last = &own->name;
  }
  return {};
}

bool readsOutput(const plan::PlanT &plan, const plan::LaunchT &launch) {
  return plan.kernels[launch.kernel] == "accumulate" && attributesOf(launch).integer("first", 0) == 0;
}

std::uint64_t shardElements(const plan::ParameterT &parameter) {
  return elementCount(shardShape(parameter)).value_or(0);
}

bool isPadded(const plan::PlanT &plan, const plan::ParameterT &parameter) {
  return parameter.dim >= 0 && std::uint64_t(parameter.chunk) * groupSize(plan, parameter.axes) !=
                                   std::uint64_t(cutShape(parameter)[cutDim(parameter)]);
}

std::vector<int> segmentParameters(const plan::PlanT &plan, const plan::InstructionT &instruction,
                                   const plan::CollectiveT &collective) {
  std::vector<int> found(collective.segments.size(), -1);
  if (instruction.unit < 0)
    return found;
  const bool gathers = collective.kind == plan::CollectiveKind::all_gather;
  const std::vector<std::uint32_t> &members = plan.units[instruction.unit]->parameters;
  const auto shardOf = [&](std::size_t s) -> const plan::ViewT & {
    return gathers ? *collective.segments[s]->source : *collective.segments[s]->destination;
  };
  // The chunk of each member that this collective transfers; nullopt: none.
  const auto chunkOf = [&](std::uint32_t p) -> std::optional<std::uint64_t> {
    const plan::ParameterT &parameter = *plan.parameters[p];
    if (parameter.axes == collective.axes)
      return shardElements(parameter);
    // A resharded unit: the parameter's chunk over some of its axes.
    if (!gathers ||
        !std::includes(parameter.axes.begin(), parameter.axes.end(), collective.axes.begin(), collective.axes.end()))
      return std::nullopt;
    const auto group = std::int64_t(groupSize(plan, collective.axes));
    std::vector<std::int64_t> chunk = cutShape(parameter);
    std::int64_t &extent = chunk[cutDim(parameter)];
    extent = extent / group + (extent % group != 0);
    return elementCount(chunk).value_or(0);
  };
  std::vector<std::optional<std::uint64_t>> chunks;
  std::map<std::uint32_t, std::size_t> byBuffer;
  std::map<std::uint64_t, std::size_t> bySize;
  for (std::size_t m = 0; m < members.size(); ++m) {
    chunks.push_back(chunkOf(members[m]));
    byBuffer.insert({plan.parameters[members[m]]->buffer, m});
    if (chunks.back())
      bySize.insert({*chunks.back(), m});
  }
  std::size_t next = 0;
  for (std::size_t s = 0; s < found.size(); ++s) {
    const std::uint64_t shard = *elementCount(shardOf(s).shape);
    // Some of the members, in order: those without a gradient are left out.
    while (next < members.size() && chunks[next] != shard)
      ++next;
    const std::size_t inOrder = next < members.size() ? next++ : members.size();
    const auto own = byBuffer.find(shardOf(s).buffer);
    const auto same = bySize.find(shard);
    // Most plans list the unit's parameters in order, so parameters of equal size are distinguished.
    if (found.size() == members.size() && chunks[s] == shard)
      found[s] = int(members[s]);
    else if (own != byBuffer.end() && chunks[own->second] == shard)
      found[s] = int(members[own->second]);
    else if (inOrder < members.size())
      found[s] = int(members[inOrder]);
    else if (same != bySize.end())
      found[s] = int(members[same->second]);
  }
  return found;
}

} // namespace sluice::check
