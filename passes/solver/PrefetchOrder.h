//===- PrefetchOrder.h - when units are gathered, released and reduced ------------------===//
//
// Two steps, both on lists without IR. placeUnitEvents: from the scopes in which units are used to gathers at use,
// releases and reductions. gatherIssue: which gathers are issued ahead of their use, and behind which other use.
//
// A program is straight-line; positions are numbers of its ops, and an event at position p stands before op p. A unit
// is gathered where its scope begins and released where the scope ends: in the forward if it reshards, in the backward
// always. Its gradients are reduced right after the release, so that its gathered memory is free by then.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_PREFETCHORDER_H
#define SLUICE_PASSES_SOLVER_PREFETCHORDER_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// Where a unit is used in one direction: ops [begin, end) of the program.
struct UnitScope {
  std::size_t unit = 0;
  bool backward = false;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// What a unit does. `root` is the unit around all others.
struct UnitBehaviour {
  bool root = false;
  /// Its parameters are shards, so that there is something to gather.
  bool gathers = true;
  bool reshardAfterForward = true;
  /// It has gradients.
  bool reduces = true;
};

struct UnitEvent {
  /// `enter` is where the scope's gather is waited for, if there is one, and the scope begins.
  enum class Kind : std::uint8_t { gather, enter, release, reduce };
  Kind kind = Kind::gather;
  std::size_t unit = 0;
  bool backward = false;
  std::int64_t position = 0;
  bool operator==(const UnitEvent &) const = default;
};

/// Events in order of issue, every gather directly before its use. At most one scope for each unit and direction; units
/// without a backward scope are released after the forward whatever they ask for.
std::vector<UnitEvent> placeUnitEvents(const std::vector<UnitScope> &scopes, const std::vector<UnitBehaviour> &units);

/// The entry of a scope, as prefetching sees it.
struct ScopeEntry {
  bool backward = false;
  bool root = false;
  bool gathers = true;
};

/// How many units ahead gathers are issued. In the backward the root looks one unit ahead at most.
struct PrefetchDistance {
  std::int64_t forward = 1;
  std::int64_t backward = 1;
};

/// For each entry, in order of the program: the entry behind which its gather is issued, or its own index for a gather
/// at its use. Several gathers behind one entry are issued in order of their own entries.
std::vector<std::size_t> gatherIssue(const std::vector<ScopeEntry> &entries, PrefetchDistance distance);

/// The events with gathers moved to where gatherIssue puts them.
std::vector<UnitEvent> prefetch(const std::vector<UnitEvent> &events, const std::vector<UnitBehaviour> &units,
                                PrefetchDistance distance);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_PREFETCHORDER_H
