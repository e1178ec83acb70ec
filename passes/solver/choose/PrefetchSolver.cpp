//===- PrefetchSolver.cpp - when the gathers of a step are issued ----------------------------===//
#include "passes/solver/choose/PrefetchProblem.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice {
namespace {

/// Times of a schedule.
struct Times {
  /// By scope: when the scope before it has ended, when its wait has, and its gather.
  std::vector<double> reached, begin, gathered;
  double end = 0;
};

Times simulate(const PrefetchProblem &problem, const PrefetchIssue &issue) {
  const std::size_t count = problem.scopes.size();
  Times times{std::vector<double>(count), std::vector<double>(count), std::vector<double>(count), 0};
  // A gather is simulated where it is issued: its begin is known there. By scope the first later one whose gather it
  // issues, and after each of these the next one; `count` for none.
  std::vector<std::size_t> firstIssued(count, count), nextIssued(count, count);
  for (std::size_t j = count; j-- > 0;)
    if (issue[j] < j)
      nextIssued[j] = std::exchange(firstIssued[issue[j]], j);
  double stream = 0, compute = 0;
  const auto gather = [&](std::size_t j) {
    if (problem.scopes[j].bytes == 0)
      return;
    compute += problem.scopes[j].prepare;
    times.gathered[j] = stream = std::max(stream, compute) + problem.scopes[j].gather;
  };
  for (std::size_t i = 0; i < count; ++i) {
    times.reached[i] = compute;
    if (issue[i] == i)
      gather(i);
    times.begin[i] = compute = std::max(compute, times.gathered[i]);
    for (std::size_t j = firstIssued[i]; j < count; j = nextIssued[j])
      gather(j);
    compute += problem.scopes[i].compute;
  }
  times.end = compute;
  return times;
}

/// Live bytes by scope.
std::vector<std::int64_t> liveBytes(const PrefetchProblem &problem, const PrefetchIssue &issue) {
  // Early gathers as differences from the scope before, then their sums.
  std::vector<std::int64_t> live(issue.size(), 0);
  for (std::size_t j = 0; j < issue.size(); ++j)
    if (issue[j] < j) {
      live[issue[j]] += problem.scopes[j].bytes;
      live[j] -= problem.scopes[j].bytes;
    }
  std::partial_sum(live.begin(), live.end(), live.begin());
  for (std::size_t i = 0; i < issue.size(); ++i)
    live[i] += problem.scopes[i].live;
  return live;
}

void hoist(const PrefetchProblem &problem, PrefetchIssue &issue) {
  std::vector<std::int64_t> live = liveBytes(problem, issue);
  // A gather is not issued in the other direction, nor before one of an earlier scope.
  std::size_t earliest = 0;
  for (std::size_t j = 0; j < issue.size(); ++j) {
    const PrefetchScope &scope = problem.scopes[j];
    if (j > 0 && problem.scopes[j - 1].backward != scope.backward)
      earliest = j;
    if (scope.bytes == 0)
      continue;
    while (issue[j] < earliest)
      live[issue[j]++] -= scope.bytes;
    if (!problem.room)
      issue[j] = earliest;
    while (issue[j] > earliest && live[issue[j] - 1] + scope.bytes <= *problem.room)
      live[--issue[j]] += scope.bytes;
    earliest = issue[j];
  }
}

/// Moves each gather to the last scope from which it ends in time, by the times of the given schedule.
void sink(const PrefetchProblem &problem, PrefetchIssue &issue) {
  const Times times = simulate(problem, issue);
  double latestEnd = times.end;
  for (std::size_t j = issue.size(); j-- > 0;) {
    const PrefetchScope &scope = problem.scopes[j];
    if (scope.bytes == 0)
      continue;
    latestEnd = std::min(latestEnd, times.begin[j]) - scope.gather;
    const double latest = latestEnd - scope.prepare;
    std::size_t place = j;
    while (place > issue[j] && (place < j ? times.begin[place] : times.reached[j]) > latest)
      --place;
    issue[j] = place;
  }
}

} // namespace

double prefetchSeconds(const PrefetchProblem &problem, const PrefetchIssue &issue) {
  return simulate(problem, issue).end;
}

std::int64_t prefetchPeak(const PrefetchProblem &problem, const PrefetchIssue &issue) {
  const std::vector<std::int64_t> live = liveBytes(problem, issue);
  return live.empty() ? 0 : std::ranges::max(live);
}

PrefetchIssue distancePrefetch(const PrefetchProblem &problem, std::size_t distance, bool backward,
                               PrefetchIssue issue) {
  std::size_t first = 0;
  for (std::size_t j = 0; j < issue.size(); ++j) {
    if (j > 0 && problem.scopes[j - 1].backward != problem.scopes[j].backward)
      first = j;
    if (problem.scopes[j].backward == backward && problem.scopes[j].bytes > 0)
      issue[j] = std::max(first, j - std::min(j, distance));
  }
  return issue;
}

PrefetchIssue solvePrefetch(const PrefetchProblem &problem) {
  PrefetchIssue best(problem.scopes.size());
  std::iota(best.begin(), best.end(), std::size_t(0));
  double seconds = prefetchSeconds(problem, best);
  const auto consider = [&](PrefetchIssue issue) {
    const double changed = prefetchSeconds(problem, issue);
    const bool isBetter = changed < seconds && (!problem.room || prefetchPeak(problem, issue) <= *problem.room);
    if (isBetter) {
      best = std::move(issue);
      seconds = changed;
    }
    return isBetter;
  };
  for (const bool backward : {false, true}) {
    const PrefetchIssue others = best;
    for (std::size_t distance = 1; distance < problem.scopes.size(); ++distance) {
      PrefetchIssue issue = distancePrefetch(problem, distance, backward, others);
      // A greater distance has all these gathers live, and more.
      if (problem.room && prefetchPeak(problem, issue) > *problem.room)
        break;
      consider(std::move(issue));
    }
  }
  PrefetchIssue hoisted(best.size());
  std::iota(hoisted.begin(), hoisted.end(), std::size_t(0));
  for (PrefetchIssue issue : {hoisted, best}) {
    bool isBetter = true;
    for (std::size_t round = 0; isBetter && round < problem.scopes.size(); ++round) {
      hoist(problem, issue);
      isBetter = consider(issue);
      sink(problem, issue);
      isBetter |= consider(issue);
    }
  }
  // Less memory in the same time.
  PrefetchIssue sunk = best;
  sink(problem, sunk);
  if (prefetchSeconds(problem, sunk) <= seconds)
    best = std::move(sunk);
  return best;
}

} // namespace sluice
