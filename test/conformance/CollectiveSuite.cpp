//===- CollectiveSuite.cpp - the results of every collective -----------------------===//
//
// Values are small integers, or such that the last bit depends on the order of addition.
//
//===----------------------------------------------------------------------===//
#include "test/conformance/Ranks.h"

#include <bit>
#include <cmath>

namespace sluice::test {
namespace {

using CollectiveSuite = CommunicatorTest;

const CallLabel label{7, "unit"};

/// A value of rank `r` at element `i` whose sums round.
float rounding(int r, std::size_t i) {
  return std::ldexp(1.0f + 0.37f * static_cast<float>(i % 11), (r * 7) % 23 - 11);
}

// Tests that a gather writes the chunks in order of rank, for uneven counts, empty segments, and several segments.
TEST_P(CollectiveSuite, AllGatherOrdersChunks) {
  SLUICE_NEEDS_RANKS(3);
  auto world = backend().create(3);
  const std::size_t counts[] = {5, 0, 1, 1000};
  forRanks(backend(), 3, [&](int r) {
    auto communicator = join(*world, r);
    std::vector<std::unique_ptr<RankArray<float>>> sources, destinations;
    std::vector<SegmentPointers> segments;
    for (std::size_t count : counts) {
      std::vector<float> chunk(count);
      for (std::size_t i = 0; i < count; ++i)
        chunk[i] = static_cast<float>(r * 10000) + static_cast<float>(i);
      sources.push_back(std::make_unique<RankArray<float>>(backend(), chunk));
      destinations.push_back(std::make_unique<RankArray<float>>(backend(), std::vector<float>(3 * count, -1)));
      segments.push_back({sources.back()->data(), destinations.back()->data(), count});
    }
    Status status = communicator->allGather(segments, DType::f32, label, nullptr);
    ASSERT_TRUE(status.isOk()) << status.message();
    for (std::size_t s = 0; s < 4; ++s) {
      const std::vector<float> full = destinations[s]->values();
      for (int m = 0; m < 3; ++m)
        for (std::size_t i = 0; i < counts[s]; ++i)
          ASSERT_EQ(full[static_cast<std::size_t>(m) * counts[s] + i],
                    static_cast<float>(m * 10000) + static_cast<float>(i));
    }
  });
}

// Tests a gather whose source is the rank's slot of the destination.
TEST_P(CollectiveSuite, AllGatherInPlace) {
  SLUICE_NEEDS_RANKS(4);
  auto world = backend().create(4);
  forRanks(backend(), 4, [&](int r) {
    auto communicator = join(*world, r);
    std::vector<std::int32_t> initial(4 * 33, -1);
    for (int i = 0; i < 33; ++i)
      initial[static_cast<std::size_t>(r * 33 + i)] = 100 * r + i;
    RankArray<std::int32_t> full(backend(), initial);
    const SegmentPointers segment{full.data() + r * 33, full.data(), 33};
    ASSERT_TRUE(communicator->allGather({&segment, 1}, DType::i32, label, nullptr).isOk());
    const std::vector<std::int32_t> values = full.values();
    for (int m = 0; m < 4; ++m)
      for (int i = 0; i < 33; ++i)
        ASSERT_EQ(values[static_cast<std::size_t>(m * 33 + i)], 100 * m + i);
  });
}

/// The result of `op` in f32 by the stated formula.
float expected(Reduction op, float scale, int ranks, std::size_t i) {
  float sum = rounding(0, i);
  if (op == Reduction::premulSum)
    sum *= scale;
  for (int r = 1; r < ranks; ++r) {
    const float x = rounding(r, i);
    if (op == Reduction::max)
      sum = std::max(sum, x);
    else if (op == Reduction::premulSum)
      sum += x * scale;
    else
      sum += x;
  }
  return op == Reduction::mean ? sum * (1.0f / static_cast<float>(ranks)) : sum;
}

void expectReduced(const CommunicatorBackend &backend, float got, float want) {
  if (backend.isOrdered())
    EXPECT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(want)) << got << " and " << want;
  else
    EXPECT_NEAR(got, want, 1e-5f * std::abs(want));
}

// Tests reduce_scatter for each operation: the formula to the bit if the backend declares it.
TEST_P(CollectiveSuite, ReduceScatterByFormula) {
  SLUICE_NEEDS_RANKS(3);
  for (Reduction op : {Reduction::sum, Reduction::mean, Reduction::premulSum, Reduction::max}) {
    auto world = backend().create(3);
    const std::size_t count = 2051;
    forRanks(backend(), 3, [&](int r) {
      auto communicator = join(*world, r, "reduce");
      std::vector<float> full(3 * count);
      for (std::size_t i = 0; i < full.size(); ++i)
        full[i] = rounding(r, i);
      RankArray<float> source(backend(), full), chunk(backend(), std::vector<float>(count));
      const SegmentPointers segment{source.data(), chunk.data(), count};
      ASSERT_TRUE(communicator->reduceScatter({&segment, 1}, DType::f32, op, 0.3, label, nullptr).isOk());
      const std::vector<float> got = chunk.values();
      for (std::size_t i = 0; i < count; ++i)
        expectReduced(backend(), got[i], expected(op, 0.3f, 3, static_cast<std::size_t>(r) * count + i));
    });
  }
}

// Tests reduce_scatter into the rank's chunk of its source.
TEST_P(CollectiveSuite, ReduceScatterInPlace) {
  SLUICE_NEEDS_RANKS(4);
  auto world = backend().create(4);
  forRanks(backend(), 4, [&](int r) {
    auto communicator = join(*world, r);
    std::vector<float> full(4 * 100);
    for (std::size_t i = 0; i < full.size(); ++i)
      full[i] = rounding(r, i);
    RankArray<float> memory(backend(), full);
    const SegmentPointers segment{memory.data(), memory.data() + r * 100, 100};
    ASSERT_TRUE(communicator->reduceScatter({&segment, 1}, DType::f32, Reduction::sum, 1, label, nullptr).isOk());
    const std::vector<float> got = memory.values();
    for (std::size_t i = 0; i < 100; ++i) {
      const std::size_t at = static_cast<std::size_t>(r) * 100 + i;
      expectReduced(backend(), got[at], expected(Reduction::sum, 1, 4, at));
    }
  });
}

// Tests all_reduce in place and out of place, with counts that do not divide by the ranks.
TEST_P(CollectiveSuite, AllReduceByFormula) {
  SLUICE_NEEDS_RANKS(5);
  for (bool inPlace : {false, true})
    for (Reduction op : {Reduction::sum, Reduction::mean, Reduction::premulSum, Reduction::max}) {
      auto world = backend().create(5);
      forRanks(backend(), 5, [&](int r) {
        auto communicator = join(*world, r);
        for (std::size_t count : {std::size_t(1), std::size_t(3), std::size_t(3001)}) {
          std::vector<float> values(count);
          for (std::size_t i = 0; i < count; ++i)
            values[i] = rounding(r, i);
          RankArray<float> source(backend(), values), other(backend(), std::vector<float>(count));
          RankArray<float> &destination = inPlace ? source : other;
          const SegmentPointers segment{source.data(), destination.data(), count};
          ASSERT_TRUE(communicator->allReduce({&segment, 1}, DType::f32, op, 0.3, label, nullptr).isOk());
          const std::vector<float> got = destination.values();
          for (std::size_t i = 0; i < count; ++i)
            expectReduced(backend(), got[i], expected(op, 0.3f, 5, i));
        }
      });
    }
}

// Tests that a maximum keeps NaN: a guard must detect it.
TEST_P(CollectiveSuite, MaxKeepsNaN) {
  SLUICE_NEEDS_RANKS(3);
  for (int bad = 0; bad < 3; ++bad) {
    auto world = backend().create(3);
    forRanks(backend(), 3, [&](int r) {
      auto communicator = join(*world, r);
      RankArray<float> value(backend(), {r == bad ? std::nanf("") : static_cast<float>(r)});
      const SegmentPointers segment{value.data(), value.data(), 1};
      ASSERT_TRUE(communicator->allReduce({&segment, 1}, DType::f32, Reduction::max, 1, label, nullptr).isOk());
      EXPECT_TRUE(std::isnan(value.values()[0]));
    });
  }
}

/// Sums of each type; `encode` converts a small integer to an element.
template <typename T, typename Encode> void sumsOf(const CommunicatorBackend &backend, DType dtype, Encode &&encode) {
  auto world = backend.create(3);
  forRanks(backend, 3, [&](int r) {
    auto communicator = world->create(r, allRanks(3), "types");
    ASSERT_TRUE(communicator.isOk());
    std::vector<T> values(50);
    for (int i = 0; i < 50; ++i)
      values[static_cast<std::size_t>(i)] = encode(i + r);
    RankArray<T> source(backend, values), reduced(backend, std::vector<T>(50));
    const SegmentPointers reduce{source.data(), reduced.data(), 50};
    ASSERT_TRUE((*communicator)->allReduce({&reduce, 1}, dtype, Reduction::sum, 1, label, nullptr).isOk());
    const std::vector<T> sums = reduced.values();
    for (int i = 0; i < 50; ++i)
      EXPECT_EQ(sums[static_cast<std::size_t>(i)], encode(3 * i + 3)) << dtypeName(dtype);
    RankArray<T> gathered(backend, std::vector<T>(150));
    const SegmentPointers gather{source.data(), gathered.data(), 50};
    ASSERT_TRUE((*communicator)->allGather({&gather, 1}, dtype, label, nullptr).isOk());
    const std::vector<T> full = gathered.values();
    for (int m = 0; m < 3; ++m)
      for (int i = 0; i < 50; ++i)
        EXPECT_EQ(full[static_cast<std::size_t>(50 * m + i)], encode(i + m)) << dtypeName(dtype);
  });
}

/// bf16 of a small integer: the upper half of the float, exact up to 256.
std::uint16_t bf16(int value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
}
/// f16 of an integer below 2048.
std::uint16_t f16(int value) {
  if (value == 0)
    return 0;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return static_cast<std::uint16_t>((((bits >> 23) - 127 + 15) << 10) | ((bits >> 13) & 0x3ff));
}

// Tests every element type.
TEST_P(CollectiveSuite, AllTypes) {
  SLUICE_NEEDS_RANKS(3);
  sumsOf<float>(backend(), DType::f32, [](int v) { return static_cast<float>(v); });
  sumsOf<double>(backend(), DType::f64, [](int v) { return static_cast<double>(v); });
  sumsOf<std::uint16_t>(backend(), DType::bf16, bf16);
  sumsOf<std::uint16_t>(backend(), DType::f16, f16);
  sumsOf<std::int32_t>(backend(), DType::i32, [](int v) { return v; });
  sumsOf<std::int64_t>(backend(), DType::i64, [](int v) { return std::int64_t(v) << 33; });
  sumsOf<std::uint8_t>(backend(), DType::u8, [](int v) { return static_cast<std::uint8_t>(v); });
}

// Tests that bf16 is summed in f32 and rounded once: 256 + 1 + 1 + 1 is 259, rounded to 260, where adding in bf16 would
// leave 256.
TEST_P(CollectiveSuite, Bf16AccumulatesInF32) {
  SLUICE_NEEDS_RANKS(4);
  auto world = backend().create(4);
  forRanks(backend(), 4, [&](int r) {
    auto communicator = join(*world, r);
    RankArray<std::uint16_t> value(backend(), {bf16(r == 0 ? 256 : 1)});
    const SegmentPointers segment{value.data(), value.data(), 1};
    ASSERT_TRUE(communicator->allReduce({&segment, 1}, DType::bf16, Reduction::sum, 1, label, nullptr).isOk());
    EXPECT_EQ(value.values()[0], bf16(260));
  });
}

// Tests that integers take mean by division and have no premul_sum.
TEST_P(CollectiveSuite, IntegerMeanAndNoScale) {
  SLUICE_NEEDS_RANKS(2);
  auto world = backend().create(2);
  forRanks(backend(), 2, [&](int r) {
    auto communicator = join(*world, r);
    RankArray<std::int32_t> value(backend(), {r == 0 ? 7 : 4});
    const SegmentPointers segment{value.data(), value.data(), 1};
    ASSERT_TRUE(communicator->allReduce({&segment, 1}, DType::i32, Reduction::mean, 1, label, nullptr).isOk());
    EXPECT_EQ(value.values()[0], 5);
    Status status = communicator->allReduce({&segment, 1}, DType::i32, Reduction::premulSum, 2, label, nullptr);
    EXPECT_EQ(status.message(), "premul_sum, expected a float type but got i32");
  });
}

// Tests broadcast from each root.
TEST_P(CollectiveSuite, Broadcast) {
  SLUICE_NEEDS_RANKS(3);
  auto world = backend().create(3);
  forRanks(backend(), 3, [&](int r) {
    auto communicator = join(*world, r);
    for (int root = 0; root < 3; ++root) {
      RankArray<double> source(backend(), {1.5 + r, 2.5 + r}), destination(backend(), {0.0, 0.0});
      const SegmentPointers segment{source.data(), destination.data(), 2};
      ASSERT_TRUE(communicator->broadcast({&segment, 1}, DType::f64, root, label, nullptr).isOk());
      EXPECT_EQ(destination.values(), std::vector<double>({1.5 + root, 2.5 + root}));
    }
  });
}

// Tests that an exchange gives each rank its chunk of every rank, in order of rank, for empty segments, one rank, and
// segments of several frames.
TEST_P(CollectiveSuite, AllToAllOrdersChunks) {
  for (const int ranks : {1, 2, 3}) {
    SLUICE_NEEDS_RANKS(ranks);
    auto world = backend().create(ranks);
    const std::size_t counts[] = {5, 0, 1, 300'000};
    forRanks(backend(), ranks, [&](int r) {
      auto communicator = join(*world, r);
      std::vector<std::unique_ptr<RankArray<std::int32_t>>> sources, destinations;
      std::vector<SegmentPointers> segments;
      const auto element = [](int from, int to, std::size_t i) {
        return from * 10'000'000 + to * 1'000'000 + static_cast<std::int32_t>(i);
      };
      const auto all = static_cast<std::size_t>(ranks);
      for (std::size_t count : counts) {
        std::vector<std::int32_t> chunks(all * count);
        for (std::size_t i = 0; i < chunks.size(); ++i)
          chunks[i] = element(r, static_cast<int>(i / count), i % count);
        sources.push_back(std::make_unique<RankArray<std::int32_t>>(backend(), chunks));
        destinations.push_back(
            std::make_unique<RankArray<std::int32_t>>(backend(), std::vector<std::int32_t>(all * count, -1)));
        segments.push_back({sources.back()->data(), destinations.back()->data(), count});
      }
      Status status = communicator->allToAll(segments, DType::i32, label, nullptr);
      ASSERT_TRUE(status.isOk()) << status.message();
      for (std::size_t s = 0; s < std::size(counts); ++s) {
        const std::vector<std::int32_t> received = destinations[s]->values();
        for (std::size_t i = 0; i < received.size(); ++i)
          ASSERT_EQ(received[i], element(static_cast<int>(i / counts[s]), r, i % counts[s])) << s;
      }
    });
  }
}

// Tests that an exchange in place is refused, since a chunk would be overwritten before it is sent.
TEST_P(CollectiveSuite, AllToAllIsNotInPlace) {
  SLUICE_NEEDS_RANKS(2);
  auto world = backend().create(2);
  forRanks(backend(), 2, [&](int r) {
    auto communicator = join(*world, r);
    RankArray<float> memory(backend(), std::vector<float>(5, 1));
    const SegmentPointers segment{memory.data(), memory.data() + 1, 2};
    EXPECT_EQ(communicator->allToAll({&segment, 1}, DType::f32, label, nullptr).message(),
              "destination of an all_to_all, expected other memory than that of the source");
  });
}

// Tests the groups of a (2, 2) mesh, along one axis, the other, and both, on different channels at the same time.
TEST_P(CollectiveSuite, SubgroupsOfAMesh) {
  SLUICE_NEEDS_RANKS(4);
  auto world = backend().create(4);
  forRanks(backend(), 4, [&](int r) {
    const int row = r / 2, column = r % 2;
    const int shard[] = {2 * row, 2 * row + 1}, replicate[] = {column, column + 2};
    auto along = world->create(r, shard, "gather");
    auto across = world->create(r, replicate, "reduce");
    ASSERT_TRUE(along.isOk() && across.isOk());
    EXPECT_EQ((*along)->rank(), column);
    EXPECT_EQ((*across)->rank(), row);
    EXPECT_EQ((*across)->size(), 2);
    auto both = join(*world, r, "reduce");
    std::thread reducing([&] {
      RankArray<float> value(backend(), {static_cast<float>(1 << r)});
      const SegmentPointers segment{value.data(), value.data(), 1};
      ASSERT_TRUE((*across)->allReduce({&segment, 1}, DType::f32, Reduction::sum, 1, label, nullptr).isOk());
      EXPECT_EQ(value.values()[0], column == 0 ? 5.0f : 10.0f);
    });
    RankArray<float> chunk(backend(), {static_cast<float>(r)}), full(backend(), {-1.0f, -1.0f});
    const SegmentPointers segment{chunk.data(), full.data(), 1};
    EXPECT_TRUE((*along)->allGather({&segment, 1}, DType::f32, label, nullptr).isOk());
    EXPECT_EQ(full.values(), std::vector<float>({static_cast<float>(2 * row), static_cast<float>(2 * row + 1)}));
    reducing.join();
    RankArray<float> total(backend(), {static_cast<float>(r)});
    const SegmentPointers all{total.data(), total.data(), 1};
    EXPECT_TRUE(both->allReduce({&all, 1}, DType::f32, Reduction::sum, 1, label, nullptr).isOk());
    EXPECT_EQ(total.values()[0], 6.0f);
  });
}

/// Rows and columns of parameters: rows fewer than 128, not divisible by 128, or divisible.
constexpr std::pair<std::size_t, std::size_t> manyRanksShapes[] = {{17, 257}, {17, 1},   {64, 312}, {64, 1},
                                                                   {64, 64},  {512, 64}, {256, 1},  {64, 297}};

// Tests 128 ranks with parameters whose dim 0 is sharded in ceil-chunks: smaller than the world, uneven, or even.
// Gathering the padded chunks gives the full tensor; scattering the sum gives each rank its chunk.
TEST_P(CollectiveSuite, ManyRanksWithCeilChunks) {
  constexpr int ranks = 128;
  SLUICE_NEEDS_RANKS(ranks);
  auto world = backend().create(ranks);
  forRanks(backend(), ranks, [&](int r) {
    auto communicator = join(*world, r);
    std::vector<std::unique_ptr<RankArray<float>>> chunks, gatheredTensors, backs;
    std::vector<SegmentPointers> gathers, scatters;
    for (const auto &[rows, columns] : manyRanksShapes) {
      const std::size_t chunk = (rows + ranks - 1) / ranks, count = chunk * columns;
      std::vector<float> own(count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t row = static_cast<std::size_t>(r) * chunk + i / columns;
        own[i] = row < rows ? static_cast<float>(row * columns + i % columns) : 0.0f;
      }
      chunks.push_back(std::make_unique<RankArray<float>>(backend(), own));
      gatheredTensors.push_back(std::make_unique<RankArray<float>>(backend(), std::vector<float>(count * ranks, -1)));
      backs.push_back(std::make_unique<RankArray<float>>(backend(), std::vector<float>(count, -1)));
      gathers.push_back({chunks.back()->data(), gatheredTensors.back()->data(), count});
      scatters.push_back({gatheredTensors.back()->data(), backs.back()->data(), count});
    }
    ASSERT_TRUE(communicator->allGather(gathers, DType::f32, label, nullptr).isOk());
    for (std::size_t p = 0; p < std::size(manyRanksShapes); ++p) {
      const std::vector<float> full = gatheredTensors[p]->values();
      const std::size_t real = manyRanksShapes[p].first * manyRanksShapes[p].second;
      for (std::size_t i = 0; i < full.size(); ++i)
        ASSERT_EQ(full[i], i < real ? static_cast<float>(i) : 0.0f);
    }
    ASSERT_TRUE(communicator->reduceScatter(scatters, DType::f32, Reduction::mean, 1, label, nullptr).isOk());
    for (std::size_t p = 0; p < std::size(manyRanksShapes); ++p)
      EXPECT_EQ(backs[p]->values(), chunks[p]->values());
  });
}

// Tests that 128 ranks sum f16 gradients exactly: every rank has (rank mod 8) + (i mod 4) in element i, divided by 16
// before the sum, the first of the two factors of a mean over 128 ranks.
TEST_P(CollectiveSuite, ManyRanksSumF16Exactly) {
  constexpr int ranks = 128;
  SLUICE_NEEDS_RANKS(ranks);
  const auto sixteenth = [](int value) { return static_cast<std::uint16_t>(value == 0 ? 0 : f16(value) - (4 << 10)); };
  auto world = backend().create(ranks);
  forRanks(backend(), ranks, [&](int r) {
    auto communicator = join(*world, r);
    std::vector<std::unique_ptr<RankArray<std::uint16_t>>> gradients, chunks;
    std::vector<SegmentPointers> scatters;
    for (const auto &[rows, columns] : manyRanksShapes) {
      const std::size_t count = (rows + ranks - 1) / ranks * columns;
      std::vector<std::uint16_t> gradient(count * ranks);
      for (std::size_t i = 0; i < rows * columns; ++i)
        gradient[i] = sixteenth(r % 8 + static_cast<int>(i % 4));
      gradients.push_back(std::make_unique<RankArray<std::uint16_t>>(backend(), gradient));
      chunks.push_back(std::make_unique<RankArray<std::uint16_t>>(backend(), std::vector<std::uint16_t>(count, 1)));
      scatters.push_back({gradients.back()->data(), chunks.back()->data(), count});
    }
    ASSERT_TRUE(communicator->reduceScatter(scatters, DType::f16, Reduction::sum, 1, label, nullptr).isOk());
    for (std::size_t p = 0; p < std::size(manyRanksShapes); ++p) {
      const auto [rows, columns] = manyRanksShapes[p];
      const std::vector<std::uint16_t> chunk = chunks[p]->values();
      for (std::size_t j = 0; j < chunk.size(); ++j) {
        const std::size_t i = static_cast<std::size_t>(r) * chunk.size() + j;
        // 16 times the sum of 0 to 7 and 128 times the second term, divided by 16.
        ASSERT_EQ(chunk[j], f16(i < rows * columns ? 28 + 8 * static_cast<int>(i % 4) : 0));
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, CollectiveSuite, testing::ValuesIn(communicatorBackends()),
                         [](const auto &info) { return info.param->name(); });

} // namespace
} // namespace sluice::test
