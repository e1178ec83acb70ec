//===- LimitsTest.cpp - plans at the limits of the checker ---------------------------------===//
//
// Numbers, enums and ids that are the last ones to be accepted; the next one is refused (BadTablesTest.cpp,
// BadFormTest.cpp, BadCodeTest.cpp).
//
//===----------------------------------------------------------------------===//
#include "HandPlan.h"
#include "SmallPlan.h"

namespace sluice::test {
namespace {

void expectAccepted(HandPlan &hand) {
  hand.seal();
  const Status status = checkPlan(hand.plan);
  EXPECT_TRUE(status.isOk()) << status.message();
}

/// Adds a replicated parameter that the program does not train, at the end of the arena.
plan::ParameterT &addFrozen(HandPlan &h, Shape shape, plan::DType dtype) {
  h.plan.buffers.push_back(std::make_unique<plan::BufferT>(h.buffer("b.weight")));
  plan::BufferT &buffer = *h.plan.buffers.back();
  buffer.name = "c.weight";
  buffer.dtype = dtype;
  buffer.shape = shape;
  buffer.bytes = *elementCount(shape) * dtypeBytes(baseType(dtype));
  buffer.offset = h.plan.arenas[0]->bytes;
  h.plan.arenas[0]->bytes += 64;
  h.plan.arenas[0]->persistent = h.plan.arenas[0]->bytes;
  h.plan.arenas[0]->peak_live += buffer.bytes;
  h.plan.parameters.push_back(std::make_unique<plan::ParameterT>());
  plan::ParameterT &parameter = *h.plan.parameters.back();
  parameter.name = "c.weight";
  parameter.dtype = dtype;
  parameter.shape = std::move(shape);
  parameter.unit = 1;
  parameter.buffer = std::uint32_t(h.plan.buffers.size() - 1);
  parameter.frozen = true;
  parameter.key = 2;
  h.plan.units[1]->parameters.push_back(std::uint32_t(h.plan.parameters.size() - 1));
  return parameter;
}

TEST(Limits, MeshOfEightAxesAndManyRanks) {
  HandPlan hand;
  for (int i = 2; i < 8; ++i) {
    hand.plan.mesh.push_back(std::make_unique<plan::AxisT>());
    hand.plan.mesh.back()->name = std::to_string(i);
    hand.plan.mesh.back()->size = i == 2 ? 1 << 19 : 1;
  }
  expectAccepted(hand);
}

TEST(Limits, OperandOfNoValue) {
  HandPlan hand;
  hand.plan.program->operands[0] = 0;
  expectAccepted(hand);
}

TEST(Limits, LargestArena) {
  HandPlan hand;
  hand.plan.arenas[0]->bytes = std::uint64_t(1) << 48;
  hand.buffer("guard").offset = hand.plan.arenas[0]->bytes - 64;
  hand.plan.arenas[0]->workspace = hand.plan.streams[0]->workspace = std::uint64_t(1) << 48;
  hand.plan.arenas[1]->pinned = true;
  hand.plan.target->threads = 1 << 16;
  for (int i = 3; i < 64; ++i) {
    hand.plan.streams.push_back(std::make_unique<plan::StreamT>());
    hand.plan.streams.back()->name = std::to_string(i);
  }
  expectAccepted(hand);
}

TEST(Limits, LargestAlignment) {
  SmallPlan plan;
  const std::uint32_t only = plan.buffer("only", {4});
  plan.plan.arenas[0]->alignment = 1 << 20;
  plan.section();
  plan.fill(compute, plan.view(only), 1);
  plan.expectAccepted();
}

TEST(Limits, EmptyBufferAtTheEndOfItsArena) {
  SmallPlan plan;
  plan.buffer("full", {16});
  const std::uint32_t empty = plan.buffer("empty", {0});
  plan.section();
  plan.fill(compute, plan.view(empty), 1);
  plan.expectAccepted();
}

TEST(Limits, EightDims) {
  HandPlan hand;
  hand.buffer("x").shape = {2, 4, 1, 1, 1, 1, 1, 1};
  hand.launch("loss").inputs[0]->shape = {4, 4, 1, 1, 1, 1, 1, 1};
  addFrozen(hand, {2, 1, 1, 1, 1, 1, 1, 1}, plan::DType::f32);
  hand.plan.program->types.push_back(std::make_unique<plan::ProgramTypeT>());
  hand.plan.program->types.back()->shape.assign(8, 1);
  expectAccepted(hand);
}

TEST(Limits, LastEnumerators) {
  HandPlan hand;
  addFrozen(hand, {}, plan::DType::u8);
  hand.plan.learning_rate->shape = plan::RateShape::wsd;
  hand.plan.program->types.push_back(std::make_unique<plan::ProgramTypeT>());
  hand.plan.program->types.back()->dtype = plan::DType::u8;
  hand.plan.program->types.back()->shape = {0};
  hand.plan.program->kinds.push_back(std::make_unique<plan::ProgramKindT>());
  hand.plan.program->kinds.back()->op = "model.write";
  hand.plan.program->kinds.back()->phase = plan::Phase::init;
  hand.plan.program->kinds.back()->attributes.push_back(std::make_unique<plan::AttributeT>());
  hand.plan.program->kinds.back()->attributes[0]->name = "dims";
  hand.plan.program->kinds.back()->attributes[0]->kind = 2;
  expectAccepted(hand);
}

TEST(Limits, CollectivesOfTheLastEnumerators) {
  SmallPlan plan;
  const std::uint32_t bytes = plan.buffer("bytes", {4}, plan::DType::u8), sum = plan.buffer("sum", {4});
  plan.section();
  plan.fill(compute, plan.view(bytes), 1);
  plan.fill(compute, plan.view(sum), 1);
  plan.collective(compute, plan::CollectiveKind::broadcast, {0}, plan::ReduceOp::none,
                  {{plan.view(bytes), plan.view(bytes)}});
  plan.collective(compute, plan::CollectiveKind::all_reduce, {0}, plan::ReduceOp::max,
                  {{plan.view(sum), plan.view(sum)}})
      .operation.AsCollective()
      ->reduction = plan::ReductionClass::ordered;
  plan.expectAccepted();
}

TEST(Limits, LastInstructions) {
  HandPlan hand;
  // Reserved from the end of the step on.
  hand.buffer("x").reserved_from = instructionCount(hand.entry());
  hand.plan.arenas[0]->peak_live = hand.plan.arenas[0]->bytes;
  // The number of a value begins at 1.
  hand.launch("loss").input_values = {0};
  hand.launch("loss").output_values = {std::uint32_t(hand.plan.program->values.size())};
  expectAccepted(hand);
}

TEST(Limits, FunctionsWithoutOps) {
  HandPlan hand;
  auto function = std::make_unique<plan::ProgramFunctionT>(*hand.plan.program->functions[0]);
  function->name = std::uint32_t(hand.plan.program->names.size());
  hand.plan.program->names.push_back("nothing");
  hand.plan.program->functions.push_back(std::move(function));
  expectAccepted(hand);
}

TEST(Limits, FunctionsWithoutParametersNeedNoEntryPoint) {
  HandPlan hand;
  hand.addFunction("train_nothing", {});
  expectAccepted(hand);
}

TEST(Limits, AGradientTrains) {
  HandPlan hand;
  hand.plan.program->input_roles[1] = hand.entry().inputs[1]->role = plan::PortRole::loss_scale;
  plan::ProgramT &program = *hand.plan.program;
  program.kinds.push_back(std::make_unique<plan::ProgramKindT>());
  program.kinds.back()->op = "model.gradient";
  // The values that are written are those of ops with one operand.
  for (std::size_t op = 0; op < program.op_kinds.size(); ++op)
    if (program.op_kinds[op] == 0 && program.operand_ends[op] - program.operand_ends[op - 1] == 1)
      program.op_kinds[op] = std::uint32_t(program.kinds.size() - 1);
  expectAccepted(hand);
}

// A part of all columns, on one rank.
TEST(Limits, SplitOverOneRank) {
  HandPlan hand;
  auto &split = hand.parameter("a.weight").split = std::make_unique<plan::TensorSplitT>();
  split->dim = 1;
  split->axes = {0};
  split->extent = 4;
  split->segments = 1;
  expectAccepted(hand);
}

// The elements are sharded, whatever the dims.
TEST(Limits, FlatParameter) {
  HandPlan hand;
  hand.parameter("b.weight").dim = 2;
  hand.parameter("b.weight").chunk = 8;
  for (const char *name : {"b.weight", "b.weight.momentum_buffer", "shard.b"})
    hand.buffer(name).shape = {8};
  hand.collective("gather b").segments[0]->source->shape = {8};
  hand.collective("reduce b").segments[0]->destination->shape = {8};
  plan::LaunchT &update = hand.launch("update b");
  for (auto *views : {&update.inputs, &update.outputs})
    for (auto &view : *views)
      if (!view->valid.empty()) {
        view->shape = {8};
        view->valid[0]->chunk = 8;
        view->valid[0]->total = 16;
      }
  expectAccepted(hand);
}

TEST(Limits, ReadOfAPaddedShard) {
  HandPlan hand;
  hand.launch("h").inputs[0] = hand.view("a.weight");
  expectAccepted(hand);
}

TEST(Limits, ExtentWithoutData) {
  SmallPlan plan;
  const std::uint32_t only = plan.buffer("only", {4});
  plan.section();
  plan.fill(compute, plan.padded(plan.view(only), 0, {0}, 4, 0), 1);
  plan.expectAccepted();
}

TEST(Limits, DenseStrides) {
  HandPlan hand;
  hand.collective("gather a").segments[0]->source->strides = {4, 1};
  // A dim of one element may have any stride.
  hand.collective("gather b").segments[0]->source->shape = {1, 8};
  hand.collective("gather b").segments[0]->source->strides = {99, 1};
  // One row is read three times.
  hand.launch("h").inputs[0]->shape = {3, 4};
  hand.launch("h").inputs[0]->strides = {0, 1};
  expectAccepted(hand);
}

// Nothing else is live.
TEST(Limits, PersistentBytesCountAtThePeak) {
  for (std::uint64_t peak : {15, 16}) {
    SmallPlan plan;
    plan.buffer("mean", {4});
    plan.plan.buffers[0]->class_ = plan::BufferClass::state;
    plan.plan.variables.push_back(std::make_unique<plan::VariableT>());
    plan.plan.variables[0]->name = "mean";
    plan.plan.arenas[0]->persistent = plan.plan.arenas[0]->bytes;
    plan.plan.arenas[0]->peak_live = peak;
    plan.section();
    plan.record(compute, 0);
    plan.plan.entries[0]->events = 1;
    serializePlan(plan.plan);
    const Status status = checkPlan(plan.plan);
    EXPECT_EQ(status.isOk(), peak == 16) << status.message();
  }
}

// A sum of a value that depends on nothing, over ranks with the same data.
TEST(Limits, SumOfConstants) {
  SmallPlan plan({{"tensor", 2}});
  const std::uint32_t sum = plan.buffer("sum", {4});
  plan.section();
  plan.fill(compute, plan.view(sum), 1);
  plan.collective(compute, plan::CollectiveKind::all_reduce, {0}, plan::ReduceOp::sum,
                  {{plan.view(sum), plan.view(sum)}})
      .operation.AsCollective()
      ->reduction = plan::ReductionClass::ordered;
  plan.expectAccepted();
}

/// 'b' has no optimizer state: its buffer holds a variable.
void leaveStateOfB(HandPlan &h) {
  h.parameter("b.weight").states.clear();
  h.buffer("b.weight.momentum_buffer").class_ = plan::BufferClass::state;
  h.plan.variables.push_back(std::make_unique<plan::VariableT>());
  h.plan.variables[0]->name = "mean";
  h.plan.variables[0]->buffer = h.bufferId("b.weight.momentum_buffer");
  // The program reads the variable instead of the state.
  plan::ProgramT &program = *h.plan.program;
  program.names.push_back("mean");
  program.op_symbols[1] = std::uint32_t(program.names.size() - 1);
  program.op_kinds[1] = 1;
  // It does not write the variable.
  program.op_kinds.back() = 0;
  program.types.push_back(std::make_unique<plan::ProgramTypeT>());
  program.types.back()->shape = h.buffer("b.weight.momentum_buffer").shape;
  program.values[program.results[1] - 1] = std::uint32_t(program.types.size() - 1);
}

/// With two replicas only 'b' is trained.
HandPlan planOfReplicas(std::uint32_t replicas) {
  HandPlan hand;
  leaveStateOfB(hand);
  hand.plan.mesh[0]->size = replicas;
  hand.parameter("a.weight").requires_grad = replicas == 1;
  hand.parameter("a.weight").frozen = replicas == 2;
  if (replicas == 2) {
    hand.drop("update a");
    // Its writes.
    for (std::size_t op : {8, 10})
      hand.plan.program->op_kinds[op] = 0;
  }
  return hand;
}

// An update without arithmetic: the reduced gradient is the new parameter.
TEST(Limits, CollectiveThatUpdates) {
  for (std::uint32_t replicas : {1, 2}) {
    HandPlan hand = planOfReplicas(replicas);
    hand.drop("update b");
    hand.collective("reduce b").segments[0]->destination = hand.view("b.weight");
    hand.seal();
    const Status status = checkPlan(hand.plan);
    if (replicas == 1)
      EXPECT_TRUE(status.isOk()) << status.message();
    else
      EXPECT_NE(
          status.message().find("(reduce_scatter of unit 'b' on stream 'reduce') of 'train_step' writes 'b.weight'"),
          std::string::npos)
          << status.message();
  }
}

TEST(Limits, CopyThatUpdates) {
  for (std::uint32_t replicas : {1, 2}) {
    HandPlan hand = planOfReplicas(replicas);
    plan::CopyT copy;
    copy.source = hand.view("shard.b");
    copy.destination = hand.view("b.weight");
    hand.at("update b").operation.Set(std::move(copy));
    hand.seal();
    const Status status = checkPlan(hand.plan);
    if (replicas == 1)
      EXPECT_TRUE(status.isOk()) << status.message();
    else
      EXPECT_NE(status.message().find("(copy of unit 'b' on stream 'compute') of 'train_step' writes 'b.weight'"),
                std::string::npos)
          << status.message();
  }
}

// The ranks take the parameters of the first one, before any step.
TEST(Limits, InitializationInPlace) {
  HandPlan hand;
  auto init = std::make_unique<plan::EntryT>();
  init->name = "init";
  init->sections.push_back(std::make_unique<plan::SectionT>());
  init->sections[0]->repeat = 1;
  auto instruction = std::make_unique<plan::InstructionT>();
  instruction->phase = plan::Phase::init;
  plan::CollectiveT broadcast;
  broadcast.kind = plan::CollectiveKind::broadcast;
  broadcast.axes = {0};
  broadcast.segments.push_back(std::make_unique<plan::SegmentT>());
  broadcast.segments[0]->source = hand.view("a.weight");
  broadcast.segments[0]->destination = hand.view("a.weight");
  instruction->operation.Set(std::move(broadcast));
  init->sections[0]->instructions.push_back(std::move(instruction));
  hand.plan.entries.push_back(std::move(init));
  hand.seal();
  CheckReport report;
  (void)checkPlan(hand.plan, &report);
  // The broadcast is accepted; it gives no initial values.
  EXPECT_EQ(report.refused(), 9);
}

// Collectives transfer padding, and what reads their results leaves it out.
TEST(Limits, CollectivesOfPadding) {
  SmallPlan plan({{"shard", 2}});
  const std::uint32_t shard = plan.buffer("shard", {4}), out = plan.buffer("out", {4});
  plan.section();
  plan.fill(compute, plan.padded(plan.view(shard), 0, {0}, 4, 7), 1);
  plan.collective(compute, plan::CollectiveKind::all_reduce, {0}, plan::ReduceOp::max,
                  {{plan.view(shard), plan.view(shard)}})
      .operation.AsCollective()
      ->reduction = plan::ReductionClass::ordered;
  plan.copy(compute, plan.padded(plan.view(shard), 0, {0}, 4, 7), plan.padded(plan.view(out), 0, {0}, 4, 7));
  plan.expectAccepted();
}

} // namespace
} // namespace sluice::test
