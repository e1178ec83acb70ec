//===- EntrySubsetTest.cpp - a plan with some of its entry points -----------------===//
#include "runtime/train/EntrySubset.h"
#include "runtime/plan/Profile.h"
#include "test/unit/PlanBuilder.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::test;

namespace {

/// A persistent buffer of 256 bytes, then one of each of the entry points "a", "b" and "c".
plan::PlanT threeEntries() {
  PlanBuilder builder;
  const std::uint32_t stream = builder.stream("compute", 300);
  const std::uint32_t kept = builder.buffer("kept", {64});
  builder.plan.arenas[0]->persistent = 256;
  int index = 0;
  for (const char *name : {"a", "b", "c"}) {
    const std::uint32_t own = builder.buffer(name, {64 + 16 * index});
    builder.entry(name);
    builder.section();
    plan::InstructionT &launch = builder.launch(stream, "add", {builder.view(kept)}, {builder.view(own)});
    launch.operation.AsLaunch()->workspace = static_cast<std::uint64_t>(100 * (3 - index));
    builder.plan.buffers[own]->entry = index++;
    builder.plan.buffers[own]->end = 1;
  }
  return std::move(builder.plan);
}

// Tests that arenas end with the last remaining buffer, and that indices of entry points are renumbered.
TEST(EntrySubsetTest, ArenaEndsWithTheRemainingEntries) {
  plan::PlanT plan = threeEntries();
  const std::uint64_t before = plan.arenas[0]->bytes;
  const std::string names[] = {"b"};
  keepEntries(plan, names);
  ASSERT_EQ(plan.entries.size(), 1u);
  EXPECT_EQ(plan.entries[0]->name, "b");
  EXPECT_EQ(plan.buffers[2]->entry, 0);
  EXPECT_EQ(plan.buffers[2]->bytes, 320u);
  EXPECT_EQ(plan.arenas[0]->bytes, 256 + 256 + 320u);
  EXPECT_LT(plan.arenas[0]->bytes, before);
  EXPECT_EQ(plan.arenas[0]->workspace, 200u);
  EXPECT_EQ(plan.streams[0]->workspace, 200u);
  EXPECT_EQ(plan.arenas[0]->peak_live, 256 + 320u);
  EXPECT_EQ(plan.buffers[1]->bytes, 0u) << "of a removed entry point";
  EXPECT_EQ(plan.buffers[0]->entry, -1);
}

TEST(EntrySubsetTest, PersistentBuffersRemain) {
  plan::PlanT plan = threeEntries();
  keepEntries(plan, {});
  EXPECT_TRUE(plan.entries.empty());
  EXPECT_EQ(plan.arenas[0]->bytes, 256u);
  EXPECT_EQ(plan.arenas[0]->workspace, 0u);
}

// Tests the operations of an entry point: those of each repetition, without recomputation.
TEST(EntryFlopsTest, CountsIssuedLaunches) {
  PlanBuilder builder;
  const std::uint32_t stream = builder.stream("compute");
  const std::uint32_t buffer = builder.buffer("x", {64});
  builder.entry("a");
  builder.section(3);
  const auto launch = [&](std::uint64_t flops, plan::When when) -> plan::InstructionT & {
    plan::InstructionT &added = builder.launch(stream, "add", {}, {builder.view(buffer)});
    added.operation.AsLaunch()->flops = flops;
    added.when = when;
    return added;
  };
  launch(1, plan::When::all);
  launch(10, plan::When::first);
  launch(100, plan::When::not_last);
  launch(1000, plan::When::all).recompute = true;
  builder.fill(stream, builder.view(buffer), 0);
  EXPECT_EQ(entryFlops(*builder.plan.entries[0]), 3 + 10 + 200u);
}

} // namespace
