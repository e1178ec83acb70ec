//===- StatisticsProofTest.cpp - running statistics of each rank and their mean (P9) ------===//
//
// Small plans by hand, and the verdict of the proof after a change of one instruction.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/proof/ProofPlan.h"

namespace sluice::test {
namespace {

using enum plan::CollectiveKind;

/// Running statistics v [2, 2] of six micro-batches: v + relu(x), and after the last one the mean over two axes.
class Statistics : public ProofPlan {
public:
  std::uint32_t x = buffer("x", {6, 2, 2}, f32, host), v = buffer("v", {2, 2}), relu = buffer("relu", {2, 2}),
                other = buffer("other", {2, 2});
  plan::InstructionT *compute = nullptr, *add = nullptr, *average = nullptr;

  Statistics() : ProofPlan({{"replicate", 2}, {"shard", 2}}) {
    plan.variables.push_back(std::make_unique<plan::VariableT>());
    plan.variables[0]->name = "v";
    plan.variables[0]->buffer = v;
    plan.variables[0]->averaged = true;
    const std::uint32_t inputX = input("x", {2, 2}), old = op("model.read", {}, {2, 2}, {}, "v"),
                        positive = op("model.relu", {inputX}, {2, 2}),
                        sum = op("model.subtract", {old, positive}, {2, 2});
    define("model.write", {sum}, {}, {}, "v");
    end();
    plan::EntryT &entry = step(6);
    plan::ViewT slice = view(x, {2, 2});
    slice.repetition_stride = 16;
    PlanBuilder::port(entry.inputs, "x", slice).per_repetition = true;
    compute = &launch(0, "relu", {slice}, {view(relu)});
    add = &launch(0, "subtract", {view(v), view(relu)}, {view(v)});
    average = &collective(0, all_reduce, {0, 1}, plan::ReduceOp::mean, {{view(v), view(v)}});
    average->when = plan::When::last;
  }
};

TEST(StatisticsProof, TheyAreAveragedAfterTheLastMicrobatch) {
  Statistics good;
  EXPECT_EQ(proofOf(good), "");

  Statistics sum;
  sum.average->operation.AsCollective()->op = plan::ReduceOp::sum;
  expectText(proofOf(sum), "P9", "expected the mean over the ranks along 'replicate', 'shard'");

  Statistics oneAxis;
  oneAxis.average->operation.AsCollective()->axes = {1};
  expectText(proofOf(oneAxis), "P9", "expected the mean over the ranks");

  Statistics always;
  always.average->when = plan::When::all;
  expectText(proofOf(always), "P9", "running statistics 'v' after micro-batch 0");

  // With the coefficient of the mean.
  Statistics someRanks;
  someRanks.average->operation.AsCollective()->axes = {1};
  someRanks.average->operation.AsCollective()->op = plan::ReduceOp::premul_sum;
  someRanks.average->operation.AsCollective()->scale = 0.25;
  expectText(proofOf(someRanks), "P9", "expected the mean over the ranks");

  // Of a sum over micro-batches.
  Statistics ofAll;
  for (const bool isFirst : {true, false}) {
    ofAll.ProofPlan::compute("accumulate", {ofAll.view(ofAll.v)}, {ofAll.view(ofAll.other)}, {}, {},
                             {integer("first", isFirst)});
    auto &instructions = ofAll.plan.entries[0]->sections[0]->instructions;
    instructions.back()->when = isFirst ? plan::When::first : plan::When::not_first;
    std::rotate(instructions.begin() + 2, instructions.end() - 1, instructions.end());
  }
  ofAll.average->operation.AsCollective()->segments[0]->source->buffer = ofAll.other;
  expectText(proofOf(ofAll), "P9", "expected the mean over the ranks");

  Statistics otherValue;
  otherValue.average->operation.AsCollective()->segments[0]->source->buffer = otherValue.relu;
  expectText(proofOf(otherValue), "P9", "expected the mean over the ranks");

  Statistics turned;
  turned.average->operation.AsCollective()->segments[0]->destination->buffer = turned.other;
  turned.copy(0, turned.view(turned.other, {2, 2}, 0, {1, 2}), turned.view(turned.v)).when = plan::When::last;
  expectText(proofOf(turned), "P9", "expected the mean over the ranks");
}

/// Without the update they hold the statistics of the micro-batch before.
TEST(StatisticsProof, EachMicrobatchUpdatesThem) {
  Statistics missing;
  missing.add->when = plan::When::not_last;
  missing.average->when = plan::When::not_first;
  EXPECT_NE(proofOf(missing), "");

  Statistics twice;
  twice.launch(0, "subtract", {twice.view(twice.v), twice.view(twice.relu)}, {twice.view(twice.v)});
  EXPECT_NE(proofOf(twice), "");
}

/// Statistics that an entry point only reads stay as they are.
TEST(StatisticsProof, AnEntryPointThatOnlyReadsThemKeepsThem) {
  const auto make = [](bool isScaled, bool isLost, bool isSum = false, bool isOther = false, bool isTurned = false) {
    ProofPlan plan({{"shard", 2}});
    const std::uint32_t v = plan.buffer("v", {4}), w = plan.buffer("w", {4}), y = plan.buffer("y", {4}),
                        turned = plan.buffer("turned", {4});
    for (const auto &[name, buffer] : {std::pair("v", v), std::pair("w", w)}) {
      plan.plan.variables.push_back(std::make_unique<plan::VariableT>());
      plan.plan.variables.back()->name = name;
      plan.plan.variables.back()->buffer = buffer;
    }
    const std::uint32_t old = plan.op("model.read", {}, {4}, {}, "v");
    plan.op("model.read", {}, {4}, {}, "w");
    plan.end({plan.op("model.relu", {old}, {4})});
    plan::EntryT &entry = plan.step();
    plan.launch(0, "relu", {plan.view(v)}, {plan.view(y)});
    if (isScaled)
      PlanBuilder::attribute(plan.launch(0, "scale", {plan.view(v)}, {plan.view(v)}), "factor", 2);
    if (isSum)
      plan.compute("accumulate", {plan.view(v)}, {plan.view(v)}, {}, {}, {integer("first", 1)});
    if (isOther)
      plan.copy(0, plan.view(w), plan.view(v));
    if (isTurned) {
      plan.copy(0, plan.view(v, {2, 2}, 0, {1, 2}), plan.view(turned, {2, 2}));
      plan.copy(0, plan.view(turned), plan.view(v));
    }
    for (std::uint32_t buffer : {v, w})
      if (isLost)
        plan.launch(0, "exp", {plan.view(buffer)}, {plan.view(buffer)});
    plan.port(entry.outputs, "y", plan.view(y));
    return proofOf(plan);
  };
  EXPECT_EQ(make(false, false), "");
  expectText(make(true, false), "P9", "running statistics 'v' after micro-batch 0 of 'train_step': hold 2 times");
  expectText(make(false, false, true), "P9", "running statistics 'v' after micro-batch 0 of 'train_step': hold ");
  expectText(make(false, false, false, true), "P9", "hold value 2 (model.read 'w'), expected value 1");
  expectText(
      make(false, false, false, false, true), "P9",
      "running statistics 'v' after micro-batch 0 of 'train_step': hold value 1 (model.read 'v') in another order");
  expectText(make(false, true),
             "P9: ", "running statistics 'v' after micro-batch 0 of 'train_step': instruction 1 (launch exp");
}

/// The last section counts too, also for a variable that the program does not read.
TEST(StatisticsProof, LaterSectionsKeepThem) {
  for (const bool isRead : {true, false})
    for (const bool isOverwritten : {false, true}) {
      ProofPlan plan({{"shard", 2}});
      const std::uint32_t v = plan.buffer("v", {4}), y = plan.buffer("y", {});
      plan.plan.variables.push_back(std::make_unique<plan::VariableT>());
      plan.plan.variables.back()->name = "v";
      plan.plan.variables.back()->buffer = v;
      if (isRead)
        plan.op("model.read", {}, {4}, {}, "v");
      plan.end({plan.op("model.constant", {}, {}, {number("value", 3)})});
      plan::EntryT &entry = plan.step();
      plan.fill(0, plan.view(y), 3);
      plan.section();
      if (isOverwritten)
        plan.fill(0, plan.view(v), 1);
      plan.port(entry.outputs, "y", plan.view(y));
      if (isOverwritten)
        expectText(proofOf(plan), "P9", "running statistics 'v' after micro-batch 0 of 'train_step': hold ");
      else
        EXPECT_EQ(proofOf(plan), "");
    }
}

} // namespace
} // namespace sluice::test
