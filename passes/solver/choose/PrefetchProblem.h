//===- PrefetchProblem.h - when the gathers of a step are issued -----------------------------===//
//
// Scopes are the uses of units in a step, in order: each computes for some time. Before the compute of its scope a unit
// is gathered, and before that its shards are prepared by compute, such as casts. Gathers run one after the other, in
// the order of their scopes. A gather is issued at its own scope, or after the wait of an earlier scope of the same
// direction; then its memory is live from there on.
//
//   compute in scope i   = prepare i if issue[i] = i; wait for gather i; prepare j of all j > i with issue[j] = i;
//                          compute i
//   begin of gather j    = max(end of the gather before, end of prepare j)
//   minimize               the end of the last compute, then the bytes of early gathers times the scopes that they wait
//   subject to             live[i] + bytes of the gathers that are issued before scope i for later scopes <= room
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_CHOOSE_PREFETCHPROBLEM_H
#define SLUICE_PASSES_SOLVER_CHOOSE_PREFETCHPROBLEM_H

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice {

struct PrefetchScope {
  bool backward = false;
  /// Seconds.
  double compute = 0, prepare = 0, gather = 0;
  /// Bytes that are gathered; 0: no gather.
  std::int64_t bytes = 0;
  /// The most live bytes of the scope if each gather is issued at its own scope.
  std::int64_t live = 0;
};

struct PrefetchProblem {
  std::vector<PrefetchScope> scopes;
  /// nullopt: any number of bytes.
  std::optional<std::int64_t> room;
};

/// For each scope the one at which its gather is issued.
using PrefetchIssue = std::vector<std::size_t>;

/// Seconds until the last compute ends.
double prefetchSeconds(const PrefetchProblem &problem, const PrefetchIssue &issue);

/// The most bytes over the scopes.
std::int64_t prefetchPeak(const PrefetchProblem &problem, const PrefetchIssue &issue);

/// `issue` with the gathers of a direction issued this number of scopes before their own.
PrefetchIssue distancePrefetch(const PrefetchProblem &problem, std::size_t distance, bool backward,
                               PrefetchIssue issue);

/// A schedule within the room, if there is one with each gather at its own scope. It takes no longer than the best
/// distance of each direction within the room. Gathers are moved to the earliest scope with room, in the order of the
/// step; then each gather is moved to the last scope from which it ends in time. Both are repeated while the time
/// falls, at most as often as there are scopes. A distance and a round take work that is linear in the scopes times
/// those that a gather waits for.
PrefetchIssue solvePrefetch(const PrefetchProblem &problem);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_CHOOSE_PREFETCHPROBLEM_H
