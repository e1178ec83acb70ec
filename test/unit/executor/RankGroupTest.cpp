//===- RankGroupTest.cpp - a sharded step on several ranks --------------------------===//
#include "test/unit/executor/ShardedPlan.h"

#include "runtime/executor/RankGroup.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <mutex>
#include <string>
#include <thread>

namespace sluice::test {
namespace {

float input(int rank, int repetition, int step, std::int64_t i) {
  return 0.01f * static_cast<float>((rank * 31 + repetition * 17 + step * 7 + i * 3) % 101);
}

/// Writes the first weights, runs `steps`, and reads the weights back as one tensor.
std::vector<float> train(RankGroup &group, int steps) {
  const std::uint32_t buffer = group.executor(0).plan().parameters[0]->buffer;
  std::vector<float> weights(rows * columns);
  const auto shardOf = [&](int r) {
    return std::span(weights).subspan(static_cast<std::size_t>(elementsBefore(r, group.size())),
                                      shardElements(r, group.size()));
  };
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = 0.5f + 0.25f * static_cast<float>(i);
  for (int r = 0; r < group.size(); ++r)
    EXPECT_TRUE(group.executor(r).write(buffer, 0, std::as_bytes(shardOf(r))).isOk());
  for (int step = 0; step < steps; ++step) {
    for (int r = 0; r < group.size(); ++r)
      for (int m = 0; m < 2; ++m)
        for (std::int64_t i = 0; i < rows * columns; ++i)
          group.executor(r).input("train_step", "x")->as<float>(static_cast<std::uint32_t>(m))[i] =
              input(r, m, step, i);
    Status status = group.runEntry("train_step");
    EXPECT_TRUE(status.isOk()) << status.message();
  }
  for (int r = 0; r < group.size(); ++r)
    EXPECT_TRUE(group.executor(r).read(buffer, 0, std::as_writable_bytes(shardOf(r))).isOk());
  return weights;
}

std::vector<float> expectedWeights(int ranks, int steps) {
  std::vector<float> weights;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    float weight = 0.5f + 0.25f * static_cast<float>(i);
    for (int step = 0; step < steps; ++step) {
      float sum = 0;
      for (int r = 0; r < ranks; ++r) {
        const float gradient = (weight + input(r, 0, step, i)) + input(r, 1, step, i);
        sum = r == 0 ? gradient : sum + gradient;
      }
      weight -= sum * (1.0f / static_cast<float>(ranks));
    }
    weights.push_back(weight);
  }
  return weights;
}

// Tests gather, accumulation over micro-batches, reduction and update, to the bit, on worlds with and without padding
// and with ranks that have no row.
TEST(RankGroup, ShardedStepsMatchTheFormula) {
  for (std::uint32_t ranks : {1u, 2u, 3u, 4u, 8u, 16u}) {
    PlanBuilder builder = sharded(ranks);
    auto group = RankGroup::create(builder.plan);
    ASSERT_TRUE(group.isOk()) << group.status().message();
    EXPECT_EQ(train(**group, 5), expectedWeights(static_cast<int>(ranks), 5)) << ranks << " ranks";
  }
}

/// Sleeps before one instruction, or before each.
struct Delays final : DelayInjector {
  explicit Delays(int which) : which(which) {}
  void before(std::string_view, std::uint32_t instruction, std::uint32_t) override {
    if (which < 0 || static_cast<std::uint32_t>(which) == instruction)
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  const int which;
};

// Tests that a delay before any instruction, and before all, changes no bit.
TEST(RankGroup, DelaysChangeNothing) {
  const std::vector<float> want = expectedWeights(3, 3);
  for (int which :
       {-1, int(gatherWeight), int(setGradient), int(addGradient), int(reduceGradient), int(update), int(copyShard)}) {
    PlanBuilder builder = sharded(3);
    Delays delays(which);
    ExecutorOptions options;
    options.delays = &delays;
    auto group = RankGroup::create(builder.plan, options);
    ASSERT_TRUE(group.isOk());
    EXPECT_EQ(train(**group, 3), want) << "delay at " << which;
  }
}

/// Delays one instruction until a different one is about to run on the same rank.
struct Hold final : DelayInjector {
  Hold(std::uint32_t held, std::uint32_t until, int ranks) : held(held), until(until), ranks(ranks) {}
  void before(std::string_view, std::uint32_t instruction, std::uint32_t) override {
    std::unique_lock lock(mutex);
    if (instruction == until) {
      ++come;
      changed.notify_all();
    }
    if (instruction == held)
      stalled = !changed.wait_for(lock, std::chrono::seconds(30), [&] { return come >= ranks; }) || stalled;
  }
  const std::uint32_t held, until;
  const int ranks;
  std::mutex mutex;
  std::condition_variable changed;
  int come = 0;
  bool stalled = false;
};

/// Two units: the second is gathered while the first is computed with; the first is reduced while the second is.
PlanBuilder overlapping(std::uint32_t ranks) {
  PlanBuilder builder({ranks});
  for (const char *name : {"compute", "gather", "reduce"})
    builder.stream(name);
  std::uint32_t shard[2], gathered[2], sum[2];
  for (int u = 0; u < 2; ++u) {
    shard[u] = builder.buffer("shard", {4});
    gathered[u] = builder.buffer("gathered", {4 * ranks});
    sum[u] = builder.buffer("sum", {4});
  }
  builder.entry("step", 4);
  builder.section();
  for (std::uint32_t u = 0; u < 2; ++u) { // 0 gather, 1 record, 2 gather, 3 record
    builder.collective(gather, plan::CollectiveKind::all_gather, {0}, plan::ReduceOp::none,
                       {{builder.view(shard[u]), builder.view(gathered[u])}});
    builder.record(gather, u);
  }
  for (std::uint32_t u = 0; u < 2; ++u) { // 4 wait, 5 launch, 6 launch, 7 record, 8 wait, 9 reduce; 10 to 15 again
    builder.wait(compute, u);
    builder.launch(compute, "add", {builder.view(gathered[u]), builder.view(gathered[u])}, {builder.view(gathered[u])});
    builder.launch(compute, "negate", {builder.view(gathered[u])}, {builder.view(gathered[u])});
    builder.record(compute, 2 + u);
    builder.wait(reduce, 2 + u);
    builder.collective(reduce, plan::CollectiveKind::reduce_scatter, {0}, plan::ReduceOp::sum,
                       {{builder.view(gathered[u]), builder.view(sum[u])}});
  }
  return builder;
}

// Tests that the step completes if the gather of unit 1 is delayed until compute of unit 0 runs, and if the reduction
// of unit 0 is delayed until compute of unit 1 runs.
TEST(RankGroup, CommunicationOverlapsCompute) {
  for (const auto &[held, until] : {std::pair(2u, 6u), std::pair(9u, 12u)}) {
    PlanBuilder builder = overlapping(3);
    Hold hold(held, until, 3);
    ExecutorOptions options;
    options.delays = &hold;
    auto group = RankGroup::create(builder.plan, options);
    ASSERT_TRUE(group.isOk()) << group.status().message();
    Status status = (*group)->runEntry("step");
    EXPECT_TRUE(status.isOk()) << status.message();
    EXPECT_FALSE(hold.stalled);
  }
}

// Tests that kernels see the valid extent, origin and global size of a padded dim on each rank.
TEST(RankGroup, ViewsAreValidByCoordinate) {
  PlanBuilder builder({2, 3});
  const auto s = builder.stream("compute");
  const auto out = builder.buffer("out", {4}, f32, host);
  plan::EntryT &entry = builder.entry("step");
  builder.section();
  // 13 rows sharded over both axes, the last dim over one of them.
  builder.fill(s, PlanBuilder::padded(builder.view(out), 0, {0, 1}, 4, 13), 1);
  builder.port(entry.outputs, "out", builder.view(out));
  auto group = RankGroup::create(builder.plan);
  ASSERT_TRUE(group.isOk());
  ASSERT_TRUE((*group)->runEntry("step").isOk());
  const int want[] = {4, 4, 4, 1, 0, 0};
  for (int r = 0; r < 6; ++r) {
    const float *got = (*group)->executor(r).output("step", "out")->as<float>();
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(got[i], i < want[r] ? 1.0f : 0.0f) << "rank " << r;
  }
}

} // namespace
} // namespace sluice::test

/// Of the C library; its header conflicts with the tests' own allocation functions.
extern "C" int mallopt(int parameter, int value) noexcept;

namespace sluice::test {
namespace {

constexpr std::uint64_t page = 4096;

/// The kernel counts pages of statm and status in batches; these are exact.
std::uint64_t residentBytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);)
    if (std::uint64_t kilobytes = 0; std::sscanf(line.c_str(), "Rss: %lu", &kilobytes) == 1)
      return kilobytes * 1024;
  ADD_FAILURE() << "no Rss in /proc/self/smaps_rollup";
  return 0;
}

// Tests that the memory of a group is returned with it, within a page for each arena of a rank. The first group remains
// in the caches of the C library: stacks of threads and small allocations.
TEST(RankGroup, ReturnsItsMemory) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer keeps memory that was freed";
#endif
  // All threads use one heap: of separate heaps, each keeps small allocations of threads that ended.
  constexpr int mostHeaps = -8;
  ASSERT_EQ(mallopt(mostHeaps, 1), 1);
  constexpr std::uint32_t ranks = 4;
  const std::vector<float> ones(1 << 20, 1.0f);
  PlanBuilder builder = sharded(ranks);
  const auto large = builder.buffer("large", {1 << 20});
  std::uint64_t before = 0;
  for (int run = 0; run < 3; ++run) {
    {
      auto group = RankGroup::create(builder.plan);
      ASSERT_TRUE(group.isOk()) << group.status().message();
      for (int r = 0; r < (*group)->size(); ++r)
        ASSERT_TRUE((*group)->executor(r).write(large, 0, std::as_bytes(std::span(ones))).isOk());
      train(**group, 2);
      EXPECT_GE(residentBytes(), before + ranks * ones.size() * sizeof(float));
    }
    if (run == 0)
      before = residentBytes();
    EXPECT_LE(residentBytes(), before + ranks * 2 * page);
  }
}

} // namespace
} // namespace sluice::test
