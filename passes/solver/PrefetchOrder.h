//===- PrefetchOrder.h - when units are gathered, released and reduced ------------------===//
//
// Two steps, both on lists without IR. placeUnitEvents: from the scopes in which units are used to gathers at use,
// releases and reductions. gatherIssue: which gathers are issued ahead of their use, and behind which other use.
//
// A program is straight-line; positions are numbers of its ops, and an event at position p stands before op p. A unit
// is used in scopes, in order: one for each direction, more where the model runs it more than once (passes). It is
// gathered where a scope begins unless it still is, and released where the scope ends: in the forward if it reshards, in
// the backward always. Its gradients are reduced once, right after the release of its last backward scope, so that its
// gathered memory is free by then.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_PREFETCHORDER_H
#define SLUICE_PASSES_SOLVER_PREFETCHORDER_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// Where a unit is used in one direction: ops [begin, end) of the program.
struct UnitScope {
  std::size_t unit = 0;
  bool backward = false;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  /// Which time the model runs it.
  std::int64_t pass = 0;
};

/// What a unit does. `root` is the unit around all others.
struct UnitBehaviour {
  bool root = false;
  /// Its parameters are shards, so that there is something to gather.
  bool gathers = true;
  bool reshardAfterForward = true;
  /// It has gradients.
  bool reduces = true;
  /// What reshards after the forward keeps a piece, which the next gather starts from.
  bool keepsPiece = false;
  /// What stayed gathered after the forward is released where the backward begins.
  bool reshardBeforeBackward = false;
  /// The backward gathers nothing.
  bool skipsBackward = false;
  /// It is gathered in the first repetition of the program alone and released in the last, if it does not reshard.
  bool keepsAfterBackward = false;
};

struct UnitEvent {
  /// `enter` is where the scope's gather is waited for, if there is one, and the scope begins. `keep` makes the piece
  /// that stays of a unit, directly before its release.
  enum class Kind : std::uint8_t { gather, enter, keep, release, reduce };
  Kind kind = Kind::gather;
  std::size_t unit = 0;
  bool backward = false;
  std::int64_t position = 0;
  /// Index of the scope; of an event between two scopes, that of the first.
  std::size_t scope = 0;
  /// Of a gather: from the piece. Of an `enter`: what an earlier scope gathered is still there.
  bool held = false;
  /// Of a gather: in the first repetition alone. Of a release: in the last.
  bool once = false;
  bool operator==(const UnitEvent &) const = default;
};

/// Events in order of issue, every gather directly before its use. Units without a later scope are released after the
/// forward whatever they ask for.
std::vector<UnitEvent> placeUnitEvents(const std::vector<UnitScope> &scopes, const std::vector<UnitBehaviour> &units);

/// The entry of a scope, as prefetching sees it.
struct ScopeEntry {
  bool backward = false;
  bool root = false;
  bool gathers = true;
  /// For tables.
  std::string unit = {};
};

/// By unit: the units whose gathers are issued when it is entered, in order.
using PrefetchTable = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// How far gathers are issued ahead: a number of units, or by table. In the backward the root looks one unit ahead at
/// most.
struct PrefetchDistance {
  std::int64_t forward = 1;
  std::int64_t backward = 1;
  std::optional<PrefetchTable> forwardTable = {};
  std::optional<PrefetchTable> backwardTable = {};
};

/// For each entry, in order of the program: the entry behind which its gather is issued, or its own index for a gather
/// at its use. Several gathers behind one entry are issued in order of their own entries. What a table names and no later
/// entry of the direction gathers is left out.
std::vector<std::size_t> gatherIssue(const std::vector<ScopeEntry> &entries, PrefetchDistance distance);

/// The events with gathers moved to where gatherIssue puts them.
std::vector<UnitEvent> prefetch(const std::vector<UnitEvent> &events, const std::vector<UnitBehaviour> &units,
                                PrefetchDistance distance);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_PREFETCHORDER_H
