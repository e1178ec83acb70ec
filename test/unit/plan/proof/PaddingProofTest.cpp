//===- PaddingProofTest.cpp - padding is no element of another row, and no zeros (P9) -----===//
//
// Small plans by hand whose windows begin within a row or after the first element of a chunk.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/proof/PlanRun.h"
#include "test/unit/plan/proof/ProofPlan.h"

namespace sluice::test {
namespace {

using enum plan::CollectiveKind;

/// Ranks along `tensor` have columns of w [2, 2, 3], one of them padding, and those along `expert` slice a row. The
/// window of three elements from the second one of the row ends with the padding, not with the first element of the
/// next row.
TEST(PaddingProof, PaddingIsNotTheNextRow) {
  ProofPlan p({{"tensor", 2}, {"expert", 2}});
  const std::uint32_t w = p.buffer("w", {2, 2, 2}), gathered = p.buffer("gathered", {16}),
                      rows = p.buffer("rows", {2, 4}), row = p.buffer("row", {1, 4}), relu = p.buffer("relu", {3, 1}),
                      all = p.buffer("all", {2, 3}), y = p.buffer("y", {3, 2});
  p.unit("u");
  plan::ParameterT &own = p.parameter("w", {2, 2, 3}, {0}, w);
  own.dim = 2;
  const std::uint32_t flat = p.op("model.reshape", {p.op("model.read", {}, {2, 2, 3}, {}, "w")}, {12}),
                      window = p.op("model.slice", {flat}, {6}, {list("start", {1}), list("limit", {7})}),
                      columns = p.op("model.transpose", {p.op("model.reshape", {window}, {2, 3})}, {3, 2},
                                     {list("permutation", {1, 0})});
  p.end({p.op("model.relu", {columns}, {3, 2})});
  plan::EntryT &entry = p.step();
  p.collective(0, all_gather, {0}, plan::ReduceOp::none, {{p.view(w), p.view(gathered)}});
  p.copy(0, p.view(gathered, {2, 2, 2}, 0, {2, 8, 1}), p.view(rows, {2, 2, 2}));
  p.compute("slice", {p.view(rows)}, {p.padded(p.view(row), 0, {1}, 1, 2)}, {}, {}, {integer("dim", 0)});
  p.launch(0, "relu", {p.view(row, {3, 1}, 4)}, {p.view(relu)});
  p.collective(0, all_gather, {1}, plan::ReduceOp::none, {{p.view(relu), p.view(all)}});
  p.copy(0, p.view(all, {3, 2}, 0, {1, 3}), p.view(y));
  p.port(entry.outputs, "y", p.view(y));
  EXPECT_EQ(computesRightNumbers(p.plan), false);
  EXPECT_NE(proofOf(p), "");
}

/// The sum of seven elements over three ranks, which have four each. Windows of six elements overlap: a valid extent
/// that counts from their third element leaves out less than the padding.
TEST(PaddingProof, ZerosAreThoseThatAPadWrites) {
  const auto make = [](bool isJoined) {
    ProofPlan p({{"tensor", 3}});
    const std::uint32_t w = p.buffer("w", {7}), scattered = p.buffer("scattered", {18}),
                        window = p.buffer("window", {6}), first = p.buffer("first", {4}), late = p.buffer("late", {4}),
                        both = p.buffer("both", {6}), sum = p.buffer("sum", {});
    p.unit("u");
    p.parameter("w", {7}, {}, w);
    p.end({p.op("model.reduce_sum", {p.op("model.read", {}, {7}, {}, "w")}, {}, {list("dims", {0})})});
    plan::EntryT &entry = p.step();
    PlanBuilder::attribute(p.launch(0, "constant", {}, {p.view(scattered)}), "value", 5);
    p.copy(0, p.view(w, {6}), p.view(scattered, {6}));
    p.copy(0, p.view(w, {3}, 16), p.view(scattered, {3}, 24));
    p.collective(0, reduce_scatter, {0}, plan::ReduceOp::mean, {{p.view(scattered), p.view(window)}});
    p.compute("pad", {p.padded(p.view(window, {4}), 0, {0}, 4, 7)}, {p.view(first)});
    p.compute("pad", {p.padded(p.view(window, {4}, 8), 0, {0}, 4, 7)}, {p.view(late)});
    p.copy(0, p.view(first, {2}), p.view(both, {2}));
    p.copy(0, p.view(late), p.view(both, {4}, 8));
    p.compute("reduce_sum", {isJoined ? p.view(both, {4}) : p.view(first)}, {p.view(sum)}, {}, {}, {list("dims", {0})});
    p.collective(0, all_reduce, {0}, plan::ReduceOp::sum, {{p.view(sum), p.view(sum)}});
    p.port(entry.outputs, "y", p.view(sum));
    return proofOf(p);
  };
  EXPECT_EQ(make(false), "");
  EXPECT_NE(make(true), "");
}

/// Ranks along `shard` reduce their half of a window of x, row by row. Two columns of two rows with a gap after each
/// row have as many elements, but the third one of each row is padding.
TEST(PaddingProof, APartOfASumOverRanksHasNone) {
  const auto make = [](bool hasGaps) {
    ProofPlan p({{"shard", 2}});
    const std::uint32_t x = p.buffer("x", {3, 3}, f32, host), chunks = p.buffer("chunks", {6}),
                        own = p.buffer("own", {3});
    const std::uint32_t flat = p.op("model.reshape", {p.input("x", {3, 3})}, {9}),
                        window = p.op("model.slice", {flat}, {6}, {list("start", {1}), list("limit", {7})});
    p.end({p.op("model.reduce_scatter", {window}, {3})});
    plan::EntryT &entry = p.step();
    p.port(entry.inputs, "x", p.view(x));
    if (hasGaps)
      p.copy(0, p.view(x, {2, 2}, 4, {3, 1}), p.view(chunks, {2, 2}, 0, {3, 1}));
    else
      p.copy(0, p.view(x, {6}, 4), p.view(chunks));
    p.collective(0, reduce_scatter, {0}, plan::ReduceOp::sum, {{p.view(chunks), p.view(own)}});
    p.port(entry.outputs, "y", p.view(own));
    return proofOf(p);
  };
  EXPECT_EQ(make(false), "");
  EXPECT_NE(make(true), "");
}

/// The rows 1 and 2 of x in places of four are a part of it: element 0 of the part is not that of x.
TEST(PaddingProof, APartOfASumOverRanksIsThatOfAllElements) {
  const auto make = [](bool isPart) {
    ProofPlan p({{"shard", 2}, {"tensor", 2}});
    const std::uint32_t x = p.buffer("x", {4, 3}, f32, host), rows = p.buffer("rows", {8}),
                        half = p.buffer("half", {4}), all = p.buffer("all", {8}), own = p.buffer("own", {4});
    const std::uint32_t flat = p.op("model.reshape", {p.input("x", {4, 3})}, {12}),
                        window = p.op("model.slice", {flat}, {8}, {list("start", {0}), list("limit", {8})});
    p.end({p.op("model.reduce_scatter", {window}, {4})});
    plan::EntryT &entry = p.step();
    p.port(entry.inputs, "x", p.view(x));
    if (isPart)
      p.copy(0, p.view(x, {2, 3}, 12), p.view(rows, {2, 3}, 0, {4, 1}));
    else
      p.copy(0, p.view(x, {8}), p.view(rows));
    p.compute("slice", {p.view(rows)}, {p.padded(p.view(half), 0, {1}, 4, 8)}, {}, {}, {integer("dim", 0)});
    p.collective(0, all_gather, {1}, plan::ReduceOp::none, {{p.view(half), p.view(all)}});
    p.collective(0, reduce_scatter, {0}, plan::ReduceOp::sum, {{p.view(all), p.view(own)}});
    p.port(entry.outputs, "y", p.view(own));
    return proofOf(p);
  };
  EXPECT_EQ(make(false), "");
  EXPECT_NE(make(true), "");
}

} // namespace
} // namespace sluice::test
