//===- Schedule.cpp - the work of each stream over a step --------------------------===//
//
// See Schedule.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/report/Schedule.h"

#include "runtime/base/Text.h"
#include "runtime/plan/Profile.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace sluice {
namespace {

constexpr std::size_t timelineWidth = 96;

/// One character a unit; units beyond them share the last.
constexpr std::string_view unitLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ*";

char unitLetter(int unit) {
  return unit < 0 ? '.' : unitLetters[std::min<std::size_t>(std::size_t(unit), unitLetters.size() - 1)];
}

bool isWork(const plan::InstructionT &instruction) {
  switch (instruction.operation.type) {
  case plan::Operation::Launch:
  case plan::Operation::Collective:
  case plan::Operation::Copy:
  case plan::Operation::Fill:
    return true;
  default:
    return false;
  }
}

/// The row of one stream: a letter where work of a unit is issued, a line while another stream may still wait for it.
std::string streamRow(const std::vector<ScheduledWork> &work, std::uint32_t stream, std::size_t columns, bool unicode) {
  const std::size_t total = work.size();
  auto cell = [&](std::uint64_t column) { return std::size_t(column * columns / total); };
  std::vector<char> cells(columns, ' ');
  for (const ScheduledWork &each : work)
    if (each.issued.instruction->stream == stream)
      for (std::size_t c = cell(each.column); c <= cell(each.until - 1); ++c)
        if (cells[c] == ' ')
          cells[c] = '-';
  // Letters replace lines, and the letter of a unit replaces the dot of work without a unit.
  for (const ScheduledWork &each : work)
    if (each.issued.instruction->stream == stream) {
      char &at = cells[cell(each.column)];
      const char letter = unitLetter(each.issued.instruction->unit);
      if (at == '-' || at == '.')
        at = letter;
    }
  std::string row;
  for (char c : cells)
    row += c == '-' && unicode ? std::string("─") : std::string(1, c);
  row.erase(row.find_last_not_of(' ') + 1);
  return row;
}

} // namespace

bool isScheduled(const plan::PlanT &, const plan::InstructionT &instruction) { return isWork(instruction); }

std::vector<ScheduledWork> scheduleOf(const plan::PlanT &plan, const plan::EntryT &entry) {
  std::vector<ScheduledWork> work;
  // Work of each stream that no other stream has waited for, and how much of it each event covers.
  std::vector<std::vector<std::size_t>> pending(plan.streams.size());
  struct Recorded {
    std::uint32_t stream = 0;
    std::size_t upTo = 0;
  };
  std::vector<Recorded> events(entry.events);
  std::vector<bool> isEarly(plan.streams.size(), false);
  forEachIssued(entry, [&](const IssuedInstruction &issued) {
    const plan::InstructionT &instruction = *issued.instruction;
    if (const plan::RecordT *record = instruction.operation.AsRecord()) {
      events[record->event] = {instruction.stream, work.size()};
    } else if (const plan::WaitT *wait = instruction.operation.AsWait()) {
      if (wait->carried) {
        isEarly[instruction.stream] = true;
        return;
      }
      const Recorded &recorded = events[wait->event];
      isEarly[instruction.stream] = isEarly[instruction.stream] && isEarly[recorded.stream];
      if (recorded.stream == instruction.stream)
        return;
      std::vector<std::size_t> &waiting = pending[recorded.stream];
      std::size_t done = 0;
      for (; done < waiting.size() && waiting[done] < recorded.upTo; ++done)
        work[waiting[done]].until = std::max<std::uint64_t>(work[waiting[done]].until, work.size());
      waiting.erase(waiting.begin(), waiting.begin() + std::ptrdiff_t(done));
    } else if (isWork(instruction)) {
      pending[instruction.stream].push_back(work.size());
      work.push_back({isEarly[instruction.stream], issued, work.size(), work.size() + 1});
    }
  });
  return work;
}

Json scheduleJson(const plan::PlanT &plan) {
  Json entries = Json::array();
  for (const auto &entry : plan.entries) {
    const std::vector<ScheduledWork> work = scheduleOf(plan, *entry);
    Json streams = Json::array();
    for (std::uint32_t s = 0; s < plan.streams.size(); ++s) {
      Json list = Json::array();
      for (const ScheduledWork &each : work) {
        const plan::InstructionT &instruction = *each.issued.instruction;
        if (instruction.stream != s)
          continue;
        list.push_back({{"i", each.issued.position},
                        {"instruction", each.issued.index},
                        {"microbatch", microbatchOf(*entry, each.issued.section, each.issued.repetition)},
                        {"phase", plan::EnumNamePhase(instruction.phase)},
                        {"operation", operationName(plan, instruction)},
                        {"unit", instruction.unit >= 0 ? Json(plan.units[instruction.unit]->name) : Json()},
                        {"recompute", instruction.recompute},
                        {"early", each.isEarly},
                        {"column", each.column},
                        {"until", each.until}});
      }
      streams.push_back({{"stream", plan.streams[s]->name}, {"work", std::move(list)}});
    }
    entries.push_back({{"entry", entry->name}, {"streams", std::move(streams)}});
  }
  return {{"name", plan.name}, {"entries", std::move(entries)}};
}

std::string scheduleText(const plan::PlanT &plan, bool unicode) {
  std::string out = "schedule of plan '" + plan.name + "' on one rank, in order of issue\n";
  out += "units:";
  for (std::size_t u = 0; u < plan.units.size(); ++u)
    out += std::string(" ") + unitLetter(int(u)) + "=" + plan.units[u]->name;
  out += "; . work without a unit, - until a different stream waits for it\n";
  std::size_t widest = 5;
  for (const auto &stream : plan.streams)
    widest = std::max(widest, stream->name.size());
  for (const auto &entry : plan.entries) {
    const std::vector<ScheduledWork> work = scheduleOf(plan, *entry);
    if (work.empty())
      continue;
    const std::size_t columns = std::min(timelineWidth, work.size());
    out += concat("\nentry '", entry->name, "', ", work.size(), " instructions of work");
    for (const auto &section : entry->sections)
      if (section->repeat > 1)
        out += concat(", ", section->repeat, " x '", section->name, "'");
    if (const auto early =
            std::count_if(work.begin(), work.end(), [](const ScheduledWork &each) { return each.isEarly; }))
      out += concat(", the first ", early, " of other streams while the previous step updates");
    std::vector<plan::Phase> phases;
    for (const ScheduledWork &each : work)
      phases.push_back(each.issued.instruction->phase);
    out += "\n  " + padRight("phase", widest) + " |" + phaseRow(phases, columns) + "\n";
    for (std::uint32_t s = 0; s < plan.streams.size(); ++s)
      if (const std::string row = streamRow(work, s, columns, unicode); !row.empty())
        out += "  " + padRight(plan.streams[s]->name, widest) + " |" + row + "\n";
  }
  return out;
}

} // namespace sluice
