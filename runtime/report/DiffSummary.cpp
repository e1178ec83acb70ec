//===- DiffSummary.cpp - what differs between two plans, in a few lines -----------------===//
#include "runtime/report/DiffSummary.h"

#include "runtime/base/Text.h"
#include "runtime/plan/Issue.h"
#include "runtime/plan/Profile.h"

#include <map>
#include <utility>

namespace sluice {
namespace {

/// Values by name, in the order of the first plan that has the name.
class Values {
public:
  void set(const std::string &name, std::string value, bool isSecond) {
    auto [it, isNew] = indices.try_emplace(name, rows.size());
    if (isNew)
      rows.push_back({name, {"none", "none"}});
    rows[it->second].values[isSecond] = std::move(value);
  }
  std::vector<std::string> differences() const {
    std::vector<std::string> lines;
    for (const Row &row : rows)
      if (row.values[0] != row.values[1])
        lines.push_back(concat(row.name, ": ", row.values[0], " -> ", row.values[1]));
    return lines;
  }

private:
  struct Row {
    std::string name;
    std::string values[2];
  };
  std::vector<Row> rows;
  std::map<std::string, std::size_t> indices;
};

void addSettings(Values &values, const plan::PlanT &plan, bool isSecond) {
  for (const std::string &line : plan.recipe)
    if (const std::size_t equals = line.find(" = "); equals != std::string::npos)
      values.set(line.substr(0, equals), line.substr(equals + 3), isSecond);
}

void addMemory(Values &values, const plan::PlanT &plan, bool isSecond) {
  if (plan.entries.empty())
    return;
  const PeakPlace peak = findPeak(plan, plan::Space::device);
  values.set("peak", formatBytesExact(peak.bytes), isSecond);
  const LiveBytes live = liveAt(plan, peak.entry, peak.instruction, plan::Space::device);
  for (std::size_t c = 0; c < bufferClassCount; ++c)
    if (live.byClass[c] != 0)
      values.set(plan::EnumNameBufferClass(plan::BufferClass(c)), formatBytesExact(live.byClass[c]), isSecond);
  for (const auto &arena : plan.arenas)
    if (arena->space != plan::Space::device)
      values.set(concat("arena ", plan::EnumNameSpace(arena->space)), formatBytesExact(arena->bytes + arena->workspace),
                 isSecond);
}

void addCollectives(Values &values, const plan::PlanT &plan, bool isSecond) {
  for (const auto &entry : plan.entries) {
    std::map<plan::CollectiveKind, std::pair<std::uint64_t, std::uint64_t>> issued;
    for (const auto &section : entry->sections)
      for (const auto &instruction : section->instructions)
        if (const plan::CollectiveT *collective = instruction->operation.AsCollective()) {
          const std::uint64_t times = timesIssued(*instruction, section->repeat);
          auto &[count, bytes] = issued[collective->kind];
          count += times;
          for (const auto &segment : collective->segments)
            bytes += times * viewBytes(*segment->source).value_or(0);
        }
    for (const auto &[kind, sent] : issued)
      values.set(concat(entry->name, " ", plan::EnumNameCollectiveKind(kind)),
                 concat(sent.first, " of ", formatBytesExact(sent.second)), isSecond);
  }
}

std::vector<std::string> differencesBy(void (*add)(Values &, const plan::PlanT &, bool), const plan::PlanT &first,
                                       const plan::PlanT &second) {
  Values values;
  add(values, first, false);
  add(values, second, true);
  return values.differences();
}

} // namespace

DiffSummary summarizeDiff(const plan::PlanT &first, const plan::PlanT &second) {
  return {differencesBy(addSettings, first, second),
          differencesBy(addMemory, first, second),
          differencesBy(addCollectives, first, second),
          {}};
}

std::string DiffSummary::toText() const {
  std::string out;
  const auto add = [&](const char *title, const std::vector<std::string> &lines) {
    out += concat(title, lines.empty() ? ": the same\n" : "\n");
    for (const std::string &line : lines)
      out += concat("  ", line, "\n");
  };
  add("settings", settings);
  add("memory of one rank at its peak", memory);
  add("collectives of a run", collectives);
  add("order of instructions", order);
  return out;
}

} // namespace sluice
