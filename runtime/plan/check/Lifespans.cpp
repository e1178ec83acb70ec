//===- Lifespans.cpp - P2 by declared lifespans -------------------------------------------===//
//
// Sweeps over the issue order of each entry point with the set of live buffers sorted by offset: live buffers share no
// byte, except when an instruction replaces its operand in place; the live bytes never exceed the declared peak.
// Operands.cpp checks the accesses of each instruction, AccessOrder.cpp the reuse of bytes by different streams.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Check.h"

#include "runtime/base/Text.h"
#include <algorithm>
#include <map>
#include <set>

namespace sluice::check {
namespace {

class Sweep {
public:
  Sweep(const plan::PlanT &plan, std::uint32_t entry, const plan::ArenaT &arena, Finding &finding)
      : plan(plan), entry(entry), arena(arena), finding(finding) {}

  Verdict run() {
    std::vector<Stretch> begins, ends;
    const std::uint32_t count = instructionCount(*plan.entries[entry]);
    for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
      const plan::BufferT &buffer = *plan.buffers[b];
      if (buffer.space != arena.space || buffer.bytes == 0)
        continue;
      if (buffer.entry == -1) {
        SLUICE_CHECK(enter(b, 0));
      } else if (buffer.entry == int(entry)) {
        begins.push_back({buffer.reserved_from == 0 ? buffer.begin : 0, buffer.end, b});
        // Reserved at the end of the previous run.
        if (buffer.reserved_from != 0 && std::max(buffer.reserved_from, buffer.end) < count)
          begins.push_back({std::max(buffer.reserved_from, buffer.end), count, b});
      }
    }
    SLUICE_CHECK(checkPeak(0));
    ends = begins;
    std::stable_sort(begins.begin(), begins.end(), [](auto &a, auto &b) { return a.begin < b.begin; });
    std::stable_sort(ends.begin(), ends.end(), [](auto &a, auto &b) { return a.end < b.end; });
    std::size_t left = 0;
    for (std::size_t k = 0; k < begins.size();) {
      const std::uint32_t now = begins[k].begin;
      shared = 0;
      for (; left < ends.size() && ends[left].end <= now; ++left)
        leave(ends[left].buffer);
      for (; k < begins.size() && begins[k].begin == now; ++k)
        SLUICE_CHECK(enter(begins[k].buffer, now));
      SLUICE_CHECK(checkPeak(now));
    }
    return {};
  }

private:
  struct Stretch {
    std::uint32_t begin, end, buffer;
  };
  /// Live buffers by offset. During an in-place replacement both buffers are in the map.
  std::multimap<std::uint64_t, std::uint32_t> live;

  Verdict enter(std::uint32_t b, std::uint32_t now) {
    const plan::BufferT &buffer = *plan.buffers[b];
    const std::uint64_t end = buffer.offset + buffer.bytes;
    // Live buffers are disjoint except for pairs with one offset, so the first miss ends the search, after those of the
    // same offset.
    std::optional<std::uint64_t> missed;
    for (auto at = live.lower_bound(end); at != live.begin();) {
      --at;
      if (missed && at->first != *missed)
        break;
      const plan::BufferT &other = *plan.buffers[at->second];
      const std::uint64_t from = std::max(buffer.offset, other.offset);
      const std::uint64_t to = std::min(end, other.offset + other.bytes);
      if (from >= to) {
        missed = at->first;
        continue;
      }
      const bool inPlace = buffer.entry != -1 && other.entry != -1 && other.offset == buffer.offset &&
                           other.end == now + 1 && replacedAt(now).contains({at->second, b});
      if (!inPlace)
        return overlap(buffer, other, from, to);
      shared += to - from;
    }
    ++finding.facts;
    live.insert({buffer.offset, b});
    bytes += buffer.bytes;
    return {};
  }

  const std::set<std::pair<std::uint32_t, std::uint32_t>> &replacedAt(std::uint32_t now) {
    if (replacedNow != now) {
      replacedNow = now;
      replaced = replacedBuffers(plan, *instructionAt(*plan.entries[entry], now));
    }
    return replaced;
  }

  void leave(std::uint32_t b) {
    auto [first, last] = live.equal_range(plan.buffers[b]->offset);
    for (; first != last; ++first)
      if (first->second == b) {
        live.erase(first);
        break;
      }
    bytes -= plan.buffers[b]->bytes;
  }

  Verdict overlap(const plan::BufferT &buffer, const plan::BufferT &other, std::uint64_t from, std::uint64_t to) {
    auto name = [&](const plan::BufferT &which) {
      return "buffer '" + which.name + "' " +
             (which.entry == -1
                  ? std::string("persists")
                  : concat("lives over instructions [", which.begin, ", ", which.end, ") of '",
                           plan.entries[entry]->name, "'",
                           (which.reserved_from == 0 ? std::string()
                                                     : concat(" and reserved from ", which.reserved_from, " on"))));
    };
    return refuse(2, "buffers '" + other.name + "' and '" + buffer.name + "' live at once and share bytes",
                  {name(other), name(buffer), byteRange(arena.space, from, to)});
  }

  Verdict checkPeak(std::uint32_t now) const {
    if (bytes - shared <= arena.peak_live)
      return {};
    return refuse(2, concat("the arena of ", plan::EnumNameSpace(arena.space), " declares a peak of ", arena.peak_live,
                            " live bytes but ", bytes - shared, " are live at ", place(plan, entry, now)));
  }

  const plan::PlanT &plan;
  std::uint32_t entry;
  const plan::ArenaT &arena;
  Finding &finding;
  std::uint64_t bytes = 0;
  /// The pairs of buffers of the last instruction with which a buffer entered over a live one.
  std::optional<std::uint32_t> replacedNow;
  std::set<std::pair<std::uint32_t, std::uint32_t>> replaced;
  /// Bytes that count twice at this instant, because one buffer replaces a different one in place.
  std::uint64_t shared = 0;
};

} // namespace

Verdict lifespansDisjoint(const plan::PlanT &plan, Findings &findings) {
  for (const auto &arena : plan.arenas)
    if (arena->peak_live > arena->bytes)
      return refuse(2, concat("the arena of ", plan::EnumNameSpace(arena->space), " declares a peak of ",
                              arena->peak_live, " live bytes but has only ", arena->bytes));
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e) {
    if (instructionCount(*plan.entries[e]) == 0)
      continue;
    for (const auto &arena : plan.arenas)
      SLUICE_CHECK(Sweep(plan, e, *arena, findings[2]).run());
  }
  return {};
}

} // namespace sluice::check
