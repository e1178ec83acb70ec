//===- PackingSolver.cpp - greedy placement and search ------------------------------===//
#include "passes/solver/PackingSolver.h"

#include "passes/solver/PackingIntervals.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace sluice {
namespace {

/// For each buffer the number of overlapping intervals of others.
std::vector<std::uint64_t> overlapsOf(const PackingProblem &problem, const std::vector<PackingInterval> &intervals) {
  std::vector<std::uint32_t> begins, ends;
  for (const PackingInterval &s : intervals)
    if (problem.buffers[s.buffer].bytes != 0) {
      begins.push_back(s.begin);
      ends.push_back(s.end);
    }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  std::vector<std::uint64_t> overlaps(problem.buffers.size(), 0);
  for (const PackingInterval &s : intervals)
    if (problem.buffers[s.buffer].bytes != 0) {
      const auto begun = std::lower_bound(begins.begin(), begins.end(), s.end) - begins.begin();
      const auto over = std::upper_bound(ends.begin(), ends.end(), s.begin) - ends.begin();
      overlaps[s.buffer] += begun - over - 1;
    }
  return overlaps;
}

/// Greedy placement in a given order, with memory kept between runs.
class Placer {
public:
  Placer(const PackingProblem &problem)
      : problem(problem), intervals(intervalsOf(problem)), overlaps(overlapsOf(problem, intervals)),
        occupied(dropIdleInstants(intervals)), first(problem.buffers.size() + 1, 0) {
    // The intervals of one buffer are consecutive.
    for (const PackingInterval &s : intervals)
      ++first[s.buffer + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
  }

  std::uint64_t steps() const { return stepCount; }

  /// Places in `order`. Gives up (height = max) as soon as the height reaches `limit`.
  PackingSolution place(const std::vector<std::uint32_t> &order, PackingFit fit, std::uint64_t limit) {
    PackingSolution solution;
    solution.offsets.assign(problem.buffers.size(), unplaced);
    occupied.clear();
    // Creating the order and clearing the offsets visits every buffer, even if placement stops early.
    stepCount += problem.buffers.size();
    for (std::uint32_t buffer : order) {
      const std::uint64_t offset = solution.offsets[buffer] = placeOne(buffer, fit);
      solution.height = std::max(solution.height, offset + problem.buffers[buffer].bytes);
      if (solution.height >= limit) {
        solution.height = std::numeric_limits<std::uint64_t>::max();
        return solution;
      }
    }
    return solution;
  }

private:
  static constexpr std::uint64_t unplaced = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t placeOne(std::uint32_t buffer, PackingFit fit) {
    const std::uint64_t bytes = problem.buffers[buffer].bytes;
    if (bytes == 0 || first[buffer] == first[buffer + 1])
      return 0;
    stepCount += overlaps[buffer] + 1;
    for (std::size_t s = first[buffer]; s < first[buffer + 1]; ++s)
      occupied.addInstants(intervals[s].begin, intervals[s].end);
    const std::uint64_t offset = occupied.findGap(bytes, fit);
    for (std::size_t s = first[buffer]; s < first[buffer + 1]; ++s)
      occupied.occupy(intervals[s].begin, intervals[s].end, {offset, offset + alignUp(bytes, problem.alignment)});
    return offset;
  }

  const PackingProblem &problem;
  std::vector<PackingInterval> intervals;
  std::vector<std::uint64_t> overlaps;
  OccupiedRanges occupied;
  /// The first interval of each buffer.
  std::vector<std::size_t> first;
  std::uint64_t stepCount = 0;
};

/// For each buffer the largest sum of live bytes at an instant of its lifespan.
std::vector<std::uint64_t> peaksOf(const PackingProblem &problem) {
  std::vector<PackingInterval> intervals = intervalsOf(problem);
  dropIdleInstants(intervals);
  // most[k][i] is the largest of the 2^k instants from i on.
  std::vector<std::vector<std::uint64_t>> most = {liveBytes(problem, intervals, /*alignment=*/1)};
  for (std::size_t width = 1; 2 * width <= most[0].size(); width *= 2) {
    const std::vector<std::uint64_t> &half = most.back();
    std::vector<std::uint64_t> twice(half.size() - width);
    for (std::size_t i = 0; i < twice.size(); ++i)
      twice[i] = std::max(half[i], half[i + width]);
    most.push_back(std::move(twice));
  }
  std::vector<std::uint64_t> peaks(problem.buffers.size(), 0);
  for (const PackingInterval &s : intervals) {
    const unsigned level = std::bit_width(s.end - s.begin) - 1;
    peaks[s.buffer] = std::max({peaks[s.buffer], most[level][s.begin], most[level][s.end - (1u << level)]});
  }
  return peaks;
}

/// With `peaks`, buffers at the instants of the most live bytes are first: placed into an empty arena they leave no
/// gaps.
std::vector<std::uint32_t> sortedBy(const PackingProblem &problem, PackingOrder order,
                                    const std::vector<std::uint64_t> *peaks = nullptr) {
  std::vector<std::uint32_t> ids(problem.buffers.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto key = [&](std::uint32_t id) -> double {
    const PackingBuffer &b = problem.buffers[id];
    const double span = b.end > b.begin ? b.end - b.begin : 0;
    switch (order) {
    case PackingOrder::size:
      return -double(b.bytes);
    case PackingOrder::lifespan:
      return -span;
    case PackingOrder::area:
      return -span * double(b.bytes);
    case PackingOrder::begin:
      return b.begin;
    case PackingOrder::end:
      return -double(b.end);
    }
    return 0;
  };
  std::stable_sort(ids.begin(), ids.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (peaks && (*peaks)[a] != (*peaks)[b])
      return (*peaks)[a] > (*peaks)[b];
    const double x = key(a), y = key(b);
    return x != y ? x < y : problem.buffers[a].bytes > problem.buffers[b].bytes;
  });
  return ids;
}

/// A small counter-based generator: the same numbers on every machine.
class Numbers {
public:
  std::uint32_t below(std::uint32_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(((state >> 33) * bound) >> 31);
  }

private:
  std::uint64_t state = 0x853c49e6748fea9bu;
};

/// Moves the buffers at the top of `solution`, and a few random ones, towards the front.
std::vector<std::uint32_t> perturbed(const PackingProblem &problem, const PackingSolution &solution,
                                     const std::vector<std::uint32_t> &order, Numbers &numbers) {
  std::vector<std::uint32_t> result = order;
  const auto count = static_cast<std::uint32_t>(result.size());
  const auto moveUp = [&](std::uint32_t position, std::uint32_t target) {
    std::rotate(result.begin() + target, result.begin() + position, result.begin() + position + 1);
  };
  for (std::uint32_t p = 0; p < count; ++p) {
    const std::uint32_t buffer = result[p];
    if (solution.offsets[buffer] + problem.buffers[buffer].bytes == solution.height && p > 0)
      moveUp(p, numbers.below(p));
  }
  for (std::uint32_t swaps = numbers.below(4); swaps > 0; --swaps) {
    const std::uint32_t p = numbers.below(count);
    if (p > 0)
      moveUp(p, numbers.below(p));
  }
  return result;
}

} // namespace

PackingSolution placeInOrder(const PackingProblem &problem, PackingOrder order, PackingFit fit) {
  return Placer(problem).place(sortedBy(problem, order), fit, std::numeric_limits<std::uint64_t>::max());
}

PackingSolution solvePacking(const PackingProblem &problem, const PackingOptions &options) {
  Placer placer(problem);
  // At least the lower bound, up to the rounding of one buffer.
  const std::uint64_t least = std::max(largestLiveSum(problem, problem.alignment), options.height);
  PackingSolution best;
  best.height = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::uint32_t> bestOrder;
  PackingFit bestFit = PackingFit::first;
  const std::vector<std::uint64_t> peaks = peaksOf(problem);
  for (const std::vector<std::uint64_t> *first : {&peaks, static_cast<const std::vector<std::uint64_t> *>(nullptr)})
    for (PackingOrder order : packingOrders)
      for (PackingFit fit : {PackingFit::first, PackingFit::best}) {
        std::vector<std::uint32_t> ids = sortedBy(problem, order, first);
        PackingSolution found = placer.place(ids, fit, best.height);
        if (found.height < best.height) {
          best = std::move(found);
          bestOrder = std::move(ids);
          bestFit = fit;
        }
        if (best.height <= least)
          return best;
      }
  Numbers numbers;
  std::vector<std::uint32_t> order = bestOrder;
  PackingSolution current = best;
  while (!order.empty() && placer.steps() < options.searchSteps && best.height > least) {
    std::vector<std::uint32_t> candidate = perturbed(problem, current, order, numbers);
    // Slightly higher solutions are accepted, to leave local minima.
    PackingSolution found = placer.place(candidate, bestFit, best.height + best.height / 200 + 1);
    if (found.height > best.height + best.height / 200) {
      if (numbers.below(16) == 0) {
        order = bestOrder;
        current = best;
      }
      continue;
    }
    order = std::move(candidate);
    current = std::move(found);
    if (current.height < best.height) {
      best = current;
      bestOrder = order;
    }
  }
  return best;
}

PackingSearchResult packWithin(const PackingProblem &problem, std::uint64_t capacity) {
  struct Turn {
    std::uint64_t stepsPerBuffer, placements;
  };
  PackingSearchResult result;
  if (largestLiveSum(problem, 1) > capacity) {
    result.outcome = PackingOutcome::infeasible;
    return result;
  }
  // Problems of thousands of buffers need more steps, hard ones of hundreds more placements.
  for (const Turn turn : {Turn{0, 10'000}, Turn{2'000, 100'000}, Turn{30'000, 400'000}}) {
    result.solution =
        solvePacking(problem, {.searchSteps = turn.stepsPerBuffer * problem.buffers.size(), .height = capacity});
    if (result.solution.height <= capacity) {
      result.outcome = PackingOutcome::found;
      return result;
    }
    PackingSearchResult exact = searchPacking(problem, capacity, turn.placements);
    if (exact.outcome == PackingOutcome::found)
      return exact;
    if (exact.outcome == PackingOutcome::infeasible) {
      result.outcome = exact.outcome;
      return result;
    }
  }
  return result;
}

} // namespace sluice
