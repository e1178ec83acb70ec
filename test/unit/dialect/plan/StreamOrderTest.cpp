//===- StreamOrderTest.cpp - the order of streams and events ------------------------===//
#include "dialect/plan/StreamOrder.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

namespace sluice::plan_ir {
namespace {

using Position = StreamOrder::Position;

/// A module with one section of instructions.
class Program {
public:
  explicit Program(llvm::StringRef instructions) {
    context.loadDialect<PlanDialect>();
    std::string text = R"(
      plan.stream @compute on <device>
      plan.stream @gather on <device>
      plan.stream @reduce on <device>
      plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
      plan.entry @f attributes {events = 9 : i64} { plan.section "main" repeat 1 {)";
    llvm::SmallVector<llvm::StringRef> lines;
    instructions.split(lines, ';');
    for (llvm::StringRef line : lines)
      text += textOf(line.trim());
    module = mlir::parseSourceString<mlir::ModuleOp>(text + "}}", &context);
    EXPECT_TRUE(module);
    module->walk([&](SectionOp section) {
      for (mlir::Operation &op : section.getBody().front())
        ops.push_back(&op);
    });
  }

  /// Issues all instructions and returns their positions.
  std::vector<Position> issue(StreamOrder &order) const {
    std::vector<Position> positions;
    for (mlir::Operation *op : ops)
      positions.push_back(order.issue(op));
    return positions;
  }

  std::vector<mlir::Operation *> ops;

private:
  /// From "work compute", "record 0 compute", "wait 0 gather" or "carried 0 gather".
  static std::string textOf(llvm::StringRef line) {
    llvm::SmallVector<llvm::StringRef> words;
    line.split(words, ' ');
    const std::string stream = " on @" + words.back().str() + " {phase = #plan.phase<forward>";
    if (words[0] == "work")
      return "plan.fill <@a : 4xf32> with 0.0" + stream + "}\n";
    return "plan." + (words[0] == "carried" ? "wait" : words[0].str()) + " " + words[1].str() + stream +
           (words[0] == "carried" ? ", carried}\n" : "}\n");
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST(StreamOrder, OrdersInstructionsOfOneStream) {
  Program program("work compute; work compute");
  StreamOrder order;
  const auto at = program.issue(order);
  EXPECT_TRUE(order.isDoneBefore(at[0], "compute"));
  EXPECT_TRUE(order.isDoneBefore(at[1], "compute"));
  EXPECT_FALSE(order.isDoneBefore(at[0], "gather"));
}

TEST(StreamOrder, OrdersStreamsByARecordAndAWait) {
  Program program("work compute; record 0 compute; work compute; wait 0 gather; work gather");
  StreamOrder order;
  const auto at = program.issue(order);
  EXPECT_TRUE(order.isDoneBefore(at[0], "gather"));
  EXPECT_FALSE(order.isDoneBefore(at[2], "gather")) << "issued after the record";
  EXPECT_FALSE(order.isDoneBefore(at[4], "compute")) << "a wait orders one way";
  EXPECT_EQ(order.lastBefore("gather", "compute"), at[1]);
  EXPECT_EQ(order.lastBefore("compute", "gather"), 0);
}

TEST(StreamOrder, OrdersThroughAThirdStream) {
  Program program("work compute; record 0 compute; wait 0 gather; record 1 gather; wait 1 reduce");
  StreamOrder order;
  const auto at = program.issue(order);
  EXPECT_TRUE(order.isDoneBefore(at[0], "reduce"));
  EXPECT_EQ(order.lastBefore("reduce", "compute"), at[1]);
}

TEST(StreamOrder, UsesTheLatestRecordOfAnEvent) {
  Program program("work compute; record 0 compute; work compute; record 0 compute; wait 0 gather");
  StreamOrder order;
  const auto at = program.issue(order);
  EXPECT_TRUE(order.isDoneBefore(at[2], "gather"));
}

TEST(StreamOrder, RedundantWaitIsImplied) {
  Program program("work compute; record 0 compute; wait 0 gather; record 1 compute; wait 1 gather; work compute; "
                  "record 2 compute; wait 2 gather; wait 3 gather");
  StreamOrder order;
  std::vector<bool> implied;
  for (mlir::Operation *op : program.ops) {
    if (auto wait = llvm::dyn_cast<WaitOp>(op))
      implied.push_back(order.isImplied(wait));
    order.issue(op);
  }
  // The second record follows no new work; the last event has no record.
  EXPECT_EQ(implied, (std::vector<bool>{false, true, false, false}));
}

TEST(StreamOrder, TreatsThePreviousRunAsWork) {
  Program program("record 0 compute; wait 0 gather");
  StreamOrder order;
  order.issue(program.ops[0]);
  EXPECT_FALSE(order.isImplied(llvm::cast<WaitOp>(program.ops[1]))) << "compute may have worked before";
}

TEST(StreamOrder, OrdersAStreamAfterTheWaitsOfAnother) {
  Program program("work reduce; record 0 reduce; record 1 compute; wait 1 gather; wait 0 compute; record 2 compute; "
                  "wait 2 gather");
  StreamOrder order;
  for (int i = 0; i < 5; ++i)
    order.issue(program.ops[i]);
  EXPECT_FALSE(order.isOrdered("compute", "gather")) << "compute has waited for reduce since";
  order.issue(program.ops[5]);
  order.issue(program.ops[6]);
  EXPECT_TRUE(order.isOrdered("compute", "gather"));
  EXPECT_FALSE(order.isOrdered("fetch", "gather")) << "no instruction of that stream";
}

TEST(StreamOrder, UsesTheRecordOfThePreviousRunForACarriedWait) {
  Program program("carried 0 gather; work gather; work compute; record 0 compute; work compute");
  StreamOrder order;
  order.beginRun();
  const auto carried = llvm::cast<WaitOp>(program.ops[0]);
  EXPECT_FALSE(order.hasRecord(carried)) << "there is no run before";
  const auto first = program.issue(order);
  order.beginRun();
  EXPECT_TRUE(order.hasRecord(carried));
  order.issue(carried);
  EXPECT_TRUE(order.isDoneBefore(first[2], "gather"));
  EXPECT_FALSE(order.isDoneBefore(first[4], "gather"));
  EXPECT_EQ(order.lastBefore("gather", "compute"), first[3]);
}

TEST(StreamOrder, RefusesARecordOfThePreviousRunForAnOrdinaryWait) {
  Program program("record 0 compute; wait 0 gather");
  StreamOrder order;
  order.beginRun();
  program.issue(order);
  order.beginRun();
  EXPECT_FALSE(order.hasRecord(llvm::cast<WaitOp>(program.ops[1])));
}

TEST(StreamOrder, ForgetsEvents) {
  Program program("work compute; record 0 compute; wait 0 gather; work gather");
  StreamOrder order;
  const auto at = program.issue(order);
  order.clearOrder();
  EXPECT_FALSE(order.isDoneBefore(at[0], "gather"));
  EXPECT_TRUE(order.isDoneBefore(at[3], "gather"));
  order.issue(program.ops[2]);
  EXPECT_TRUE(order.isDoneBefore(at[0], "gather")) << "the record remains";
}

} // namespace
} // namespace sluice::plan_ir
