//===- MemoryPage.cpp - a page that shows a plan in a browser ------------------------------------===//
#include "runtime/report/MemoryPage.h"

#include "runtime/base/Text.h"
#include "runtime/plan/Profile.h"
#include "runtime/report/Describe.h"
#include "runtime/report/MemoryPageTemplate.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

/// Texts that many rows share.
class TextTable {
public:
  int add(const std::string &text) {
    const auto [at, isNew] = indices.emplace(text, int(indices.size()));
    if (isNew)
      texts.push_back(text);
    return at->second;
  }
  Json take() { return std::move(texts); }

private:
  std::map<std::string, int> indices;
  Json texts = Json::array();
};

Json namesOf(const auto &rows) {
  Json names = Json::array();
  for (const auto &row : rows)
    names.push_back(row->name);
  return names;
}

template <typename Enum> Json enumNames(Enum last, const char *(*nameOf)(Enum)) {
  Json names = Json::array();
  for (int value = 0; value <= int(last); ++value)
    names.push_back(nameOf(Enum(value)));
  return names;
}

std::string collectiveDetail(const plan::PlanT &plan, const plan::CollectiveT &collective) {
  return concat("along ", axesName(plan, collective.axes), ", ", groupSize(plan, collective.axes), " ranks, ",
                plan::EnumNameDType(collective.dtype), ", ", collective.segments.size(),
                collective.segments.size() == 1 ? " tensor, " : " tensors, ",
                formatBytesExact(collectiveBytes(collective)));
}

/// The first instruction that writes each buffer, in the buffer's entry point or, if persistent, in any; -1: none.
std::vector<std::pair<int, int>> firstWriters(const plan::PlanT &plan) {
  std::vector<std::pair<int, int>> writers(plan.buffers.size(), {-1, -1});
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e)
    forEachInstruction(*plan.entries[e], [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t) {
      forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
        if (isWrite && writers[view.buffer].second < 0)
          writers[view.buffer] = {int(e), int(i)};
      });
    });
  return writers;
}

/// Columns instead of rows: a page of a large model has some ten thousand buffers.
Json bufferColumns(const plan::PlanT &plan) {
  TextTable types;
  const std::vector<std::uint32_t> units = unitsOfBuffers(plan);
  const std::vector<std::pair<int, int>> writers = firstWriters(plan);
  Json columns = Json::object();
  for (const char *name : {"name", "space", "class", "type", "bytes", "offset", "entry", "begin", "end", "reserved",
                           "unit", "writer_entry", "writer"})
    columns[name] = Json::array();
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const plan::BufferT &buffer = *plan.buffers[b];
    columns["name"].push_back(buffer.name);
    columns["space"].push_back(int(buffer.space));
    columns["class"].push_back(int(buffer.class_));
    columns["type"].push_back(types.add(typeText(buffer.dtype, buffer.shape)));
    columns["bytes"].push_back(buffer.bytes);
    columns["offset"].push_back(buffer.offset);
    columns["entry"].push_back(buffer.entry);
    columns["begin"].push_back(buffer.begin);
    columns["end"].push_back(buffer.end);
    columns["reserved"].push_back(buffer.reserved_from);
    columns["unit"].push_back(units[b]);
    columns["writer_entry"].push_back(writers[b].first);
    columns["writer"].push_back(writers[b].second);
  }
  columns["types"] = types.take();
  return columns;
}

/// The live bytes of each class that has any, with the workspace of the space.
Json liveColumns(const plan::PlanT &plan, std::uint32_t entry, const plan::ArenaT &arena) {
  std::vector<BytesByClass> live = profileByClass(plan, entry, arena.space);
  Json columns = Json::object();
  for (std::size_t c = 0; c < bufferClassCount; ++c) {
    const bool isWorkspace = c == std::size_t(plan::BufferClass::workspace);
    Json column = Json::array();
    bool isAny = false;
    for (const BytesByClass &bytes : live) {
      column.push_back(bytes[c] + (isWorkspace ? arena.workspace : 0));
      isAny = isAny || column.back() != 0;
    }
    if (isAny)
      columns[plan::EnumNameBufferClass(plan::BufferClass(c))] = std::move(column);
  }
  return columns;
}

Json entryJson(const plan::PlanT &plan, std::uint32_t entry, TextTable &operations) {
  const plan::EntryT &of = *plan.entries[entry];
  Json columns = {{"operation", Json::array()}, {"stream", Json::array()},   {"phase", Json::array()},
                  {"unit", Json::array()},      {"location", Json::array()}, {"recompute", Json::array()}};
  // Records and waits as [instruction, event], carried waits in a list of their own; texts of collectives.
  Json records = Json::array(), waits = Json::array(), carried = Json::array(), details = Json::object();
  forEachInstruction(of, [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t) {
    columns["operation"].push_back(operations.add(operationName(plan, instruction)));
    columns["stream"].push_back(instruction.stream);
    columns["phase"].push_back(int(instruction.phase));
    columns["unit"].push_back(unitOf(plan, instruction));
    columns["location"].push_back(instruction.location);
    columns["recompute"].push_back(int(instruction.recompute));
    if (const plan::RecordT *record = instruction.operation.AsRecord())
      records.push_back({i, record->event});
    else if (const plan::WaitT *wait = instruction.operation.AsWait())
      (wait->carried ? carried : waits).push_back({i, wait->event});
    else if (const plan::CollectiveT *collective = instruction.operation.AsCollective())
      details[std::to_string(i)] = collectiveDetail(plan, *collective);
  });
  Json sections = Json::array();
  for (const auto &section : of.sections)
    sections.push_back({section->name, section->repeat, section->instructions.size()});
  Json live = Json::object();
  for (const auto &arena : plan.arenas)
    live[plan::EnumNameSpace(arena->space)] = liveColumns(plan, entry, *arena);
  return {{"name", of.name},
          {"count", instructionCount(of)},
          {"sections", std::move(sections)},
          {"instructions", std::move(columns)},
          {"records", std::move(records)},
          {"waits", std::move(waits)},
          {"carried", std::move(carried)},
          {"details", std::move(details)},
          {"live", std::move(live)}};
}

} // namespace

Json memoryPageJson(const plan::PlanT &plan, const std::vector<Json> &predictions, const std::string &machine) {
  TextTable operations;
  Json mesh = Json::array(), arenas = Json::array(), entries = Json::array();
  for (const auto &axis : plan.mesh)
    mesh.push_back({axis->name, axis->size});
  for (const auto &arena : plan.arenas)
    arenas.push_back(arenaJson(*arena));
  for (std::uint32_t entry = 0; entry < plan.entries.size(); ++entry) {
    entries.push_back(entryJson(plan, entry, operations));
    if (!predictions.empty())
      entries.back()["prediction"] = predictions[entry];
  }
  return {{"name", plan.name},
          {"digest", digestText(plan)},
          {"target", plan.target->device},
          {"machine", machine},
          {"ranks", meshSize(plan)},
          {"mesh", std::move(mesh)},
          {"arenas", std::move(arenas)},
          {"classes", enumNames(plan::BufferClass::MAX, plan::EnumNameBufferClass)},
          {"phases", enumNames(plan::Phase::MAX, plan::EnumNamePhase)},
          {"spaces", enumNames(plan::Space::MAX, plan::EnumNameSpace)},
          {"units", namesOf(plan.units)},
          {"streams", namesOf(plan.streams)},
          {"locations", plan.locations},
          {"operations", operations.take()},
          {"entries", std::move(entries)},
          {"buffers", bufferColumns(plan)}};
}

std::string memoryPage(const Json &data) {
  std::string text;
  // A name of the plan with "</script>" or "<!--" would end the element.
  for (const char c : dumpJson(data))
    text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  std::string page(memoryPageTemplate);
  constexpr std::string_view place = "PLAN DATA";
  return page.replace(page.find(place), place.size(), text);
}

} // namespace sluice
