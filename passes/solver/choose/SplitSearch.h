//===- SplitSearch.h - values for variables that interact within groups -------------------===//
//
// A local search: from the value 0 of all variables, group by group, variables change together as the problem's moves
// say, then in pairs and singly, as long as the cost falls. A group with few combinations is searched completely.
// Changes are tried in one order, so that the result is always the same.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SOLVER_CHOOSE_SPLITSEARCH_H
#define SLUICE_PASSES_SOLVER_CHOOSE_SPLITSEARCH_H

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace sluice {

/// Values that some variables get together.
using SplitMove = std::vector<std::pair<unsigned, unsigned>>;

struct SplitProblem {
  /// The variables of each group, numbered from 0 over all groups; each is in one.
  std::vector<std::vector<unsigned>> groups;
  /// Changes of variables that are worth trying.
  std::vector<SplitMove> moves;
  /// Each variable has a value below it.
  unsigned values = 1;
  /// The cost of the values of all variables; nothing if they are not possible. All 0 is possible.
  std::function<std::optional<double>(const std::vector<unsigned> &)> cost;
  /// Groups with at most as many combinations are searched completely.
  std::size_t mostCombinations = 100;
};

struct SplitSolution {
  std::vector<unsigned> values;
  double cost = 0;
  /// Calls of `cost`; equal values are priced once.
  std::size_t evaluations = 0;
};

SplitSolution searchSplits(const SplitProblem &problem);

} // namespace sluice

#endif // SLUICE_PASSES_SOLVER_CHOOSE_SPLITSEARCH_H
