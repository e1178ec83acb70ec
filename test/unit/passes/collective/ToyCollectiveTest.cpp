//===- ToyCollectiveTest.cpp - passes work on a collective of a test's dialect ---------===//
//
// toy.all_to_all_start implements CollectiveOpInterface, and nothing in passes/ names it. The phases from partition to
// memory compile a step with two of them, and emission writes the plan, which the checker accepts by its rules for the
// kind.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/collective/Toy.h"

#include "dialect/plan/Plan.h"
#include "passes/Pipeline.h"
#include "passes/emit/Emit.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

namespace sluice::toy {
namespace {

using namespace mlir;

/// A forward on `ranks` ranks that exchanges the columns of its input for rows and back.
std::string stepOn(int ranks) {
  std::string text = R"(
module attributes {model.name = "toy", model.compiled_to = "recompute"} {
spmd.mesh @mesh <replicate = 1, shard = RANKS, tensor = 1>
func.func @forward(%x: tensor<2x4xf32> {spmd.input = "x"}) -> (tensor<2x4xf32> {spmd.output = "y"})
    attributes {model.entry = #model.entry<forward>} {
  %y = spmd.section "forward" repeat 1 -> tensor<2x4xf32> {
    %a = model.exp %x {model.phase = #model.phase<forward>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %s = toy.all_to_all_start %a over ["shard"] from 1 to 0 {model.phase = #model.phase<forward>} : tensor<2x4xf32>
    %r = spmd.wait %s {model.phase = #model.phase<forward>} : EXCHANGED
    %b = model.exp %r {model.phase = #model.phase<forward>} : (EXCHANGED) -> EXCHANGED
    %t = toy.all_to_all_start %b over ["shard"] from 0 to 1 {model.phase = #model.phase<forward>} : EXCHANGED
    %c = spmd.wait %t {model.phase = #model.phase<forward>} : tensor<2x4xf32>
    %d = model.exp %c {model.phase = #model.phase<forward>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    spmd.yield %d : tensor<2x4xf32>
  }
  return %y : tensor<2x4xf32>
}
})";
  const auto replace = [&](const std::string &word, const std::string &by) {
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at))
      text.replace(at, word.size(), by);
  };
  replace("RANKS", std::to_string(ranks));
  replace("EXCHANGED", "tensor<" + std::to_string(2 * ranks) + "x" + std::to_string(4 / ranks) + "xf32>");
  return text;
}

class ToyCollective : public testing::Test {
protected:
  ToyCollective()
      : handler(&context, [this](Diagnostic &diagnostic) {
          diagnostics += diagnostic.str() + "\n";
          return success();
        }) {
    DialectRegistry registry;
    registerSluiceDialects(registry);
    registry.insert<ToyDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  OwningOpRef<ModuleOp> compiled(int ranks, StringRef phase) {
    auto module = parseSourceString<ModuleOp>(stepOn(ranks), &context);
    EXPECT_TRUE(module) << diagnostics;
    if (module) {
      const Status status = runPhases(*module, findPhase(phase));
      EXPECT_TRUE(status.isOk()) << status.message() << "\n" << diagnostics;
    }
    return module;
  }

  template <typename Op> static std::vector<Op> all(ModuleOp module) {
    std::vector<Op> ops;
    module.walk([&](Op op) { ops.push_back(op); });
    return ops;
  }

  MLIRContext context;
  std::string diagnostics;
  ScopedDiagnosticHandler handler;
};

TEST_F(ToyCollective, FollowsFromItsPlacement) {
  auto module = parseSourceString<ModuleOp>(stepOn(2), &context);
  ASSERT_TRUE(module) << diagnostics;
  for (AllToAllStartOp op : all<AllToAllStartOp>(*module)) {
    auto start = cast<spmd::CollectiveOpInterface>(op.getOperation());
    EXPECT_EQ(start.getReshard(), spmd::ReshardKind::exchange);
    EXPECT_EQ(start.getStream(), StreamKind::gather);
    EXPECT_EQ(start.getGroupSize(), 2);
    EXPECT_FALSE(start.isReduction() || start.isInPlace() || start.isCopy() || start.isUnshard());
    // One chunk goes to the other rank.
    EXPECT_EQ(cast<CostOpInterface>(op.getOperation()).getCost().bytes, 16u);
  }
}

TEST_F(ToyCollective, PassesTheShardingStage) {
  auto module = compiled(2, "partition");
  ASSERT_TRUE(module);
  EXPECT_EQ(all<AllToAllStartOp>(*module).size(), 2u);
}

TEST_F(ToyCollective, FoldsAlongAnAxisOfOneRank) {
  auto module = compiled(1, "partition");
  ASSERT_TRUE(module);
  EXPECT_TRUE(all<AllToAllStartOp>(*module).empty());
  EXPECT_TRUE(all<spmd::WaitOp>(*module).empty());
}

TEST_F(ToyCollective, BecomesACollectiveOfThePlan) {
  auto module = compiled(2, "lower");
  ASSERT_TRUE(module);
  auto collectives = all<plan_ir::CollectiveOp>(*module);
  ASSERT_EQ(collectives.size(), 2u);
  for (plan_ir::CollectiveOp op : collectives) {
    EXPECT_EQ(op.getKind(), CollectiveKind::all_to_all);
    EXPECT_EQ(op.getOp(), ReductionKind::none);
    EXPECT_EQ(op.getStream(), "gather");
  }
  const auto shapeOf = [](ArrayAttr views) { return cast<plan_ir::ViewAttr>(views[0]).getShape(); };
  // Chunks along dim 1 are in a buffer of one chunk for each rank; along dim 0 they are the tensor's rows.
  EXPECT_EQ(shapeOf(collectives[0].getSources()), ArrayRef<int64_t>({2, 2, 2}));
  EXPECT_EQ(shapeOf(collectives[0].getDestinations()), ArrayRef<int64_t>({4, 2}));
  EXPECT_EQ(shapeOf(collectives[1].getSources()), ArrayRef<int64_t>({4, 2}));
  EXPECT_EQ(shapeOf(collectives[1].getDestinations()), ArrayRef<int64_t>({2, 2, 2}));
  // Copies split the first source and join the second destination, one for each rank.
  size_t copies = 0;
  for (plan_ir::LaunchOp launch : all<plan_ir::LaunchOp>(*module))
    copies += launch.getKernel() == "copy";
  EXPECT_GE(copies, 2u);
}

TEST_F(ToyCollective, IsOrderedByEventsAndPlaced) {
  auto module = compiled(2, "memory");
  ASSERT_TRUE(module);
  EXPECT_GE(all<plan_ir::WaitOp>(*module).size(), 4u) << "each collective waits for compute, and compute for it";
  for (plan_ir::BufferOp buffer : all<plan_ir::BufferOp>(*module))
    EXPECT_TRUE(buffer.getOffset());
}

TEST_F(ToyCollective, IsAcceptedByTheChecker) {
  auto module = compiled(2, "memory");
  ASSERT_TRUE(module);
  auto bytes = emitPlan(*module);
  ASSERT_TRUE(succeeded(bytes));
  Status status = checkEmitted(*bytes);
  EXPECT_TRUE(status.isOk()) << status.message();
}

} // namespace
} // namespace sluice::toy
