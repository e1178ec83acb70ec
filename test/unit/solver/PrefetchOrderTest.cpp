//===- PrefetchOrderTest.cpp - when units are gathered, released and reduced ------------===//
//
// Sequences are written as U(x) for the issue of a gather, R(x) for a release, P(x) for the issue of a reduction: the
// forward, a bar, the backward.
//
//===----------------------------------------------------------------------===//

#include "passes/solver/PrefetchOrder.h"

#include <gtest/gtest.h>

using namespace sluice;

namespace {

/// The events with gathers at the positions of gatherIssue.
std::vector<UnitEvent> prefetch(const std::vector<UnitEvent> &events, const std::vector<UnitBehaviour> &units,
                                PrefetchDistance distance) {
  std::vector<ScopeEntry> entries;
  // The indices of the `enter` and the gather of each entry in `events`; the size of `events` without a gather.
  std::vector<std::size_t> enters, gathers;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].kind != UnitEvent::Kind::enter)
      continue;
    bool gathered = i > 0 && events[i - 1].kind == UnitEvent::Kind::gather && events[i - 1].unit == events[i].unit;
    entries.push_back({events[i].backward, units[events[i].unit].root, gathered, std::to_string(events[i].unit)});
    enters.push_back(i);
    gathers.push_back(gathered ? i - 1 : events.size());
  }
  std::vector<std::size_t> issue = gatherIssue(entries, distance);

  std::vector<UnitEvent> result;
  std::size_t entry = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].kind == UnitEvent::Kind::gather) {
      // The next entry: hoisted already unless it is issued at its use.
      if (issue[entry] == entry)
        result.push_back(events[i]);
      continue;
    }
    result.push_back(events[i]);
    if (events[i].kind != UnitEvent::Kind::enter)
      continue;
    for (std::size_t j = entry + 1; j < entries.size(); ++j)
      if (issue[j] == entry && gathers[j] != events.size()) {
        UnitEvent moved = events[gathers[j]];
        moved.position = events[i].position;
        result.push_back(moved);
      }
    ++entry;
  }
  return result;
}

enum class Reshard { always, blocks, never };

/// A chain of layers inside a root, with the loss between forward and backward.
struct Chain {
  std::vector<UnitScope> scopes;
  std::vector<UnitBehaviour> units;

  explicit Chain(std::int64_t layers, Reshard reshard, bool rootGathers = true) {
    units.push_back({true, rootGathers, reshard == Reshard::always, true});
    for (std::int64_t i = 0; i < layers; ++i)
      units.push_back({false, true, reshard != Reshard::never, true});
    // Op 0 embeds, each layer is one op, then the head's op, the loss, and backward the same way.
    std::int64_t forwardEnd = layers + 2, backwardBegin = forwardEnd + 1;
    scopes.push_back({0, false, 0, forwardEnd});
    scopes.push_back({0, true, backwardBegin, backwardBegin + layers + 2});
    for (std::int64_t i = 0; i < layers; ++i) {
      auto unit = static_cast<std::size_t>(i + 1);
      scopes.push_back({unit, false, 1 + i, 2 + i});
      scopes.push_back({unit, true, backwardBegin + layers - i, backwardBegin + layers - i + 1});
    }
  }

  std::string run(std::int64_t forward, std::int64_t backward, bool releases = true) const {
    std::string text;
    bool crossed = false;
    for (const UnitEvent &event : prefetch(placeUnitEvents(scopes, units), units, {forward, backward})) {
      if (event.kind == UnitEvent::Kind::enter || (event.kind == UnitEvent::Kind::release && !releases))
        continue;
      if (event.backward && !crossed) {
        text += "| ";
        crossed = true;
      }
      text += event.kind == UnitEvent::Kind::gather ? "U(" : event.kind == UnitEvent::Kind::release ? "R(" : "P(";
      text += event.unit == 0 ? "root" : std::to_string(event.unit - 1);
      text += ") ";
    }
    text.pop_back();
    return text;
  }
};

TEST(PrefetchOrder, DefaultBackwardOfThreeLayers) {
  EXPECT_EQ(Chain(3, Reshard::always).run(0, 1, false),
            "U(root) U(0) U(1) U(2) | U(root) U(2) U(1) P(2) U(0) P(1) P(0) P(root)");
  EXPECT_EQ(Chain(3, Reshard::blocks).run(0, 1, false),
            "U(root) U(0) U(1) U(2) | U(2) U(1) P(2) U(0) P(1) P(0) P(root)");
  EXPECT_EQ(Chain(3, Reshard::never).run(0, 1, false), "U(root) U(0) U(1) U(2) | P(2) P(1) P(0) P(root)");
}

const char *defaultBackward = "U(root) U(3) U(2) R(3) P(3) U(1) R(2) P(2) U(0) R(1) P(1) R(0) P(0) R(root) P(root)";

TEST(PrefetchOrder, ForwardDistances) {
  Chain chain(4, Reshard::always);
  EXPECT_EQ(chain.run(0, 1),
            std::string("U(root) U(0) R(0) U(1) R(1) U(2) R(2) U(3) R(3) R(root) | ") + defaultBackward);
  EXPECT_EQ(chain.run(1, 1),
            std::string("U(root) U(0) U(1) R(0) U(2) R(1) U(3) R(2) R(3) R(root) | ") + defaultBackward);
  EXPECT_EQ(chain.run(2, 1),
            std::string("U(root) U(0) U(1) U(2) R(0) U(3) R(1) R(2) R(3) R(root) | ") + defaultBackward);
  EXPECT_EQ(chain.run(3, 1),
            std::string("U(root) U(0) U(1) U(2) U(3) R(0) R(1) R(2) R(3) R(root) | ") + defaultBackward);
}

TEST(PrefetchOrder, BackwardDistances) {
  Chain chain(4, Reshard::always);
  std::string forward = "U(root) U(0) R(0) U(1) R(1) U(2) R(2) U(3) R(3) R(root) | ";
  EXPECT_EQ(chain.run(0, 0),
            forward + "U(root) U(3) R(3) P(3) U(2) R(2) P(2) U(1) R(1) P(1) U(0) R(0) P(0) R(root) P(root)");
  EXPECT_EQ(chain.run(0, 2),
            forward + "U(root) U(3) U(2) U(1) R(3) P(3) U(0) R(2) P(2) R(1) P(1) R(0) P(0) R(root) P(root)");
  EXPECT_EQ(chain.run(0, 3),
            forward + "U(root) U(3) U(2) U(1) U(0) R(3) P(3) R(2) P(2) R(1) P(1) R(0) P(0) R(root) P(root)");
}

TEST(PrefetchOrder, KeptUnitsAreReleasedAfterTheBackward) {
  EXPECT_EQ(Chain(2, Reshard::never).run(1, 1), "U(root) U(0) U(1) | R(1) P(1) R(0) P(0) R(root) P(root)");
}

TEST(PrefetchOrder, RootWithoutShardsStillPrefetches) {
  EXPECT_EQ(Chain(2, Reshard::always, false).run(1, 1), "U(0) U(1) R(0) R(1) | U(1) U(0) R(1) P(1) R(0) P(0) P(root)");
  std::vector<UnitEvent> events =
      prefetch(placeUnitEvents(Chain(2, Reshard::always, false).scopes, Chain(2, Reshard::always, false).units),
               Chain(2, Reshard::always, false).units, {1, 1});
  // enter root, then the first layer's gather at once.
  EXPECT_EQ(events[0].kind, UnitEvent::Kind::enter);
  EXPECT_TRUE(events[1].kind == UnitEvent::Kind::gather && events[1].unit == 1 && events[1].position == 0);
}

TEST(PrefetchOrder, UnitWithoutBackwardIsReleasedAfterTheForward) {
  std::vector<UnitBehaviour> units = {{true, true, false, false}};
  std::vector<UnitEvent> events = placeUnitEvents({{0, false, 0, 5}}, units);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[2], (UnitEvent{UnitEvent::Kind::release, 0, false, 5}));
}

TEST(PrefetchOrder, UnitOfOnlyTheBackwardIsGatheredThere) {
  // A unit that no forward reads is neither gathered nor kept before the backward, for every setting after the forward.
  for (bool reshards : {true, false}) {
    std::vector<UnitBehaviour> units = {{true, false, false, false}, {false, true, reshards, true}};
    std::vector<UnitEvent> events = placeUnitEvents({{0, false, 0, 5}, {1, true, 7, 9}}, units);
    ASSERT_EQ(events.size(), 5u);
    EXPECT_EQ(events[1], (UnitEvent{UnitEvent::Kind::gather, 1, true, 7, 1}));
    EXPECT_EQ(events[3], (UnitEvent{UnitEvent::Kind::release, 1, true, 9, 1}));
    EXPECT_EQ(events[4].kind, UnitEvent::Kind::reduce);
  }
}

TEST(PrefetchOrder, UnitsWithoutGatherAndWithoutGradientHaveNoEvents) {
  std::vector<UnitBehaviour> units = {{true, false, true, false}};
  std::vector<UnitEvent> events = placeUnitEvents({{0, false, 0, 2}, {0, true, 3, 5}}, units);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, UnitEvent::Kind::enter);
  EXPECT_EQ(events[1].kind, UnitEvent::Kind::enter);
}

TEST(PrefetchOrder, DistanceCountsUnitsThatNeedNoGather) {
  // The second entry stays gathered: a distance of one from the first reaches only it.
  std::vector<ScopeEntry> entries = {{true, false, true}, {true, false, false}, {true, false, true}};
  EXPECT_EQ(gatherIssue(entries, {1, 1}), (std::vector<std::size_t>{0, 1, 1}));
}

TEST(PrefetchOrder, ManyUnits) {
  constexpr std::size_t count = 100'000;
  std::vector<ScopeEntry> entries;
  PrefetchTable table;
  std::vector<std::size_t> expected;
  for (std::size_t i = 0; i < count; ++i) {
    entries.push_back({false, false, true, std::to_string(i)});
    table.push_back({std::to_string(i), {std::to_string(i + 2)}});
    expected.push_back(i < 2 ? i : i - 2);
  }
  PrefetchDistance distance;
  distance.forwardTable = table;
  EXPECT_EQ(gatherIssue(entries, distance), expected);
}

/// Events of scopes that a test lists, with tables or distances.
std::string sequence(const std::vector<UnitScope> &scopes, const std::vector<UnitBehaviour> &units,
                     const PrefetchDistance &distance, bool releases = true) {
  std::string text;
  for (const UnitEvent &event : prefetch(placeUnitEvents(scopes, units), units, distance)) {
    if (event.kind == UnitEvent::Kind::enter || (event.kind == UnitEvent::Kind::release && !releases))
      continue;
    const char *names[] = {"U", "", "K", "R", "P"};
    text += (text.empty() ? "" : " ") + std::string(names[int(event.kind)]) + "(" + std::to_string(event.unit) + ")";
  }
  return text;
}

TEST(PrefetchOrder, TwoForwardsBeforeOneBackward) {
  // The root around two passes of two layers, and one backward through both.
  std::vector<UnitScope> scopes = {{0, false, 0, 4, 0},  {0, false, 4, 8, 1},  {0, true, 9, 20, 0},
                                   {1, false, 1, 2, 0},  {2, false, 2, 3, 0},  {1, false, 5, 6, 1},
                                   {2, false, 6, 7, 1},  {2, true, 10, 11, 1}, {1, true, 11, 12, 1},
                                   {2, true, 15, 16, 0}, {1, true, 16, 17, 0}};
  UnitBehaviour root{true, true, true, true}, layer{false, true, true, true};
  EXPECT_EQ(sequence(scopes, {root, layer, layer}, {0, 0}, false),
            "U(0) U(1) U(2) U(0) U(1) U(2) U(0) U(2) U(1) U(2) P(2) U(1) P(1) P(0)");
  root.reshardAfterForward = false;
  EXPECT_EQ(sequence(scopes, {root, layer, layer}, {0, 0}, false),
            "U(0) U(1) U(2) U(1) U(2) U(2) U(1) U(2) P(2) U(1) P(1) P(0)");
  layer.reshardAfterForward = false;
  // The second half of the backward gathers units that the first half releases.
  EXPECT_EQ(sequence(scopes, {root, layer, layer}, {0, 0}),
            "U(0) U(1) U(2) R(2) R(1) U(2) R(2) P(2) U(1) R(1) P(1) R(0) P(0)");
  layer.reducesPerScope = true;
  EXPECT_EQ(sequence(scopes, {root, layer, layer}, {0, 0}),
            "U(0) U(1) U(2) R(2) P(2) R(1) P(1) U(2) R(2) P(2) U(1) R(1) P(1) R(0) P(0)");
}

TEST(PrefetchOrder, ShardIsKeptBeforeTheRelease) {
  UnitBehaviour unit{false, true, true, true};
  unit.keepsShard = true;
  EXPECT_EQ(sequence({{0, false, 0, 1}, {0, true, 2, 3}}, {unit}, {0, 0}), "U(0) K(0) R(0) U(0) R(0) P(0)");
  // No gather reads the kept shard if the backward gathers nothing.
  unit.skipsBackward = true;
  EXPECT_EQ(sequence({{0, false, 0, 1}, {0, true, 2, 3}}, {unit}, {0, 0}), "U(0) R(0) P(0)");
}

TEST(PrefetchOrder, ReshardBeforeBackward) {
  UnitBehaviour unit{false, true, false, true};
  unit.reshardBeforeBackward = true;
  EXPECT_EQ(sequence({{0, false, 0, 1}, {1, false, 1, 2}, {1, true, 3, 4}, {0, true, 4, 5}}, {unit, unit}, {0, 0}),
            "U(0) U(1) R(1) R(0) U(1) R(1) P(1) U(0) R(0) P(0)");
}

TEST(PrefetchOrder, KeptGatheredBetweenRepetitions) {
  UnitBehaviour unit{false, true, false, true};
  unit.keepsAfterBackward = true;
  std::vector<UnitEvent> events = placeUnitEvents({{0, false, 0, 1}, {0, true, 2, 3}}, {unit});
  ASSERT_EQ(events.size(), 5u);
  EXPECT_TRUE(events[0].kind == UnitEvent::Kind::gather && events[0].once);
  EXPECT_TRUE(events[3].kind == UnitEvent::Kind::release && events[3].once);
}

TEST(PrefetchOrder, Tables) {
  std::vector<UnitScope> scopes = {{0, false, 0, 1}, {1, false, 1, 2}, {2, false, 2, 3},
                                   {2, true, 4, 5},  {1, true, 5, 6},  {0, true, 6, 7}};
  UnitBehaviour unit{false, true, true, true};
  PrefetchDistance distance;
  distance.forwardTable = PrefetchTable{{"0", {"2"}}};
  distance.backwardTable = PrefetchTable{{"2", {"0", "1"}}, {"0", {"2"}}};
  // Of two units that one use prefetches, the one that is used first is gathered first; others are left out.
  EXPECT_EQ(sequence(scopes, {unit, unit, unit}, distance),
            "U(0) U(2) R(0) U(1) R(1) R(2) U(2) U(1) U(0) R(2) P(2) R(1) P(1) R(0) P(0)");
}

} // namespace
