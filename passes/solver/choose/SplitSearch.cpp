//===- SplitSearch.cpp - values for variables that interact within groups -----------------===//

#include "passes/solver/choose/SplitSearch.h"

#include <map>

using namespace sluice;

namespace {

class SplitSearch {
public:
  explicit SplitSearch(const SplitProblem &problem) : problem(problem) {
    std::size_t count = 0;
    for (const std::vector<unsigned> &group : problem.groups)
      count += group.size();
    best.values.resize(count, 0);
    best.cost = *price(best.values);
  }

  SplitSolution run() {
    for (bool improves = true; improves;) {
      improves = false;
      for (const SplitMove &move : problem.moves) {
        std::vector<unsigned> values = best.values;
        for (const auto &[variable, value] : move)
          values[variable] = value;
        improves |= tryValues(values);
      }
      for (const std::vector<unsigned> &group : problem.groups)
        improves |=
            combinations(group) <= problem.mostCombinations ? searchAll(group, 0, best.values) : searchNear(group);
    }
    best.evaluations = known.size();
    return best;
  }

private:
  const SplitProblem &problem;
  SplitSolution best;
  std::map<std::vector<unsigned>, std::optional<double>> known;

  std::size_t combinations(const std::vector<unsigned> &group) const {
    std::size_t count = 1;
    for (std::size_t i = 0; i < group.size() && count <= problem.mostCombinations; ++i)
      count *= problem.values;
    return count;
  }

  std::optional<double> price(const std::vector<unsigned> &values) {
    const auto [entry, isNew] = known.try_emplace(values);
    if (isNew)
      entry->second = problem.cost(values);
    return entry->second;
  }

  bool tryValues(const std::vector<unsigned> &values) {
    const std::optional<double> cost = price(values);
    if (!cost || *cost >= best.cost)
      return false;
    best.values = values;
    best.cost = *cost;
    return true;
  }

  /// Tries all values of the variables of the group from number `at` on.
  bool searchAll(const std::vector<unsigned> &group, std::size_t at, std::vector<unsigned> values) {
    if (at == group.size())
      return tryValues(values);
    bool improves = false;
    for (unsigned value = 0; value < problem.values; ++value) {
      values[group[at]] = value;
      improves |= searchAll(group, at + 1, values);
    }
    return improves;
  }

  /// Tries changes of two variables, then of one.
  bool searchNear(const std::vector<unsigned> &group) {
    bool improves = false;
    const auto change = [&](unsigned a, unsigned b) {
      for (unsigned first = 0; first < problem.values; ++first)
        for (unsigned second = 0; second < problem.values; ++second) {
          std::vector<unsigned> values = best.values;
          values[a] = first;
          if (a != b)
            values[b] = second;
          improves |= tryValues(values);
        }
    };
    for (std::size_t i = 0; i < group.size(); ++i)
      for (std::size_t j = i; j < group.size(); ++j)
        change(group[i], group[j]);
    return improves;
  }
};

} // namespace

SplitSolution sluice::searchSplits(const SplitProblem &problem) { return SplitSearch(problem).run(); }
