//===- PrefetchOrder.cpp - when units are gathered, released and reduced ----------------===//

#include "passes/solver/PrefetchOrder.h"

#include <algorithm>

namespace sluice {

namespace {

using Kind = UnitEvent::Kind;

bool has(const std::vector<UnitScope> &scopes, std::size_t unit, bool backward) {
  return std::any_of(scopes.begin(), scopes.end(),
                     [&](const UnitScope &scope) { return scope.unit == unit && scope.backward == backward; });
}

} // namespace

std::vector<UnitEvent> placeUnitEvents(const std::vector<UnitScope> &scopes, const std::vector<UnitBehaviour> &units) {
  // Begins and ends apart, each in its order; ends go first where both stand before one op. The root begins before and
  // ends behind the others.
  std::vector<UnitScope> begins = scopes, ends = scopes;
  std::stable_sort(begins.begin(), begins.end(), [&](const UnitScope &a, const UnitScope &b) {
    return a.begin != b.begin ? a.begin < b.begin : units[a.unit].root && !units[b.unit].root;
  });
  std::stable_sort(ends.begin(), ends.end(), [&](const UnitScope &a, const UnitScope &b) {
    return a.end != b.end ? a.end < b.end : !units[a.unit].root && units[b.unit].root;
  });

  std::vector<UnitEvent> events;
  auto begin = [&](const UnitScope &scope) {
    const UnitBehaviour &unit = units[scope.unit];
    bool kept = scope.backward && has(scopes, scope.unit, false) && !unit.reshardAfterForward;
    if (unit.gathers && !kept)
      events.push_back({Kind::gather, scope.unit, scope.backward, scope.begin});
    events.push_back({Kind::enter, scope.unit, scope.backward, scope.begin});
  };
  auto end = [&](const UnitScope &scope) {
    const UnitBehaviour &unit = units[scope.unit];
    bool reshards = scope.backward || unit.reshardAfterForward || !has(scopes, scope.unit, true);
    if (unit.gathers && reshards)
      events.push_back({Kind::release, scope.unit, scope.backward, scope.end});
    if (unit.reduces && scope.backward)
      events.push_back({Kind::reduce, scope.unit, true, scope.end});
  };

  std::size_t next = 0;
  for (const UnitScope &scope : begins) {
    while (next < ends.size() && ends[next].end <= scope.begin)
      end(ends[next++]);
    begin(scope);
  }
  while (next < ends.size())
    end(ends[next++]);
  return events;
}

std::vector<std::size_t> gatherIssue(const std::vector<ScopeEntry> &entries, PrefetchDistance distance) {
  std::vector<std::size_t> issue(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i)
    issue[i] = i;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::int64_t left = entries[i].backward ? distance.backward : distance.forward;
    if (entries[i].backward && entries[i].root)
      left = std::min<std::int64_t>(left, 1);
    for (std::size_t j = i + 1; j < entries.size() && left > 0; ++j) {
      if (entries[j].backward != entries[i].backward)
        continue;
      --left;
      if (entries[j].gathers && issue[j] == j)
        issue[j] = i;
    }
  }
  return issue;
}

std::vector<UnitEvent> prefetch(const std::vector<UnitEvent> &events, const std::vector<UnitBehaviour> &units,
                                PrefetchDistance distance) {
  std::vector<ScopeEntry> entries;
  // Of each entry: its `enter` and its gather (or none, the size of the list) in `events`.
  std::vector<std::size_t> enters, gathers;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].kind != Kind::enter)
      continue;
    bool gathered = i > 0 && events[i - 1].kind == Kind::gather && events[i - 1].unit == events[i].unit;
    entries.push_back({events[i].backward, units[events[i].unit].root, gathered});
    enters.push_back(i);
    gathers.push_back(gathered ? i - 1 : events.size());
  }
  std::vector<std::size_t> issue = gatherIssue(entries, distance);

  std::vector<UnitEvent> result;
  std::size_t entry = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].kind == Kind::gather) {
      // The entry that follows: moved up already unless it is issued at its use.
      if (issue[entry] == entry)
        result.push_back(events[i]);
      continue;
    }
    result.push_back(events[i]);
    if (events[i].kind != Kind::enter)
      continue;
    for (std::size_t j = entry + 1; j < entries.size(); ++j)
      if (issue[j] == entry && gathers[j] != events.size()) {
        UnitEvent moved = events[gathers[j]];
        moved.position = events[i].position;
        result.push_back(moved);
      }
    ++entry;
  }
  return result;
}

} // namespace sluice
