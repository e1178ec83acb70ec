//===- CheckerTest.cpp - good plans pass, bad ones are refused for the right reason --------===//
//
// At least three bad twins of the hand-made plan for each property that the checker proves.
//
//===----------------------------------------------------------------------===//
#include "HandPlan.h"

#include "runtime/plan/Checker.h"
#include "runtime/plan/Serialize.h"
#include "runtime/plan/check/Access.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

namespace sluice::test {
namespace {

struct Bad {
  const char *name;
  int property;
  /// Part of the message.
  const char *message;
  std::function<void(HandPlan &)> spoil;
};

void PrintTo(const Bad &bad, std::ostream *out) { *out << bad.name; }

class BadPlan : public testing::TestWithParam<Bad> {};

TEST_P(BadPlan, IsRefused) {
  HandPlan hand;
  GetParam().spoil(hand);
  if (GetParam().property != 17 && GetParam().property != 1)
    hand.seal();
  CheckReport report;
  const Status status = checkPlan(hand.plan, &report);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_EQ(report.refused(), GetParam().property) << status.message();
  EXPECT_EQ(status.message().find("P" + std::to_string(GetParam().property) + " "), 0u) << status.message();
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

std::string nameOf(const testing::TestParamInfo<Bad> &info) { return info.param.name; }

const Bad wellFormed[] = {
    {"LaunchOnHostMemory", 1, "expected operands in the memory of stream 'compute', device, but 'host.x' lies in host",
     [](HandPlan &h) { h.launch("h").inputs[0] = h.view("host.x", {2, 4}); }},
    {"HostOnDeviceMemory", 1, "expected operands in the memory of stream 'compute', host, but",
     [](HandPlan &h) { h.plan.streams[0]->processor = plan::Processor::host; }},
    {"CollectiveOnHostMemory", 1, "expected operands in the memory of stream 'gather', device, but 'host.x' lies in host",
     [](HandPlan &h) { h.collective("gather a").segments[0]->source = h.view("host.x", {2, 4}); }},
    {"CollectiveOfTheHost", 1, "expected a collective on a stream of the device but got 'gather'",
     [](HandPlan &h) { h.plan.streams[1]->processor = plan::Processor::host; }},
    {"BufferBeyondArena", 1, "expected it inside the 1024 bytes", [](HandPlan &h) { h.buffer("x").offset = 1024; }},
    {"OffsetOverflows", 1, "expected it inside", [](HandPlan &h) { h.buffer("x").offset = ~std::uint64_t(63); }},
    {"Misaligned", 1, "aligned to 64", [](HandPlan &h) { h.buffer("x").offset = 388; }},
    {"BytesNotShape", 1, "expected 32 bytes for f32[2x4] but got 36", [](HandPlan &h) { h.buffer("x").bytes = 36; }},
    {"ShapeOverflows", 1, "overflows", [](HandPlan &h) { h.buffer("x").shape = {1ll << 62, 1ll << 62}; }},
    {"ShapeNegative", 1, "negative", [](HandPlan &h) { h.buffer("x").shape = {-2, -4}; }},
    {"UnknownClass", 1, "unknown space, class or dtype",
     [](HandPlan &h) { h.buffer("x").class_ = plan::BufferClass(99); }},
    {"NoStream", 1, "stream 9 does not exist", [](HandPlan &h) { h.at("h").stream = 9; }},
    {"NoBuffer", 1, "buffer 99 does not exist", [](HandPlan &h) { h.launch("h").inputs[0]->buffer = 99; }},
    {"NoUnit", 1, "unit 7 does not exist", [](HandPlan &h) { h.at("h").unit = 7; }},
    {"NoEvent", 1, "event 99 does not exist", [](HandPlan &h) { h.at("a gathered").operation.AsRecord()->event = 99; }},
    {"NoEntry", 1, "entry point 3 does not exist", [](HandPlan &h) { h.buffer("x").entry = 3; }},
    {"NoOperation", 1, "expected a known operation", [](HandPlan &h) { h.at("h").operation.Reset(); }},
    {"NoView", 1, "expected a view but got none", [](HandPlan &h) { h.launch("h").inputs[0].reset(); }},
    {"ReservedKind", 1, "all_to_all is reserved",
     [](HandPlan &h) { h.collective("gather a").kind = plan::CollectiveKind::all_to_all; }},
    {"UnknownKernel", 1, "kernel 'explode' is not in the catalogue", [](HandPlan &h) { h.plan.kernels[0] = "explode"; }},
    {"WrongArity", 1, "expected 2 inputs but got 1", [](HandPlan &h) { h.launch("h").inputs.pop_back(); }},
    {"WrongReductionClass", 1, "reduction class",
     [](HandPlan &h) { h.launch("loss").reduction = plan::ReductionClass::none; }},
    {"ViewBeyondBuffer", 1, "reaches beyond", [](HandPlan &h) { h.launch("h").inputs[0]->offset = 4; }},
    {"RepetitionBeyondBuffer", 1, "reaches beyond",
     [](HandPlan &h) { h.at("copy x").operation.AsCopy()->source->repetition_stride = 36; }},
    {"NegativeStride", 1, "negative", [](HandPlan &h) { h.launch("h").inputs[0]->strides = {-4, 1}; }},
    {"StridesCount", 1, "expected 2 strides", [](HandPlan &h) { h.launch("h").inputs[0]->strides = {1}; }},
    {"ValidBeyondView", 1, "valid extent",
     [](HandPlan &h) { h.launch("update a").outputs[0]->valid[0]->chunk = 3; }},
    {"WorkspaceBeyondStream", 1, "of workspace of stream", [](HandPlan &h) { h.launch("h").workspace = 256; }},
    {"WorkspaceNotDeclared", 1, "workspace, expected the arenas",
     [](HandPlan &h) { h.plan.streams[1]->workspace = 64; }},
    {"MeshOfNone", 1, "at least 1 but got 0", [](HandPlan &h) { h.plan.mesh[1]->size = 0; }},
    {"MeshTooLarge", 1, "ranks", [](HandPlan &h) { h.plan.mesh[1]->size = 1u << 31; }},
    {"NoRepetitions", 1, "repetitions but got 0", [](HandPlan &h) { h.section(0).repeat = 0; }},
    {"TooManyEvents", 1, "events", [](HandPlan &h) { h.entry().events = 1u << 30; }},
    {"TooManyStreams", 1, "streams, expected at most 64",
     [](HandPlan &h) {
       for (int i = 0; i < 100; ++i) {
         h.plan.streams.push_back(std::make_unique<plan::StreamT>());
         h.plan.streams.back()->name = "s" + std::to_string(i);
       }
     }},
    {"LifespanBeyondEntry", 1, "expected a lifespan within", [](HandPlan &h) { h.buffer("x").end = 999; }},
    {"PersistentBeyondRegion", 1, "persistent bytes", [](HandPlan &h) { h.plan.arenas[0]->persistent = 128; }},
    {"AlignmentNoPower", 1, "power of two", [](HandPlan &h) { h.plan.arenas[0]->alignment = 48; }},
    {"ParameterInNoUnit", 1, "its unit does not name it", [](HandPlan &h) { h.plan.units[0]->parameters.clear(); }},
    {"ArenaTooLarge", 1, "expected at most", [](HandPlan &h) { h.plan.arenas[0]->bytes = ~std::uint64_t(0); }},
    {"ListsWithoutEnd", 1, "expected lists of repetitions that make at most 67108864 instructions to follow but got ",
     [](HandPlan &h) {
       // Each instruction lists repetitions of its own, all of which would have to be looked at.
       h.section(0).repeat = 1 << 20;
       h.at("copy x").operation.AsCopy()->source->repetition_stride = 0;
       for (std::uint32_t i = 0; i < 800; ++i) {
         auto instruction = std::make_unique<plan::InstructionT>();
         instruction->operation.Set(plan::RecordT());
         instruction->when = plan::When::list;
         for (std::uint32_t k = 0; k < 64; ++k)
           instruction->repetitions.push_back((i * 64 + k) * 4);
         h.section(0).instructions.push_back(std::move(instruction));
       }
     }},
    {"PinnedDevice", 1, "arena of device, expected host memory alone to be pinned",
     [](HandPlan &h) { h.plan.arenas[0]->pinned = true; }},
    {"SpaceTwice", 1, "twice", [](HandPlan &h) { h.plan.arenas[1]->space = plan::Space::device; }},
};
INSTANTIATE_TEST_SUITE_P(P1, BadPlan, testing::ValuesIn(wellFormed), nameOf);

const Bad overlap[] = {
    {"LiveAtOnce", 2, "buffers 'h' and 'loss' live at once and share bytes",
     [](HandPlan &h) { h.buffer("loss").offset = h.buffer("h").offset; }},
    {"OverPersistent", 2, "live at once", [](HandPlan &h) { h.buffer("x").offset = 192; }},
    {"PeakTooLow", 2, "are live at instruction", [](HandPlan &h) { --h.plan.arenas[0]->peak_live; }},
    {"PeakAboveArena", 2, "but has only", [](HandPlan &h) { h.plan.arenas[0]->peak_live = 2000; }},
    {"OutsideLifespan", 2, "outside its lifespan", [](HandPlan &h) { h.buffer("h").end = h.index("y"); }},
    {"NothingWritten", 2, "that nothing has written",
     [](HandPlan &h) {
       h.drop("copy x");
       h.buffer("x").begin = h.index("h");
     }},
    {"HoldsAnother", 2, "whose bytes hold buffer 'x' by then",
     [](HandPlan &h) {
       // The lifespan of x is declared to end early, and it is declared again behind y's: a copy of y's place.
       h.buffer("loss").offset = h.buffer("x").offset;
       h.buffer("loss").begin = h.index("loss");
       h.launch("loss").outputs[0] = h.view("sum.a", {1});
     }},
    {"CarriedOutsideLifespan", 2, "of another repetition", [](HandPlan &h) { h.buffer("sum.b").begin = h.index("sum b"); }},
    {"InPlaceOfAnother", 2, "live at once",
     [](HandPlan &h) { h.buffer("grad.b").begin = h.index("loss"); }},
    {"HalfInPlace", 2, "over an input of its own",
     [](HandPlan &h) {
       h.launch("grad b").outputs[0] = h.view("y", {2, 4});
       h.launch("grad b").outputs[0]->offset = 16;
       h.launch("grad b").inputs[0]->shape = {2, 4};
     }},
    {"TwoOutputsOnePlace", 2, "over another output of its own",
     [](HandPlan &h) { h.launch("update a").outputs[1] = std::make_unique<plan::ViewT>(*h.launch("update a").outputs[0]); }},
    {"LivesOverlapOnStreams", 2, "without waiting for",
     [](HandPlan &h) {
       // By lifespans the reduced gradient takes the place of what was its input; the streams do not wait.
       h.buffer("lr").offset = h.buffer("sum.a").offset;
       h.drop("compute waits: a reduced");
       h.drop("compute waits: b reduced");
     }},
};
INSTANTIATE_TEST_SUITE_P(P2, BadPlan, testing::ValuesIn(overlap), nameOf);

const Bad race[] = {
    {"ReadBeforeReduced", 3, "reads buffer 'shard.b' without waiting for instruction",
     [](HandPlan &h) { h.drop("compute waits: b reduced"); h.drop("compute waits: a reduced"); }},
    {"ReducedBeforeSummed", 3, "reads buffer 'sum.b' without waiting for",
     [](HandPlan &h) { h.drop("reduce waits: b summed"); }},
    {"RecordTooEarly", 3, "reads buffer 'shard.a' without waiting for",
     [](HandPlan &h) { h.exchange("reduce a", "a reduced"); }},
    {"CopyOnOtherStream", 3, "reads buffer 'x' without waiting for", [](HandPlan &h) { h.at("copy x").stream = 2; }},
    {"WriteWhileRead", 3, "writes buffer 'sum.b' without waiting for",
     [](HandPlan &h) {
       // The reduction runs at the first micro-batch, the second adds to its input.
       for (const char *label : {"b summed", "reduce waits: b summed", "reduce b", "b reduced"})
         h.at(label).when = plan::When::first;
     }},
};
INSTANTIATE_TEST_SUITE_P(P3, BadPlan, testing::ValuesIn(race), nameOf);

const Bad gather[] = {
    {"ReadBeforeComplete", 4, "reads buffer 'gathered.b' without waiting for", [](HandPlan &h) { h.drop("compute waits: b gathered"); }},
    {"ReadBeforeGather", 4, "before any gather", [](HandPlan &h) { h.drop("gather a"); }},
    {"ReadAfterRelease", 4, "after its release",
     [](HandPlan &h) {
       h.exchange("grad b", "release b");
       h.buffer("gathered.b").end = h.index("grad b") + 1;
       h.buffer("grad.b").begin = h.buffer("y").end = h.index("grad b");
       h.buffer("y").end = h.index("grad b") + 1;
     }},
    {"ReleasedTwice", 4, "which is not gathered",
     [](HandPlan &h) { h.at("release a").operation.AsRelease()->buffers.push_back(h.bufferId("gathered.a")); }},
    {"ReleasesWhatIsNotGathered", 4, "part of no gathered unit",
     [](HandPlan &h) { h.at("release a").operation.AsRelease()->buffers = {h.bufferId("x")}; }},
    {"GatheredAgain", 4, "again before its release", [](HandPlan &h) { h.drop("release b"); }},
    {"ReleasedWhileRead", 4, "while it is read", [](HandPlan &h) { h.at("release b").stream = 1; }},
    {"SourceWrittenInFlight", 4, "while its gather is in flight",
     [](HandPlan &h) {
       // Gathered once more at the end, while the update writes the shard.
       h.at("copy lr").operation.Set(plan::CollectiveT(h.collective("gather b")));
       h.at("copy lr").stream = 1;
       h.buffer("gathered.b").end = h.index("update b");
       h.buffer("gathered.b").offset = 960;
       h.plan.arenas[0]->peak_live = 1024;
       h.launch("update b").inputs[3] = h.view("loss");
       h.launch("update a").inputs[3] = h.view("loss");
       h.buffer("loss").begin = h.index("loss");
     }},
};
INSTANTIATE_TEST_SUITE_P(P4, BadPlan, testing::ValuesIn(gather), nameOf);

const Bad agree[] = {
    {"CountsDisagree", 5, "expected counts of a all_gather over 2 ranks",
     [](HandPlan &h) { h.collective("gather a").segments[0]->destination->shape = {3, 4}; }},
    {"ScatterCountsDisagree", 5, "expected counts of a reduce_scatter",
     [](HandPlan &h) { h.collective("reduce b").segments[0]->source->shape = {3, 4}; }},
    {"DtypesDisagree", 5, "expected dtype bf16 but got f32",
     [](HandPlan &h) { h.collective("gather a").dtype = plan::DType::bf16; }},
    {"CountDependsOnRank", 5, "its count depends on the rank",
     [](HandPlan &h) {
       h.collective("gather a").segments[0]->source = std::make_unique<plan::ViewT>(*h.launch("update a").outputs[0]);
     }},
    {"NoSuchAxis", 5, "axis 5 does not exist", [](HandPlan &h) { h.collective("gather a").axes = {5}; }},
    {"AxisTwice", 5, "named twice", [](HandPlan &h) { h.collective("gather a").axes = {1, 1}; }},
    {"NoAxis", 5, "at least one axis", [](HandPlan &h) { h.collective("gather a").axes.clear(); }},
    {"GatherReduces", 5, "expected no reduction but got sum",
     [](HandPlan &h) { h.collective("gather a").op = plan::ReduceOp::sum; }},
    {"ReductionWithoutOp", 5, "expected a reduction but got none",
     [](HandPlan &h) { h.collective("reduce a").op = plan::ReduceOp::none; }},
    {"ReductionWithoutClass", 5, "reduction class",
     [](HandPlan &h) { h.collective("reduce a").reduction = plan::ReductionClass::not_a_reduction; }},
    {"NotDense", 5, "expected a dense view",
     [](HandPlan &h) {
       plan::ViewT &view = *h.collective("gather b").segments[0]->destination;
       view.strides = {1, 4};
     }},
};
INSTANTIATE_TEST_SUITE_P(P5, BadPlan, testing::ValuesIn(agree), nameOf);

const Bad deadlock[] = {
    {"WaitBeforeItsRecord", 6, "wait for one another in a circle",
     [](HandPlan &h) {
       // On one stream.
       h.at("gather waits: h done").operation.AsWait()->event = h.at("b gathered").operation.AsRecord()->event;
     }},
    {"TwoStreams", 6, "wait for one another in a circle",
     [](HandPlan &h) {
       h.exchange("compute waits: b gathered", "h done");
       h.exchange("compute waits: b gathered", "copy x");
     }},
    {"ThreeStreams", 6, "wait for one another in a circle",
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
    {"ShardOfAnotherShape", 8, "expected a shard of 2x5 but buffer 'a.weight' holds 2x4", [](HandPlan &h) { h.parameter("a.weight").shape = {3, 5}; }},
    {"BufferTwice", 8, "holds the shard of another tensor",
     [](HandPlan &h) { h.parameter("a.weight").buffer = h.bufferId("b.weight"); }},
    {"StateSharesShard", 8, "holds the shard of another tensor",
     [](HandPlan &h) { h.parameter("a.weight").states[0]->buffer = h.bufferId("a.weight"); }},
    {"ShardDoesNotPersist", 8, "expected a persistent buffer",
     [](HandPlan &h) { h.parameter("a.weight").buffer = h.bufferId("shard.a"); }},
    {"ValidOfAnother", 8, "expected the valid extent of parameter 'a.weight'",
     [](HandPlan &h) { h.launch("update a").outputs[0]->valid[0]->total = 4; }},
    {"ValidLeavesHole", 8, "leave a hole", [](HandPlan &h) { h.launch("update b").outputs[0]->valid[0]->chunk = 1; }},
    {"PaddingWritten", 8, ", writes the padding of the shard of parameter 'a.weight', expected a view with its valid extent",
     [](HandPlan &h) { h.launch("update a").outputs[0]->valid.clear(); }},
    {"PaddingRead", 8, "reads padding of buffer 'shard.a'", [](HandPlan &h) { h.launch("update a").inputs[1]->valid.clear(); }},
    {"PaddingReadByAnotherExtent", 8, "reads padding of buffer 'shard.a'",
     [](HandPlan &h) { h.launch("update a").inputs[1]->valid[0]->total = 4; }},
    {"PartOfShardGathered", 8, "expected the whole shard",
     [](HandPlan &h) {
       h.collective("gather a").segments[0]->source->shape = {1, 4};
       h.collective("gather a").segments[0]->destination->shape = {2, 4};
     }},
    {"PaddingReduced", 8, "segment 0, writes the padding of the shard of parameter 'a.weight'",
     [](HandPlan &h) { h.collective("reduce a").segments[0]->destination = h.view("a.weight"); }},
    {"WholeWithAxes", 8, "expected no axes", [](HandPlan &h) { h.parameter("b.weight").dim = -1; }},
};
INSTANTIATE_TEST_SUITE_P(P8, BadPlan, testing::ValuesIn(shards), nameOf);

/// Four ranks along an axis in two parts. Both are cut over both; the gather of 'b' is of the inner part alone, out of a piece of
/// two rows that was kept whole over the outer (of x here: the numbers mean nothing).
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
  // The gather reads what the next micro-batch's copy overwrites.
  h.exchange("copy x", "a gathered");
  h.exchange("copy x", "gather a");
  h.buffer("x").begin = 0;
}

TEST(Checker, AcceptsAGatherFromAPiece) {
  HandPlan hand;
  gatherFromPiece(hand);
  hand.seal();
  EXPECT_TRUE(checkPlan(hand.plan).isOk()) << checkPlan(hand.plan).message();
}

const Bad replicas[] = {
    {"NoReductionOverReplicas", 7, "expected the same on all ranks that hold this shard but it may differ along 'replicate'",
     [](HandPlan &h) { h.plan.mesh[0]->size = 2; }},
    // What the ranks of one operation have parts of reaches the gradient of a parameter that they all have.
    {"NoSumOverParts", 7, "of parameter 'b.weight', expected the same on all ranks that hold this shard but it may differ along 'tensor'",
     [](HandPlan &h) {
       h.plan.mesh[0]->name = "tensor";
       h.plan.mesh[0]->size = 2;
       h.parameter("a.weight").shape = {3, 8};
       h.parameter("a.weight").split = std::make_unique<plan::TensorSplitT>();
       h.parameter("a.weight").split->dim = 1;
       h.parameter("a.weight").split->axes = {0};
       h.parameter("a.weight").split->extent = 4;
     }},
    // All ranks of one operation see the same data.
    {"SumOfTheSame", 7, "adds up what is the same on all ranks along 'tensor', expected parts of a sum",
     [](HandPlan &h) {
       h.plan.mesh[1]->name = "tensor";
       for (const char *label : {"reduce a", "reduce b"})
         h.collective(label).op = plan::ReduceOp::sum;
     }},
};
INSTANTIATE_TEST_SUITE_P(P7, BadPlan, testing::ValuesIn(replicas), nameOf);

const Bad splits[] = {
    {"SplitOfNoDim", 1, "its split is not of a dim of its own",
     [](HandPlan &h) {
       h.parameter("a.weight").split = std::make_unique<plan::TensorSplitT>();
       h.parameter("a.weight").split->dim = 2;
     }},
    {"SplitAndSharded", 1, "both splits it and shards its parts",
     [](HandPlan &h) {
       h.parameter("a.weight").split = std::make_unique<plan::TensorSplitT>();
       h.parameter("a.weight").split->axes = h.parameter("a.weight").axes;
     }},
    {"SplitWithAHole", 1, "in 1 segments but got parts of 3",
     [](HandPlan &h) {
       h.plan.mesh[0]->size = 2;
       h.parameter("a.weight").split = std::make_unique<plan::TensorSplitT>();
       h.parameter("a.weight").split->dim = 1;
       h.parameter("a.weight").split->axes = {0};
       h.parameter("a.weight").split->extent = 3;
     }},
    // One dim may have uneven parts; segments side by side may not.
    {"UnevenSegments", 1, "in 2 segments but got parts of 2",
     [](HandPlan &h) {
       h.plan.mesh[0]->size = 4;
       h.parameter("a.weight").shape = {3, 6};
       h.parameter("a.weight").split = std::make_unique<plan::TensorSplitT>();
       h.parameter("a.weight").split->dim = 1;
       h.parameter("a.weight").split->axes = {0};
       h.parameter("a.weight").split->segments = 2;
       h.parameter("a.weight").split->extent = 2;
     }},
};
INSTANTIATE_TEST_SUITE_P(Splits, BadPlan, testing::ValuesIn(splits), nameOf);

const Bad pieces[] = {
    // Two rows are a piece along a part of the parameter's own axis, not along another.
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
    // Gradients are reduced into shards, never into pieces.
    {"Reduced", 8, "its chunk of 8 elements is the shard of no parameter of unit 'b'",
     [](HandPlan &h) {
       gatherFromPiece(h);
       h.buffer("shard.b").shape = {2, 4};
       h.buffer("shard.b").bytes = 32;
       h.collective("reduce b").axes = {2};
       h.collective("reduce b").segments[0]->destination->shape = {2, 4};
     }},
    // The shard that persists is gathered along all of its axes, or it would be taken for a piece.
    {"ShardAsPiece", 8, "expected the whole shard of parameter 'b.weight' along its own axes",
     [](HandPlan &h) {
       gatherFromPiece(h);
       h.collective("gather b").segments[0]->source = h.view("b.weight");
       h.collective("gather b").segments[0]->destination->shape = {2, 4};
     }},
};
INSTANTIATE_TEST_SUITE_P(P8Pieces, BadPlan, testing::ValuesIn(pieces), nameOf);

// Where the ranks' chunks are the total there is no padding to read.
TEST(Checker, EvenChunksHaveNoPadding) {
  HandPlan hand;
  check::PaddingIds paddings(hand.plan);
  EXPECT_EQ(paddings.of({1}, 2, 4), check::clean);
  EXPECT_NE(paddings.of({1}, 2, 3), check::clean);
  EXPECT_EQ(paddings.of({1}, 4, 6), paddings.of({1}, 2, 3)) << "padding is told in lowest terms";
  EXPECT_NE(paddings.of({1}, 3, 5), paddings.of({1}, 2, 3));
  EXPECT_EQ(paddings.of({0}, 4, 4), check::clean);
  EXPECT_NE(paddings.of({1}, std::int64_t(1) << 62, 3), check::clean) << "ranks times chunk leaves 64 bits";
  // What is written through an extent that leaves nothing out is read whole.
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

const Bad updates[] = {
    {"NotUpdated", 10, "parameter 'b.weight', expected 1 updates in a step of 'train_step' but got 0",
     [](HandPlan &h) { h.drop("update b"); }},
    {"UpdatedTwice", 10, "but got 2",
     [](HandPlan &h) { h.launch("update b").outputs.push_back(std::make_unique<plan::ViewT>(*h.launch("update a").outputs[0])); }},
    {"UpdatedEachRepetition", 10, "but got 2", [](HandPlan &h) { h.section(1).repeat = 2; }},
    {"FrozenUpdated", 10, "expected 0 updates", [](HandPlan &h) { h.parameter("a.weight").frozen = true; }},
    {"StateNotUpdated", 10, "state 'momentum_buffer' of parameter 'a.weight'",
     [](HandPlan &h) { h.launch("update a").outputs.pop_back(); }},
    {"ReadAfterUpdate", 10, "reads buffer 'b.weight' after its update",
     [](HandPlan &h) { h.launch("update a").inputs[3] = h.view("b.weight"); }},
};
INSTANTIATE_TEST_SUITE_P(P10, BadPlan, testing::ValuesIn(updates), nameOf);

/// A second entry point that does what the first does, with buffers of its own in the same places.
void addTwin(HandPlan &h) {
  plan::PlanT &plan = h.plan;
  std::map<std::uint32_t, std::uint32_t> own;
  for (std::uint32_t b = 0, count = std::uint32_t(plan.buffers.size()); b < count; ++b)
    if (plan.buffers[b]->entry == 0) {
      own[b] = std::uint32_t(plan.buffers.size());
      plan.buffers.push_back(std::make_unique<plan::BufferT>(*plan.buffers[b]));
      plan.buffers.back()->name += ".twin";
      plan.buffers.back()->entry = 1;
    }
  auto twin = std::make_unique<plan::EntryT>(h.entry());
  twin->name = "train_twin";
  auto take = [&](std::uint32_t &buffer) {
    if (auto found = own.find(buffer); found != own.end())
      buffer = found->second;
  };
  for (auto *ports : {&twin->inputs, &twin->outputs})
    for (auto &port : *ports)
      take(port->view->buffer);
  for (auto &section : twin->sections)
    for (auto &instruction : section->instructions) {
      if (plan::LaunchT *launch = instruction->operation.AsLaunch()) {
        for (auto *views : {&launch->inputs, &launch->outputs})
          for (auto &view : *views)
            take(view->buffer);
      } else if (plan::CollectiveT *collective = instruction->operation.AsCollective()) {
        for (auto &segment : collective->segments) {
          take(segment->source->buffer);
          take(segment->destination->buffer);
        }
      } else if (plan::CopyT *copy = instruction->operation.AsCopy()) {
        take(copy->source->buffer);
        take(copy->destination->buffer);
      } else if (plan::ReleaseT *release = instruction->operation.AsRelease()) {
        for (std::uint32_t &buffer : release->buffers)
          take(buffer);
      }
    }
  plan.entries.push_back(std::move(twin));
}

/// The twin's instruction of that label.
plan::LaunchT &twinLaunch(HandPlan &h, const std::string &label) {
  std::uint32_t issue = h.index(label);
  for (auto &section : h.plan.entries[1]->sections) {
    if (issue < section->instructions.size())
      return *section->instructions[issue]->operation.AsLaunch();
    issue -= std::uint32_t(section->instructions.size());
  }
  return h.launch(label);
}

TEST(Checker, AnEntryPointMayLeaveAParameterToAnother) {
  HandPlan hand;
  addTwin(hand);
  hand.seal();
  EXPECT_TRUE(checkPlan(hand.plan).isOk()) << checkPlan(hand.plan).message();
  // The second trains 'a' alone.
  hand.drop("update b");
  hand.seal();
  EXPECT_TRUE(checkPlan(hand.plan).isOk()) << checkPlan(hand.plan).message();
}

const Bad shared[] = {
    {"ByNobody", 10, "parameter 'b.weight', expected 1 updates in a step of 'train_step' but got 0",
     [](HandPlan &h) {
       h.drop("update b");
       addTwin(h);
     }},
    {"TwiceInOne", 10, "parameter 'a.weight', expected 1 updates in a step of 'train_twin' but got 2",
     [](HandPlan &h) {
       addTwin(h);
       twinLaunch(h, "update b").outputs.push_back(std::make_unique<plan::ViewT>(*h.launch("update a").outputs[0]));
     }},
    {"ItsStateAlone", 10, "state 'momentum_buffer' of parameter 'b.weight', expected 0 updates in a step of 'train_twin'",
     [](HandPlan &h) {
       addTwin(h);
       auto &outputs = twinLaunch(h, "update b").outputs;
       outputs.erase(outputs.begin());
     }},
    {"WithoutItsState", 10, "state 'momentum_buffer' of parameter 'b.weight', expected 1 updates in a step of 'train_twin'",
     [](HandPlan &h) {
       addTwin(h);
       twinLaunch(h, "update b").outputs.pop_back();
     }},
    {"FrozenByTheOther", 10, "parameter 'b.weight', expected 0 updates in a step of 'train_twin' but got 1",
     [](HandPlan &h) {
       addTwin(h);
       h.drop("update b");
       h.parameter("b.weight").frozen = true;
     }},
    {"OutsideTheUpdate", 10, "parameter 'b.weight', expected 1 updates in a step of 'train_step' but got 2",
     [](HandPlan &h) {
       // A second write that does not say that it updates.
       h.at("copy lr").phase = plan::Phase::backward;
       h.at("copy lr").operation.AsCopy()->destination = h.view("b.weight");
       h.at("copy lr").operation.AsCopy()->source = h.view("shard.b");
       for (const char *update : {"update a", "update b"})
         h.launch(update).inputs[3] = h.view("loss");
       h.exchange("copy lr", "compute waits: b reduced");
     }},
    {"CalledInitialization", 10, "parameter 'b.weight', expected 1 updates in a step of 'train_step' but got 0",
     [](HandPlan &h) {
       h.drop("update b");
       h.at("update a").phase = plan::Phase::init;
     }},
    {"FilledAsWell", 10, "parameter 'b.weight', expected 1 updates in a step of 'train_step' but got 2",
     [](HandPlan &h) {
       plan::FillT fill;
       fill.destination = h.view("b.weight");
       h.at("copy lr").operation.Set(std::move(fill));
       for (const char *update : {"update a", "update b"})
         h.launch(update).inputs[3] = h.view("loss");
     }},
};
INSTANTIATE_TEST_SUITE_P(P10Shared, BadPlan, testing::ValuesIn(shared), nameOf);

const Bad events[] = {
    {"WaitWithoutRecord", 11, "which nothing has recorded before it", [](HandPlan &h) { h.drop("b gathered"); }},
    {"RecordedLater", 11, "which nothing has recorded before it",
     [](HandPlan &h) { h.exchange("reduce waits: b summed", "b summed"); }},
    {"RecordedInTheLastRepetitionOnly", 11, "which nothing has recorded before it",
     [](HandPlan &h) { h.at("reduce waits: b summed").when = plan::When::all; }},
};
INSTANTIATE_TEST_SUITE_P(P11, BadPlan, testing::ValuesIn(events), nameOf);

const Bad boundary[] = {
    {"StillGathered", 12, "still gathered at the end",
     [](HandPlan &h) { h.at("release b").when = plan::When::first; }},
    {"GatherDoesNotWaitForUpdate", 12, "of the step before", [](HandPlan &h) { h.drop("gather waits: step done"); }},
    {"OutputNotWritten", 12, "is not there at the end",
     [](HandPlan &h) { h.drop("copy loss"); }},
    {"OutputEndsEarly", 12, "output 'loss'", [](HandPlan &h) { h.buffer("host.loss").end -= 1; }},
    {"InputBeginsLate", 12, "input 'lr'", [](HandPlan &h) { h.buffer("host.lr").begin = h.index("copy lr"); }},
};
INSTANTIATE_TEST_SUITE_P(P12, BadPlan, testing::ValuesIn(boundary), nameOf);

const Bad digest[] = {
    {"NoDigest", 17, "expected a digest of 32 bytes", [](HandPlan &h) { h.plan.digest.clear(); }},
    {"AnotherDigest", 17, "expected digest", [](HandPlan &h) { h.plan.digest[5] ^= 1; }},
    {"ChangedAfterwards", 17, "expected digest", [](HandPlan &h) { h.plan.name = "other"; }},
    {"AnotherMajor", 17, "expected major version", [](HandPlan &h) { h.plan.major = 99; }},
    {"AnotherCatalogue", 17, "of the kernel catalogue but got 99", [](HandPlan &h) { h.plan.catalogue = 99; }},
};
INSTANTIATE_TEST_SUITE_P(P17, BadPlan, testing::ValuesIn(digest), nameOf);

TEST(Checker, AcceptsTheHandPlan) {
  HandPlan hand;
  CheckReport report;
  const Status status = checkPlan(hand.plan, &report);
  ASSERT_TRUE(status.isOk()) << status.message();
  for (int number : {1, 2, 3, 4, 5, 6, 8, 10, 11, 12, 17})
    EXPECT_EQ(report.property(number).outcome, CheckReport::Outcome::proved) << "P" << number;
  for (int number : {7, 9, 13, 14, 15, 16})
    EXPECT_EQ(report.property(number).outcome, CheckReport::Outcome::notChecked) << "P" << number;
}

TEST(Checker, AcceptsManyMicrobatches) {
  HandPlan hand;
  hand.section(0).repeat = 1;
  EXPECT_FALSE(checkPlan(hand.plan).isOk()) << "the digest has changed";
  hand.seal();
  EXPECT_TRUE(checkPlan(hand.plan).isOk()) << checkPlan(hand.plan).message();
  hand.section(0).repeat = 1000;
  hand.plan.arenas[1]->bytes = 64 * 1000;
  hand.buffer("host.x").shape = {1000, 2, 4};
  hand.buffer("host.x").bytes = 32000;
  hand.buffer("host.lr").offset = 32000;
  hand.buffer("host.loss").offset = 32064;
  hand.plan.arenas[1]->peak_live = 32008;
  hand.seal();
  EXPECT_TRUE(checkPlan(hand.plan).isOk()) << checkPlan(hand.plan).message();
}

TEST(Checker, AcceptsAPlanOfNothing) {
  plan::PlanT plan;
  plan.target = std::make_unique<plan::TargetT>();
  plan.mesh.push_back(std::make_unique<plan::AxisT>());
  plan.mesh[0]->name = "shard";
  plan.mesh[0]->size = 1;
  serializePlan(plan);
  CheckReport report;
  EXPECT_TRUE(checkPlan(plan, &report).isOk());
  EXPECT_EQ(report.property(4).outcome, CheckReport::Outcome::notApplicable);
  EXPECT_EQ(report.property(5).outcome, CheckReport::Outcome::notApplicable);
  EXPECT_EQ(report.property(8).outcome, CheckReport::Outcome::notApplicable);
}

TEST(Checker, GivesACounterexample) {
  HandPlan hand;
  hand.drop("compute waits: b gathered");
  hand.seal();
  const Status status = checkPlan(hand.plan);
  const std::vector<std::string> expected = {
      "first: instruction 7 (all_gather of unit 'b' on stream 'gather') of 'train_step', repetition 0",
      "second: instruction 10 (launch multiply of unit 'b' on stream 'compute') of 'train_step', repetition 0",
      "bytes [320, 384) of device",
      "missing order: stream 'compute' waits for no record made on stream 'gather' after the first",
  };
  EXPECT_EQ(status.notes(), expected);
}

TEST(Checker, NothingIsReachedBehindARefusal) {
  HandPlan hand;
  hand.drop("compute waits: b gathered");
  hand.seal();
  CheckReport report;
  EXPECT_FALSE(checkPlan(hand.plan, &report).isOk());
  EXPECT_EQ(report.property(1).outcome, CheckReport::Outcome::proved);
  EXPECT_EQ(report.property(12).outcome, CheckReport::Outcome::notReached);
}

TEST(Checker, AllowsWindowsOfOneBuffer) {
  // Two outputs that interleave: columns 0 to 1 and 2 to 3 of one matrix.
  HandPlan hand;
  plan::LaunchT &launch = hand.launch("update b");
  for (std::int64_t column : {0, 2}) {
    auto view = hand.view("gathered.b", {4, 2});
    view->strides = {4, 1};
    view->offset = std::uint64_t(column * 4);
    launch.outputs.push_back(std::move(view));
  }
  hand.buffer("gathered.b").end = hand.index("update b") + 1;
  hand.plan.arenas[0]->peak_live = 1024;
  hand.seal();
  // The refusal is about the unit left gathered, not about an overlap.
  EXPECT_NE(checkPlan(hand.plan).message().find("still gathered"), std::string::npos) << checkPlan(hand.plan).message();
  launch.outputs.back()->offset = 4;
  hand.seal();
  EXPECT_NE(checkPlan(hand.plan).message().find("over another output"), std::string::npos);
}

} // namespace
} // namespace sluice::test
