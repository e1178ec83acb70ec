//===- PackingSearch.cpp - exact placement below a capacity -------------------------------===//
#include "passes/solver/PackingSearch.h"

#include "passes/solver/PackingIntervals.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <tuple>

namespace sluice {
namespace {

constexpr std::uint64_t infinite = std::numeric_limits<std::uint64_t>::max();

/// A buffer as the search sees it.
struct Item {
  std::uint64_t bytes = 0;
  /// Rounded up to the alignment.
  std::uint64_t size = 0;
  /// At most two intervals of instants.
  std::span<const PackingInterval> intervals;
  /// The first instant, and one past the last.
  std::uint32_t begin = 0, end = 0;
  std::uint64_t lifespan = 0;
  /// The lowest ceiling of its instants.
  std::uint64_t ceiling = infinite;
  /// Sorted by their begin.
  std::vector<ByteRange> occupied;
  /// Items that live at a common instant.
  std::vector<std::uint32_t> overlaps;
  /// The previous item of the same size and intervals; -1: none. Equal items are placed in their order.
  std::int32_t equal = -1;

  double area() const { return double(size) * double(lifespan); }
  /// The lowest offset from `at` on that the occupied bytes leave free.
  std::uint64_t settle(std::uint64_t at) const {
    for (const ByteRange &range : occupied) {
      if (range.begin >= at + size)
        break;
      at = std::max(at, range.end);
    }
    return at;
  }
};

enum class Priority : std::uint8_t { lifespan, unplaced, unplacedThenLifespan };
constexpr std::array priorities = {Priority::lifespan, Priority::unplaced, Priority::unplacedThenLifespan};

class Search {
public:
  Search(const PackingProblem &problem, std::uint64_t capacity, const PackingSurroundings *surroundings = nullptr)
      : problem(problem), intervals(intervalsOf(problem)), capacity(capacity) {
    std::erase_if(intervals, [&](const PackingInterval &s) { return problem.buffers[s.buffer].bytes == 0; });
    std::vector<std::uint64_t> lifespans;
    for (const PackingInterval &s : intervals) {
      if (buffers.empty() || buffers.back() != s.buffer) {
        buffers.push_back(s.buffer);
        lifespans.push_back(0);
      }
      lifespans.back() += s.end - s.begin;
    }
    const std::vector<PackingInterval> all = intervals;
    unplaced.resize(dropIdleInstants(intervals));
    stack.resize(unplaced.size());
    ceilings.assign(unplaced.size(), alignUp(capacity, problem.alignment));
    if (surroundings)
      for (std::size_t k = 0; k < all.size(); ++k)
        ceilings[intervals[k].begin] = surroundings->ceilings[all[k].begin];
    for (std::size_t at = 0; at < intervals.size();) {
      const std::size_t first = at;
      while (at < intervals.size() && intervals[at].buffer == intervals[first].buffer)
        ++at;
      Item item;
      item.bytes = problem.buffers[intervals[first].buffer].bytes;
      item.size = alignUp(item.bytes, problem.alignment);
      item.intervals = std::span(intervals).subspan(first, at - first);
      item.begin = intervals[first].begin;
      item.end = intervals[at - 1].end;
      item.lifespan = lifespans[items.size()];
      if (surroundings) {
        for (const PackingInterval &s : std::span(all).subspan(first, at - first))
          item.ceiling = std::min(item.ceiling, *std::min_element(surroundings->ceilings.begin() + s.begin,
                                                                  surroundings->ceilings.begin() + s.end));
        item.occupied = surroundings->occupied[intervals[first].buffer];
        std::ranges::sort(item.occupied, {}, &ByteRange::begin);
      }
      items.push_back(std::move(item));
    }
    for (std::uint32_t i = 0; i < items.size(); ++i)
      for (std::uint32_t j = 0; j < i; ++j)
        if (overlap(items[i], items[j])) {
          items[i].overlaps.push_back(j);
          items[j].overlaps.push_back(i);
          if (items[i].bytes == items[j].bytes && sameIntervals(items[i], items[j]))
            items[i].equal = std::int32_t(j);
        }
  }

  std::size_t size() const { return items.size(); }
  /// Placements that the last run has tried.
  std::uint64_t tried() const { return placements; }

  /// True if a packing was found; otherwise none exists, unless tried() exceeds `most`.
  bool run(Priority order, std::uint64_t most) {
    priority = order;
    limit = most;
    placements = 0;
    lowest.resize(items.size());
    std::ranges::transform(items, lowest.begin(), [](const Item &item) { return item.settle(0); });
    offsets.assign(items.size(), 0);
    isPlaced.assign(items.size(), false);
    placed.clear();
    raised.clear();
    rank.assign(items.size(), 0);
    bound.assign(items.size(), 0);
    std::ranges::fill(unplaced, 0);
    Items all;
    for (std::uint32_t i = 0; i < items.size(); ++i) {
      all.push_back(i);
      addUnplaced(items[i], items[i].size);
    }
    sortByPriority(all);
    return solve(all, 0, 0);
  }

  PackingSolution solution() const {
    PackingSolution result;
    result.offsets.assign(problem.buffers.size(), 0);
    for (std::size_t i = 0; i < items.size(); ++i) {
      result.offsets[buffers[i]] = offsets[i];
      result.height = std::max(result.height, offsets[i] + items[i].bytes);
    }
    return result;
  }

private:
  /// Indices of unplaced items, in order of rank.
  using Items = std::vector<std::uint32_t>;

  static bool overlap(const Item &a, const Item &b) {
    return std::ranges::any_of(a.intervals, [&](const PackingInterval &x) {
      return std::ranges::any_of(b.intervals,
                                 [&](const PackingInterval &y) { return x.begin < y.end && y.begin < x.end; });
    });
  }
  static bool sameIntervals(const Item &a, const Item &b) {
    return std::ranges::equal(a.intervals, b.intervals, [](const PackingInterval &x, const PackingInterval &y) {
      return x.begin == y.begin && x.end == y.end;
    });
  }

  void addUnplaced(const Item &item, std::uint64_t size) {
    for (const PackingInterval &s : item.intervals)
      for (std::uint32_t t = s.begin; t < s.end; ++t)
        unplaced[t] += size;
  }
  std::uint64_t mostUnplaced(const Item &item) const {
    std::uint64_t most = 0;
    for (const PackingInterval &s : item.intervals)
      most = std::max(most, *std::max_element(unplaced.begin() + s.begin, unplaced.begin() + s.end));
    return most;
  }

  /// The highest offset at which the unplaced items of each instant of the item may begin; 0 if they exceed a ceiling.
  std::uint64_t highestStart(const Item &item) const {
    std::uint64_t highest = infinite;
    for (const PackingInterval &s : item.intervals)
      for (std::uint32_t t = s.begin; t < s.end; ++t)
        highest = std::min(highest, ceilings[t] - std::min(ceilings[t], unplaced[t]));
    return highest;
  }

  void sortByPriority(Items &part) {
    std::vector<std::pair<std::array<double, 3>, std::uint32_t>> keys;
    for (std::uint32_t i : part) {
      const double lifespan = -double(items[i].lifespan), area = -items[i].area(),
                   most = -double(mostUnplaced(items[i]));
      switch (priority) {
      case Priority::lifespan:
        keys.push_back({{lifespan, area, most}, i});
        break;
      case Priority::unplaced:
        keys.push_back({{most, area, lifespan}, i});
        break;
      case Priority::unplacedThenLifespan:
        keys.push_back({{most, lifespan, area}, i});
        break;
      }
    }
    std::ranges::sort(keys);
    for (std::uint32_t k = 0; k < keys.size(); ++k) {
      part[k] = keys[k].second;
      rank[part[k]] = k;
    }
  }

  /// Places the items at offsets of at least `from`; at `from` only items of at least this rank.
  bool solve(const Items &part, std::uint64_t from, std::uint32_t leastRank) {
    std::vector<Items> parts = independentParts(part);
    if (parts.size() == 1)
      return fits(part, from) && branch(part, from, leastRank);
    for (const Items &one : parts)
      if (!fits(one, from))
        return false;
    // A small part fails sooner.
    std::ranges::stable_sort(parts, {}, &Items::size);
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t i : part)
      ranks.push_back(rank[i]);
    const Mark mark = {placed.size(), raised.size()};
    for (Items &one : parts) {
      sortByPriority(one);
      if (!branch(one, from, 0)) {
        undo(mark);
        for (std::size_t k = 0; k < part.size(); ++k)
          rank[part[k]] = ranks[k];
        return false;
      }
    }
    return true;
  }

  /// Parts without a common instant.
  std::vector<Items> independentParts(const Items &part) const {
    Items byBegin = part;
    std::ranges::stable_sort(byBegin, {}, [&](std::uint32_t i) { return items[i].begin; });
    std::vector<Items> parts;
    std::uint32_t end = 0;
    for (std::uint32_t i : byBegin) {
      if (parts.empty() || items[i].begin >= end)
        parts.emplace_back();
      parts.back().push_back(i);
      end = std::max(end, items[i].end);
    }
    return parts;
  }

  /// False if the items do not fit: at each instant they are placed in order of their lowest offsets, one on the other.
  bool fits(const Items &part, std::uint64_t from) {
    Items order = part;
    std::uint32_t begin = ~std::uint32_t(0), end = 0;
    for (std::uint32_t i : part) {
      begin = std::min(begin, items[i].begin);
      end = std::max(end, items[i].end);
      bound[i] = lowest[i];
      if (lowest[i] + items[i].bytes > capacity || lowest[i] + items[i].size > items[i].ceiling)
        return false;
      if (lowest[i] >= from || part.size() == 1)
        continue;
      // It was passed over, so it is on an item that is placed from now on, or on occupied bytes.
      bound[i] = infinite;
      for (std::uint32_t j : items[i].overlaps)
        if (!isPlaced[j])
          bound[i] = std::min(bound[i], items[i].settle(std::max(lowest[j], from) + items[j].size));
      for (const ByteRange &range : items[i].occupied)
        if (range.end > lowest[i])
          bound[i] = std::min(bound[i], items[i].settle(std::max(range.end, from)));
      if (bound[i] == infinite)
        return false;
    }
    std::ranges::sort(order, {}, [&](std::uint32_t i) { return bound[i]; });
    std::fill(stack.begin() + begin, stack.begin() + end, 0);
    for (std::uint32_t i : order)
      for (const PackingInterval &s : items[i].intervals)
        for (std::uint32_t t = s.begin; t < s.end; ++t) {
          const std::uint64_t at = std::max(stack[t], bound[i]);
          stack[t] = at + items[i].size;
          if (stack[t] > ceilings[t])
            return false;
        }
    return true;
  }

  bool branch(const Items &part, std::uint64_t from, std::uint32_t leastRank) {
    if (++placements > limit)
      return false;
    if (part.size() == 1) {
      offsets[part[0]] = lowest[part[0]];
      return true;
    }
    // An item that ends at or below the next offset could have been placed before it.
    std::uint64_t lowestEnd = infinite, highest = infinite;
    for (std::uint32_t i : part) {
      lowestEnd = std::min(lowestEnd, lowest[i] + items[i].size);
      highest = std::min(highest, highestStart(items[i]));
    }
    Items candidates;
    for (std::uint32_t i : part) {
      const bool followsOrder = lowest[i] > from || (lowest[i] == from && rank[i] >= leastRank);
      const std::int32_t equal = items[i].equal;
      const bool followsEqual = equal < 0 || isPlaced[equal] || lowest[equal] != lowest[i];
      // All items that are unplaced at an instant are placed at this offset or above.
      if (followsOrder && followsEqual && lowest[i] < lowestEnd && lowest[i] <= highest)
        candidates.push_back(i);
    }
    std::ranges::stable_sort(candidates, {}, [&](std::uint32_t i) { return lowest[i]; });
    for (std::uint32_t i : candidates) {
      if (place(part, i))
        return true;
      if (placements > limit)
        return false;
    }
    return false;
  }

  /// Places one item, then the rest of the part.
  bool place(const Items &part, std::uint32_t i) {
    const Item &item = items[i];
    const Mark mark = {placed.size(), raised.size()};
    const std::uint64_t offset = offsets[i] = lowest[i], end = offset + item.size;
    for (std::uint32_t j : item.overlaps)
      if (!isPlaced[j] && lowest[j] < end) {
        raised.emplace_back(j, lowest[j]);
        lowest[j] = items[j].settle(end);
      }
    placed.push_back(i);
    isPlaced[i] = true;
    addUnplaced(item, 0 - item.size);
    Items rest;
    rest.reserve(part.size() - 1);
    std::ranges::copy_if(part, std::back_inserter(rest), [&](std::uint32_t j) { return j != i; });
    if (solve(rest, offset, rank[i]))
      return true;
    undo(mark);
    return false;
  }

  /// Positions in `placed` and `raised`.
  struct Mark {
    std::size_t placed, raised;
  };
  void undo(Mark mark) {
    for (; placed.size() > mark.placed; placed.pop_back()) {
      isPlaced[placed.back()] = false;
      addUnplaced(items[placed.back()], items[placed.back()].size);
    }
    for (; raised.size() > mark.raised; raised.pop_back())
      lowest[raised.back().first] = raised.back().second;
  }

  const PackingProblem &problem;
  std::vector<PackingInterval> intervals;
  std::uint64_t capacity;
  /// By instant, the offset at which free bytes end when the instant begins.
  std::vector<std::uint64_t> ceilings;
  std::vector<Item> items;
  /// For each item its buffer in the problem.
  std::vector<std::uint32_t> buffers;
  Priority priority = Priority::lifespan;
  std::uint64_t limit = 0, placements = 0;
  /// For each item the lowest offset above the placed items, and a lower bound of its offset.
  std::vector<std::uint64_t> lowest, bound;
  std::vector<std::uint64_t> offsets;
  std::vector<bool> isPlaced;
  /// The placed items, and the lowest offsets before each change, in order.
  std::vector<std::uint32_t> placed;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> raised;
  std::vector<std::uint32_t> rank;
  /// For each instant the bytes of unplaced items, and the height of the stack of fits().
  std::vector<std::uint64_t> unplaced, stack;
};

} // namespace

static PackingSearchResult runSearch(Search search, std::uint64_t placements) {
  PackingSearchResult result;
  std::uint64_t tried = 0;
  for (std::uint64_t limit = 2 * search.size() + 1; tried < placements; limit *= 2)
    for (Priority priority : priorities) {
      if (search.run(priority, limit)) {
        result.outcome = PackingOutcome::found;
        result.solution = search.solution();
        return result;
      }
      if (search.tried() <= limit) {
        result.outcome = PackingOutcome::infeasible;
        return result;
      }
      tried += search.tried();
    }
  return result;
}

PackingSearchResult searchPacking(const PackingProblem &problem, std::uint64_t capacity, std::uint64_t placements) {
  if (problem.buffers.size() > maxSearchedBuffers)
    return {};
  return runSearch(Search(problem, capacity), placements);
}

PackingSearchResult searchPacking(const PackingProblem &problem, const PackingSurroundings &surroundings,
                                  std::uint64_t placements) {
  if (problem.buffers.size() > maxSearchedBuffers)
    return {};
  const std::uint64_t capacity = std::ranges::max(surroundings.ceilings);
  return runSearch(Search(problem, capacity, &surroundings), placements);
}

} // namespace sluice
