//===- Memory.cpp - reports of memory --------------------------------------------------===//
//
// See Memory.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/report/Memory.h"

#include "runtime/base/Text.h"
#include "runtime/plan/CheckpointMemory.h"
#include "runtime/plan/ProcessMemory.h"
#include "runtime/plan/Profile.h"
#include "runtime/report/Describe.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

constexpr std::size_t shownTensors = 12;
constexpr std::size_t pictureWidth = 72;
constexpr std::size_t pictureHeight = 8;

/// " at instruction 12 (launch matmul, forward) of 'train_step'".
std::string placeText(const plan::PlanT &plan, std::uint32_t entry, std::uint32_t instruction) {
  const plan::InstructionT &found = *instructionAt(*plan.entries[entry], instruction);
  return concat(" at instruction ", instruction, " (", operationName(plan, found), ", ",
                plan::EnumNamePhase(found.phase), ") of '", plan.entries[entry]->name, "'\n");
}

std::string shareLine(std::string_view name, std::uint64_t bytes, std::uint64_t all) {
  return bytes == 0 ? ""
                    : "  " + padRight(std::string(name), 16) + padLeft(std::to_string(bytes), 14) + "  " +
                          padLeft(formatBytes(bytes), 11) + "  " +
                          padLeft(std::to_string(bytes * 100 / std::max<std::uint64_t>(1, all)), 3) + "%\n";
}

std::string classesText(const LiveBytes &live) {
  std::string out;
  for (std::size_t c = 0; c < bufferClassCount; ++c)
    out += shareLine(plan::EnumNameBufferClass(plan::BufferClass(c)), live.byClass[c], live.bytes);
  return out;
}

std::string peakText(const plan::PlanT &plan, plan::Space space) {
  const PeakPlace peak = findPeak(plan, space);
  std::string out = "peak of " + std::string(plan::EnumNameSpace(space)) + ": " + formatBytesExact(peak.bytes);
  if (instructionCount(*plan.entries[peak.entry]) == 0)
    return out + "\n";
  out += placeText(plan, peak.entry, peak.instruction) + classesText(liveAt(plan, peak.entry, peak.instruction, space));
  const std::vector<std::uint32_t> live = liveBuffers(plan, peak.entry, peak.instruction, space);
  out += "largest tensors live there\n";
  for (std::size_t k = 0; k < live.size() && k < shownTensors; ++k) {
    const plan::BufferT &buffer = *plan.buffers[live[k]];
    out += "  " + padLeft(formatBytes(buffer.bytes), 11) + "  " +
           padRight(plan::EnumNameBufferClass(buffer.class_), 16) + buffer.name + " " +
           typeText(buffer.dtype, buffer.shape) + "\n";
  }
  if (live.size() > shownTensors)
    out += concat("  and ", live.size() - shownTensors, " more\n");
  return out;
}

} // namespace

std::string drawBars(std::span<const std::uint64_t> values, std::size_t width, std::size_t height, bool unicode,
                     const std::string &indent) {
  static constexpr const char *blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (values.empty())
    return "";
  const std::size_t columns = std::min(width, values.size());
  std::vector<std::uint64_t> bars(columns, 0);
  for (std::size_t i = 0; i < values.size(); ++i)
    bars[i * columns / values.size()] = std::max(bars[i * columns / values.size()], values[i]);
  const std::uint64_t top = std::max<std::uint64_t>(1, *std::max_element(bars.begin(), bars.end()));
  std::string out;
  for (std::size_t line = height; line-- > 0;) {
    const std::string label = line + 1 == height ? formatBytes(top) : line == 0 ? "0 B" : "";
    out += indent + padLeft(label, 11) + " |";
    for (std::uint64_t bar : bars) {
      // Height in eighths of a line.
      const std::uint64_t eighths = std::uint64_t(double(bar) / double(top) * double(height * 8) + 0.5);
      const std::uint64_t here = std::min<std::uint64_t>(8, eighths > line * 8 ? eighths - line * 8 : 0);
      out += unicode ? blocks[here] : here >= 4 ? "#" : " ";
    }
    while (out.back() == ' ')
      out.pop_back();
    out += "\n";
  }
  return out;
}

Json memoryJson(const plan::PlanT &plan, bool writesCheckpoints) {
  Json spaces = Json::array();
  for (const auto &arena : plan.arenas) {
    Json space = arenaJson(*arena);
    if (!plan.entries.empty()) {
      const PeakPlace peak = findPeak(plan, arena->space);
      Json tensors = Json::array(), entries = Json::array();
      for (std::uint32_t b : liveBuffers(plan, peak.entry, peak.instruction, arena->space))
        tensors.push_back({{"name", plan.buffers[b]->name},
                           {"class", plan::EnumNameBufferClass(plan.buffers[b]->class_)},
                           {"bytes", plan.buffers[b]->bytes},
                           {"offset", plan.buffers[b]->offset}});
      for (std::uint32_t e = 0; e < plan.entries.size(); ++e) {
        const EntryProfile profile = profileEntry(plan, e, arena->space);
        entries.push_back({{"entry", plan.entries[e]->name},
                           {"peak", profile.peakBytes},
                           {"instruction", profile.peakAt},
                           {"live", profile.live}});
      }
      space["peak"] = liveJson(plan, {{"entry", plan.entries[peak.entry]->name}, {"instruction", peak.instruction}},
                               liveAt(plan, peak.entry, peak.instruction, arena->space));
      space["peak"]["tensors"] = tensors;
      space["entries"] = entries;
    }
    spaces.push_back(std::move(space));
  }
  Json process = Json::object();
  for (const ProcessTerm &term : processTerms(plan, meshSize(plan), writesCheckpoints))
    process[std::string(term.name)] = term.bytes;
  Json entries = Json::array();
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e)
    entries.push_back(
        {{"entry", plan.entries[e]->name}, {"peak", peakJson(plan, findPeak(plan, e, plan::Space::device))}});
  const auto predicted = predictedProcess(plan, meshSize(plan), writesCheckpoints);
  Json json = {{"name", plan.name},
               {"world", meshSize(plan)},
               {"spaces", spaces},
               {"points", pointsJson(plan)},
               {"peak", plan.entries.empty() ? Json() : peakJson(plan, findPeak(plan, plan::Space::device))},
               {"entries", entries},
               {"rank", rankBytes(plan)},
               {"predicted_process", predicted ? Json(*predicted) : Json()},
               {"process", process}};
  if (const CheckpointMemory memory = checkpointMemory(plan, 0); writesCheckpoints)
    json["checkpoint"] = {{"copy", memory.copy}, {"block", memory.block}, {"bytes", memory.bytes()}};
  return json;
}

static Status noSuchInstruction(std::uint32_t instruction) {
  return inputError(concat("instruction ", instruction, " is in no entry point of the plan"));
}

Result<Json> memoryAtJson(const plan::PlanT &plan, std::uint32_t instruction) {
  Json places = Json::array();
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e)
    if (instruction < instructionCount(*plan.entries[e]))
      places.push_back(peakJson(plan, {e, instruction}));
  if (places.empty())
    return noSuchInstruction(instruction);
  return places;
}

Result<std::string> memoryAtText(const plan::PlanT &plan, std::uint32_t instruction) {
  std::string out;
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e) {
    if (instruction >= instructionCount(*plan.entries[e]))
      continue;
    const LiveBytes live = liveAt(plan, e, instruction, plan::Space::device);
    out += (out.empty() ? "" : "\n") + std::string("live in device: ") + formatBytesExact(live.bytes) +
           placeText(plan, e, instruction) + classesText(live) + "by unit\n";
    for (std::size_t unit = 0; unit < live.byUnit.size(); ++unit)
      out += shareLine(unit < plan.units.size() ? plan.units[unit]->name : "(no unit)", live.byUnit[unit], live.bytes);
  }
  if (out.empty())
    return noSuchInstruction(instruction);
  return out;
}

std::string memoryText(const plan::PlanT &plan, bool unicode, bool writesCheckpoints) {
  std::string out = "memory of one rank of plan '" + plan.name + "'\n";
  for (const auto &arena : plan.arenas)
    out += "  " + padRight(plan::EnumNameSpace(arena->space), 8) + "arena " + formatBytesExact(arena->bytes) +
           ", persistent " + formatBytesExact(arena->persistent) + ", live at most " +
           formatBytesExact(arena->peak_live) + ", workspace " + formatBytesExact(arena->workspace) + "\n";
  if (const CheckpointMemory memory = checkpointMemory(plan, 0); writesCheckpoints)
    out += "  host    checkpoints " + formatBytesExact(memory.bytes()) + ", copy " + formatBytesExact(memory.copy) +
           ", write block " + formatBytesExact(memory.block) + "\n";
  const auto process = predictedProcess(plan, meshSize(plan), writesCheckpoints);
  out += process ? concat("  process of all ", meshSize(plan), " ranks grows by ", formatBytesExact(*process), "\n")
                 : "  process: the host memory of the GPU's driver and libraries is not predicted\n";
  for (const ProcessTerm &term : processTerms(plan, meshSize(plan), writesCheckpoints))
    out += "    " + padRight(std::string(term.name), 10) + padLeft(formatBytes(term.bytes), 11) + "  " +
           std::string(term.what) + "\n";
  if (plan.entries.empty())
    return out;
  for (const auto &arena : plan.arenas)
    if (arena->bytes + arena->workspace != 0)
      out += "\n" + peakText(plan, arena->space);
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e) {
    const EntryProfile profile = profileEntry(plan, e, plan::Space::device);
    if (profile.live.empty())
      continue;
    const std::size_t columns = std::min(pictureWidth, profile.live.size());
    out +=
        concat("\nlive bytes of device over '", plan.entries[e]->name, "', ", profile.live.size(), " instructions\n");
    out += drawBars(profile.live, pictureWidth, pictureHeight, unicode, "  ");
    std::vector<plan::Phase> phases;
    forEachInstruction(*plan.entries[e], [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
      phases.push_back(instruction.phase);
    });
    out += "  " + padLeft("phase", 11) + "  " + phaseRow(phases, columns) + "\n";
  }
  return out;
}

} // namespace sluice
