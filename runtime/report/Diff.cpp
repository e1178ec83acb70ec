//===- Diff.cpp - the differences between two plans --------------------------------===//
//
// See Diff.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/report/Diff.h"

#include "runtime/base/Sha256.h"
#include "runtime/base/Text.h"
#include "runtime/plan/Profile.h"
#include "runtime/report/Printer.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

/// Named facts in a stable order.
using Facts = std::map<std::string, std::string>;

std::string bufferText(const plan::PlanT &plan, const plan::BufferT &buffer) {
  std::string text = concat(typeText(buffer.dtype, buffer.shape), " ", plan::EnumNameSpace(buffer.space), " ",
                            plan::EnumNameBufferClass(buffer.class_), " at ", buffer.offset);
  if (buffer.entry >= 0)
    text += concat(" [", buffer.begin, ", ", buffer.end, ")",
                   (buffer.reserved_from == 0 ? std::string() : concat(" reserved_from ", buffer.reserved_from)));
  return text;
}

Facts factsOf(const plan::PlanT &plan) {
  Facts facts;
  for (const auto &axis : plan.mesh)
    facts["mesh " + axis->name] = concat(axis->size, " ", plan::EnumNameAxisRole(axis->role));
  facts["target"] =
      concat(plan.target->device, " threads ", plan.target->threads, " ", plan.target->isa, plan.target->arch);
  facts["microbatches"] = std::to_string(plan.microbatches);
  for (const auto &arena : plan.arenas) {
    const std::string name = std::string("arena ") + plan::EnumNameSpace(arena->space);
    facts[name + " bytes"] = std::to_string(arena->bytes);
    facts[name + " persistent"] = std::to_string(arena->persistent);
    facts[name + " peak_live"] = std::to_string(arena->peak_live);
    facts[name + " workspace"] = std::to_string(arena->workspace);
    if (arena->pinned)
      facts[name + " pinned"] = "true";
  }
  for (const auto &stream : plan.streams)
    facts["stream " + stream->name] = concat(plan::EnumNameStreamKind(stream->kind), " workspace ", stream->workspace);
  for (const auto &unit : plan.units) {
    std::string text = unit->reshard_after_forward ? "reshard_after_forward" : "stays gathered after forward";
    for (std::uint32_t p : unit->parameters)
      text += " " + plan.parameters[p]->name;
    facts["unit " + unit->name] = text;
  }
  for (const auto &parameter : plan.parameters)
    facts["parameter " + parameter->name] =
        concat(typeText(parameter->dtype, parameter->shape), " dim ", parameter->dim, " chunk ", parameter->chunk,
               " over '", axesName(plan, parameter->axes), "'");
  for (const auto &buffer : plan.buffers) {
    const std::string owner = buffer->entry >= 0 ? plan.entries[buffer->entry]->name + " " : "";
    facts["buffer " + owner + "%" + buffer->name] = bufferText(plan, *buffer);
  }
  for (const auto &entry : plan.entries) {
    for (const auto &section : entry->sections)
      facts["section " + entry->name + " " + section->name] =
          concat(plan::EnumNameSectionKind(section->kind), " repeat ", section->repeat);
    for (const auto &port : entry->inputs)
      facts["input " + entry->name + " " + port->name] = printPort(plan, *port);
    for (const auto &port : entry->outputs)
      facts["output " + entry->name + " " + port->name] = printPort(plan, *port);
  }
  return facts;
}

std::vector<std::string> linesOf(const plan::PlanT &plan, const plan::EntryT &entry) {
  std::vector<std::string> lines;
  forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
    lines.push_back(plan.streams[instruction.stream]->name + " " + plan::EnumNameWhen(instruction.when) + " " +
                    plan::EnumNamePhase(instruction.phase) + ": " + printOperation(plan, instruction));
  });
  return lines;
}

/// Longest common subsequence if the table is small; otherwise everything between the common ends counts as changed.
PlanDifference::Entry diffLines(const std::string &name, const std::vector<std::string> &a,
                                const std::vector<std::string> &b) {
  constexpr std::size_t shown = 40;
  constexpr std::size_t maxTable = std::size_t(1) << 24;
  std::size_t head = 0, aEnd = a.size(), bEnd = b.size();
  while (head < aEnd && head < bEnd && a[head] == b[head])
    ++head;
  while (aEnd > head && bEnd > head && a[aEnd - 1] == b[bEnd - 1])
    --aEnd, --bEnd;
  PlanDifference::Entry entry{name, 0, 0, head, {}};
  auto remove = [&](std::size_t i) {
    ++entry.removed;
    if (entry.lines.size() < shown)
      entry.lines.push_back(concat("- ", i, " ", a[i]));
  };
  auto add = [&](std::size_t j) {
    ++entry.added;
    if (entry.lines.size() < shown)
      entry.lines.push_back(concat("+ ", j, " ", b[j]));
  };
  const std::size_t n = aEnd - head, m = bEnd - head;
  const bool small = (n + 1) * (m + 1) <= maxTable;
  std::vector<std::uint32_t> table(small ? (n + 1) * (m + 1) : 0, 0);
  auto at = [&](std::size_t i, std::size_t j) -> std::uint32_t & { return table[i * (m + 1) + j]; };
  if (small)
    for (std::size_t i = n; i-- > 0;)
      for (std::size_t j = m; j-- > 0;)
        at(i, j) = a[head + i] == b[head + j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
  std::size_t i = 0, j = 0;
  while (i < n || j < m) {
    if (small && i < n && j < m && a[head + i] == b[head + j])
      ++i, ++j;
    else if (i < n && (!small || j == m || at(i + 1, j) >= at(i, j + 1)))
      remove(head + i++);
    else
      add(head + j++);
  }
  return entry;
}

} // namespace

PlanDifference diffPlans(const plan::PlanT &first, const plan::PlanT &second) {
  PlanDifference difference;
  difference.summary = summarizeDiff(first, second);
  const Facts a = factsOf(first), b = factsOf(second);
  for (const auto &[name, value] : a) {
    const auto other = b.find(name);
    if (other == b.end())
      difference.facts.push_back(concat("- ", name, ": ", value));
    else if (other->second != value)
      difference.facts.push_back(concat("! ", name, ": ", value, " -> ", other->second));
  }
  for (const auto &[name, value] : b)
    if (!a.count(name))
      difference.facts.push_back(concat("+ ", name, ": ", value));
  auto lines = [](const plan::PlanT &plan, const std::string &name) {
    const int e = findEntry(plan, name);
    return e < 0 ? std::vector<std::string>() : linesOf(plan, *plan.entries[e]);
  };
  std::vector<std::string> names;
  for (const auto &entry : first.entries)
    names.push_back(entry->name);
  for (const auto &entry : second.entries)
    if (findEntry(first, entry->name) < 0)
      names.push_back(entry->name);
  for (const std::string &name : names) {
    PlanDifference::Entry entry = diffLines(name, lines(first, name), lines(second, name));
    if (entry.added + entry.removed == 0)
      continue;
    difference.summary.order.push_back(
        concat(name, ": ", entry.removed, " removed, ", entry.added, " added, the first at instruction ", entry.first));
    difference.entries.push_back(std::move(entry));
  }
  return difference;
}

std::string firstDifference(const plan::PlanT &first, const plan::PlanT &second) {
  if (first.model_digest != second.model_digest)
    return concat("expected the model with digest ", toHex(first.model_digest), " but got ",
                  toHex(second.model_digest));
  const PlanDifference difference = diffPlans(first, second);
  if (!difference.summary.settings.empty())
    return "the recipe differs, " + difference.summary.settings.front();
  const auto versionOf = [](const plan::PlanT &plan) {
    return concat(plan.major, ".", plan.minor, " with catalogue ", plan.catalogue);
  };
  if (versionOf(first) != versionOf(second))
    return "expected version " + versionOf(first) + " but got " + versionOf(second);
  if (!difference.facts.empty())
    return "a table differs, " + difference.facts.front().substr(2);
  if (!difference.entries.empty())
    return concat("entry point '", difference.entries.front().name, "' differs, ",
                  difference.entries.front().lines.front());
  return "names, value ids, costs or locations differ, and nothing that 'sluice-plan diff' compares";
}

std::string PlanDifference::toText() const {
  if (same())
    return "the plans are the same\n";
  std::string out = summary.toText() + "\n";
  for (const std::string &fact : facts)
    out += fact + "\n";
  for (const Entry &entry : entries) {
    out += concat("entry '", entry.name, "': ", entry.removed, " instructions removed, ", entry.added, " added\n");
    for (const std::string &line : entry.lines)
      out += "  " + line + "\n";
    if (entry.lines.size() < entry.removed + entry.added)
      out += concat("  and ", entry.removed + entry.added - entry.lines.size(), " more\n");
  }
  return out;
}

Json PlanDifference::toJson() const {
  Json list = Json::array();
  for (const Entry &entry : entries)
    list.push_back({{"entry", entry.name}, {"removed", entry.removed}, {"added", entry.added}, {"lines", entry.lines}});
  const Json parts = {{"settings", summary.settings},
                      {"memory", summary.memory},
                      {"collectives", summary.collectives},
                      {"order", summary.order}};
  return {{"same", same()}, {"summary", parts}, {"facts", facts}, {"entries", list}};
}

} // namespace sluice
