//===- RefusalTest.cpp - plans that cannot run here --------------------------------===//
#include "test/unit/executor/RunAlone.h"

#include "runtime/executor/Machine.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>

namespace sluice::test {
namespace {

/// One launch, one copy.
PlanBuilder small() {
  PlanBuilder builder;
  const auto s = builder.stream("compute", 64);
  const auto x = builder.buffer("x", {4});
  builder.entry("step", 1);
  builder.section();
  builder.launch(s, "add", {builder.view(x), builder.view(x)}, {builder.view(x)}).unit = builder.unit("h.0");
  return builder;
}

/// Expects that the plan is refused with this message.
void expectRefused(const plan::PlanT &plan, std::string_view message, const ExecutorOptions &options = {}) {
  auto executor = runAlone(plan, options);
  ASSERT_FALSE(executor.isOk()) << "expected: " << message;
  EXPECT_EQ(executor.status().code(), StatusCode::refused);
  EXPECT_EQ(executor.status().message(), message);
}

plan::InstructionT &firstOf(PlanBuilder &builder) { return *builder.plan.entries[0]->sections[0]->instructions[0]; }

TEST(Refusal, SmallPlanRuns) { EXPECT_TRUE(runAlone(small().plan).isOk()); }

TEST(Refusal, OtherCatalogue) {
  PlanBuilder builder = small();
  builder.plan.catalogue = catalogueVersion() + 1;
  expectRefused(builder.plan, "kernel catalogue of the plan, expected version " + std::to_string(catalogueVersion()) +
                                  " but got " + std::to_string(catalogueVersion() + 1));
}

TEST(Refusal, RankBeyondTheWorld) {
  PlanBuilder builder = small();
  EXPECT_EQ(Executor::create(builder.plan, createLocalWorld(1), 1, {}).status().message(),
            "rank, expected less than 1 but got 1");
}

TEST(Refusal, OtherDevice) {
  PlanBuilder builder = small();
  builder.plan.target->device = "tpu";
  expectRefused(builder.plan, "target.device of the plan, expected 'cpu' or 'cuda' but got 'tpu'");
  builder.plan.target.reset();
  expectRefused(builder.plan, "the plan has no target");
}

// Tests that a plan for a larger instruction set than the machine's is refused with both named, and one for the
// machine's runs.
TEST(Refusal, InstructionSetOfTheMachine) {
  PlanBuilder builder = small();
  builder.plan.target->isa = "avx512";
  ExecutorOptions options;
  options.isa = "avx2";
  expectRefused(builder.plan, "instruction set of this machine, expected avx512 as the plan's target.isa but got avx2",
                options);
  EXPECT_EQ(runAlone(builder.plan, options).status().notes(),
            std::vector<std::string>({"compile the plan with target.isa = \"avx2\""}));
  builder.plan.target->isa = "mmx";
  expectRefused(builder.plan, "target.isa of the plan, expected avx512 or avx2 but got 'mmx'");
  builder.plan.target->isa = machineIsa();
  EXPECT_TRUE(runAlone(builder.plan).isOk());
}

/// Ends the process with 0 if a plan for a smaller instruction set than the machine's runs, and a later one for the
/// machine's is refused: kernels of both would compute different bits from both plans. A plan that is refused for a
/// different reason does not fix the instruction set.
[[noreturn]] void runPlansOfTwoInstructionSets() {
  PlanBuilder builder = small();
  builder.plan.target->isa = machineIsa();
  ExecutorOptions tooMany;
  tooMany.threads = 3;
  if (runAlone(builder.plan, tooMany).isOk())
    std::exit(1);
  builder.plan.target->isa = "sse4";
  if (!runAlone(builder.plan).isOk() || !runAlone(builder.plan).isOk())
    std::exit(1);
  builder.plan.target->isa = machineIsa();
  const Status status = runAlone(builder.plan).status();
  std::cerr << status.message() << "; " << status.notes().at(0) << std::endl;
  std::exit(0);
}

TEST(RefusalDeathTest, SecondInstructionSetOfAProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(runPlansOfTwoInstructionSets(), testing::ExitedWithCode(0),
              "target.isa of the plan: instruction set, expected sse4 .already used by this process. but got avx.*; "
              "all plans of a process have one target.isa: run this one in a separate process");
}

TEST(Refusal, MoreThreadsThanPlanned) {
  ExecutorOptions options;
  options.threads = 3;
  expectRefused(small().plan, "threads of a rank, expected at most the plan's target.threads, 1, but got 3", options);
}

TEST(Refusal, UnknownKernel) {
  PlanBuilder builder = small();
  builder.plan.kernels.push_back("warp_drive");
  expectRefused(builder.plan, "kernel of the plan, expected one that the cpu device has but got 'warp_drive'");
  builder = small();
  firstOf(builder).operation.AsLaunch()->kernel = 9;
  expectRefused(builder.plan, "step, instruction 0 (launch, unit h.0): kernel, expected less than 1 but got 9");
}

// Tests that a kernel's refusal is reported with the instruction before it.
TEST(Refusal, KernelThatNeedsMoreWorkspace) {
  ExecutorOptions options;
  options.findKernel = [](std::string_view, KernelFlavour) -> PrepareFunction {
    return [](const KernelRequest &request) -> Result<std::unique_ptr<BoundKernel>> {
      return refusedError("workspace of add, expected at most " + std::to_string(request.workspace) +
                          " bytes but got 128");
    };
  };
  PlanBuilder builder = small();
  firstOf(builder).operation.AsLaunch()->workspace = 64;
  expectRefused(builder.plan,
                "step, instruction 0 (launch add, unit h.0): workspace of add, expected at most 64 bytes but got 128",
                options);
  firstOf(builder).operation.AsLaunch()->workspace = 65;
  expectRefused(builder.plan,
                "step, instruction 0 (launch add, unit h.0): workspace, expected at most the stream's 64 bytes but "
                "got 65");
}

TEST(Refusal, OtherWorldSize) {
  PlanBuilder builder({2, 3});
  auto executor = Executor::create(builder.plan, createLocalWorld(4), 0);
  EXPECT_EQ(executor.status().message(), "ranks of the world, expected 6 as the plan's mesh but got 4");
}

// Tests that ranges which the checker would refuse do not reach memory even without it.
TEST(Refusal, RangesOutsideOfMemory) {
  const std::string at = "step, instruction 0 (launch add, unit h.0): ";
  PlanBuilder builder = small();
  firstOf(builder).operation.AsLaunch()->inputs[0]->offset = 4;
  expectRefused(builder.plan, at + "end of a range in buffer 'x', expected at most 16 but got 20");
  builder = small();
  firstOf(builder).operation.AsLaunch()->outputs[0]->buffer = 5;
  expectRefused(builder.plan, at + "buffer of a view, expected less than 1 but got 5");
  builder = small();
  builder.plan.buffers[0]->offset = 1 << 20;
  expectRefused(builder.plan, at + "end of buffer 'x' in its arena, expected at most 64 but got 1048592");
  builder = small();
  firstOf(builder).operation.AsLaunch()->inputs[0]->shape.assign(9, 1);
  expectRefused(builder.plan, at + "rank of a view, expected at most 8 but got 9");
  builder = small();
  firstOf(builder).operation.AsLaunch()->inputs[0]->strides = {1, 1};
  expectRefused(builder.plan, at + "strides of a view, expected 1 but got 2");
  builder = small();
  *firstOf(builder).operation.AsLaunch()->inputs[0] = PlanBuilder::padded(builder.view(0), 1, {0}, 4, 4);
  expectRefused(builder.plan, at + "padded dim of a view, expected less than 1 but got 1");
  builder = small();
  firstOf(builder).operation.AsLaunch()->inputs[0]->shape = {std::int64_t(1) << 40, std::int64_t(1) << 40};
  expectRefused(builder.plan, at + "elements of a view, expected a number below 2^64");
  builder = small();
  firstOf(builder).stream = 1;
  expectRefused(builder.plan, at + "stream, expected less than 1 but got 1");
  builder = small();
  builder.wait(0, 1);
  expectRefused(builder.plan, "step, instruction 1 (wait): event, expected less than 1 but got 1");
  builder = small();
  firstOf(builder).operation.AsLaunch()->inputs[0]->repetition_stride = ~std::uint64_t(0);
  builder.plan.entries[0]->sections[0]->repeat = 3;
  expectRefused(builder.plan, at + "bytes of a view, expected a number below 2^64");
}

TEST(Refusal, CopiesThatDoNotFit) {
  PlanBuilder builder = small();
  const auto y = builder.buffer("y", {2, 2}), z = builder.buffer("z", {4}, plan::DType::f64);
  builder.copy(0, builder.view(0), builder.view(y));
  expectRefused(builder.plan, "step, instruction 1 (copy): source and destination of a copy have different shapes");
  builder.plan.entries[0]->sections[0]->instructions.pop_back();
  builder.copy(0, builder.view(0), builder.view(z));
  expectRefused(builder.plan, "step, instruction 1 (copy): type of a copy's destination, expected f32 but got f64");
}

TEST(Refusal, CollectivesThatDoNotFit) {
  using plan::CollectiveKind;
  const auto refuse = [](CollectiveKind kind, std::vector<std::uint32_t> axes, plan::ViewT from, plan::ViewT to,
                         std::string_view message) {
    PlanBuilder builder = small();
    builder.collective(0, kind, axes, plan::ReduceOp::none, {{from, to}});
    auto executor = runAlone(builder.plan);
    EXPECT_EQ(executor.status().code(), StatusCode::refused);
    EXPECT_NE(executor.status().message().find(message), std::string::npos) << executor.status().message();
  };
  const PlanBuilder builder = small();
  const plan::ViewT all = builder.view(0), half = builder.view(0, {2}), strided = builder.view(0, {2}, 0, {2});
  refuse(CollectiveKind::send, {0}, all, all,
         "collective, expected all_gather, reduce_scatter, all_reduce, broadcast or all_to_all but got send");
  refuse(CollectiveKind::all_gather, {0}, half, all,
         "segment of a collective of 1 ranks, expected sizes that match but got 2 and 4 elements");
  refuse(CollectiveKind::all_gather, {0}, strided, half, "views of a collective, expected dense ones but got strides");
  refuse(CollectiveKind::all_gather, {1}, all, all,
         "axes of a collective must be distinct and in the order of the mesh");
  plan::ViewT other = half;
  other.dtype = plan::DType::f64;
  other.shape = {1};
  refuse(CollectiveKind::all_gather, {0}, half, other, "views of a collective, expected f32 but got f32 and f64");
}

// Tests an unknown kind of instruction.
TEST(Refusal, UnknownOperation) {
  PlanBuilder builder = small();
  firstOf(builder).operation.Reset();
  auto executor = runAlone(builder.plan);
  EXPECT_EQ(executor.status().code(), StatusCode::refused);
  EXPECT_NE(executor.status().message().find("operation, expected one of this version but got kind 0"),
            std::string::npos)
      << executor.status().message();
}

TEST(Refusal, PortsOutsideOfHostSpace) {
  PlanBuilder builder = small();
  builder.port(builder.plan.entries[0]->inputs, "x", builder.view(0));
  expectRefused(builder.plan, "step, port 'x', expected a buffer in host space but got device");
}

} // namespace
} // namespace sluice::test
