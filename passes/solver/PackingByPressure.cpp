//===- PackingByPressure.cpp - placement below a capacity, the fullest instants first -----===//
#include "passes/solver/PackingByPressure.h"

#include "passes/solver/PackingPlacement.h"
#include "passes/solver/PackingSearch.h"
#include "passes/solver/PackingSweep.h"

#include <algorithm>
#include <array>
#include <map>

namespace sluice {
namespace {

/// Instants of at least this pressure are placed in groups.
constexpr double highPressure = 0.8;
/// Groups of more buffers are divided where the pressure is lowest.
constexpr std::size_t largeGroup = 120;
/// Attempts to place a group, each with the neighbours of the buffers that failed before.
constexpr int maxAttempts = 8;
/// Placements of one order, each with the buffers that failed moved to its front.
constexpr int maxPromotions = 8;
/// Larger groups are not searched.
constexpr std::size_t maxSearchedGroup = 400;
constexpr std::uint64_t searchedPlacements = 300;
/// A buffer of the stack, and a buffer that is placed before the groups, lives for at least one part of so many of the
/// instants.
constexpr std::array shares = {16, 8, 4, 32};
/// Comparisons of two buffers for one choice of shares.
constexpr std::uint64_t stepsOfAChoice = 60'000'000;
/// A sweep places buffers of less than one part of so many of the largest before the others.
constexpr std::uint64_t smallPart = 256;
/// Where the groups do not fit in a capacity of one part of so many above the lower bound, a sweep is tried.
constexpr std::uint64_t leastPartOfASweep = 200;
/// Steps of a sweep for each one of the groups.
constexpr std::uint64_t sweepSteps = 4;

class GroupPlacement : public PackingPlacement {
public:
  using PackingPlacement::PackingPlacement;

  /// Places all buffers; false if some have no place.
  bool run(int stackShare, int longShare) {
    if (!start(stackShare, longShare))
      return false;
    for (const Run &run : pressedRuns()) {
      Ids group;
      for (std::uint32_t i : rest)
        if (offsets[i] == unplaced && lives(i, run.begin, run.end))
          group.push_back(i);
      if (!placeGroup(std::move(group)))
        return false;
    }
    return placeRest();
  }

  /// The same with a sweep in place of the groups.
  bool runSweep(int stackShare, int longShare) { return start(stackShare, longShare) && sweep() && placeRest(); }

private:
  enum class Key : std::uint8_t { learned, area, size, lifespan, pressure };
  /// Consecutive instants of high pressure.
  struct Run {
    double pressure;
    std::uint32_t begin, end;
  };

  double highestPressure(std::uint32_t begin, std::uint32_t end) const {
    return *std::max_element(pressure.begin() + begin, pressure.begin() + end);
  }

  /// Divides runs of many buffers at the lowest pressure of their middle half.
  void divideRuns(std::vector<Run> &runs) const {
    for (std::size_t r = 0; r < runs.size();) {
      const auto [highest, begin, end] = runs[r];
      const std::uint32_t quarter = (end - begin) / 4;
      const auto buffers = std::size_t(
          std::ranges::count_if(rest, [&](std::uint32_t i) { return offsets[i] == unplaced && lives(i, begin, end); }));
      if (buffers <= largeGroup || quarter < 2) {
        ++r;
        continue;
      }
      const auto cut = std::uint32_t(
          std::min_element(pressure.begin() + begin + quarter, pressure.begin() + end - quarter) - pressure.begin());
      runs[r] = {highestPressure(begin, cut), begin, cut};
      runs.insert(runs.begin() + std::ptrdiff_t(r) + 1, {highestPressure(cut, end), cut, end});
    }
  }

  /// Runs with few instants between them are one.
  std::vector<Run> pressedRuns() const {
    constexpr std::uint32_t distance = 2;
    std::vector<Run> runs;
    for (std::uint32_t t = 0; t < instants; ++t) {
      if (pressure[t] < highPressure)
        continue;
      if (runs.empty() || runs.back().end + distance < t)
        runs.push_back({0, t, t});
      runs.back().end = t + 1;
    }
    if (runs.empty())
      return runs;
    for (Run &run : runs)
      run.pressure = highestPressure(run.begin, run.end);
    divideRuns(runs);
    // From the highest pressure to the last run, then to the first: each has placed neighbours on one side at most.
    const auto highest = std::ranges::max_element(runs, {}, &Run::pressure);
    std::reverse(runs.begin(), highest);
    std::rotate(runs.begin(), highest, runs.end());
    return runs;
  }

  /// The largest first.
  void sortByKey(Ids &group, Key key) const {
    const auto value = [&](std::uint32_t i) {
      switch (key) {
      case Key::learned: {
        const auto known = learned.find({sizes[i], lifespans[i]});
        return known == learned.end() ? 0.0 : double(known->second);
      }
      case Key::area:
        return double(sizes[i]) * double(lifespans[i]);
      case Key::size:
        return double(sizes[i]);
      case Key::lifespan:
        return double(lifespans[i]);
      case Key::pressure:
        break;
      }
      return highest[i];
    };
    std::ranges::stable_sort(group, std::greater(), value);
  }

  /// Places the group next to the buffers that are placed. Returns the smallest set of buffers without room that an
  /// order left; if it is not empty, the group is unplaced.
  Ids tryOrders(const Ids &group, PackingFit fit) {
    std::uint32_t begin = instants, end = 0;
    for (std::uint32_t i : group) {
      begin = std::min(begin, spansOf(i).front().begin);
      end = std::max(end, spansOf(i).back().end);
      offsets[i] = unplaced;
    }
    Ids near, least = group;
    for (std::uint32_t i : rest)
      if (offsets[i] != unplaced && lives(i, begin, end))
        near.push_back(i);
    for (Key key : {Key::learned, Key::area, Key::size, Key::lifespan, Key::pressure}) {
      Ids order = group;
      sortByKey(order, key);
      for (int promotion = 0; promotion < maxPromotions && taken < most; ++promotion) {
        Ids failed = placeInOrder(order, near, fit);
        if (failed.empty()) {
          for (std::size_t k = 0; k < order.size(); ++k)
            learned[{sizes[order[k]], lifespans[order[k]]}] = order.size() - k;
          return {};
        }
        std::ranges::stable_partition(order, [&](std::uint32_t i) { return offsets[i] == unplaced; });
        if (failed.size() < least.size())
          least = std::move(failed);
      }
    }
    for (std::uint32_t i : group)
      offsets[i] = unplaced;
    return least;
  }

  /// Places the group by exact search next to the buffers that are placed.
  bool searchGroup(const Ids &group) {
    if (group.size() > maxSearchedGroup)
      return false;
    PackingProblem problem;
    PackingSurroundings surroundings;
    surroundings.ceilings = room;
    for (std::uint32_t i : group) {
      if (spansOf(i).size() > 1)
        return false;
      const PackingInterval &s = spansOf(i).front();
      problem.buffers.push_back({.name = {}, .bytes = sizes[i], .begin = s.begin, .end = s.end});
      auto &occupied = surroundings.occupied.emplace_back();
      for (std::uint32_t j : rest)
        if (offsets[j] != unplaced && overlap(i, j))
          occupied.push_back({offsets[j], offsets[j] + sizes[j]});
    }
    taken += searchedPlacements * group.size() * group.size() / 2;
    const PackingSearchResult found = searchPacking(problem, surroundings, searchedPlacements);
    if (found.outcome != PackingOutcome::found)
      return false;
    for (std::size_t k = 0; k < group.size(); ++k)
      offsets[group[k]] = found.solution.offsets[k];
    return true;
  }

  /// Places the buffers of high pressure. Small ones, which would only multiply the placements that are compared, and
  /// those of two intervals come first.
  bool sweep() {
    Ids before, swept;
    const std::uint64_t largest = std::ranges::max(sizes);
    for (std::uint32_t i : rest)
      if (offsets[i] == unplaced && highest[i] >= highPressure)
        (spansOf(i).size() > 1 || sizes[i] < largest / smallPart ? before : swept).push_back(i);
    sortByKey(before, Key::area);
    if (!placeInOrder(before, placedBuffers(), PackingFit::first).empty())
      return false;
    const Ids placed = placedBuffers();
    std::vector<SweepBuffer> buffers;
    for (std::uint32_t i : swept) {
      const PackingInterval &s = spansOf(i).front();
      std::vector<ByteRange> occupied;
      for (std::uint32_t j : placed)
        if (overlap(i, j))
          occupied.push_back({offsets[j], offsets[j] + sizes[j]});
      std::ranges::sort(occupied, {}, &ByteRange::begin);
      SweepBuffer &buffer = buffers.emplace_back(SweepBuffer{sizes[i], s.begin, s.end, roofs[i], {}});
      for (const ByteRange &range : occupied)
        if (buffer.occupied.empty() || range.begin > buffer.occupied.back().end)
          buffer.occupied.push_back(range);
        else
          buffer.occupied.back().end = std::max(buffer.occupied.back().end, range.end);
    }
    const auto found = sweepPacking(buffers, most - std::min(most, taken));
    if (!found)
      return false;
    for (std::size_t k = 0; k < swept.size(); ++k)
      offsets[swept[k]] = (*found)[k];
    return true;
  }

  bool placeGroup(Ids group) {
    for (int attempt = 0; !group.empty() && attempt < maxAttempts && taken < most; ++attempt) {
      const Ids failed = tryOrders(group, PackingFit::first);
      if (failed.empty() || searchGroup(group) || tryOrders(group, PackingFit::best).empty())
        return true;
      // Buffers that outlive the groups last: they share instants with almost all others.
      if (!addNeighbours(failed, longLived, group) && !addNeighbours(Ids(group), longLived, group) &&
          !addNeighbours(failed, instants, group))
        return false;
    }
    return group.empty();
  }

  /// Adds the placed buffers of at most this lifespan with which one of `buffers` shares an instant. False if there are
  /// none.
  bool addNeighbours(const Ids &buffers, std::uint64_t mostLifespan, Ids &group) {
    const std::size_t size = group.size();
    std::vector<bool> isInGroup(sizes.size(), false);
    for (std::uint32_t i : group)
      isInGroup[i] = true;
    for (std::uint32_t i : buffers)
      for (std::uint32_t j : rest)
        if (!isInGroup[j] && offsets[j] != unplaced && lifespans[j] <= mostLifespan && overlap(i, j)) {
          isInGroup[j] = true;
          group.push_back(j);
        }
    return group.size() > size;
  }

  /// The buffers of low pressure, in order of area.
  bool placeRest() {
    Ids order;
    for (std::uint32_t i : rest)
      if (offsets[i] == unplaced)
        order.push_back(i);
    sortByKey(order, Key::area);
    for (std::uint32_t i : order) {
      Ids near;
      const std::uint32_t begin = spansOf(i).front().begin, end = spansOf(i).back().end;
      for (std::uint32_t j : rest)
        if (offsets[j] != unplaced && lives(j, begin, end))
          near.push_back(j);
      if (!placeInOrder({i}, near, PackingFit::first).empty() && !placeGroup({i}))
        return false;
    }
    return true;
  }

  /// The priority, in the last order that placed a group, of buffers of this size and lifespan. Equal blocks have equal
  /// groups.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> learned;
};

} // namespace

std::optional<PackingSolution> packByPressure(const PackingProblem &problem, std::uint64_t capacity,
                                              std::uint64_t &steps) {
  for (int longShare : shares)
    for (int stackShare : shares) {
      if (steps == 0)
        return std::nullopt;
      const std::uint64_t most = std::min(steps, stepsOfAChoice);
      GroupPlacement placement(problem, capacity, most);
      const bool isFound = placement.run(stackShare, longShare);
      steps -= std::min(most, placement.steps());
      if (isFound)
        return placement.solution(problem);
    }
  return std::nullopt;
}

std::optional<PackingSolution> packBySweep(const PackingProblem &problem, std::uint64_t capacity, std::uint64_t steps) {
  GroupPlacement placement(problem, capacity, steps);
  if (!placement.runSweep(shares[0], shares[0]))
    return std::nullopt;
  return placement.solution(problem);
}

PackingSolution lowerByPressure(const PackingProblem &problem, PackingSolution solution, std::uint64_t least,
                                std::uint64_t steps) {
  const auto capacityOf = [&](std::uint64_t part) { return least + least / part; };
  for (const std::uint64_t part : {500, 200, 100, 50}) {
    const std::uint64_t capacity = capacityOf(part);
    if (solution.height <= capacity)
      break;
    std::uint64_t ofGroups = steps;
    std::optional<PackingSolution> found = packByPressure(problem, capacity, ofGroups);
    if (!found && part >= leastPartOfASweep)
      found = packBySweep(problem, capacity, sweepSteps * steps);
    if (found)
      return std::move(*found);
  }
  return solution;
}

} // namespace sluice
