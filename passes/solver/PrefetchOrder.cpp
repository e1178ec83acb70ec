//===- PrefetchOrder.cpp - when units are gathered, released and reduced ----------------===//

#include "passes/solver/PrefetchOrder.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

namespace sluice {

namespace {

using Kind = UnitEvent::Kind;

/// The events at the begin and end of a scope.
struct ScopePlan {
  /// Gathered where it begins; from the kept shard.
  bool gathers = false, fromKeptShard = false;
  bool held = false;
  bool releases = false, keeps = false, reduces = false;
  bool gathersOnce = false, releasesOnce = false;
  std::int64_t release = 0;
};

/// Follows one unit through its scopes, given in order of the program.
void planUnit(const UnitBehaviour &unit, const std::vector<UnitScope> &scopes, const std::vector<std::size_t> &own,
              std::int64_t backwardBegin, std::vector<ScopePlan> &plans) {
  bool held = false, keptShard = false;
  bool across = unit.keepsAfterBackward && !unit.reshardAfterForward && !unit.reshardBeforeBackward;
  for (std::size_t k = 0; k < own.size(); ++k) {
    const UnitScope &scope = scopes[own[k]];
    ScopePlan &plan = plans[own[k]];
    bool isLast = k + 1 == own.size();
    plan.release = scope.end;
    plan.held = held;
    if (unit.gathers && !held && !(scope.backward && unit.skipsBackward)) {
      plan.gathers = held = true;
      plan.fromKeptShard = keptShard;
      plan.gathersOnce = across;
    }
    // Reduced after the last of its gradients.
    plan.reduces = unit.reduces && scope.backward && (unit.reducesPerScope || isLast || !scopes[own[k + 1]].backward);
    if (!held)
      continue;
    bool toBackward = !isLast && scopes[own[k + 1]].backward;
    if (isLast) {
      plan.releases = true;
    } else if (scope.backward) {
      plan.releases = !across;
    } else if (unit.reshardAfterForward) {
      plan.releases = true;
      plan.keeps = keptShard = unit.keepsShard && !(toBackward && unit.skipsBackward);
    } else if (toBackward && unit.reshardBeforeBackward) {
      plan.releases = true;
      plan.release = std::max(scope.end, backwardBegin);
    }
    if (plan.releases) {
      plan.releasesOnce = across && isLast;
      held = false;
    }
  }
}

} // namespace

std::vector<UnitEvent> placeUnitEvents(const std::vector<UnitScope> &scopes, const std::vector<UnitBehaviour> &units) {
  // Begins and ends are separate lists, each in order; ends are first where both are before one op. The root begins
  // before and ends after the others, and an outer scope begins before and ends after an inner one.
  std::vector<std::size_t> begins(scopes.size());
  std::iota(begins.begin(), begins.end(), std::size_t(0));
  std::ranges::stable_sort(begins, {}, [&](std::size_t i) {
    return std::tuple(scopes[i].begin, !units[scopes[i].unit].root, -scopes[i].end);
  });
  std::vector<std::vector<std::size_t>> own(units.size());
  std::int64_t backwardBegin = 0;
  bool backward = false;
  for (std::size_t i : begins) {
    own[scopes[i].unit].push_back(i);
    if (scopes[i].backward && !backward) {
      backwardBegin = scopes[i].begin;
      backward = true;
    }
  }
  std::vector<ScopePlan> plans(scopes.size());
  for (std::size_t unit = 0; unit < units.size(); ++unit)
    planUnit(units[unit], scopes, own[unit], backwardBegin, plans);
  // The unit is released at the end of a scope; gradients are reduced after that.
  auto endOf = [&](std::size_t i) { return std::max(scopes[i].end, plans[i].release); };
  std::vector<std::size_t> ends(begins.rbegin(), begins.rend());
  std::ranges::stable_sort(ends, {}, [&](std::size_t i) { return std::pair(endOf(i), units[scopes[i].unit].root); });

  std::vector<UnitEvent> events;
  auto begin = [&](std::size_t i) {
    const UnitScope &scope = scopes[i];
    const ScopePlan &plan = plans[i];
    if (plan.gathers)
      events.push_back(
          {Kind::gather, scope.unit, scope.backward, scope.begin, i, plan.fromKeptShard, plan.gathersOnce});
    events.push_back({Kind::enter, scope.unit, scope.backward, scope.begin, i, plan.held, false});
  };
  auto end = [&](std::size_t i) {
    const UnitScope &scope = scopes[i];
    const ScopePlan &plan = plans[i];
    if (plan.keeps)
      events.push_back({Kind::keep, scope.unit, scope.backward, endOf(i), i, false, false});
    if (plan.releases)
      events.push_back({Kind::release, scope.unit, scope.backward, endOf(i), i, false, plan.releasesOnce});
    if (plan.reduces)
      events.push_back({Kind::reduce, scope.unit, true, endOf(i), i, false, false});
  };

  std::size_t next = 0;
  for (std::size_t i : begins) {
    while (next < ends.size() && endOf(ends[next]) <= scopes[i].begin)
      end(ends[next++]);
    begin(i);
  }
  while (next < ends.size())
    end(ends[next++]);
  return events;
}

std::vector<std::size_t> gatherIssue(const std::vector<ScopeEntry> &entries, PrefetchDistance distance) {
  std::vector<std::size_t> issue(entries.size());
  std::iota(issue.begin(), issue.end(), std::size_t(0));
  // A unit exists once: it is not gathered again before the scope that holds it is left.
  std::vector<std::size_t> earliest(entries.size(), 0);
  std::map<std::string_view, std::size_t> uses;
  // Gathers of each unit, by direction.
  std::map<std::pair<bool, std::string_view>, std::vector<std::size_t>> gathers;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].gathers)
      gathers[{entries[i].backward, entries[i].unit}].push_back(i);
    if (entries[i].unit.empty())
      continue;
    std::size_t &next = uses[entries[i].unit];
    earliest[i] = std::exchange(next, i + 1);
  }
  // By direction and unit the targets of its table.
  std::map<std::string_view, const std::vector<std::string> *> tables[2];
  for (const bool backward : {false, true})
    if (const auto &table = backward ? distance.backwardTable : distance.forwardTable)
      for (const auto &[unit, targets] : *table)
        tables[backward].emplace(unit, &targets);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].backward ? distance.backwardTable : distance.forwardTable) {
      const auto targets = tables[entries[i].backward].find(entries[i].unit);
      if (targets != tables[entries[i].backward].end())
        for (const std::string &target : *targets->second) {
          const std::vector<std::size_t> &all = gathers[{entries[i].backward, target}];
          // The next gather of that unit, unless it is issued already.
          const auto next = std::ranges::upper_bound(all, i);
          if (next != all.end() && issue[*next] == *next && earliest[*next] <= i)
            issue[*next] = i;
        }
      continue;
    }
    std::int64_t left = entries[i].backward ? distance.backward : distance.forward;
    if (entries[i].backward && entries[i].root)
      left = std::min<std::int64_t>(left, 1);
    for (std::size_t j = i + 1; j < entries.size() && left > 0; ++j) {
      if (entries[j].backward != entries[i].backward)
        continue;
      --left;
      if (entries[j].gathers && issue[j] == j && earliest[j] <= i)
        issue[j] = i;
    }
  }
  return issue;
}

} // namespace sluice
