//===- PartsTest.cpp - gathers into chunks, and gathers of the parts of one operation (P4, P8) ---===//
//
// Units may be gathered into a communication buffer, from which copies fill the gathered buffers. The parts that the
// ranks hold of a split parameter may be gathered without a unit.
//
//===----------------------------------------------------------------------===//
#include "BadPlan.h"

#include "runtime/plan/Checker.h"
#include "runtime/plan/check/Check.h"

namespace sluice::test {
namespace {

/// Adds a buffer at the end of the device's arena, which is live over the step unless it persists.
std::uint32_t addBuffer(HandPlan &h, const char *name, plan::BufferClass bufferClass, Shape shape, bool persists) {
  plan::ArenaT &arena = *h.plan.arenas[0];
  h.plan.buffers.push_back(std::make_unique<plan::BufferT>(h.buffer("h")));
  plan::BufferT &buffer = *h.plan.buffers.back();
  buffer.name = name;
  buffer.class_ = bufferClass;
  buffer.shape = shape;
  buffer.bytes = *elementCount(shape) * 4;
  buffer.offset = arena.bytes;
  buffer.entry = persists ? -1 : 0;
  buffer.begin = 0;
  buffer.end = persists ? 0 : instructionCount(h.entry());
  arena.bytes += 64;
  arena.peak_live += buffer.bytes;
  if (persists)
    arena.persistent = arena.bytes;
  return std::uint32_t(h.plan.buffers.size() - 1);
}

plan::ViewT rowsOf(std::uint32_t buffer, std::int64_t first, std::int64_t count) {
  plan::ViewT view;
  view.buffer = buffer;
  view.shape = {count, 4};
  view.offset = std::uint64_t(first) * 16;
  return view;
}

/// 'b' is gathered in chunks, which two copies move.
void gatherInChunks(HandPlan &h) {
  h.plan.kernels.push_back("copy");
  plan::LaunchT copies[2];
  for (int half : {0, 1}) {
    copies[half].kernel = 4;
    copies[half].inputs.push_back(std::make_unique<plan::ViewT>());
    copies[half].outputs.push_back(std::make_unique<plan::ViewT>(rowsOf(h.bufferId("gathered.b"), 2 * half, 2)));
  }
  h.insertAfter("gather b", copies[0]);
  h.insertAfter("gather b", copies[1]);
  const std::uint32_t chunks = addBuffer(h, "chunks", plan::BufferClass::communication, {4, 4}, false);
  for (std::uint32_t k : {1, 2}) {
    auto &view = h.section(0).instructions[h.index("gather b") + k]->operation.AsLaunch()->inputs[0];
    *view = rowsOf(chunks, k == 1 ? 2 : 0, 2);
  }
  h.collective("gather b").segments[0]->destination->buffer = chunks;
}
plan::LaunchT &copyOf(HandPlan &h) { return *h.section(0).instructions[h.index("gather b") + 1]->operation.AsLaunch(); }

/// A parameter 'c' of unit 'b' that is not trained, of which each rank along 'tensor' has two rows; its parts are
/// gathered after the gather of 'b'.
plan::ParameterT &gatherParts(HandPlan &h) {
  h.plan.mesh[0]->name = "tensor";
  h.plan.mesh[0]->size = 2;
  h.plan.data_axes = {1};
  h.insertAfter("gather b", {});
  const std::uint32_t part = addBuffer(h, "c.weight", plan::BufferClass::parameter, {2, 4}, true);
  const std::uint32_t parts = addBuffer(h, "parts", plan::BufferClass::temporary, {4, 4}, false);
  h.plan.parameters.push_back(std::make_unique<plan::ParameterT>());
  plan::ParameterT &parameter = *h.plan.parameters.back();
  parameter.name = "c.weight";
  parameter.shape = {4, 4};
  parameter.unit = 1;
  parameter.buffer = part;
  parameter.frozen = true;
  parameter.split = std::make_unique<plan::TensorSplitT>();
  parameter.split->axes = {0};
  parameter.split->extent = 2;
  parameter.split->segments = 1;
  h.plan.units[1]->parameters.push_back(2);
  plan::InstructionT &gather = *h.section(0).instructions[h.index("gather b") + 1];
  gather.operation.Set(plan::CollectiveT(h.collective("gather b")));
  gather.unit = -1;
  gather.operation.AsCollective()->axes = {0};
  gather.operation.AsCollective()->segments[0]->source = std::make_unique<plan::ViewT>(rowsOf(part, 0, 2));
  gather.operation.AsCollective()->segments[0]->destination = std::make_unique<plan::ViewT>(rowsOf(parts, 0, 4));
  return parameter;
}
plan::CollectiveT &gatherOfParts(HandPlan &h) {
  return *h.section(0).instructions[h.index("gather b") + 1]->operation.AsCollective();
}

TEST(Parts, ChunksAreAccepted) {
  HandPlan hand;
  gatherInChunks(hand);
  hand.seal();
  EXPECT_TRUE(checkPlan(hand.plan).isOk()) << checkPlan(hand.plan).message();
}

TEST(Parts, PartsAreAccepted) {
  HandPlan hand;
  gatherParts(hand);
  hand.seal();
  EXPECT_TRUE(checkPlan(hand.plan).isOk()) << checkPlan(hand.plan).message();
}

TEST(Parts, AParameterWithoutShardsIsNotPadded) {
  HandPlan hand;
  plan::ParameterT parameter(hand.parameter("a.weight"));
  EXPECT_TRUE(check::isPadded(hand.plan, parameter));
  parameter.dim = -1;
  parameter.axes.clear();
  EXPECT_FALSE(check::isPadded(hand.plan, parameter));
}

TEST(Parts, AStateMayBeGatheredTwiceWithoutAUnit) {
  HandPlan hand;
  hand.insertAfter("gather b", {});
  const std::uint32_t first = addBuffer(hand, "first", plan::BufferClass::temporary, {4, 4}, false);
  const std::uint32_t second = addBuffer(hand, "second", plan::BufferClass::temporary, {4, 4}, false);
  plan::InstructionT &gather = *hand.section(0).instructions[hand.index("gather b") + 1];
  gather.operation.Set(plan::CollectiveT(hand.collective("gather b")));
  gather.unit = -1;
  auto &segments = gather.operation.AsCollective()->segments;
  segments.push_back(std::make_unique<plan::SegmentT>(*segments[0]));
  for (std::uint32_t k : {0, 1}) {
    segments[k]->source = std::make_unique<plan::ViewT>(rowsOf(hand.bufferId("b.weight.momentum_buffer"), 0, 2));
    segments[k]->destination = std::make_unique<plan::ViewT>(rowsOf(k == 0 ? first : second, 0, 4));
  }
  hand.seal();
  EXPECT_TRUE(checkPlan(hand.plan).isOk()) << checkPlan(hand.plan).message();
}

const Bad parts[] = {
    {"ChunksComputed", 4, "writes the gathered buffer 'gathered.b' without a gather of its unit",
     [](HandPlan &h) {
       gatherInChunks(h);
       copyOf(h).kernel = 0;
       copyOf(h).inputs.push_back(std::make_unique<plan::ViewT>(*copyOf(h).inputs[0]));
     }},
    {"ChunksOfAnActivation", 4, "writes the gathered buffer 'gathered.b' without a gather of its unit",
     [](HandPlan &h) {
       gatherInChunks(h);
       copyOf(h).inputs[0]->buffer = h.bufferId("h");
       copyOf(h).inputs[0]->offset = 0;
     }},
    {"GatherOfNoUnit", 4, "gathers the shard 'a.weight' of unit 'a'", [](HandPlan &h) { h.at("gather a").unit = -1; }},
    {"GatherOfAnActivationWithoutAUnit", 4, "writes the gathered buffer 'gathered.b' without a gather of its unit",
     [](HandPlan &h) {
       h.at("gather b").unit = -1;
       h.collective("gather b").segments[0]->source = std::make_unique<plan::ViewT>(rowsOf(h.bufferId("h"), 0, 2));
     }},
    {"PartsOfAnotherUnit", 8, "expected the full shard of parameter 'c.weight' along its own axes",
     [](HandPlan &h) {
       gatherParts(h);
       gatherOfParts(h).axes = {1};
       h.section(0).instructions[h.index("gather b") + 1]->unit = 0;
     }},
    {"PartsAlongAnotherAxis", 8, "expected the full shard of parameter 'c.weight' along its own axes",
     [](HandPlan &h) {
       gatherParts(h);
       gatherOfParts(h).axes = {1};
     }},
    {"HalfOfAPart", 8, "expected the full shard of parameter 'c.weight' along its own axes",
     [](HandPlan &h) {
       gatherParts(h);
       gatherOfParts(h).segments[0]->source->shape = {1, 4};
       gatherOfParts(h).segments[0]->destination->shape = {2, 4};
     }},
    {"PartsThatAreSharded", 8, "expected the full shard of parameter 'c.weight' along its own axes",
     [](HandPlan &h) {
       plan::ParameterT &parameter = gatherParts(h);
       parameter.shape = {8, 4};
       parameter.split->extent = 4;
       parameter.dim = 0;
       parameter.axes = {1};
       parameter.chunk = 2;
     }},
    {"GatherOfAReplicatedParameter", 8, "expected the full shard of parameter 'c.weight' along its own axes",
     [](HandPlan &h) {
       plan::ParameterT &parameter = gatherParts(h);
       parameter.split.reset();
       parameter.shape = {2, 4};
     }},
    {"GatherOfAReplicatedParameterOverOneRank", 8, "expected the full shard of parameter 'c.weight' along its own axes",
     [](HandPlan &h) {
       plan::ParameterT &parameter = gatherParts(h);
       parameter.split.reset();
       parameter.shape = {2, 4};
       parameter.axes = {0};
       h.plan.mesh[0]->size = 1;
       gatherOfParts(h).segments[0]->destination->shape = {2, 4};
     }},
};
INSTANTIATE_TEST_SUITE_P(Parts, BadPlan, testing::ValuesIn(parts), nameOf);

} // namespace
} // namespace sluice::test
