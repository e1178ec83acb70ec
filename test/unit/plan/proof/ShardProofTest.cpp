//===- ShardProofTest.cpp - shards and their collectives (P8 to P10) ----------------------===//
//
// Small plans by hand, and the verdict of the proof after a change of one instruction.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/proof/ProofPlan.h"

namespace sluice::test {
namespace {

using enum plan::CollectiveKind;
constexpr auto none = plan::ReduceOp::none, sum = plan::ReduceOp::sum;

/// The output relu(w) of a parameter w [8, 6], whose rows ranks along `tensor` and `expert` divide.
class Gathered : public ProofPlan {
public:
  std::uint32_t shard = buffer("w", {2, 6}), relu = buffer("relu", {2, 6}), full = buffer("full", {8, 6});
  plan::LaunchT *compute = nullptr;
  plan::CollectiveT *gather = nullptr;
  plan::PortT *output = nullptr;

  Gathered() : ProofPlan({{"tensor", 2}, {"expert", 2}, {"shard", 2}}) {
    unit("u");
    parameter("w", {8, 6}, {0, 1}, shard);
    end({op("model.relu", {op("model.read", {}, {8, 6}, {}, "w")}, {8, 6})});
    plan::EntryT &entry = step();
    compute = launch(0, "relu", {view(shard)}, {view(relu)}).operation.AsLaunch();
    gather = collective(0, all_gather, {0, 1}, none, {{view(relu), view(full)}}).operation.AsCollective();
    output = &PlanBuilder::port(entry.outputs, "y", view(full));
  }
  plan::CollectiveT &add(plan::CollectiveKind kind, std::vector<std::uint32_t> axes, plan::ReduceOp op,
                         plan::ViewT source, plan::ViewT destination) {
    return *collective(0, kind, std::move(axes), op, {{std::move(source), std::move(destination)}})
                .operation.AsCollective();
  }
};

TEST(ShardProof, AGatherRemovesTheAxes) {
  Gathered good;
  EXPECT_EQ(proofOf(good), "");

  Gathered part;
  *part.output->view = part.view(part.relu);
  expectText(proofOf(part), "P9", "output 'y' of 'train_step' is a shard of value 2");

  Gathered otherOrder;
  otherOrder.gather->axes = {1, 0};
  expectText(proofOf(otherOrder), "P8", "gathers shards in another order of value 2");

  Gathered twice;
  const std::uint32_t more = twice.buffer("more", {16, 6});
  twice.add(all_gather, {0}, none, twice.view(twice.full), twice.view(more));
  expectText(proofOf(twice), "P8", "which is not sharded along 'tensor'");

  Gathered otherAxis;
  otherAxis.gather->axes = {2};
  expectText(proofOf(otherAxis), "P8", "which is not sharded along 'shard'");
}

TEST(ShardProof, ReductionsAddValuesOfEqualElements) {
  for (const plan::CollectiveKind kind : {all_reduce, reduce_scatter}) {
    Gathered ofShards;
    ofShards.add(kind, {0}, sum, ofShards.view(ofShards.relu),
                 ofShards.view(ofShards.relu, {kind == all_reduce ? 2 : 1, 6}));
    expectText(proofOf(ofShards), "P9", "reduces different shards of value 2");
  }
  // The sum of equal values is a multiple.
  Gathered mean, multiple;
  mean.add(all_reduce, {0}, plan::ReduceOp::mean, mean.view(mean.full), mean.view(mean.full));
  EXPECT_EQ(proofOf(mean), "");
  multiple.add(all_reduce, {0}, sum, multiple.view(multiple.full), multiple.view(multiple.full));
  expectText(proofOf(multiple), "P9", "times 2, expected times 1");
  // Scattered and gathered again.
  Gathered scattered;
  const std::uint32_t half = scattered.buffer("half", {4, 6});
  scattered.add(reduce_scatter, {0}, plan::ReduceOp::mean, scattered.view(scattered.full), scattered.view(half));
  scattered.add(all_gather, {0}, none, scattered.view(half), scattered.view(scattered.full));
  EXPECT_EQ(proofOf(scattered), "");
  // Three of eight rows are no chunk of a rank.
  Gathered uneven;
  const std::uint32_t three = uneven.buffer("three", {3, 2}), six = uneven.buffer("six", {6, 2});
  uneven.add(reduce_scatter, {0}, plan::ReduceOp::mean, uneven.view(uneven.full, {6, 2}), uneven.view(three));
  uneven.add(all_gather, {0}, none, uneven.view(three), uneven.view(six));
  uneven.copy(0, uneven.view(six), uneven.view(uneven.full, {6, 2}));
  // The parts of the tensor are those of no window.
  expectText(proofOf(uneven), "P9: ", "the content of 'full' is not known");
}

/// The first rank has the only row, and the others have padding.
TEST(ShardProof, OneRowIsNotOnAllRanks) {
  const auto make = [](bool isGathered) {
    ProofPlan p({{"tensor", 2}});
    p.unit("u");
    const std::uint32_t w = p.buffer("w", {1, 6}), relu = p.buffer("relu", {1, 6}), all = p.buffer("all", {2, 6});
    p.parameter("w", {1, 6}, {0}, w);
    p.end({p.op("model.relu", {p.op("model.read", {}, {1, 6}, {}, "w")}, {1, 6})});
    plan::EntryT &entry = p.step();
    p.launch(0, "relu", {p.view(w)}, {p.view(relu)});
    p.collective(0, all_gather, {0}, none, {{p.view(relu), p.view(all)}});
    p.port(entry.outputs, "y", isGathered ? p.view(all, {1, 6}) : p.view(relu));
    return proofOf(p);
  };
  EXPECT_EQ(make(true), "");
  expectText(make(false), "P9", "output 'y' of 'train_step' is a shard of value 2");
}

TEST(ShardProof, OperandsHaveOneShard) {
  const auto make = [](std::uint32_t axis, std::uint32_t otherAxis) {
    ProofPlan p({{"tensor", 2}, {"expert", 2}});
    p.unit("u");
    const std::uint32_t a = p.buffer("a", {4, 6}), b = p.buffer("b", {4, 6}), sum = p.buffer("sum", {4, 6}),
                        all = p.buffer("all", {8, 6});
    p.parameter("a", {8, 6}, {axis}, a);
    p.parameter("b", {8, 6}, {otherAxis}, b);
    const std::uint32_t result = p.op(
        "model.subtract", {p.op("model.read", {}, {8, 6}, {}, "a"), p.op("model.read", {}, {8, 6}, {}, "b")}, {8, 6});
    p.end({result});
    plan::EntryT &entry = p.step();
    p.launch(0, "subtract", {p.view(a), p.view(b)}, {p.view(sum)});
    p.collective(0, all_gather, {otherAxis}, none, {{p.view(sum), p.view(all)}});
    p.port(entry.outputs, "y", p.view(all));
    return proofOf(p);
  };
  EXPECT_EQ(make(1, 1), "");
  expectText(make(0, 1), "P9", "expected operand 1 to be sharded as the other operands");
}

/// A parameter of eight rows, of which three segments are no part.
TEST(ShardProof, SegmentsOfAParameterAreEqual) {
  Gathered segments;
  plan::ParameterT &own = *segments.plan.parameters[0];
  own.split = std::make_unique<plan::TensorSplitT>();
  own.split->dim = 0;
  own.split->axes = {0};
  own.split->segments = 3;
  own.split->extent = 3;
  expectText(proofOf(segments), "?", "the shards of parameter 'w'");
}

/// The valid extents of a launch are those of its operands and results.
TEST(ShardProof, AValidExtentIsThatOfTheShard) {
  const auto make = [](std::vector<std::uint32_t> axes, std::int64_t total) {
    Gathered p;
    *p.compute->inputs[0] = p.padded(p.view(p.shard), 0, std::move(axes), 2, total);
    return proofOf(p);
  };
  EXPECT_EQ(make({0, 1}, 8), "");
  expectText(make({1, 0}, 8), "", "has a valid extent that is not that of its shard");
  expectText(make({0, 1}, 9), "", "has a valid extent that is not that of its shard");

  Gathered noDim;
  *noDim.compute->outputs[0] = noDim.padded(noDim.view(noDim.relu, {2, 6, 1}), 2, {0}, 1, 2);
  expectText(proofOf(noDim), "", "the valid extent of result 0 is not that of its shard");

  // Two segments of four rows, of which a rank has two rows each.
  ProofPlan segments({{"tensor", 2}});
  segments.unit("u");
  const std::uint32_t w = segments.buffer("w", {4, 6}), relu = segments.buffer("relu", {4, 6});
  auto &split = segments.parameter("w", {8, 6}, {}, w).split;
  split = std::make_unique<plan::TensorSplitT>();
  split->dim = 0;
  split->axes = {0};
  split->segments = 2;
  split->extent = 4;
  segments.end({segments.op("model.relu", {segments.op("model.read", {}, {8, 6}, {}, "w")}, {8, 6})});
  plan::EntryT &entry = segments.step();
  segments.launch(0, "relu", {segments.padded(segments.view(w), 0, {0}, 4, 8)}, {segments.view(relu)});
  segments.port(entry.outputs, "y", segments.view(relu));
  expectText(proofOf(segments), "", "has a valid extent that is not that of its shard");
}

/// A copy of the rows that a valid extent leaves.
TEST(ShardProof, AValidExtentLeavesOutPaddingOnly) {
  const auto make = [](std::vector<std::uint32_t> axes, std::int64_t total) {
    Gathered p;
    const std::uint32_t copied = p.buffer("copied", {2, 6});
    auto &instructions = p.plan.entries[0]->sections[0]->instructions;
    p.copy(0, p.padded(p.view(p.relu), 0, std::move(axes), 2, total), p.view(copied));
    std::rotate(instructions.begin() + 1, instructions.end() - 1, instructions.end());
    p.gather->segments[0]->source->buffer = copied;
    return proofOf(p);
  };
  EXPECT_EQ(make({0, 1}, 8), "");
  expectText(make({0, 1}, 7), "", "a valid extent leaves out elements");
  // The rows of the last rank, by the order of the ranks.
  expectText(make({1, 0}, 6), "", "a valid extent leaves out elements");
  // Without a rank: the axis has one coordinate only.
  expectText(make({}, 1), "", "a valid extent leaves out elements");

  // The columns have padding along one axis, and the rows are left out along the other one.
  ProofPlan p({{"tensor", 2}, {"shard", 2}});
  p.unit("u");
  const std::uint32_t w = p.buffer("w", {2, 2}), copied = p.buffer("copied", {2, 2});
  plan::ParameterT &own = p.parameter("w", {4, 3}, {1}, w);
  own.dim = 1;
  own.split = std::make_unique<plan::TensorSplitT>();
  own.split->dim = 0;
  own.split->axes = {0};
  own.split->segments = 1;
  own.split->extent = 2;
  p.end({p.op("model.read", {}, {4, 3}, {}, "w")});
  plan::EntryT &entry = p.step();
  p.copy(0, p.padded(p.view(w), 0, {0}, 2, 1), p.view(copied));
  p.port(entry.outputs, "y", p.view(copied));
  expectText(proofOf(p), "", "a valid extent leaves out elements");
}

/// The heads of queries over ranks, with those of keys that they use.
TEST(ShardProof, HeadsOfQueriesNeedThoseOfTheirKeys) {
  struct Heads {
    std::int64_t all, local;
    bool isSplit = false, isUniform = false;
  };
  const auto make = [](const Heads &ofQ, const Heads &ofK, std::uint32_t ranks) {
    ProofPlan p({{"tensor", ranks}, {"expert", 2}});
    p.unit("u");
    Ids values;
    std::vector<plan::ViewT> views;
    for (const Heads *own : {&ofQ, &ofK}) {
      const std::string name = own == &ofQ ? "q" : "k";
      const Shape shape{1, 2, own->all, 4};
      views.push_back(p.view(p.buffer(name, {1, 2, own->local, 4})));
      if (own->isUniform) {
        values.push_back(p.op("model.constant", {}, shape, {number("value", 1)}));
        continue;
      }
      const bool isSharded = own->local != own->all;
      plan::ParameterT &added = p.parameter(name, shape, {}, views.back().buffer);
      if (isSharded && own->isSplit) {
        added.split = std::make_unique<plan::TensorSplitT>();
        added.split->dim = 2;
        added.split->axes = {0};
        added.split->segments = 2;
        added.split->extent = own->local;
      } else if (isSharded) {
        // Those of keys along the other axis if each rank has a part of all groups.
        added.axes = {ofQ.isSplit ? 1u : 0u};
        added.dim = 2;
        added.chunk = own->local;
      }
      values.push_back(p.op("model.read", {}, shape, {}, name));
    }
    const Ids results{p.value({1, 2, ofQ.all, 4}), p.value({1, ofQ.all, 2})};
    p.define("model.attention", {values[0], values[1], values[1]}, results);
    p.end({results[0]});
    plan::EntryT &entry = p.step();
    if (ofK.isUniform)
      PlanBuilder::attribute(p.launch(0, "constant", {}, {views[1]}), "value", 1);
    const std::uint32_t y = p.buffer("y", {1, 2, ofQ.local, 4}), lse = p.buffer("lse", {1, ofQ.local, 2});
    p.compute("attention", {views[0], views[1], views[1]}, {p.view(y), p.view(lse)}, {values[0], values[1], values[1]},
              results);
    p.port(entry.outputs, "y", p.view(y));
    return proofOf(p);
  };
  const std::string isShard = "output 'y' of 'train_step' is a shard of value";
  expectText(make({4, 2}, {2, 1}, 2), "P9", isShard);
  expectText(make({4, 2}, {1, 1}, 2), "P9", isShard);
  expectText(make({4, 2, true}, {2, 2}, 2), "P9", isShard);
  expectText(make({4, 2, true}, {2, 2, false, true}, 2), "P9", isShard);
  // Half of the heads of each key, and half of the keys.
  expectText(make({4, 2, true}, {2, 1}, 2), "P9", "expected result 0 of shape");
  // A rank has half of the heads of its key.
  expectText(make({8, 2}, {2, 2}, 4), "P9", "divides elements that 'model.attention' needs together");
}

/// A pad that moves elements is not one that clears the padding.
TEST(ShardProof, APadKeepsTheElements) {
  const auto make = [](std::vector<plan::AttributeT> attributes, Shape shape = {2, 6}) {
    Gathered p;
    const std::uint32_t padded = p.buffer("padded", {2, 6});
    auto &instructions = p.plan.entries[0]->sections[0]->instructions;
    p.ProofPlan::compute("pad", {p.view(p.relu)}, {p.view(padded, std::move(shape))}, {}, {}, std::move(attributes));
    std::rotate(instructions.begin() + 1, instructions.end() - 1, instructions.end());
    p.gather->segments[0]->source->buffer = padded;
    return proofOf(p);
  };
  EXPECT_EQ(make({}), "");
  EXPECT_EQ(make({list("low", {0, 0}), list("high", {0, 0}), list("step", {1, 1})}), "");
  EXPECT_NE(make({list("low", {1, 0})}), "");
  EXPECT_NE(make({list("high", {1, 0})}), "");
  EXPECT_NE(make({list("step", {1, 2})}), "");
  EXPECT_NE(make({}, {6, 2}), "");
  // The valid extent is of a dim that the source does not have.
  Gathered p;
  const std::uint32_t more = p.buffer("more", {2, 3, 2});
  p.launch(0, "pad", {p.view(p.relu)}, {p.padded(p.view(more), 2, {0}, 2, 3)});
  *p.output->view = p.view(more, {2, 6});
  EXPECT_NE(proofOf(p), "");
}

/// Nothing holds for views without elements, and nothing is divided by their extents.
TEST(ShardProof, EmptyViewsHoldNothing) {
  Gathered empty;
  const plan::ViewT noRows = empty.view(empty.full, {0, 6}), noColumns = empty.view(empty.full, {2, 0});
  for (const plan::ViewT &view : {noRows, noColumns}) {
    empty.add(all_gather, {0}, none, view, view);
    empty.add(reduce_scatter, {0}, sum, view, view);
    empty.launch(0, "relu", {view}, {view});
    empty.copy(0, view, view);
  }
  const std::uint32_t zeros = empty.buffer("zeros", {2, 6});
  for (const std::int64_t total : {0, 2})
    PlanBuilder::attribute(empty.launch(0, "constant", {}, {empty.padded(empty.view(zeros, {0, 6}), 0, {0}, 0, total)}),
                           "value", 0);
  EXPECT_EQ(proofOf(empty), "");
}

/// w' = relu(w), and m' = relu(m) of its state m.
class Written : public ProofPlan {
public:
  std::uint32_t shard = buffer("w", {4, 6}), state = buffer("m", {4, 6}), other = buffer("other", {4, 6});
  plan::LaunchT *ofParameter = nullptr, *ofState = nullptr;

  Written() : ProofPlan({{"shard", 2}}) {
    unit("u");
    plan::ParameterT &own = parameter("w", {8, 6}, {0}, shard);
    own.states.push_back(std::make_unique<plan::StateT>());
    own.states[0]->name = "m";
    own.states[0]->buffer = state;
    const std::vector<plan::AttributeT> ofM{text("state", "m")};
    define("model.write", {op("model.relu", {op("model.read", {}, {8, 6}, {}, "w")}, {8, 6})}, {}, {}, "w");
    define("model.write", {op("model.relu", {op("model.read", {}, {8, 6}, ofM, "w")}, {8, 6})}, {}, ofM, "w");
    end();
    step();
    ofParameter = launch(0, "relu", {view(shard)}, {view(shard)}).operation.AsLaunch();
    ofState = launch(0, "relu", {view(state)}, {view(state)}).operation.AsLaunch();
  }
};

TEST(ShardProof, ParametersAndStatesHoldWhatIsWritten) {
  Written good;
  EXPECT_EQ(proofOf(good), "");

  Written parameter;
  *parameter.ofParameter->outputs[0] = parameter.view(parameter.other);
  expectText(proofOf(parameter), "P10", "'train_step' leaves in parameter 'w' a tensor that holds value 1");

  Written state;
  *state.ofState->outputs[0] = state.view(state.other);
  expectText(proofOf(state), "P10", "leaves in state 'm' of parameter 'w' a tensor that holds value 3");

  Written exchanged;
  std::swap(exchanged.ofParameter->outputs[0], exchanged.ofState->outputs[0]);
  EXPECT_NE(proofOf(exchanged), "");

  Written unknown;
  unknown.launch(0, "exp", {unknown.view(unknown.other)}, {unknown.view(unknown.shard)});
  expectText(proofOf(unknown), "P9: ", "leaves in parameter 'w' a tensor that is not related to the program");

  // Half of the shard, and the other half of another buffer.
  Written half;
  half.copy(0, half.view(half.state, {2, 6}), half.view(half.shard, {2, 6}));
  EXPECT_NE(proofOf(half), "");

  // The rows in another order.
  Written turned;
  turned.copy(0, turned.view(turned.shard, {2, 6}), turned.view(turned.other, {2, 6}, 48));
  turned.copy(0, turned.view(turned.shard, {2, 6}, 48), turned.view(turned.other, {2, 6}));
  turned.copy(0, turned.view(turned.other), turned.view(turned.shard));
  EXPECT_NE(proofOf(turned), "");
}

/// The gelu of a part of a sum is no part of its result.
TEST(ShardProof, AProductWithGeluNeedsAllOfTheDimThatItReduces) {
  ProofPlan p({{"tensor", 2}});
  const std::uint32_t a = p.buffer("a", {4, 6}), b = p.buffer("b", {4, 4}), y = p.buffer("y", {6, 4}),
                      gelu = p.buffer("gelu", {6, 4});
  p.unit("u");
  p.parameter("a", {8, 6}, {0}, a);
  p.parameter("b", {8, 4}, {0}, b);
  const Ids operands{p.op("model.read", {}, {8, 6}, {}, "a"), p.op("model.read", {}, {8, 4}, {}, "b")},
      results{p.value({6, 4}), p.value({6, 4})};
  p.define("model.matmul_gelu", operands, results, {integer("transpose_lhs", 1)});
  p.end({results[1]});
  plan::EntryT &entry = p.step();
  p.compute("matmul_gelu", {p.view(a), p.view(b)}, {p.view(y), p.view(gelu)}, operands, results,
            {integer("transpose_a", 1)});
  p.port(entry.outputs, "y", p.view(gelu));
  expectText(proofOf(p), "P9", "'model.matmul_gelu' of a part of a dim that it reduces");
}

} // namespace
} // namespace sluice::test
