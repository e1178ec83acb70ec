//===- ConcatenationProofTest.cpp - tensors that are written in parts (P9) -----------------===//
//
// Small plans by hand, and the verdict of the proof after a change of one instruction.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/proof/ProofPlan.h"

namespace sluice::test {
namespace {

using enum plan::CollectiveKind;
constexpr auto none = plan::ReduceOp::none;

/// c = concat(a, b) of columns, which copies write to their places; then relu(view(c)).
class Concatenated : public ProofPlan {
public:
  std::uint32_t a = buffer("a", {4, 3}, f32, host), b = buffer("b", {4, 5}, f32, host), c = buffer("c", {4, 8}), y;
  plan::CopyT *copyA = nullptr, *copyB = nullptr;
  plan::LaunchT *relu = nullptr;

  /// `view` makes a view of the concatenation, of which the window of c is `read`.
  Concatenated(const std::string &view, Shape shape, std::vector<plan::AttributeT> attributes, plan::ViewT read)
      : ProofPlan({{"shard", 2}}) {
    y = buffer("y", shape);
    const std::uint32_t inputA = input("a", {4, 3}), inputB = input("b", {4, 5}),
                        all = op("model.concat", {inputA, inputB}, {4, 8}, {integer("dim", 1)}),
                        viewed = view.empty() ? all : op(view, {all}, shape, std::move(attributes));
    end({op("model.relu", {viewed}, shape)});
    plan::EntryT &entry = step();
    PlanBuilder::port(entry.inputs, "a", PlanBuilder::view(a));
    PlanBuilder::port(entry.inputs, "b", PlanBuilder::view(b));
    copyA = copy(0, PlanBuilder::view(a), PlanBuilder::view(c, {4, 3}, 0, {8, 1})).operation.AsCopy();
    copyB = copy(0, PlanBuilder::view(b), PlanBuilder::view(c, {4, 5}, 12, {8, 1})).operation.AsCopy();
    read.buffer = c;
    relu = &compute("relu", {read}, {PlanBuilder::view(y)}, {}, {4});
    if (view.empty())
      relu->output_values = {4};
    else
      relu->output_values = {5};
    PlanBuilder::port(entry.outputs, "y", PlanBuilder::view(y));
  }
};

plan::ViewT window(Shape shape, std::uint64_t offset = 0, Shape strides = {}) {
  plan::ViewT view;
  view.shape = std::move(shape);
  view.offset = offset;
  view.strides = std::move(strides);
  return view;
}

TEST(ConcatenationProof, PartsOfAConcatenationAreInTheirPlaces) {
  Concatenated good("", {4, 8}, {}, window({4, 8}));
  EXPECT_EQ(proofOf(good), "");

  Concatenated exchanged("", {4, 8}, {}, window({4, 8}));
  exchanged.copyA->destination->offset = 20;
  exchanged.copyB->destination->offset = 0;
  EXPECT_NE(proofOf(exchanged), "");

  Concatenated missing("", {4, 8}, {}, window({4, 8}));
  missing.copyB->destination->buffer = missing.buffer("other", {4, 8});
  EXPECT_NE(proofOf(missing), "");

  Concatenated rows("", {4, 8}, {}, window({4, 8}));
  rows.copyB->source->strides = {1, 4};
  EXPECT_NE(proofOf(rows), "");
}

TEST(ConcatenationProof, ViewsOfAConcatenationAreReadWithTheirStrides) {
  Concatenated reshaped("model.reshape", {2, 16}, {}, window({2, 16}));
  EXPECT_EQ(proofOf(reshaped), "");
  Concatenated turned("model.transpose", {8, 4}, {list("permutation", {1, 0})}, window({8, 4}, 0, {1, 8}));
  EXPECT_EQ(proofOf(turned), "");
  Concatenated otherStrides("model.transpose", {8, 4}, {list("permutation", {1, 0})}, window({8, 4}));
  EXPECT_NE(proofOf(otherStrides), "");

  // Parts of it.
  const auto slice = [](Shape start, Shape limit) {
    return std::vector<plan::AttributeT>{list("start", std::move(start)), list("limit", std::move(limit))};
  };
  Concatenated lastRows("model.slice", {2, 8}, slice({2, 0}, {4, 8}), window({2, 8}, 64));
  EXPECT_EQ(proofOf(lastRows), "");
  Concatenated firstRows("model.slice", {2, 8}, slice({0, 0}, {2, 8}), window({2, 8}));
  EXPECT_EQ(proofOf(firstRows), "");
  Concatenated columns("model.slice", {4, 4}, slice({0, 1}, {4, 5}), window({4, 4}, 4, {8, 1}));
  EXPECT_EQ(proofOf(columns), "");
  Concatenated otherRows("model.slice", {2, 8}, slice({2, 0}, {4, 8}), window({2, 8}, 32));
  expectText(proofOf(otherRows), "P9", "holds other elements of value 3");
  Concatenated otherColumns("model.slice", {4, 4}, slice({0, 1}, {4, 5}), window({4, 4}, 8, {8, 1}));
  expectText(proofOf(otherColumns), "P9", "holds other elements of value 3");
  Concatenated incomplete("model.slice", {4, 2}, slice({0, 1}, {4, 3}), window({4, 2}, 4, {8, 1}));
  incomplete.copyB->destination->buffer = incomplete.buffer("other", {4, 8});
  expectText(proofOf(incomplete), "?", "a part of a concatenation is read");
}

/// The output concat(relu(w), exp(w)) of columns, of a parameter w [4, 6] whose rows ranks along `tensor` divide. A
/// gather of all rows reads the window of both as one dim.
class GatheredParts : public ProofPlan {
public:
  std::uint32_t w = buffer("w", {2, 6}), c = buffer("c", {2, 12}), full = buffer("full", {4, 12});
  plan::LaunchT *relu = nullptr, *exp = nullptr;
  plan::CollectiveT *gather = nullptr;

  GatheredParts() : ProofPlan({{"tensor", 2}}) {
    unit("u");
    parameter("w", {4, 6}, {0}, w);
    const std::uint32_t read = op("model.read", {}, {4, 6}, {}, "w");
    end({op("model.concat", {op("model.relu", {read}, {4, 6}), op("model.exp", {read}, {4, 6})}, {4, 12},
            {integer("dim", 1)})});
    plan::EntryT &entry = step();
    relu = launch(0, "relu", {view(w)}, {view(c, {2, 6}, 0, {12, 1})}).operation.AsLaunch();
    exp = launch(0, "exp", {view(w)}, {view(c, {2, 6}, 24, {12, 1})}).operation.AsLaunch();
    gather = collective(0, all_gather, {0}, none, {{view(c, {1, 24}), view(full)}}).operation.AsCollective();
    PlanBuilder::port(entry.outputs, "y", view(full));
  }
};

TEST(ConcatenationProof, RanksGatherTheirPartsTogether) {
  GatheredParts good;
  EXPECT_EQ(proofOf(good), "");

  GatheredParts exchanged;
  std::swap(exchanged.relu->outputs[0], exchanged.exp->outputs[0]);
  expectText(proofOf(exchanged), "P9", "the content of 'c' is not known");

  GatheredParts twice;
  twice.exp->kernel = twice.relu->kernel;
  expectText(proofOf(twice), "P9", "the content of 'c' is not known");

  GatheredParts otherRows;
  otherRows.relu->inputs[0]->strides = {1, 2};
  expectText(proofOf(otherRows), "P9", "holds other elements of value 1");

  GatheredParts half;
  *half.gather->segments[0]->source = half.view(half.c, {1, 12});
  *half.gather->segments[0]->destination = half.view(half.full, {2, 12});
  expectText(proofOf(half), "P9", "holds other elements of value 2");
}

/// The output exp(transpose(c)) of c = concat(relu(w), relu(w)) of columns, whose rows ranks along `tensor` divide.
class TransposedParts : public ProofPlan {
public:
  plan::LaunchT *exp = nullptr;

  TransposedParts() : ProofPlan({{"tensor", 2}}) {
    const std::uint32_t w = buffer("w", {2, 6}), c = buffer("c", {2, 12}), y = buffer("y", {2, 12}),
                        full = buffer("full", {4, 12});
    unit("u");
    parameter("w", {4, 6}, {0}, w);
    const std::uint32_t relu = op("model.relu", {op("model.read", {}, {4, 6}, {}, "w")}, {4, 6}),
                        all = op("model.concat", {relu, relu}, {4, 12}, {integer("dim", 1)});
    end({op("model.exp", {op("model.transpose", {all}, {12, 4}, {list("permutation", {1, 0})})}, {12, 4})});
    plan::EntryT &entry = step();
    launch(0, "relu", {view(w)}, {view(c, {2, 6}, 0, {12, 1})});
    launch(0, "relu", {view(w)}, {view(c, {2, 6}, 24, {12, 1})});
    const Shape turned{1, 12};
    exp = launch(0, "exp", {view(c, {12, 2}, 0, turned)}, {view(y, {12, 2}, 0, turned)}).operation.AsLaunch();
    collective(0, all_gather, {0}, none, {{view(y), view(full)}});
    PlanBuilder::port(entry.outputs, "y", view(full, {12, 4}, 0, turned));
  }
};

TEST(ConcatenationProof, RanksReadTheirPartsTransposed) {
  TransposedParts good;
  EXPECT_EQ(proofOf(good), "");

  TransposedParts otherOrder;
  otherOrder.exp->inputs[0]->strides = {2, 1};
  expectText(proofOf(otherOrder), "P9", "holds other elements of value 3");

  TransposedParts fewer;
  fewer.exp->inputs[0]->shape = fewer.exp->outputs[0]->shape = {11, 2};
  expectText(proofOf(fewer), "P9", "is not related to the unsharded program");
}

/// The output of concat(a, b) of six numbers, of which each rank along `tensor` slices its three: then they gather
/// them.
class SlicedParts : public ProofPlan {
public:
  std::uint32_t a = buffer("a", {4}, f32, host), b = buffer("b", {2}, f32, host), c = buffer("c", {6}),
                chunk = buffer("chunk", {3}), full = buffer("full", {6});
  plan::CopyT *copyB = nullptr;
  plan::LaunchT *slice = nullptr;

  SlicedParts() : ProofPlan({{"tensor", 2}}) {
    const std::uint32_t inputA = input("a", {4}), inputB = input("b", {2});
    end({op("model.concat", {inputA, inputB}, {6}, {integer("dim", 0)})});
    plan::EntryT &entry = step();
    PlanBuilder::port(entry.inputs, "a", view(a));
    PlanBuilder::port(entry.inputs, "b", view(b));
    copy(0, view(a), view(c, {4}));
    copyB = copy(0, view(b), view(c, {2}, 16)).operation.AsCopy();
    slice = &compute("slice", {view(c)}, {padded(view(chunk), 0, {0}, 3, 6)}, {}, {}, {integer("dim", 0)});
    collective(0, all_gather, {0}, none, {{view(chunk), view(full)}});
    PlanBuilder::port(entry.outputs, "y", view(full));
  }
};

TEST(ConcatenationProof, ARankSlicesItsChunkOfAllParts) {
  SlicedParts good;
  EXPECT_EQ(proofOf(good), "");

  SlicedParts missing;
  missing.copyB->destination->buffer = missing.buffer("other", {6});
  expectText(proofOf(missing), "P9", "holds value 1 (input 'a')");

  SlicedParts otherPlace;
  otherPlace.copyB->destination->offset = 12;
  expectText(proofOf(otherPlace), "P9", "the content of 'c' is not known");

  SlicedParts otherTotal;
  otherTotal.slice->outputs[0]->valid[0]->total = 5;
  expectText(proofOf(otherTotal), "P9", "whose valid extent does not state its chunk");
}

/// The output relu(x) of x [2, 6], which is written to the first columns of a buffer [2, 12]. Ranks divide these
/// columns by `divide`: the first one has relu(x), and the second one the other columns.
class ChunksPastTheEnd : public ProofPlan {
public:
  explicit ChunksPastTheEnd(plan::CollectiveKind divide) : ProofPlan({{"tensor", 2}}) {
    const std::uint32_t x = buffer("x", {2, 6}, f32, host), wide = buffer("wide", {2, 12}), row = buffer("row", {6}),
                        full = buffer("full", {12});
    end({op("model.relu", {input("x", {2, 6})}, {2, 6})});
    plan::EntryT &entry = step();
    PlanBuilder::port(entry.inputs, "x", view(x));
    fill(0, view(wide), 3);
    launch(0, "relu", {view(x)}, {view(wide, {2, 6}, 0, {12, 1})});
    if (divide == all_gather)
      compute("slice", {view(wide, {1, 12})}, {padded(view(row, {1, 6}), 1, {0}, 6, 12)}, {}, {}, {integer("dim", 1)});
    else
      collective(0, divide, {0}, plan::ReduceOp::mean, {{view(wide, {12}), view(row)}});
    collective(0, all_gather, {0}, none, {{view(row), view(full)}});
    PlanBuilder::port(entry.outputs, "y", view(full, {2, 6}));
  }
};

// If the second rank's columns counted as the next row, the gathered columns would be relu(x).
TEST(ConcatenationProof, AChunkPastTheEndOfARowIsNotTheNextRow) {
  expectText(proofOf(ChunksPastTheEnd(all_gather)), "P9", "the content of 'full' is not known");
  expectText(proofOf(ChunksPastTheEnd(reduce_scatter)), "P9", "the content of 'full' is not known");
}

/// The output is the sum of the rows of x [2, 6]. Ranks along `a` gather it with two rows of zeros to the first rows of
/// [8, 6]; then each rank has two of the eight rows, and all ranks add them.
class RowsPastTheZeros : public ProofPlan {
public:
  explicit RowsPastTheZeros(double last) : ProofPlan({{"a", 2}, {"b", 2}}) {
    const std::uint32_t x = buffer("x", {2, 6}, f32, host), row = buffer("row", {2, 6}), rows = buffer("rows", {8, 6}),
                        y = buffer("y", {6});
    end({op("model.reduce_sum", {input("x", {2, 6})}, {6}, {list("dims", {0})})});
    plan::EntryT &entry = step();
    PlanBuilder::port(entry.inputs, "x", view(x));
    fill(0, view(rows), last);
    const plan::ViewT first = padded(view(row), 0, {0}, 2, 2);
    compute("slice", {view(x)}, {first}, {}, {}, {integer("dim", 0)});
    launch(0, "pad", {first}, {view(row)});
    collective(0, all_gather, {0}, none, {{view(row), view(rows, {4, 6})}});
    compute("slice", {view(rows)}, {padded(view(row), 0, {0, 1}, 2, 8)}, {}, {}, {integer("dim", 0)});
    compute("reduce_sum", {view(row)}, {view(y)}, {}, {}, {list("dims", {0})});
    collective(0, all_reduce, {0, 1}, plan::ReduceOp::sum, {{view(y), view(y)}});
    PlanBuilder::port(entry.outputs, "y", view(y));
  }
};

TEST(ConcatenationProof, RowsPastPaddingOfZerosAreNotZeros) {
  expectText(proofOf(RowsPastTheZeros(3)), "P9", "a sum over padding that is not zeros");
}

TEST(ConcatenationProof, AnEmptyWindowIsNoConcatenation) {
  EXPECT_NE(proofOf(Concatenated("", {4, 8}, {}, window({0, 8}))), "");
}

} // namespace
} // namespace sluice::test
