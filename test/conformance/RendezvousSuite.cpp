//===- RendezvousSuite.cpp - calls of all ranks, and missing or different calls ------===//
#include "test/conformance/Ranks.h"

#include <chrono>

namespace sluice::test {
namespace {

using RendezvousSuite = CommunicatorTest;

/// Messages of each rank.
struct Outcomes {
  Outcomes(const CommunicatorBackend &backend, int size) : backend(backend), of(static_cast<std::size_t>(size)) {}
  const CommunicatorBackend &backend;
  std::vector<Status> of;
  void expectAll(std::string_view text) const {
    for (std::size_t r = 0; r < of.size(); ++r) {
      if (!backend.isLocal(static_cast<int>(r)))
        continue;
      EXPECT_FALSE(of[r].isOk());
      EXPECT_NE(of[r].message().find(text), std::string::npos) << of[r].message();
    }
  }
};

// Tests that different kinds of collectives are an error on all ranks that names both, and that later calls fail in the
// same way.
TEST_P(RendezvousSuite, DifferentKindsNameBoth) {
  SLUICE_NEEDS_RANKS(3);
  auto world = backend().create(3);
  Outcomes outcomes(backend(), 3), later(backend(), 3);
  forRanks(backend(), 3, [&](int r) {
    auto communicator = join(*world, r);
    RankArray<float> a(backend(), std::vector<float>(30, 1)), b(backend(), std::vector<float>(30, 1));
    const SegmentPointers segment{a.data(), b.data(), 10};
    outcomes.of[static_cast<std::size_t>(r)] =
        r == 1 ? communicator->reduceScatter({&segment, 1}, DType::f32, Reduction::mean, 1, {12, "h.1"}, nullptr)
               : communicator->allGather({&segment, 1}, DType::f32, {12, "h.0"}, nullptr);
    later.of[static_cast<std::size_t>(r)] = communicator->barrier({13, "later"});
  });
  const std::string_view text =
      "collectives on channel 'gather' disagree: rank 0 calls all_gather of 1 segments, 10 f32 (instruction 12, h.0) "
      "but rank 1 calls reduce_scatter of 1 segments, 10 f32, mean (instruction 12, h.1)";
  outcomes.expectAll(text);
  later.expectAll(text);
}

// Tests that sizes, types, operations, scales, roots and labels are compared too.
TEST_P(RendezvousSuite, EveryDifferenceIsFound) {
  SLUICE_NEEDS_RANKS(2);
  struct Case {
    std::string_view text;
    std::function<Status(Communicator &, std::span<const SegmentPointers>, bool odd)> call;
  };
  const CallLabel label{3, "u"};
  const std::vector<Case> cases = {
      {"segment 1 has 4 and 3 elements",
       [&](Communicator &c, std::span<const SegmentPointers> s, bool odd) {
         std::vector<SegmentPointers> changed(s.begin(), s.end());
         changed[1].count = odd ? 3 : 4;
         return c.allReduce(changed, DType::f32, Reduction::sum, 1, label, nullptr);
       }},
      {"of 2 segments, 8 f32, sum (instruction 3, u) but rank 1 calls all_reduce of 1 segments, 4 f32, sum",
       [&](Communicator &c, std::span<const SegmentPointers> s, bool odd) {
         return c.allReduce(s.first(odd ? 1 : 2), DType::f32, Reduction::sum, 1, label, nullptr);
       }},
      {"8 f32, sum (instruction 3, u) but rank 1 calls all_reduce of 2 segments, 8 bf16",
       [&](Communicator &c, std::span<const SegmentPointers> s, bool odd) {
         return c.allReduce(s, odd ? DType::bf16 : DType::f32, Reduction::sum, 1, label, nullptr);
       }},
      {"f32, sum (instruction 3, u) but rank 1 calls all_reduce of 2 segments, 8 f32, max",
       [&](Communicator &c, std::span<const SegmentPointers> s, bool odd) {
         return c.allReduce(s, DType::f32, odd ? Reduction::max : Reduction::sum, 1, label, nullptr);
       }},
      {"premul_sum by 0.500000 (instruction 3, u) but rank 1 calls all_reduce of 2 segments, 8 f32, premul_sum by "
       "0.250000",
       [&](Communicator &c, std::span<const SegmentPointers> s, bool odd) {
         return c.allReduce(s, DType::f32, Reduction::premulSum, odd ? 0.25 : 0.5, label, nullptr);
       }},
      {"f32, from 0 (instruction 3, u) but rank 1 calls broadcast of 2 segments, 8 f32, from 1",
       [&](Communicator &c, std::span<const SegmentPointers> s, bool odd) {
         return c.broadcast(s, DType::f32, odd ? 1 : 0, label, nullptr);
       }},
      {"(instruction 3, u) but rank 1 calls barrier (instruction 4, u)",
       [&](Communicator &c, std::span<const SegmentPointers>, bool odd) { return c.barrier({odd ? 4u : 3u, "u"}); }},
  };
  for (const Case &one : cases) {
    auto world = backend().create(2);
    Outcomes outcomes(backend(), 2);
    forRanks(backend(), 2, [&](int r) {
      auto communicator = join(*world, r);
      RankArray<float> memory(backend(), std::vector<float>(8, 1));
      const SegmentPointers segments[] = {{memory.data(), memory.data(), 4}, {memory.data() + 4, memory.data() + 4, 4}};
      outcomes.of[static_cast<std::size_t>(r)] = one.call(*communicator, segments, r == 1);
    });
    outcomes.expectAll(one.text);
  }
}

// Tests that no rank leaves a barrier before the last one arrives. (The steady clock is the same for all processes of a
// machine.)
TEST_P(RendezvousSuite, BarrierHolds) {
  SLUICE_NEEDS_RANKS(4);
  auto world = backend().create(4);
  const auto now = [] { return std::int64_t(std::chrono::steady_clock::now().time_since_epoch().count()); };
  forRanks(backend(), 4, [&](int r) {
    auto communicator = join(*world, r);
    for (int round = 0; round < 20; ++round) {
      if (round % 4 == r)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      std::int64_t come = now();
      ASSERT_TRUE(communicator->barrier({0, "round"}).isOk());
      const std::int64_t gone = now();
      RankArray<std::int64_t> latest(backend(), {come});
      const SegmentPointers segment{latest.data(), latest.data(), 1};
      ASSERT_TRUE(communicator->allReduce({&segment, 1}, DType::i64, Reduction::max, 1, {1, "round"}, nullptr).isOk());
      EXPECT_GE(gone, latest.values()[0]);
    }
  });
}

// Tests that a rank which fails wakes all ranks that wait, on every channel, with its reason; the first reason is kept.
TEST_P(RendezvousSuite, WorldAbortWakesAll) {
  SLUICE_NEEDS_RANKS(3);
  auto world = backend().create(3);
  Outcomes gather(backend(), 3), later(backend(), 3), created(backend(), 3);
  forRanks(backend(), 3, [&](int r) {
    auto first = join(*world, r, "gather");
    auto second = join(*world, r, "reduce");
    const auto rank = static_cast<std::size_t>(r);
    if (r == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      world->abort(failedError("rank 2 has failed"));
      world->abort(failedError("a later reason"));
      gather.of[rank] = first->barrier({0, "gather"});
    } else {
      gather.of[rank] = (r == 0 ? first : second)->barrier({0, "gather"});
    }
    later.of[rank] = second->barrier({1, "later"});
    created.of[rank] = world->create(r, allRanks(3), "new").status();
  });
  gather.expectAll("rank 2 has failed");
  later.expectAll("rank 2 has failed");
  created.expectAll("rank 2 has failed");
}

// Tests that abort wakes a rank that waits for other ranks.
TEST_P(RendezvousSuite, AbortWakesRanksThatWaitForOthers) {
  SLUICE_NEEDS_RANKS(2);
  auto world = backend().create(2);
  forRanks(backend(), 2, [&](int r) {
    if (r == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      world->abort(failedError("rank 1 has fallen"));
      return;
    }
    EXPECT_EQ(world->create(r, allRanks(2), "gather").status().message(), "rank 1 has fallen");
  });
}

// Tests that abort of one communicator does not affect the others.
TEST_P(RendezvousSuite, AbortOfOneCommunicator) {
  SLUICE_NEEDS_RANKS(2);
  auto world = backend().create(2);
  forRanks(backend(), 2, [&](int r) {
    auto first = join(*world, r, "gather");
    auto second = join(*world, r, "reduce");
    if (r == 0)
      first->abort(failedError("no more"));
    else
      EXPECT_EQ(first->barrier({0, "x"}).message(), "no more");
    EXPECT_TRUE(second->barrier({0, "x"}).isOk());
  });
}

// Tests that a rank which leaves while others wait is an error, not a hang.
TEST_P(RendezvousSuite, LeavingIsAnError) {
  SLUICE_NEEDS_RANKS(2);
  for (int order : {0, 1}) {
    auto world = backend().create(2);
    forRanks(backend(), 2, [&](int r) {
      auto communicator = join(*world, r);
      if (r == order) {
        std::this_thread::sleep_for(std::chrono::milliseconds(r == 0 ? 20 : 0));
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(r == 0 ? 20 : 0));
      Status status = communicator->barrier({5, "h.0"});
      EXPECT_EQ(status.message(), "rank " + std::to_string(1 - r) + " has left channel 'gather' while rank " +
                                      std::to_string(r) + " calls barrier (instruction 5, h.0)");
    });
  }
}

// Tests that a world can be used again by new communicators of the same names.
TEST_P(RendezvousSuite, ChannelsCanBeRecreated) {
  SLUICE_NEEDS_RANKS(2);
  auto world = backend().create(2);
  for (int round = 0; round < 3; ++round)
    forRanks(backend(), 2, [&](int r) { EXPECT_TRUE(join(*world, r)->barrier({0, "x"}).isOk()); });
}

// Tests invalid groups.
TEST_P(RendezvousSuite, BadGroupsAreErrors) {
  SLUICE_NEEDS_RANKS(4);
  auto world = backend().create(4);
  if (!world)
    return;
  const auto message = [&](int rank, std::vector<int> members) {
    return world->create(rank, members, "x").status().message();
  };
  const std::string members = "members of a group, expected ascending ranks below 4";
  EXPECT_EQ(message(0, {}), members);
  EXPECT_EQ(message(0, {1, 0}), members);
  EXPECT_EQ(message(0, {0, 0}), members);
  EXPECT_EQ(message(0, {0, 4}), members);
  EXPECT_EQ(message(0, {-1, 0}), members);
  EXPECT_EQ(message(3, {0, 1}), "members of a group, expected rank 3 among them");
}

// Tests calls that no rank can make: the waiting peers return the error too.
TEST_P(RendezvousSuite, InvalidCallsEndTheGroup) {
  SLUICE_NEEDS_RANKS(2);
  const auto both = [&](auto &&call) {
    auto world = backend().create(2);
    Outcomes outcomes(backend(), 2);
    forRanks(backend(), 2, [&](int r) {
      auto communicator = join(*world, r);
      outcomes.of[static_cast<std::size_t>(r)] = r == 0 ? call(*communicator) : communicator->barrier({0, "x"});
    });
    return outcomes;
  };
  both([](Communicator &c) {
    return c.broadcast({}, DType::f32, 2, {0, "x"}, nullptr);
  }).expectAll("root of a broadcast, expected less than 2 but got 2");
  both([](Communicator &c) {
    return c.allReduce({}, DType::f32, Reduction::none, 1, {0, "x"}, nullptr);
  }).expectAll("missing reduction of a collective, expected sum, mean, premul_sum or max");
}

INSTANTIATE_TEST_SUITE_P(Backends, RendezvousSuite, testing::ValuesIn(communicatorBackends()),
                         [](const auto &info) { return info.param->name(); });

} // namespace
} // namespace sluice::test
