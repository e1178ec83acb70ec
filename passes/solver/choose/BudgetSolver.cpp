//===- BudgetSolver.cpp - the cheapest alternatives within a memory budget -------------------===//
#include "passes/solver/choose/BudgetSolver.h"

#include <algorithm>
#include <limits>

namespace sluice {
namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

struct State {
  std::int64_t saved = 0;
  BudgetCost cost;
  /// Index in the states before the stage, and the alternative of the stage.
  std::uint32_t parent = 0, alternative = 0;
};

/// More saved bytes first, then the cheaper ones; of equals the first that was found.
bool isBefore(const State &a, const State &b) {
  return a.saved != b.saved ? a.saved > b.saved : a.cost != b.cost ? a.cost < b.cost : a.alternative < b.alternative;
}

class Search {
public:
  Search(const BudgetProblem &problem, std::size_t limit, bool isRelaxed)
      : problem(problem), limit(limit), isRelaxed(isRelaxed) {
    // Bytes that stages have saved beyond all later requirements cannot matter, so such states are equal.
    std::int64_t most = problem.live.back() - problem.budget;
    enough.assign(problem.stages.size() + 1, most);
    for (std::size_t k = problem.stages.size(); k-- > 0;) {
      std::int64_t least = unlimited;
      for (const BudgetAlternative &alternative : problem.stages[k].alternatives)
        least = std::min(least, alternative.savedBytes - alternative.inFlightBytes);
      // The bytes in flight of a stage are live once only, at the instants after it.
      most = std::max(problem.live[k] - problem.budget, most - std::min<std::int64_t>(least, 0));
      enough[k] = most;
    }
  }

  void run() {
    levels.emplace_back();
    if (problem.live[0] <= problem.budget)
      levels.back().push_back(State{});
    for (std::size_t k = 0; k < problem.stages.size() && !levels.back().empty(); ++k) {
      extend(problem.stages[k], problem.live[k + 1], enough[k + 1]);
      thin();
    }
  }

  bool isFeasible() const { return levels.size() == problem.stages.size() + 1 && !levels.back().empty(); }
  const State &best() const { return *std::ranges::min_element(levels.back(), {}, &State::cost); }

  std::vector<std::uint32_t> choices() const {
    std::vector<std::uint32_t> chosen(problem.stages.size());
    const State *state = &best();
    for (std::size_t k = problem.stages.size(); k-- > 0;) {
      chosen[k] = state->alternative;
      state = &levels[k][state->parent];
    }
    return chosen;
  }

private:
  /// `live`: bytes of the base plan after the stage. `most`: saved bytes beyond it are equal to it.
  void extend(const BudgetStage &stage, std::int64_t live, std::int64_t most) {
    std::vector<State> next;
    for (std::uint32_t parent = 0; parent < levels.back().size(); ++parent)
      for (std::uint32_t a = 0; a < stage.alternatives.size(); ++a) {
        const State &state = levels.back()[parent];
        const BudgetAlternative &alternative = stage.alternatives[a];
        const std::int64_t saved = state.saved + alternative.savedBytes;
        if (live - saved + alternative.inFlightBytes <= problem.budget)
          next.push_back({std::min(saved, most), state.cost + alternative.cost, parent, a});
      }
    std::ranges::stable_sort(next, isBefore);
    std::vector<State> kept;
    for (const State &state : next)
      if (kept.empty() || state.cost < kept.back().cost)
        kept.push_back(state);
    levels.push_back(std::move(kept));
  }

  /// States are in order of falling bytes and costs: the last one of an interval is its cheapest. The first state of
  /// all stays, so that a choice within the budget is found if there is one.
  void thin() {
    std::vector<State> &states = levels.back();
    if (states.size() <= limit)
      return;
    const std::int64_t least = states.back().saved, width = (states.front().saved - least) / std::int64_t(limit) + 1;
    std::vector<State> kept;
    for (std::size_t begin = 0; begin < states.size();) {
      std::size_t end = begin;
      while (end < states.size() && (states[end].saved - least) / width == (states[begin].saved - least) / width)
        ++end;
      if (begin == 0 && end > 1 && !isRelaxed)
        kept.push_back(states.front());
      kept.push_back(states[end - 1]);
      if (isRelaxed)
        kept.back().saved = states[begin].saved;
      begin = end;
    }
    states = std::move(kept);
  }

  const BudgetProblem &problem;
  const std::size_t limit;
  const bool isRelaxed;
  /// After k stages: saved bytes beyond this number are equal to it.
  std::vector<std::int64_t> enough;
  /// The states after each stage.
  std::vector<std::vector<State>> levels;
};

BudgetSolution evaluate(const BudgetProblem &problem, std::vector<std::uint32_t> chosen) {
  BudgetSolution solution{std::move(chosen), {}, problem.live[0]};
  std::int64_t saved = 0;
  for (std::size_t k = 0; k < problem.stages.size(); ++k) {
    const BudgetAlternative &alternative = problem.stages[k].alternatives[solution.chosen[k]];
    saved += alternative.savedBytes;
    solution.cost = solution.cost + alternative.cost;
    solution.peak = std::max(solution.peak, problem.live[k + 1] - saved + alternative.inFlightBytes);
  }
  return solution;
}

} // namespace

std::optional<BudgetSolution> solveBudget(const BudgetProblem &problem, std::size_t stateLimit) {
  Search search(problem, stateLimit, /*isRelaxed=*/false);
  search.run();
  return search.isFeasible() ? std::optional(evaluate(problem, search.choices())) : std::nullopt;
}

std::optional<BudgetCost> boundBudget(const BudgetProblem &problem, std::size_t stateLimit) {
  Search search(problem, stateLimit, /*isRelaxed=*/true);
  search.run();
  return search.isFeasible() ? std::optional(search.best().cost) : std::nullopt;
}

BudgetSolution lowestPeak(const BudgetProblem &given) {
  BudgetProblem problem = given;
  std::vector<std::uint32_t> chosen;
  for (const BudgetStage &stage : problem.stages) {
    const auto best = std::ranges::min_element(stage.alternatives, [](const auto &a, const auto &b) {
      return a.savedBytes != b.savedBytes ? a.savedBytes > b.savedBytes : a.cost < b.cost;
    });
    chosen.push_back(static_cast<std::uint32_t>(best - stage.alternatives.begin()));
  }
  BudgetSolution lowest = evaluate(problem, std::move(chosen));
  // Without bytes in flight it is that of the most saved bytes.
  const auto isInFlight = [](const BudgetStage &stage) {
    return std::ranges::any_of(stage.alternatives, [](const auto &a) { return a.inFlightBytes != 0; });
  };
  std::int64_t least = std::ranges::any_of(problem.stages, isInFlight) ? problem.live[0] : lowest.peak;
  while (least < lowest.peak) {
    problem.budget = least + (lowest.peak - least) / 2;
    if (std::optional<BudgetSolution> lower = solveBudget(problem))
      lowest = std::move(*lower);
    else
      least = problem.budget + 1;
  }
  return lowest;
}

} // namespace sluice
