//===- CostModelTest.cpp - predicted time of one instruction ---------------------------------------===//
#include "passes/solver/simulate/CostModel.h"
#include "passes/solver/simulate/Prediction.h"
#include "test/unit/PlanBuilder.h"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

KernelRates rates(std::vector<KernelRates::Point> points) {
  KernelRates made;
  made.points = std::move(points);
  return made;
}

TEST(CostModel, RatesOfBytesAreInterpolatedInLogarithms) {
  const KernelRates stream = rates({{{100, 1, 1}, 10}, {{10000, 1, 1}, 1000}});
  EXPECT_DOUBLE_EQ(rateAt(stream, {100, 1, 1}, 1), 10);
  EXPECT_NEAR(rateAt(stream, {1000, 1, 1}, 1), 100, 1e-9);
  // Outside, the nearest one.
  EXPECT_DOUBLE_EQ(rateAt(stream, {1, 1, 1}, 1), 10);
  EXPECT_DOUBLE_EQ(rateAt(stream, {1e9, 1, 1}, 1), 1000);
}

TEST(CostModel, RatesOfProductsAreThoseOfTheNearestSizes) {
  const KernelRates products = rates({{{64, 64, 64}, 10}, {{64, 64, 256}, 40}, {{4096, 4096, 4096}, 1000}});
  EXPECT_DOUBLE_EQ(rateAt(products, {64, 64, 256}, 3), 40);
  // Half way between two, and far from the third.
  EXPECT_NEAR(rateAt(products, {64, 64, 128}, 3), 20, 1);
}

CollectiveRates ring() {
  CollectiveRates made;
  made.algorithm = CollectiveRates::Algorithm::ring;
  made.allGather = made.allReduce = true;
  made.base = 8.4e-6;
  made.link = 3.4e-6;
  made.network = 14e-6;
  made.bytesPerSecond = 48e9;
  return made;
}

// NCCL's own table for rings of H100 with protocol Simple: latency in microseconds and bandwidth in GB/s by hosts and
// ranks of a host (github.com/meta-pytorch/autoparallel, cost_models/nccl_cost_model.py).
TEST(CostModel, RingsOverHostsHaveTheTimesOfNccl) {
  struct Row {
    std::uint64_t hosts, ranks;
    double latency, bandwidth, reduceLatency, reduceBandwidth;
  };
  for (const Row &row :
       {Row{2, 1, 22.4, 96.0, 36.4, 48.0}, Row{2, 8, 70.0, 409.6, 131.6, 204.8}, Row{4, 4, 91.2, 204.8, 174.0, 102.4},
        Row{8, 2, 133.6, 102.4, 258.8, 51.2}, Row{32, 8, 1204.0, 385.5, 2399.6, 192.8}}) {
    const GroupPlacement group{row.hosts * row.ranks, row.hosts, row.ranks};
    const auto gather = collectiveTime(ring(), plan::CollectiveKind::all_gather, group, 1e9, false);
    ASSERT_TRUE(gather.has_value());
    EXPECT_NEAR(gather->latency * 1e6, row.latency, 0.05);
    EXPECT_NEAR(1 / gather->transfer, row.bandwidth, 0.1);
    const auto reduce = collectiveTime(ring(), plan::CollectiveKind::all_reduce, group, 1e9, false);
    ASSERT_TRUE(reduce.has_value());
    EXPECT_NEAR(reduce->latency * 1e6, row.reduceLatency, 0.05);
    EXPECT_NEAR(1 / reduce->transfer, row.reduceBandwidth, 0.1);
  }
}

// The same table for trees with protocol LL.
TEST(CostModel, TreesOverHostsHaveTheTimesOfNccl) {
  CollectiveRates tree;
  tree.algorithm = CollectiveRates::Algorithm::tree;
  tree.allReduce = true;
  tree.base = 6.8e-6;
  tree.link = 0.6e-6;
  tree.network = 5e-6;
  tree.bytesPerSecond = 9.8e9;
  tree.limit = 17.4e9;
  const auto time = collectiveTime(tree, plan::CollectiveKind::all_reduce, {32, 4, 8}, 1e9, false);
  ASSERT_TRUE(time.has_value());
  EXPECT_NEAR(time->latency * 1e6, 35.2, 0.05);
  EXPECT_NEAR(1 / time->transfer, 8.7, 0.05);
  EXPECT_FALSE(collectiveTime(tree, plan::CollectiveKind::all_gather, {32, 4, 8}, 1e9, false).has_value());
}

/// Of 16 ranks on two hosts, half of a rank's chunks go to the other host.
TEST(CostModel, ExchangesOverHostsUseTheConnectionOfEachRank) {
  CollectiveRates direct;
  direct.algorithm = CollectiveRates::Algorithm::direct;
  direct.allToAll = true;
  direct.base = 8e-6;
  direct.link = 1e-6;
  direct.network = 14e-6;
  direct.bytesPerSecond = 50e9;
  const auto time = collectiveTime(direct, plan::CollectiveKind::all_to_all, {16, 2, 8}, 1e9, false);
  ASSERT_TRUE(time.has_value());
  EXPECT_DOUBLE_EQ(time->latency, 29e-6);
  EXPECT_DOUBLE_EQ(time->transfer, 0.01);
  EXPECT_FALSE(collectiveTime(direct, plan::CollectiveKind::all_gather, {16, 2, 8}, 1e9, false).has_value());
  EXPECT_FALSE(collectiveTime(ring(), plan::CollectiveKind::all_to_all, {16, 2, 8}, 1e9, false).has_value());
}

TEST(CostModel, CollectivesWithinAHostAreInterpolatedByRanks) {
  CollectiveRates host;
  host.allGather = true;
  host.points = {{2, 8e-6, 500}, {4, 16e-6, 300}};
  const auto time = collectiveTime(host, plan::CollectiveKind::all_gather, {3, 1, 3}, 800, false);
  ASSERT_TRUE(time.has_value());
  EXPECT_DOUBLE_EQ(time->latency, 12e-6);
  EXPECT_DOUBLE_EQ(time->transfer, 2);
  EXPECT_FALSE(collectiveTime(host, plan::CollectiveKind::all_gather, {4, 2, 2}, 800, false).has_value());
  EXPECT_FALSE(collectiveTime(host, plan::CollectiveKind::all_reduce, {3, 1, 3}, 800, false).has_value());
}

TEST(CostModel, SmallChunksHaveAShareOfTheBandwidth) {
  CollectiveRates shared = ring();
  shared.shares = {{1000, 0.5}, {100000, 0.8}};
  const GroupPlacement group{16, 2, 8};
  const auto seconds = [&](double bytes, bool fills) {
    return collectiveTime(shared, plan::CollectiveKind::all_gather, group, bytes, fills)->transfer;
  };
  const double full = collectiveTime(ring(), plan::CollectiveKind::all_gather, group, 160000, true)->transfer;
  EXPECT_NEAR(seconds(160000, true) / full, 2, 1e-9);
  EXPECT_NEAR(seconds(160000, false) / full, 1, 1e-9);
  EXPECT_NEAR(seconds(1600000, true) / full, 10 / 0.8, 1e-9);
}

/// Hosts of four devices; the groups along `shard` are within a host, those along `replicate` are not.
TEST(CostModel, GroupsArePlacedOnHosts) {
  PlanBuilder builder({{"replicate", 4}, {"shard", 4}});
  Machine machine;
  machine.times.hostDevices = 4;
  CostModel model(builder.plan, machine);
  const std::uint32_t replicate[] = {0}, shard[] = {1}, both[] = {0, 1};
  const GroupPlacement within = model.placement(shard), between = model.placement(replicate),
                       all = model.placement(both);
  EXPECT_EQ(within.hosts, 1u);
  EXPECT_EQ(within.ranksOfHost, 4u);
  EXPECT_EQ(between.hosts, 4u);
  EXPECT_EQ(between.ranksOfHost, 1u);
  EXPECT_EQ(all.hosts, 4u);
  EXPECT_EQ(all.ranksOfHost, 4u);
}

/// An attention of 1,000 FLOP with rates of 10, 20 and 40 FLOP/s: of any library, of Sluice's kernel, of cuDNN's.
TEST(CostModel, KernelsHaveTheRatesOfTheirLibrary) {
  using Library = KernelRates::Library;
  const auto secondsOf = [](bool isByDnn, const std::vector<Library> &measured, std::string &assumed) {
    PlanBuilder builder;
    builder.plan.target->device = "cuda";
    const std::uint32_t stream = builder.stream("compute"), q = builder.buffer("q", {1, 64, 1, 8});
    builder.entry("train_step");
    builder.section();
    plan::InstructionT &launch = builder.launch(stream, "attention", {builder.view(q)}, {builder.view(q)});
    launch.operation.AsLaunch()->flops = 1000;
    if (isByDnn)
      PlanBuilder::attribute(launch, "cudnn", 1);
    Machine machine;
    machine.device = "cuda";
    for (Library library : measured) {
      KernelRates &group = machine.times.attention.emplace_back(rates({{{64, 8, 1},
                                                                        library == Library::any   ? 10.0
                                                                        : library == Library::own ? 20.0
                                                                                                  : 40.0}}));
      group.kernel = "attention";
      group.library = library;
    }
    CostModel model(builder.plan, machine);
    const double seconds = model.cost(launch).work;
    EXPECT_FALSE(model.unknown().contains("rate of 'attention' in f32"));
    assumed = model.assumptions().empty() ? "" : model.assumptions().begin()->first;
    return seconds;
  };
  std::string assumed;
  const std::vector<Library> all = {Library::any, Library::cudnn, Library::own};
  EXPECT_DOUBLE_EQ(secondsOf(false, all, assumed), 50);
  EXPECT_DOUBLE_EQ(secondsOf(true, all, assumed), 25);
  EXPECT_DOUBLE_EQ(secondsOf(true, {Library::own, Library::any}, assumed), 100);
  EXPECT_EQ(assumed, "");
  EXPECT_DOUBLE_EQ(secondsOf(true, {Library::own}, assumed), 50);
  EXPECT_EQ(assumed, "'attention' in f32: rate of Sluice's kernel");
  EXPECT_DOUBLE_EQ(secondsOf(false, {Library::cudnn}, assumed), 25);
  EXPECT_EQ(assumed, "'attention' in f32: rate of cuDNN's kernel");
}

} // namespace
} // namespace sluice::test
