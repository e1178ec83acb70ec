//===- Describe.cpp - the content of a plan, as JSON and as text -------------------===//
//
// See Describe.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/report/Describe.h"

#include "runtime/base/Text.h"
#include "runtime/plan/EntryShape.h"
#include "runtime/plan/Issue.h"
#include "runtime/plan/ProcessMemory.h"
#include "runtime/plan/Profile.h"
#include "runtime/plan/Roles.h"

#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

namespace sluice {
namespace {

bool isSharded(const plan::PlanT &plan, const plan::UnitT &unit) {
  for (std::uint32_t p : unit.parameters)
    if (plan.parameters[p]->dim >= 0 && groupSize(plan, plan.parameters[p]->axes) > 1)
      return true;
  return false;
}

/// Elements that the chunks of all ranks hold beyond the parameter's own.
std::uint64_t paddingElements(const plan::PlanT &plan, const plan::ParameterT &parameter) {
  if (parameter.dim < 0)
    return 0;
  const std::vector<std::int64_t> local = shardShape(parameter);
  return *elementCount(local) * groupSize(plan, parameter.axes) - *elementCount(partShape(parameter));
}

Json describeUnits(const plan::PlanT &plan) {
  Json units = Json::array();
  for (const auto &unit : plan.units) {
    Json parameters = Json::array();
    std::uint64_t bytes = 0, shard = 0;
    for (std::uint32_t p : unit->parameters) {
      const plan::ParameterT &parameter = *plan.parameters[p];
      const std::uint64_t element = dtypeBytes(baseType(parameter.dtype));
      const std::uint64_t padding = paddingElements(plan, parameter);
      bytes += *elementCount(partShape(parameter)) * element;
      shard += plan.buffers[parameter.buffer]->bytes;
      parameters.push_back({{"name", parameter.name},
                            {"shape", parameter.shape},
                            {"dim", isFlat(parameter) ? Json("flat") : Json(parameter.dim)},
                            {"local", shardShape(parameter)},
                            {"padding", padding},
                            {"dtype", plan::EnumNameDType(parameter.dtype)},
                            {"axis", axesName(plan, parameter.axes)},
                            {"padding_bytes", padding * element}});
      if (const plan::TensorSplitT *split = parameter.split.get())
        parameters.back()["part"] = {{"dim", split->dim},
                                     {"axis", axesName(plan, split->axes)},
                                     {"segments", split->segments},
                                     {"shape", partShape(parameter)}};
    }
    units.push_back({{"name", unit->name},
                     {"bytes", bytes},
                     {"parameters", parameters},
                     {"shard_bytes", shard},
                     {"reshard_after_forward", unit->reshard_after_forward}});
  }
  return units;
}

Json eventHead(const plan::EntryT &entry, const IssuedInstruction &issued) {
  return {{"entry", entry.name},
          {"i", issued.position},
          {"microbatch", microbatchOf(entry, issued.section, issued.repetition)},
          {"phase", plan::EnumNamePhase(issued.instruction->phase)}};
}

Json describeEvent(const plan::PlanT &plan, const plan::EntryT &entry, const IssuedInstruction &issued,
                   const std::string &what) {
  Json event = eventHead(entry, issued);
  event["invocation"] = issued.instruction->invocation;
  event["what"] = what;
  event["unit"] = plan.units[unitOf(plan, *issued.instruction)]->name;
  event["stream"] = plan.streams[issued.instruction->stream]->name;
  event["instruction"] = issued.index;
  return event;
}

Json describeCollective(const plan::PlanT &plan, const plan::EntryT &entry, const IssuedInstruction &issued,
                        const plan::CollectiveT &collective) {
  std::uint64_t in = 0, out = 0;
  for (const auto &segment : collective.segments) {
    in += *viewBytes(*segment->source);
    out += *viewBytes(*segment->destination);
  }
  Json call = eventHead(entry, issued);
  call["kind"] = plan::EnumNameCollectiveKind(collective.kind);
  call["axis"] = axesName(plan, collective.axes);
  call["unit"] = issued.instruction->unit >= 0 ? Json(plan.units[issued.instruction->unit]->name) : Json();
  call["dtype"] = plan::EnumNameDType(collective.dtype);
  if (collective.op != plan::ReduceOp::none)
    call["op"] = plan::EnumNameReduceOp(collective.op);
  call["group"] = groupSize(plan, collective.axes);
  call["bytes_in"] = in;
  call["bytes_out"] = out;
  call["stream"] = plan.streams[issued.instruction->stream]->name;
  if (collective.op == plan::ReduceOp::premul_sum)
    call["scale"] = collective.scale;
  call["segments"] = collective.segments.size();
  call["instruction"] = issued.index;
  return call;
}

void describeSteps(const plan::PlanT &plan, Json &events, Json &collectives) {
  for (const auto &entry : plan.entries) {
    // Recomputed units by section, repetition and pass: one event each, at the first instruction.
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, int>> recomputed;
    // Copies that start together are one event.
    const plan::InstructionT *copy = nullptr;
    const auto isCopied = [&](const plan::InstructionT &instruction) {
      return copy && copy->stream == instruction.stream && copy->unit == instruction.unit;
    };
    forEachIssued(*entry, [&](const IssuedInstruction &issued) {
      const plan::InstructionT &instruction = *issued.instruction;
      const int unit = unitOf(plan, instruction);
      if (instruction.recompute && unit >= 0 && instruction.operation.type == plan::Operation::Launch &&
          recomputed.insert({issued.section, issued.repetition, instruction.invocation, unit}).second)
        events.push_back(describeEvent(plan, *entry, issued, "recompute"));
      const bool isFollowing = instruction.operation.AsCopy() && isCopied(instruction);
      copy = instruction.operation.AsCopy() ? &instruction : nullptr;
      if (const std::string what = unitEvent(plan, instruction); !what.empty() && !isFollowing)
        events.push_back(describeEvent(plan, *entry, issued, what));
      if (const plan::CollectiveT *collective = instruction.operation.AsCollective())
        collectives.push_back(describeCollective(plan, *entry, issued, *collective));
    });
  }
}

/// The states of each unit, each with its first instruction: `sharded`; `gathered` from the issue of its gather to its
/// release; after that `resharded` if this rank keeps more than its shard, from which the next gather starts. A unit
/// that is not sharded is `replicated`. `over`: the number of ranks over which it is sharded.
Json describeStates(const plan::PlanT &plan) {
  Json states = Json::array();
  for (const auto &entry : plan.entries) {
    std::vector<std::uint64_t> shards(plan.units.size(), 1);
    std::vector<std::size_t> latest(plan.units.size());
    for (std::size_t u = 0; u < plan.units.size(); ++u) {
      for (std::uint32_t p : plan.units[u]->parameters)
        if (plan.parameters[p]->dim >= 0)
          shards[u] = groupSize(plan, plan.parameters[p]->axes);
      latest[u] = states.size();
      states.push_back({{"entry", entry->name},
                        {"i", 0},
                        {"microbatch", 0},
                        {"unit", plan.units[u]->name},
                        {"state", shards[u] > 1 ? "sharded" : "replicated"},
                        {"over", shards[u]}});
    }
    forEachIssued(*entry, [&](const IssuedInstruction &issued) {
      const std::string what = unitEvent(plan, *issued.instruction);
      if (what != "unshard" && what != "reshard")
        return;
      const auto u = std::size_t(unitOf(plan, *issued.instruction));
      if (const plan::CollectiveT *gather = issued.instruction->operation.AsCollective())
        if (const std::uint64_t ranks = groupSize(plan, gather->axes); ranks < shards[u]) {
          states[latest[u]]["state"] = "resharded";
          states[latest[u]]["over"] = ranks;
        }
      latest[u] = states.size();
      states.push_back({{"entry", entry->name},
                        {"i", issued.position},
                        {"microbatch", microbatchOf(*entry, issued.section, issued.repetition)},
                        {"unit", plan.units[u]->name},
                        {"state", what == "unshard" ? "gathered" : "sharded"},
                        {"over", what == "unshard" ? 1 : shards[u]}});
    });
  }
  return states;
}

Json describeMemory(const plan::PlanT &plan) {
  Json memory = {{"points", pointsJson(plan)}};
  if (!plan.entries.empty())
    memory["peak"] = peakJson(plan, findPeak(plan, plan::Space::device));
  const auto process = predictedProcess(plan);
  memory["predicted_process"] = process ? Json(*process) : Json();
  return memory;
}

} // namespace

Json arenaJson(const plan::ArenaT &arena) {
  return {{"space", plan::EnumNameSpace(arena.space)},
          {"bytes", arena.bytes},
          {"persistent", arena.persistent},
          {"peak_live", arena.peak_live},
          {"workspace", arena.workspace}};
}

Json liveJson(const plan::PlanT &plan, Json head, const LiveBytes &live) {
  Json byClass = Json::object(), byUnit = Json::object();
  for (std::size_t c = 0; c < bufferClassCount; ++c)
    byClass[plan::EnumNameBufferClass(plan::BufferClass(c))] = live.byClass[c];
  for (std::size_t unit = 0; unit < live.byUnit.size(); ++unit)
    byUnit[unit < plan.units.size() ? plan.units[unit]->name : ""] = live.byUnit[unit];
  head.update({{"bytes", live.bytes}, {"by_class", byClass}, {"by_unit", byUnit}});
  return head;
}

Json pointsJson(const plan::PlanT &plan) {
  Json points = Json::array();
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e)
    for (const MemoryPoint &point : memoryPoints(plan, e, plan::Space::device))
      points.push_back(liveJson(plan, {{"entry", plan.entries[e]->name}, {"name", point.name}}, point.live));
  return points;
}

Json peakJson(const plan::PlanT &plan, const PeakPlace &peak) {
  const plan::EntryT &entry = *plan.entries[peak.entry];
  Json json = liveJson(plan, {{"entry", entry.name}, {"i", lastPosition(entry, peak.instruction)}},
                       liveAt(plan, peak.entry, peak.instruction, plan::Space::device));
  json["instruction"] = peak.instruction;
  return json;
}

int unitOf(const plan::PlanT &plan, const plan::InstructionT &instruction) {
  if (instruction.unit >= 0)
    return instruction.unit;
  if (const plan::ReleaseT *release = instruction.operation.AsRelease())
    for (std::uint32_t buffer : release->buffers)
      if (plan.buffers[buffer]->unit >= 0)
        return plan.buffers[buffer]->unit;
  return -1;
}

std::string unitEvent(const plan::PlanT &plan, const plan::InstructionT &instruction) {
  const int unit = unitOf(plan, instruction);
  if (unit < 0)
    return "";
  if (instruction.operation.AsRelease())
    return "reshard";
  if (const plan::CollectiveT *collective = instruction.operation.AsCollective()) {
    switch (collective->kind) {
    case plan::CollectiveKind::all_gather:
      return "unshard";
    case plan::CollectiveKind::reduce_scatter:
      return "reduce";
    case plan::CollectiveKind::all_reduce:
      // For a replicated unit this is the reduction; for a sharded one it follows the reduction.
      return isSharded(plan, *plan.units[unit]) ? "all_reduce" : "reduce";
    default:
      return "";
    }
  }
  if (const plan::CopyT *copy = instruction.operation.AsCopy()) {
    const plan::Space from = plan.buffers[copy->source->buffer]->space;
    const plan::Space to = plan.buffers[copy->destination->buffer]->space;
    if (from != to)
      return to == plan::Space::host ? "offload" : "fetch";
  }
  return "";
}

bool isListed(const plan::PlanT &plan, const plan::InstructionT &instruction) {
  return instruction.recompute || instruction.operation.AsCollective() || !unitEvent(plan, instruction).empty();
}

Json describePlan(const plan::PlanT &plan) {
  Json mesh = Json::array(), arenas = Json::array(), events = Json::array(), collectives = Json::array();
  for (const auto &axis : plan.mesh) {
    // Sub-axes are reported as their axis.
    const std::string name(axisBase(axis->name));
    if (name != axis->name && !mesh.empty() && mesh.back()["axis"] == name)
      mesh.back()["size"] = mesh.back()["size"].get<std::uint64_t>() * axis->size;
    else
      mesh.push_back({{"axis", name}, {"size", axis->size}});
  }
  for (const auto &arena : plan.arenas) {
    arenas.push_back(arenaJson(*arena));
    if (arena->pinned)
      arenas.back()["pinned"] = true;
  }
  describeSteps(plan, events, collectives);
  Json json = {{"format", 1},
               {"digest", digestText(plan)},
               {"name", plan.name},
               {"target", plan.target->device},
               {"world", meshSize(plan)},
               {"mesh", mesh},
               {"arenas", arenas},
               {"units", describeUnits(plan)},
               {"events", std::move(events)},
               {"collectives", std::move(collectives)},
               {"states", describeStates(plan)},
               {"memory", describeMemory(plan)},
               {"version", concat(plan.major, ".", plan.minor)},
               {"microbatches", plan.microbatches},
               {"batch", plan.batch},
               {"sequence", plan.sequence},
               {"recipe", plan.recipe}};
  return json;
}

std::string describePlanText(const plan::PlanT &plan) {
  std::string out = concat("plan '", plan.name, "' for ", meshSize(plan), " ranks (",
                           join(plan.mesh, ", ", [](const auto &axis) { return concat(axis->name, " ", axis->size); }),
                           ") on ", plan.target->device, "\ndigest ", digestText(plan), "\n");
  if (plan.batch != 0)
    out += concat("micro-batches ", plan.microbatches, " of ", plan.batch, " rows of ", plan.sequence,
                  " tokens on each rank\n");
  for (const auto &entry : plan.entries)
    if (const EntryShape shape = entryShape(*entry);
        hasUpdate(*entry) && shape.tokens != 0 && entry->name != "train_step")
      out += concat("  ", entry->name, ": ", shape.text(), "\n");
  out += "\nmemory of one rank\n";
  for (const auto &arena : plan.arenas)
    out += "  " + padRight(plan::EnumNameSpace(arena->space), 8) + formatBytesExact(arena->bytes) + " arena, " +
           formatBytesExact(arena->persistent) + " persist, " + formatBytesExact(arena->peak_live) + " live at most, " +
           formatBytesExact(arena->workspace) + " workspace" + (arena->pinned ? ", pinned" : "") + "\n";
  if (const auto process = predictedProcess(plan))
    out += concat("  all ", meshSize(plan), " ranks in one process: ", formatBytesExact(*process), "\n");
  out += "\nunits\n";
  for (const auto &unit : plan.units) {
    std::uint64_t unsharded = 0, shard = 0;
    for (std::uint32_t p : unit->parameters) {
      unsharded += *elementCount(plan.parameters[p]->shape) * dtypeBytes(baseType(plan.parameters[p]->dtype));
      shard += plan.buffers[plan.parameters[p]->buffer]->bytes;
    }
    out += "  " + padRight(unit->name, 12) + padLeft(std::to_string(unit->parameters.size()), 4) + " parameters, " +
           formatBytes(unsharded) + " unsharded, " + formatBytes(shard) + " on a rank" +
           (unit->reshard_after_forward ? ", resharded after forward" : "") + "\n";
  }
  for (const auto &entry : plan.entries) {
    std::uint64_t count = 0, collectives = 0, bytes = 0;
    for (const auto &section : entry->sections)
      for (const auto &instruction : section->instructions) {
        const std::uint64_t times = timesIssued(*instruction, section->repeat);
        count += times;
        if (const plan::CollectiveT *collective = instruction->operation.AsCollective()) {
          collectives += times;
          for (const auto &segment : collective->segments)
            bytes += times * *viewBytes(*segment->source);
        }
      }
    out += concat("\nentry ", entry->name, ": ", count, " instructions a step, ", collectives, " collectives from ",
                  formatBytes(bytes), " of a rank's memory\n");
    for (const auto *ports : {&entry->inputs, &entry->outputs})
      for (const auto &port : *ports)
        out += (ports == &entry->inputs ? "  input  " : "  output ") + port->name + " " +
               typeText(port->view->dtype, port->view->shape) + (port->per_repetition ? " for each micro-batch" : "") +
               "\n";
  }
  return out;
}

} // namespace sluice
