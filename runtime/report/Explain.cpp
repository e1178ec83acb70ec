//===- Explain.cpp - why a plan needs its memory -------------------------------------------------===//
#include "runtime/report/Explain.h"

#include "runtime/base/Text.h"
#include "runtime/report/Describe.h"
#include "runtime/report/HostUnits.h"
#include "runtime/report/Residency.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

/// Rows that the text lists of a kind; JSON has all.
constexpr std::size_t listed = 10;

/// One entry point with its peak, buffers and accesses.
struct Explained {
  const plan::PlanT &plan;
  std::uint32_t entry;
  const PeakPlace peak = findPeak(plan, entry, plan::Space::device);
  const LiveBytes live = liveAt(plan, entry, peak.instruction, plan::Space::device);
  const std::vector<std::uint32_t> units = unitsOfBuffers(plan);
  const std::vector<Accesses> accesses = accessesOf(plan, entry);
  /// Live at the peak, largest first.
  const std::vector<std::uint32_t> liveAtPeak = liveBuffers(plan, entry, peak.instruction, plan::Space::device);

  const std::vector<bool> isAtPeak = [this] {
    std::vector<bool> is(plan.buffers.size());
    for (const std::uint32_t buffer : liveAtPeak)
      is[buffer] = true;
    return is;
  }();

  std::string unitName(std::size_t unit) const { return unit < plan.units.size() ? plan.units[unit]->name : ""; }
  std::string unitLabel(std::size_t unit) const {
    return unit < plan.units.size() ? plan.units[unit]->name : "(no unit)";
  }
  const plan::InstructionT &instruction(std::uint32_t i) const { return *instructionAt(*plan.entries[entry], i); }
  std::string source(const plan::InstructionT &of) const {
    return of.location >= 0 ? plan.locations[std::size_t(of.location)] : "";
  }
};

/// "launch matmul (76, backward, h.3, at h.3.mlp.c_fc)".
std::string instructionText(const Explained &of, std::uint32_t i) {
  const plan::InstructionT &found = of.instruction(i);
  const std::string unit = of.unitName(std::size_t(unitOf(of.plan, found))), source = of.source(found);
  return concat(operationName(of.plan, found), " (", i, ", ", plan::EnumNamePhase(found.phase),
                found.recompute ? ", recomputed" : "", unit.empty() ? "" : ", ", unit, source.empty() ? "" : ", at ",
                source, ")");
}

Json instructionJson(const Explained &of, std::uint32_t i) {
  const plan::InstructionT &found = of.instruction(i);
  return {{"instruction", i},
          {"operation", operationName(of.plan, found)},
          {"phase", plan::EnumNamePhase(found.phase)},
          {"unit", of.unitName(std::size_t(unitOf(of.plan, found)))},
          {"source", of.source(found)}};
}

Json optionalInstruction(const Explained &of, const std::optional<std::uint32_t> &i) {
  return i ? instructionJson(of, *i) : Json();
}

Json bufferJson(const Explained &of, std::uint32_t b) {
  const plan::BufferT &buffer = *of.plan.buffers[b];
  return {{"name", buffer.name},
          {"class", plan::EnumNameBufferClass(buffer.class_)},
          {"type", typeText(buffer.dtype, buffer.shape)},
          {"bytes", buffer.bytes},
          {"unit", of.unitName(of.units[b])},
          {"persistent", buffer.entry < 0},
          {"begin", buffer.begin},
          {"end", buffer.end},
          {"live_at_peak", bool(of.isAtPeak[b])},
          {"first_write", optionalInstruction(of, of.accesses[b].firstWrite)},
          {"last_read", optionalInstruction(of, of.accesses[b].lastRead)}};
}

std::string bufferText(const Explained &of, std::uint32_t b) {
  const plan::BufferT &buffer = *of.plan.buffers[b];
  const Accesses &accesses = of.accesses[b];
  std::string out =
      concat("  ", padLeft(formatBytes(buffer.bytes), 11), "  ", padRight(plan::EnumNameBufferClass(buffer.class_), 15),
             buffer.name, " ", typeText(buffer.dtype, buffer.shape), "\n");
  const std::string indent(15, ' ');
  if (buffer.entry < 0)
    return out + indent + "persistent\n";
  if (accesses.firstWrite)
    out += indent + "written by " + instructionText(of, *accesses.firstWrite) + "\n";
  if (accesses.lastRead)
    out += indent + "live until " + instructionText(of, buffer.end - 1) + "\n";
  return out;
}

//===- The peak -------------------------------------------------------------------------------===//

/// A name in a column; a longer one is followed by a blank.
std::string columnText(const std::string &name) { return padRight(name + " ", 17); }

std::string shareText(const std::string &name, std::uint64_t bytes, std::uint64_t all) {
  return concat("  ", columnText(name), padLeft(formatBytes(bytes), 11), padLeft(std::to_string(bytes * 100 / all), 5),
                "%\n");
}

std::string peakText(const Explained &of) {
  std::string out = concat("peak of '", of.plan.entries[of.entry]->name, "': ", formatBytesExact(of.peak.bytes), " at ",
                           instructionText(of, of.peak.instruction), "\n");
  for (std::size_t c = 0; c < bufferClassCount; ++c)
    if (const std::uint64_t bytes = of.live.byClass[c])
      out += shareText(plan::EnumNameBufferClass(plan::BufferClass(c)), bytes, of.live.bytes);
  out += "largest buffers live there\n";
  for (std::size_t k = 0; k < std::min(listed, of.liveAtPeak.size()); ++k)
    out += bufferText(of, of.liveAtPeak[k]);
  return out;
}

//===- Activations by unit --------------------------------------------------------------------===//

struct UnitBytes {
  std::size_t unit = 0;
  std::uint64_t bytes = 0;
  std::uint32_t buffers = 0;
};

/// Of the activations that are live at the peak, most bytes first.
std::vector<UnitBytes> activationsByUnit(const Explained &of) {
  std::vector<UnitBytes> rows(of.plan.units.size() + 1);
  for (std::size_t unit = 0; unit < rows.size(); ++unit)
    rows[unit].unit = unit;
  for (const std::uint32_t b : of.liveAtPeak)
    if (of.plan.buffers[b]->class_ == plan::BufferClass::activation) {
      rows[of.units[b]].bytes += of.plan.buffers[b]->bytes;
      ++rows[of.units[b]].buffers;
    }
  std::erase_if(rows, [](const UnitBytes &row) { return row.bytes == 0; });
  std::ranges::stable_sort(rows, std::greater(), &UnitBytes::bytes);
  return rows;
}

std::string moreText(std::size_t rows) { return rows > listed ? concat("  and ", rows - listed, " more\n") : ""; }

std::string activationsText(const Explained &of) {
  const std::vector<UnitBytes> rows = activationsByUnit(of);
  if (rows.empty())
    return "activations at the peak: no buffer\n";
  std::string out = "activations at the peak, by the unit that writes them\n";
  for (const UnitBytes &row : std::span(rows).first(std::min(listed, rows.size())))
    out += concat("  ", columnText(of.unitLabel(row.unit)), padLeft(formatBytes(row.bytes), 11), "  ", row.buffers,
                  row.buffers == 1 ? " buffer\n" : " buffers\n");
  return out + moreText(rows.size());
}

Json activationsJson(const Explained &of) {
  Json list = Json::array();
  for (const UnitBytes &row : activationsByUnit(of))
    list.push_back({{"unit", of.unitName(row.unit)}, {"bytes", row.bytes}, {"buffers", row.buffers}});
  return list;
}

//===- Gathered units -------------------------------------------------------------------------===//

bool isAtPeak(const Explained &of, const GatheredInterval &interval) {
  return interval.begin <= of.peak.instruction && of.peak.instruction < interval.end;
}

Json intervalsJson(const Explained &of, const std::vector<GatheredInterval> &intervals) {
  Json list = Json::array();
  for (const GatheredInterval &each : intervals)
    list.push_back({{"begin", each.begin},
                    {"end", each.end},
                    {"bytes", each.bytes},
                    {"phase", plan::EnumNamePhase(of.instruction(each.begin).phase)},
                    {"at_peak", isAtPeak(of, each)}});
  return list;
}

std::string intervalsText(const Explained &of, const std::vector<GatheredInterval> &intervals) {
  return join(intervals, ", ", [&](const GatheredInterval &each) {
    return concat(each.begin, " to ", each.end - 1, " (", plan::EnumNamePhase(of.instruction(each.begin).phase),
                  isAtPeak(of, each) ? ", at the peak" : "", ")");
  });
}

std::uint64_t mostBytes(const std::vector<GatheredInterval> &intervals) {
  std::uint64_t bytes = 0;
  for (const GatheredInterval &each : intervals)
    bytes = std::max(bytes, each.bytes);
  return bytes;
}

std::string gatheredText(const Explained &of) {
  const std::vector<std::vector<GatheredInterval>> intervals = gatheredIntervals(of.plan, of.entry);
  std::vector<std::size_t> units;
  for (std::size_t unit = 0; unit < intervals.size(); ++unit)
    if (!intervals[unit].empty())
      units.push_back(unit);
  if (units.empty())
    return "gathered units: no unit is gathered\n";
  // Those that are gathered at the peak first.
  std::ranges::stable_sort(units, {}, [&](std::size_t unit) {
    return std::ranges::none_of(intervals[unit], [&](const GatheredInterval &each) { return isAtPeak(of, each); });
  });
  std::string out = "gathered units\n";
  for (const std::size_t unit : std::span(units).first(std::min(listed, units.size())))
    out += concat("  ", columnText(of.unitName(unit)), padLeft(formatBytes(mostBytes(intervals[unit])), 11),
                  "  instructions ", intervalsText(of, intervals[unit]), "\n");
  return out + moreText(units.size());
}

Json gatheredJson(const Explained &of) {
  const std::vector<std::vector<GatheredInterval>> intervals = gatheredIntervals(of.plan, of.entry);
  Json list = Json::array();
  for (std::size_t unit = 0; unit < intervals.size(); ++unit)
    if (!intervals[unit].empty())
      list.push_back({{"unit", of.unitName(unit)}, {"intervals", intervalsJson(of, intervals[unit])}});
  return list;
}

//===- Recompute regions ----------------------------------------------------------------------===//

std::string regionText(const Explained &of, const RecomputeRegion &region) {
  std::string out = concat("  ", columnText(of.unitLabel(std::size_t(region.unit))), "instructions ", region.begin,
                           " to ", region.end - 1, ": keeps ", formatBytes(region.keptBytes),
                           " from the forward, recomputes ", formatBytes(region.resultBytes), " in ", region.launches,
                           region.launches == 1 ? " launch\n" : " launches\n");
  out +=
      "    " +
      (region.reason.empty() ? "at the peak it keeps " + formatBytes(region.keptBytesAtPeak) + " instead of its values"
                             : "it frees nothing at the peak: " + region.reason) +
      "\n";
  return out;
}

Json regionJson(const Explained &of, const RecomputeRegion &region) {
  Json kept = Json::array();
  for (const std::uint32_t b : region.kept)
    kept.push_back({{"name", of.plan.buffers[b]->name}, {"bytes", of.plan.buffers[b]->bytes}});
  return {{"unit", of.unitName(std::size_t(region.unit))},
          {"begin", region.begin},
          {"end", region.end},
          {"launches", region.launches},
          {"recomputed_bytes", region.resultBytes},
          {"recomputed_bytes_at_peak", region.resultBytesAtPeak},
          {"kept_bytes", region.keptBytes},
          {"kept_bytes_at_peak", region.keptBytesAtPeak},
          {"kept", std::move(kept)},
          {"frees_at_peak", region.reason.empty()},
          {"reason", region.reason}};
}

std::string regionsText(const Explained &of) {
  std::vector<RecomputeRegion> regions = recomputeRegions(of.plan, of.entry, of.peak.instruction);
  if (regions.empty())
    return "recompute: no instruction\n";
  // Regions that free nothing at the peak first.
  std::ranges::stable_sort(regions, {}, [](const RecomputeRegion &region) { return region.reason.empty(); });
  std::string out = "recompute regions\n";
  for (const RecomputeRegion &region : std::span(regions).first(std::min(listed, regions.size())))
    out += regionText(of, region);
  return out + moreText(regions.size());
}

Json regionsJson(const Explained &of, std::optional<std::int32_t> unit = {}) {
  Json list = Json::array();
  for (const RecomputeRegion &region : recomputeRegions(of.plan, of.entry, of.peak.instruction))
    if (!unit || region.unit == *unit)
      list.push_back(regionJson(of, region));
  return list;
}

//===- One name -------------------------------------------------------------------------------===//

/// Buffers of a unit, a parameter (its shard, its states, its gathered buffers) or a name; with the unit if it is one.
struct Named {
  std::string kind;
  std::optional<std::uint32_t> unit;
  std::vector<std::uint32_t> buffers;
};

Result<Named> findName(const Explained &of, const std::string &name) {
  Named named;
  const auto matching = [&](auto &&condition) {
    for (std::uint32_t b = 0; b < of.plan.buffers.size(); ++b)
      if (const plan::BufferT &buffer = *of.plan.buffers[b];
          (buffer.entry < 0 || buffer.entry == int(of.entry)) && condition(b, buffer))
        named.buffers.push_back(b);
    std::ranges::stable_sort(named.buffers, std::greater(), [&](std::uint32_t b) { return of.plan.buffers[b]->bytes; });
  };
  for (std::uint32_t unit = 0; unit < of.plan.units.size(); ++unit)
    if (of.plan.units[unit]->name == name) {
      named.kind = "unit";
      named.unit = unit;
      matching([&](std::uint32_t b, const plan::BufferT &) { return of.units[b] == unit; });
      return named;
    }
  for (const auto &parameter : of.plan.parameters)
    if (parameter->name == name || std::ranges::count(parameter->aliases, name)) {
      named.kind = "parameter";
      named.buffers.push_back(parameter->buffer);
      for (const auto &state : parameter->states)
        named.buffers.push_back(state->buffer);
      return named;
    }
  named.kind = "buffer";
  matching([&](std::uint32_t, const plan::BufferT &buffer) { return buffer.name == name; });
  if (named.buffers.empty())
    return inputError("plan '" + of.plan.name + "' has no unit, parameter or buffer '" + name + "'")
        .withNote("'sluice-plan print' lists them");
  return named;
}

std::string namedText(const Explained &of, const std::string &name, const Named &named) {
  std::uint64_t atPeak = 0;
  for (const std::uint32_t b : named.buffers)
    atPeak += of.isAtPeak[b] ? of.plan.buffers[b]->bytes : 0;
  std::string out =
      concat(named.kind, " '", name, "': ", formatBytesExact(atPeak), " of ", formatBytesExact(of.peak.bytes),
             " at the peak, ", instructionText(of, of.peak.instruction), "\n");
  if (named.unit) {
    const auto intervals = gatheredIntervals(of.plan, of.entry)[*named.unit];
    out += intervals.empty() ? "never gathered\n"
                             : concat("gathered ", formatBytes(mostBytes(intervals)), ": instructions ",
                                      intervalsText(of, intervals), "\n");
    if (const HostBytes bytes = hostBytesOf(of.plan, *of.plan.units[*named.unit]); bytes.any())
      out += "in host memory between steps: " + hostBytesText(bytes) + "\n";
    for (const RecomputeRegion &region : recomputeRegions(of.plan, of.entry, of.peak.instruction))
      if (region.unit == int(*named.unit))
        out += "recomputed\n" + regionText(of, region);
  }
  out += concat("buffers, ", named.buffers.size(), "\n");
  for (const std::uint32_t b : std::span(named.buffers).first(std::min(listed, named.buffers.size())))
    out += bufferText(of, b);
  return out + moreText(named.buffers.size());
}

Json namedJson(const Explained &of, const std::string &name, const Named &named) {
  Json buffers = Json::array();
  for (const std::uint32_t b : named.buffers)
    buffers.push_back(bufferJson(of, b));
  Json json = {{"entry", of.plan.entries[of.entry]->name},
               {"kind", named.kind},
               {"name", name},
               {"buffers", std::move(buffers)}};
  if (named.unit) {
    json["gathered"] = intervalsJson(of, gatheredIntervals(of.plan, of.entry)[*named.unit]);
    json["recompute"] = regionsJson(of, std::int32_t(*named.unit));
  }
  return json;
}

Json planJson(const Explained &of) {
  Json largest = Json::array();
  for (const std::uint32_t b : of.liveAtPeak)
    largest.push_back(bufferJson(of, b));
  Json peak = peakJson(of.plan, of.peak);
  peak["at"] = instructionJson(of, of.peak.instruction);
  peak["buffers"] = std::move(largest);
  return {{"entry", of.plan.entries[of.entry]->name}, {"peak", std::move(peak)},
          {"activations", activationsJson(of)},       {"gathered", gatheredJson(of)},
          {"host_units", hostUnitsJson(of.plan)},     {"recompute", regionsJson(of)}};
}

} // namespace

Result<std::string> explainPlan(const plan::PlanT &plan, std::uint32_t entry, const std::string &name, bool json) {
  if (instructionCount(*plan.entries[entry]) == 0)
    return json ? dumpJson(Json{{"entry", plan.entries[entry]->name}, {"peak", Json()}}, 2) + "\n"
                : "'" + plan.entries[entry]->name + "' has no instruction\n";
  const Explained of{plan, entry};
  if (name.empty() && json)
    return dumpJson(planJson(of), 2) + "\n";
  if (const std::string host = hostUnitsText(of.plan, listed); name.empty())
    return concat(peakText(of), "\n", activationsText(of), "\n", gatheredText(of), "\n", host, host.empty() ? "" : "\n",
                  regionsText(of));
  SLUICE_ASSIGN_OR_RETURN(const Named named, findName(of, name));
  return json ? dumpJson(namedJson(of, name, named), 2) + "\n" : namedText(of, name, named);
}

} // namespace sluice
