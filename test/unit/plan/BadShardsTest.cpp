//===- BadShardsTest.cpp - ranks that disagree, shards, replicas and splits (P5, P6, P7, P8) ---===//
#include "BadPlan.h"
#include "SmallPlan.h"

#include "runtime/plan/Checker.h"
#include "runtime/plan/check/Access.h"
#include "runtime/plan/check/Check.h"

namespace sluice::test {
namespace {

const Bad agree[] = {
    {"CountsDisagree", 5, "expected counts of a all_gather over 2 ranks",
     [](HandPlan &h) { h.collective("gather a").segments[0]->destination->shape = {3, 4}; }},
    {"ScatterCountsDisagree", 5, "expected counts of a reduce_scatter",
     [](HandPlan &h) { h.collective("reduce b").segments[0]->source->shape = {3, 4}; }},
    {"ExchangeCountsDisagree", 5, "expected counts of a all_to_all over 2 ranks but got",
     [](HandPlan &h) { h.collective("gather a").kind = plan::CollectiveKind::all_to_all; }},
    {"DtypesDisagree", 5, "expected dtype bf16 but got f32",
     [](HandPlan &h) { h.collective("gather a").dtype = plan::DType::bf16; }},
    {"CountDependsOnRank", 5, "its count depends on the rank",
     [](HandPlan &h) {
       h.collective("gather a").segments[0]->source = std::make_unique<plan::ViewT>(*h.launch("update a").outputs[0]);
     }},
    {"NoSuchAxis", 5, "axis 2 does not exist", [](HandPlan &h) { h.collective("gather a").axes = {2}; }},
    {"AxisTwice", 5, "named twice", [](HandPlan &h) { h.collective("gather a").axes = {1, 1}; }},
    {"NoAxis", 5, "at least one axis", [](HandPlan &h) { h.collective("gather a").axes.clear(); }},
    {"GatherReduces", 5, "cannot have reduction 'sum'",
     [](HandPlan &h) { h.collective("gather a").op = plan::ReduceOp::sum; }},
    {"ReductionWithoutOp", 5, "cannot have reduction 'none'",
     [](HandPlan &h) { h.collective("reduce a").op = plan::ReduceOp::none; }},
    {"ReductionWithoutClass", 13, "expected reduction class 'ordered' but got 'not_a_reduction'",
     [](HandPlan &h) { h.collective("reduce a").reduction = plan::ReductionClass::not_a_reduction; }},
    {"NotDense", 5, "expected a dense view",
     [](HandPlan &h) {
       plan::ViewT &view = *h.collective("gather b").segments[0]->destination;
       view.strides = {1, 4};
     }},
};
INSTANTIATE_TEST_SUITE_P(P5, BadPlan, testing::ValuesIn(agree), nameOf);

const Bad deadlock[] = {
    {"WaitBeforeItsRecord", 6, "wait for each other in a cycle",
     [](HandPlan &h) {
       // On one stream.
       h.at("gather waits: h done").operation.AsWait()->event = h.at("b gathered").operation.AsRecord()->event;
     }},
    {"TwoStreams", 6, "wait for each other in a cycle",
     [](HandPlan &h) {
       h.exchange("compute waits: b gathered", "h done");
       h.exchange("compute waits: b gathered", "copy x");
     }},
    {"ThreeStreams", 6, "wait for each other in a cycle",
     [](HandPlan &h) {
       // gather waits for a record of reduce, which waits for compute, which waits for gather.
       h.at("gather waits: h done").operation.AsWait()->event = h.at("b reduced").operation.AsRecord()->event;
       for (const char *label : {"b summed", "reduce waits: b summed", "reduce b", "b reduced"})
         h.at(label).when = plan::When::all;
     }},
};
INSTANTIATE_TEST_SUITE_P(P6, BadPlan, testing::ValuesIn(deadlock), nameOf);

const Bad shards[] = {
    {"ChunkTooSmall", 8, "expected chunks of 2 to partition dim 0 of 4 over 2 ranks but got 1",
     [](HandPlan &h) { h.parameter("b.weight").chunk = 1; }},
    {"ChunkTooLarge", 8, "expected chunks of 2", [](HandPlan &h) { h.parameter("a.weight").chunk = 3; }},
    {"ShardOfAnotherShape", 8, "expected a shard of 2x5 but buffer 'a.weight' holds 2x4",
     [](HandPlan &h) { h.parameter("a.weight").shape = {3, 5}; }},
    {"BufferTwice", 8, "is also the shard of a different tensor",
     [](HandPlan &h) { h.parameter("a.weight").buffer = h.bufferId("b.weight"); }},
    {"StateSharesShard", 8, "is also the shard of a different tensor",
     [](HandPlan &h) { h.parameter("a.weight").states[0]->buffer = h.bufferId("a.weight"); }},
    {"ShardDoesNotPersist", 8, "expected a persistent buffer",
     [](HandPlan &h) { h.parameter("a.weight").buffer = h.bufferId("shard.a"); }},
    {"ValidOfAnother", 8, "expected the valid extent of parameter 'a.weight'",
     [](HandPlan &h) { h.launch("update a").outputs[0]->valid[0]->total = 4; }},
    {"ValidAlongAnotherAxis", 8, "expected the valid extent of parameter 'b.weight', chunk 2 of 4 along 'shard'",
     [](HandPlan &h) {
       h.plan.mesh[0]->size = 2;
       h.launch("update b").outputs[0]->valid[0]->axes = {0};
     }},
    {"BufferOfAnotherType", 8, "parameter 'b.weight', expected a buffer of f32",
     [](HandPlan &h) { h.buffer("b.weight").dtype = plan::DType::i32; }},
    {"ValidLeavesHole", 8, "leave a hole", [](HandPlan &h) { h.launch("update b").outputs[0]->valid[0]->total = 5; }},
    {"PaddingWritten", 8,
     ", writes the padding of the shard of parameter 'a.weight', expected a view with its valid extent",
     [](HandPlan &h) { h.launch("update a").outputs[0]->valid.clear(); }},
    {"PaddingRead", 8, "reads padding of buffer 'shard.a'",
     [](HandPlan &h) { h.launch("update a").inputs[1]->valid.clear(); }},
    {"PaddingReadByAnotherExtent", 8, "reads padding of buffer 'shard.a'",
     [](HandPlan &h) { h.launch("update a").inputs[1]->valid[0]->total = 4; }},
    {"PartOfShardGathered", 8, "expected the full shard",
     [](HandPlan &h) {
       h.collective("gather a").segments[0]->source->shape = {1, 4};
       h.collective("gather a").segments[0]->destination->shape = {2, 4};
     }},
    {"PaddingReduced", 8, "segment 0, writes the padding of the shard of parameter 'a.weight'",
     [](HandPlan &h) { h.collective("reduce a").segments[0]->destination = h.view("a.weight"); }},
    {"ReplicatedWithAxes", 8, "a replicated parameter cannot have axes",
     [](HandPlan &h) { h.parameter("b.weight").dim = -1; }},
};
INSTANTIATE_TEST_SUITE_P(P8, BadPlan, testing::ValuesIn(shards), nameOf);

/// Four ranks along an axis with two sub-axes. Both units are sharded over both; the gather of 'b' is over the inner
/// sub-axis only, from two rows that were resharded over the outer one (here those of x: the numbers have no meaning).
void gatherFromPiece(HandPlan &h) {
  auto inner = std::make_unique<plan::AxisT>();
  inner->name = "shard.1";
  inner->size = 2;
  h.plan.mesh[1]->name = "shard.0";
  h.plan.mesh.push_back(std::move(inner));
  for (const std::string u : {"a", "b"}) {
    h.parameter(u + ".weight").axes = {1, 2};
    h.parameter(u + ".weight").chunk = 1;
    for (const std::string &name : {u + ".weight", u + ".weight.momentum_buffer", "shard." + u}) {
      h.buffer(name).shape = {1, 4};
      h.buffer(name).bytes = 16;
    }
    plan::LaunchT &update = h.launch("update " + u);
    for (auto *views : {&update.inputs, &update.outputs})
      for (auto &view : *views)
        if (!view->valid.empty()) {
          view->shape = {1, 4};
          view->valid[0]->axes = {1, 2};
          view->valid[0]->chunk = 1;
        }
    h.collective("reduce " + u).axes = {1, 2};
    h.collective("reduce " + u).segments[0]->destination->shape = {1, 4};
  }
  h.collective("gather a").axes = {1, 2};
  h.collective("gather a").segments[0]->source->shape = {1, 4};
  h.collective("gather b").axes = {2};
  h.collective("gather b").segments[0]->source = h.view("x");
  h.buffer("x").end = h.index("gather b") + 1;
  // The gather reads bytes that the next micro-batch's copy overwrites.
  h.exchange("copy x", "a gathered");
  h.exchange("copy x", "gather a");
  h.buffer("x").begin = 0;
}

TEST(Checker, OnlyTheProgramRefusesAGatherOfAnotherBuffer) {
  HandPlan hand;
  gatherFromPiece(hand);
  hand.seal();
  // The unsharded program does not gather its input, which only P9 sees.
  CheckReport report;
  EXPECT_FALSE(checkPlan(hand.plan, &report).isOk());
  EXPECT_EQ(report.refused(), 9);
}

/// A parameter whose columns are sharded along the first axis: a rank has this many of them.
plan::TensorSplitT &splitColumns(HandPlan &h, std::int64_t extent) {
  auto &split = h.parameter("a.weight").split = std::make_unique<plan::TensorSplitT>();
  split->dim = 1;
  split->axes = {0};
  split->extent = extent;
  return *split;
}

const Bad replicas[] = {
    {"NoReductionOverReplicas", 7,
     "which all ranks with this shard must write equally, but the value may differ along 'replicate'",
     [](HandPlan &h) { h.plan.mesh[0]->size = 2; }},
    // A value that differs between the ranks of one operation reaches the gradient of a replicated parameter.
    {"NoSumOverParts", 7,
     "of parameter 'b.weight', which all ranks with this shard must write equally, but the value may differ along "
     "'tensor'",
     [](HandPlan &h) {
       h.plan.mesh[0]->name = "tensor";
       h.plan.data_axes = {1};
       h.plan.mesh[0]->size = 2;
       h.parameter("a.weight").shape = h.plan.program->types[2]->shape = {3, 8};
       splitColumns(h, 4);
     }},
    // All ranks of one operation see the same data.
    {"SumOfTheSame", 7, "adds up what is the same on all ranks along 'tensor', expected parts of a sum",
     [](HandPlan &h) {
       h.plan.mesh[1]->name = "tensor";
       h.plan.data_axes = {0};
       for (const char *label : {"reduce a", "reduce b"})
         h.collective(label).op = plan::ReduceOp::sum;
     }},
};
INSTANTIATE_TEST_SUITE_P(P7, BadPlan, testing::ValuesIn(replicas), nameOf);

/// A launch casts two tensors, one of them to a parameter.
TEST(Checker, CastsToAParameterAreEqualOnItsRanks) {
  for (const bool isInput : {true, false}) {
    SmallPlan p({{"shard", 2}});
    const std::uint32_t x = p.buffer("x", {4}), same = p.buffer("same", {4}), w = p.buffer("w", {4}),
                        other = p.buffer("other", {4});
    p.parameter("w", {4}, {}, w);
    p.section();
    p.port(p.plan.entries[0]->inputs, "x", p.view(x));
    p.fill(compute, p.view(same), 1);
    p.launch(compute, "cast", {p.view(x), p.view(isInput ? x : same)}, {p.view(other), p.view(w)});
    check::Findings findings;
    const check::Verdict refusal = check::replicasAgree(p.plan, findings);
    ASSERT_EQ(refusal.has_value(), isInput);
    EXPECT_TRUE(!isInput || refusal->message.find("writes 'w' of parameter 'w'") != std::string::npos);
  }
}

/// The clip coefficient is computed from the shards of a gradient, which differ along 'shard'.
void clipByShard(HandPlan &h) {
  h.exchange("fill clip", "compute waits: b reduced");
  h.at("fill clip").operation.Set(plan::LaunchT(h.launch("loss")));
  h.launch("fill clip").inputs[0] = h.view("shard.b");
  h.launch("fill clip").outputs[0] = h.view("clip");
}

const Bad scalars[] = {
    {"NormNotReduced", 7, "reads 'clip', which must be equal on all ranks, but the value may differ along 'shard'",
     clipByShard},
    {"NormReducedAlongAnotherAxis", 7,
     "reads 'clip', which must be equal on all ranks, but the value may differ along 'shard'",
     [](HandPlan &h) {
       clipByShard(h);
       plan::CollectiveT reduce;
       reduce.kind = plan::CollectiveKind::all_reduce;
       reduce.op = plan::ReduceOp::sum;
       reduce.reduction = plan::ReductionClass::ordered;
       reduce.axes = {0};
       reduce.segments.push_back(std::make_unique<plan::SegmentT>());
       reduce.segments[0]->source = h.view("clip");
       reduce.segments[0]->destination = h.view("clip");
       h.at("fill guard").operation.Set(std::move(reduce));
       h.exchange("fill guard", "fill clip");
       for (const char *update : {"update a", "update b"})
         h.launch(update).inputs[6] = h.view("clip");
     }},
};
INSTANTIATE_TEST_SUITE_P(P7Scalars, BadPlan, testing::ValuesIn(scalars), nameOf);

TEST(Checker, AcceptsAClipCoefficientOfAllRanks) {
  for (std::uint32_t axis : {0, 1}) {
    HandPlan hand;
    scalars[1].spoil(hand);
    for (const auto &instruction : hand.section(1).instructions)
      if (plan::CollectiveT *collective = instruction->operation.AsCollective())
        collective->axes = {axis};
    hand.seal();
    EXPECT_EQ(checkPlan(hand.plan).isOk(), axis == 1) << checkPlan(hand.plan).message();
  }
}

const Bad splits[] = {
    {"SplitOfNoDim", 1, "its split needs a different dim and distinct axes of the mesh",
     [](HandPlan &h) {
       h.parameter("a.weight").split = std::make_unique<plan::TensorSplitT>();
       h.parameter("a.weight").split->dim = 2;
     }},
    {"SplitAndSharded", 1, "both splits it and shards its parts",
     [](HandPlan &h) {
       h.parameter("a.weight").split = std::make_unique<plan::TensorSplitT>();
       h.parameter("a.weight").split->axes = h.parameter("a.weight").axes;
     }},
    {"SplitWithAHole", 1, "in 1 segments but got parts of 1",
     [](HandPlan &h) {
       h.plan.mesh[0]->size = 2;
       splitColumns(h, 1);
     }},
    // Adjacent segments are covered separately.
    {"UnevenSegments", 1, "in 2 segments but got parts of 2",
     [](HandPlan &h) {
       h.plan.mesh[0]->size = 2;
       h.parameter("a.weight").shape = {3, 6};
       splitColumns(h, 2).segments = 2;
     }},
};
INSTANTIATE_TEST_SUITE_P(Splits, BadPlan, testing::ValuesIn(splits), nameOf);

const Bad pieces[] = {
    // Two rows are a resharded unit along a sub-axis of the parameter's axis, not along a different axis.
    {"AlongAForeignAxis", 8, "its chunk of 8 elements is the shard of no parameter of unit 'b'",
     [](HandPlan &h) {
       gatherFromPiece(h);
       h.plan.mesh[0]->size = 2;
       h.collective("gather b").axes = {0};
     }},
    {"OfAnotherSize", 8, "its chunk of 4 elements is the shard of no parameter of unit 'b'",
     [](HandPlan &h) {
       gatherFromPiece(h);
       h.collective("gather b").segments[0]->source->shape = {1, 4};
       h.collective("gather b").segments[0]->destination->shape = {2, 4};
     }},
    // Gradients are reduced into shards, never into resharded units.
    {"Reduced", 8, "its chunk of 8 elements is the shard of no parameter of unit 'b'",
     [](HandPlan &h) {
       gatherFromPiece(h);
       h.buffer("shard.b").shape = {2, 4};
       h.buffer("shard.b").bytes = 32;
       h.collective("reduce b").axes = {2};
       h.collective("reduce b").segments[0]->destination->shape = {2, 4};
     }},
    // The persistent shard is gathered along all of its axes, or it would look like a resharded unit.
    {"ShardAsPiece", 8, "expected the full shard of parameter 'b.weight' along its own axes",
     [](HandPlan &h) {
       gatherFromPiece(h);
       h.collective("gather b").segments[0]->source = h.view("b.weight");
       h.collective("gather b").segments[0]->destination->shape = {2, 4};
     }},
};
INSTANTIATE_TEST_SUITE_P(P8Pieces, BadPlan, testing::ValuesIn(pieces), nameOf);

// A copy of a whole tensor keeps its padding; a copy of some of its elements reads padding.
TEST(Checker, CopiesKeepPadding) {
  const auto make = [](bool isWhole, bool readsValid, bool isOutput = false) {
    SmallPlan p({{"shard", 2}});
    const auto padded = [&](std::uint32_t buffer) {
      plan::ViewT view = p.view(buffer);
      view.valid.push_back(std::make_unique<plan::ValidT>());
      view.valid[0]->axes = {0};
      view.valid[0]->chunk = 2;
      view.valid[0]->total = 3;
      return view;
    };
    const std::uint32_t x = p.buffer("x", {2, 4}), own = p.buffer("own", {2, 4}),
                        kept = p.buffer("kept", {2, 4}, f32, host), back = p.buffer("back", {2, 4}),
                        y = p.buffer("y", {2, 4});
    p.section();
    p.fill(0, p.view(x), 1);
    p.launch(0, "relu", {padded(x)}, {padded(own)});
    p.copy(0, isWhole ? p.view(own) : p.view(own, {2, 2}, 0, {4, 1}),
           isWhole ? p.view(kept) : p.view(kept, {2, 2}, 0, {4, 1}));
    p.copy(0, isWhole ? p.view(kept) : p.view(kept, {2, 2}, 0, {4, 1}),
           isWhole ? p.view(back) : p.view(back, {2, 2}, 0, {4, 1}));
    plan::ViewT from = readsValid ? padded(back) : p.view(back), to = p.view(y);
    if (!isWhole)
      for (plan::ViewT *view : {&from, &to}) {
        view->shape = {2, 2};
        view->strides = {4, 1};
      }
    p.launch(0, "relu", {from}, {to});
    if (isOutput)
      p.port(p.plan.entries[0]->outputs, "kept", p.view(kept));
    return p.check();
  };
  EXPECT_TRUE(make(true, true).isOk()) << make(true, true).message();
  EXPECT_NE(make(true, false).message().find("P8 shards partition each tensor: instruction 4"), std::string::npos)
      << make(true, false).message();
  EXPECT_NE(make(true, false).message().find("reads padding of buffer 'back'"), std::string::npos);
  EXPECT_NE(make(true, true, /*isOutput=*/true).message().find("reads padding of buffer 'own'"), std::string::npos)
      << make(true, true, true).message();
  EXPECT_NE(make(false, true).message().find("reads padding of buffer 'own'"), std::string::npos)
      << make(false, true).message();
}

// If the ranks' chunks are the total there is no padding to read.
TEST(Checker, EvenChunksHaveNoPadding) {
  HandPlan hand;
  check::PaddingIds paddings(hand.plan);
  EXPECT_EQ(paddings.of({1}, 2, 4), check::clean);
  EXPECT_NE(paddings.of({1}, 2, 3), check::clean);
  EXPECT_EQ(paddings.of({1}, 4, 6), paddings.of({1}, 2, 3)) << "padding is in lowest terms";
  EXPECT_NE(paddings.of({1}, 3, 5), paddings.of({1}, 2, 3));
  EXPECT_EQ(paddings.of({0}, 4, 4), check::clean);
  EXPECT_NE(paddings.of({1}, std::int64_t(1) << 62, 3), check::clean) << "ranks times chunk leaves 64 bits";
  // A range that was written through an extent without padding can be read completely.
  auto valid = std::make_unique<plan::ValidT>();
  valid->axes = {1};
  valid->chunk = 2;
  valid->total = 4;
  plan::ViewT &written = *hand.launch("h").outputs[0];
  written.valid.push_back(std::move(valid));
  for (plan::ViewT *view : {&written, hand.launch("y").inputs[0].get(), hand.launch("grad a").inputs[0].get()})
    view->shape = {2, 4};
  hand.seal();
  EXPECT_TRUE(checkPlan(hand.plan).isOk()) << checkPlan(hand.plan).message();
  written.valid[0]->total = 3;
  hand.seal();
  EXPECT_NE(checkPlan(hand.plan).message().find("reads padding of buffer 'h'"), std::string::npos)
      << checkPlan(hand.plan).message();
}

} // namespace
} // namespace sluice::test
