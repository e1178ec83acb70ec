//===- PrefetchOrder.h - when units are gathered, released and reduced ------------------===//
//
// Two steps, both on lists without IR. placeUnitEvents: from the scopes in which units are used to gathers at use,
// releases and reductions. gatherIssue: which gathers are issued before their use, and after which other use.
//
// A program is straight-line; positions are numbers of its ops, and an event at position p is before op p. A unit
// is used in scopes, in order: one for each direction, more if the model has several invocations of it. It is gathered
// where a scope begins unless it is still gathered, and released where the scope ends: in the forward if it reshards,
// in the backward always. Its gradients are reduced once, right after the release of its last backward scope, so that
// its gathered memory is free by then; or after each backward scope.
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
  /// The invocation of the module, from 0.
  std::int64_t invocation = 0;
};

/// The settings of a unit. `root` is the unit around all others.
struct UnitBehaviour {
  bool root = false;
  /// Its parameters are sharded, so it is gathered.
  bool gathers = true;
  bool reshardAfterForward = true;
  /// It has gradients.
  bool reduces = true;
  /// Reshards after the forward to a smaller group; the next gather is over that group.
  bool keepsShard = false;
  /// If still gathered after the forward, it is released where the backward begins.
  bool reshardBeforeBackward = false;
  /// The backward gathers nothing.
  bool skipsBackward = false;
  /// If it does not reshard, it is gathered only in the first repetition and released in the last.
  bool keepsAfterBackward = false;
  /// It has gradients in each backward scope.
  bool reducesPerScope = false;
};

struct UnitEvent {
  /// `enter` is the wait for the scope's gather, if any, and the begin of the scope. `keep` creates the shard that a
  /// unit keeps, directly before its release.
  enum class Kind : std::uint8_t { gather, enter, keep, release, reduce };
  Kind kind = Kind::gather;
  std::size_t unit = 0;
  bool backward = false;
  std::int64_t position = 0;
  /// Index of the scope; of an event between two scopes, that of the first.
  std::size_t scope = 0;
  /// For a gather: from the kept shard. For an `enter`: still gathered from an earlier scope.
  bool held = false;
  /// For a gather: only in the first repetition. For a release: only in the last.
  bool once = false;
  bool operator==(const UnitEvent &) const = default;
};

/// Events in order of issue, every gather directly before its use. Units without a later scope are always
/// released after the forward.
std::vector<UnitEvent> placeUnitEvents(const std::vector<UnitScope> &scopes, const std::vector<UnitBehaviour> &units);

/// The entry of a scope.
struct ScopeEntry {
  bool backward = false;
  bool root = false;
  bool gathers = true;
  /// For tables.
  std::string unit = {};
};

/// By unit: the units whose gathers are issued when it is entered, in order.
using PrefetchTable = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// How early gathers are issued: a number of units, or by table. In the backward the root prefetches at most one unit.
struct PrefetchDistance {
  std::int64_t forward = 1;
  std::int64_t backward = 1;
  std::optional<PrefetchTable> forwardTable = {};
  std::optional<PrefetchTable> backwardTable = {};
};

/// For each entry, in order of the program: the entry after which its gather is issued, or the entry itself for a
/// gather at its use. Several gathers after one entry are issued in order of their entries. Units of a table that no
/// later entry of the direction gathers are ignored.
std::vector<std::size_t> gatherIssue(const std::vector<ScopeEntry> &entries, PrefetchDistance distance);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_PREFETCHORDER_H
