//===- PackingSweep.cpp - placement from the last instant to the first --------------------===//
#include "passes/solver/PackingSweep.h"

#include "runtime/base/Thread.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numeric>
#include <tuple>

namespace sluice {
namespace {

/// Partial placements that are extended, and the most after failures.
constexpr std::size_t usualWidth = 500, mostWidth = 4000;
/// Placements are kept after each so many buffers.
constexpr std::size_t snapshotDistance = 16;
/// Failures at one position after which the sweep ends.
constexpr unsigned mostFailures = 256;
/// Buffers of the order among which the largest one states the demand.
constexpr std::size_t demandDistance = 40;
/// Each sweep has one part of so many of the steps: the steps that one needs differ by more than ten times between
/// sequences of random numbers.
constexpr std::array partsOfSweeps = {8, 8, 4, 4, 4};
/// Gaps that are compared with a demand in the time of one live buffer.
constexpr std::size_t gapsOfAStep = 4;
/// The weight of a successor that fills a gap; others have 1.
constexpr double weightOfFill = 10;

/// The bytes that are in both lists.
std::vector<ByteRange> commonRanges(const std::vector<ByteRange> &a, const std::vector<ByteRange> &b) {
  std::vector<ByteRange> common;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end(); ++(x->end < y->end ? x : y))
    if (const ByteRange both = {std::max(x->begin, y->begin), std::min(x->end, y->end)}; both.begin < both.end)
      common.push_back(both);
  return common;
}

class Sweep {
public:
  /// The sweep ends without a placement when `firstFound` is below `number`.
  Sweep(const std::vector<SweepBuffer> &buffers, std::uint64_t most, std::size_t number,
        const std::atomic<std::size_t> &firstFound)
      : buffers(buffers), most(most), number(number), firstFound(firstFound), state(number + 1) {
    order.resize(buffers.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
      return buffers[a].end != buffers[b].end ? buffers[a].end > buffers[b].end : buffers[a].bytes > buffers[b].bytes;
    });
    findDemands();
  }

  std::optional<std::vector<std::uint64_t>> run() {
    std::vector<Snapshot> snapshots;
    std::vector<Placement> placements(1);
    std::size_t width = usualWidth, narrowFrom = 0, furthest = 0;
    unsigned failures = 0;
    for (std::size_t k = 0; k < order.size();) {
      if (k % snapshotDistance == 0) {
        snapshots.resize(k / snapshotDistance);
        snapshots.push_back({placements, nodes.size()});
      }
      if (k >= narrowFrom)
        width = usualWidth;
      placements = extend(placements, k, width);
      if (steps > most || firstFound < number)
        return std::nullopt;
      if (!placements.empty()) {
        ++k;
        continue;
      }
      failures = k > furthest ? 1 : failures + 1;
      if (failures > mostFailures)
        return std::nullopt;
      furthest = std::max(furthest, k);
      width = std::min(usualWidth << std::min(failures, 8U), mostWidth);
      narrowFrom = k + 2 * snapshotDistance;
      const std::size_t back =
          std::min<std::size_t>(snapshots.size(), 1 + (std::size_t(1) << std::min(failures / 2, 16U)));
      const std::size_t from = snapshots.size() - back;
      placements = std::move(snapshots[from].placements);
      nodes.resize(snapshots[from].nodes);
      snapshots.resize(from);
      k = from * snapshotDistance;
    }
    std::vector<std::uint64_t> offsets(buffers.size(), 0);
    std::uint32_t node = placements.empty() ? none : placements.front().node;
    for (std::size_t k = order.size(); k > 0; node = nodes[node].before)
      offsets[order[--k]] = nodes[node].offset;
    return offsets;
  }

private:
  static constexpr std::uint32_t none = ~std::uint32_t(0);
  /// A placed buffer that is live at the current instant.
  struct Live {
    std::uint64_t begin, end;
    std::uint32_t buffer, firstInstant;
  };
  struct Placement {
    /// Sorted by offset.
    std::vector<Live> live;
    /// The sum of the hashes of `live`.
    std::uint64_t hash = 0;
    /// The buffer that was placed last, in `nodes`.
    std::uint32_t node = none;
  };
  struct Node {
    std::uint32_t before;
    std::uint64_t offset;
  };
  struct Snapshot {
    std::vector<Placement> placements;
    std::size_t nodes;
  };
  struct Successor {
    /// The weight, then the key.
    double key;
    std::uint32_t placement;
    std::uint64_t offset, hash;
  };
  /// Large buffers that are live at an instant and not yet placed.
  struct Demand {
    std::uint64_t count = 0, bytes = 0;
    /// At buffers with a `begin` of at most it.
    std::uint32_t instant = 0;
    /// Of the buffer whose ceiling is the highest.
    std::uint64_t ceiling = 0;
    /// For each of them.
    std::vector<ByteRange> occupied;
  };

  static std::uint64_t hashOf(std::uint32_t buffer, std::uint64_t offset) {
    std::uint64_t x = offset * 0x9e3779b97f4a7c15u + buffer;
    for (int round = 0; round < 2; ++round)
      x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
  }
  /// Uniform in (0, 1].
  double uniform() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double(state >> 33) + 1) / double(std::uint64_t(1) << 31);
  }

  /// For each position in the order the demand of the largest of the next buffers, and of those that are more than half
  /// as large and live with it.
  void findDemands() {
    for (std::size_t k = 0; k < order.size(); ++k) {
      const auto end = order.begin() + std::ptrdiff_t(std::min(order.size(), k + demandDistance));
      const std::uint32_t next =
          *std::max_element(order.begin() + std::ptrdiff_t(k), end,
                            [&](std::uint32_t x, std::uint32_t y) { return buffers[x].bytes < buffers[y].bytes; });
      const std::uint32_t instant = buffers[next].end - 1;
      Demand demand = {.count = 0,
                       .bytes = buffers[next].bytes,
                       .instant = instant,
                       .ceiling = 0,
                       .occupied = buffers[next].occupied};
      for (std::size_t m = k; m < order.size() && buffers[order[m]].end > instant; ++m)
        if (const SweepBuffer &large = buffers[order[m]];
            large.bytes > buffers[next].bytes / 2 && large.begin <= instant) {
          ++demand.count;
          demand.bytes = std::min(demand.bytes, large.bytes);
          demand.ceiling = std::max(demand.ceiling, large.ceiling);
          demand.occupied = commonRanges(demand.occupied, large.occupied);
        }
      demands.push_back(std::move(demand));
    }
  }

  /// Sets `gaps` to those that the buffers live at an instant and the occupied bytes leave below the ceiling.
  static void findGaps(const std::vector<Live> &live, std::uint32_t instant, const std::vector<ByteRange> &occupied,
                       std::uint64_t ceiling, std::vector<ByteRange> &gaps) {
    gaps.clear();
    std::uint64_t at = 0;
    auto fixed = occupied.begin();
    const auto take = [&](std::uint64_t begin, std::uint64_t end) {
      if (begin > at && at < ceiling)
        gaps.push_back({at, std::min(begin, ceiling)});
      at = std::max(at, end);
    };
    for (const Live &each : live) {
      if (each.firstInstant > instant)
        continue;
      for (; fixed != occupied.end() && fixed->begin < each.begin; ++fixed)
        take(fixed->begin, fixed->end);
      take(each.begin, each.end);
    }
    for (; fixed != occupied.end(); ++fixed)
      take(fixed->begin, fixed->end);
    take(ceiling, ceiling);
  }

  /// The placements with one buffer more; at most `width`.
  std::vector<Placement> extend(std::vector<Placement> &placements, std::size_t k, std::size_t width) {
    const std::uint32_t i = order[k];
    const SweepBuffer &buffer = buffers[i];
    const Demand &demand = demands[k];
    const bool limitsDemand = buffer.end - 1 > demand.instant && buffer.begin <= demand.instant;
    const auto fitting = [&](const ByteRange &gap) { return (gap.end - gap.begin) / demand.bytes; };
    std::vector<Successor> successors;
    std::vector<ByteRange> gaps, gapsLater;
    for (std::uint32_t p = 0; p < placements.size(); ++p) {
      Placement &placement = placements[p];
      std::erase_if(placement.live, [&](const Live &live) {
        const bool isOver = live.firstInstant >= buffer.end;
        if (isOver)
          placement.hash -= hashOf(live.buffer, live.begin);
        return isOver;
      });
      steps += placement.live.size();
      std::uint64_t held = 0;
      findGaps(placement.live, demand.instant, demand.occupied, demand.ceiling, gapsLater);
      for (const ByteRange &gap : gapsLater)
        held += fitting(gap);
      if (held < demand.count)
        continue;
      const std::size_t first = successors.size();
      double sum = 0;
      const auto add = [&](std::uint64_t offset, double weight) {
        if (limitsDemand) {
          steps += gapsLater.size() / gapsOfAStep;
          std::uint64_t left = held;
          for (const ByteRange &gap : gapsLater)
            if (const ByteRange lower = {gap.begin, std::clamp(offset, gap.begin, gap.end)},
                upper = {std::clamp(offset + buffer.bytes, gap.begin, gap.end), gap.end};
                lower.end < upper.begin)
              left -= fitting(gap) - fitting(lower) - fitting(upper);
          if (left < demand.count)
            return;
        }
        successors.push_back({weight, p, offset, placement.hash + hashOf(i, offset)});
        sum += weight;
      };
      findGaps(placement.live, buffer.end - 1, buffer.occupied, buffer.ceiling, gaps);
      for (const ByteRange &gap : gaps) {
        if (gap.end - gap.begin == buffer.bytes) {
          add(gap.begin, weightOfFill);
        } else if (gap.end - gap.begin > buffer.bytes) {
          add(gap.begin, 1);
          add(gap.end - buffer.bytes, 1);
        }
      }
      // A placement with many successors has no more of them in the next step than others.
      const double count = double(gapsLater.size() + 1), weight = sum * count * std::sqrt(count);
      for (std::size_t s = first; s < successors.size(); ++s)
        successors[s].key = uniform() * weight / successors[s].key;
    }
    if (successors.size() > width) {
      const auto keyOf = [](const Successor &s) { return std::pair(s.key, s.hash); };
      std::ranges::nth_element(successors, successors.begin() + std::ptrdiff_t(width), {}, keyOf);
      successors.resize(width);
    }
    const auto same = [](const Successor &s) { return std::tuple(s.hash, s.placement, s.offset); };
    std::ranges::sort(successors, {}, same);
    const auto repeated = std::ranges::unique(successors, {}, &Successor::hash);
    successors.erase(repeated.begin(), repeated.end());
    std::vector<Placement> extended;
    extended.reserve(successors.size());
    for (const Successor &successor : successors) {
      Placement &next = extended.emplace_back(placements[successor.placement]);
      const Live live = {successor.offset, successor.offset + buffer.bytes, i, buffer.begin};
      next.live.insert(std::ranges::upper_bound(next.live, live.begin, {}, &Live::begin), live);
      next.hash = successor.hash;
      nodes.push_back({next.node, successor.offset});
      next.node = std::uint32_t(nodes.size() - 1);
    }
    return extended;
  }

  const std::vector<SweepBuffer> &buffers;
  std::uint64_t most, steps = 0;
  std::size_t number;
  const std::atomic<std::size_t> &firstFound;
  /// By descending end.
  std::vector<std::uint32_t> order;
  /// By position in the order.
  std::vector<Demand> demands;
  std::vector<Node> nodes;
  /// Of the generator.
  std::uint64_t state;
};

} // namespace

std::optional<std::vector<std::uint64_t>> sweepPacking(const std::vector<SweepBuffer> &buffers, std::uint64_t steps) {
  constexpr std::size_t sweeps = partsOfSweeps.size();
  std::array<std::optional<std::vector<std::uint64_t>>, sweeps> found;
  // The first sweep that finds a placement counts, not the fastest: threads do not change the result.
  std::atomic<std::size_t> next = 0, firstFound = sweeps;
  const auto work = [&] {
    for (std::size_t s = next++; s < firstFound; s = next++) {
      found[s] = Sweep(buffers, steps / partsOfSweeps[s], s, firstFound).run();
      for (std::size_t first = firstFound; found[s] && s < first && !firstFound.compare_exchange_weak(first, s);) {
      }
    }
  };
  std::vector<std::thread> threads;
  for (int t = 1; t < std::min(int(sweeps), usableProcessors()); ++t)
    if (std::thread thread; startThread(thread, "a sweep", work).isOk())
      threads.push_back(std::move(thread));
  work();
  for (std::thread &thread : threads)
    thread.join();
  return firstFound < sweeps ? std::move(found[firstFound]) : std::nullopt;
}

} // namespace sluice
