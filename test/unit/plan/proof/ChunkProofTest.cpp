//===- ChunkProofTest.cpp - plans of chunks with padding by hand, against their numbers (P9) ---===//
#include "test/unit/plan/proof/PlanRun.h"
#include "test/unit/plan/proof/ProofPlan.h"

namespace sluice::test {
namespace {

using enum plan::CollectiveKind;
constexpr auto mean = plan::ReduceOp::mean;

/// Ranks put parts of v into chunks, reduce these to their shards, and compute that of w: relu(v), or of a view of v.
class Scattered : public ProofPlan {
public:
  Scattered(std::uint32_t ranks, const Shape &shape, std::size_t dim = 0)
      : Scattered(ranks, shape, shape, "", {}, dim) {}
  Scattered(std::uint32_t ranks, const Shape &shape, const Shape &written, const std::string &viewOp,
            std::vector<plan::AttributeT> attributes, std::size_t dim = 0)
      : ProofPlan({{"shard", ranks}}), ranks(ranks) {
    Shape local = written;
    local[dim] = chunkOf(written[dim], ranks);
    v = buffer("v", shape);
    w = buffer("w", local);
    twice = buffer("twice", shape);
    own = buffer("own", local);
    scattered = buffer("scattered", {64});
    unit("u");
    parameter("v", shape, {}, v);
    plan::ParameterT &result = parameter("w", written, {0}, w);
    result.dim = std::int32_t(dim);
    result.chunk = local[dim];
    std::uint32_t value = op("model.read", {}, shape, {}, "v");
    if (!viewOp.empty())
      value = op(viewOp, {value}, written, std::move(attributes));
    value = op("model.relu", {value}, written);
    define("model.write", {value}, {}, {}, "w");
    end();
    step();
    attribute(launch(0, "scale", {view(v)}, {view(twice)}), "factor", 2);
  }
  /// Copies elements of v from and to the elements at these positions.
  void put(Shape shape, std::uint64_t from, std::uint64_t to, Shape fromStrides = {}, Shape toStrides = {}) {
    copy(0, view(v, shape, from * 4, std::move(fromStrides)), view(scattered, shape, to * 4, std::move(toStrides)));
  }
  /// The same in bf16.
  void putHalf(std::int64_t count, std::uint64_t from, std::uint64_t to) {
    plan::ViewT destination = view(scattered, {count}, to * 2);
    destination.dtype = plan::DType::bf16;
    launch(0, "cast", {view(v, {count}, from * 4)}, {destination});
  }
  /// Chunks of `length` elements from this one on.
  void scatter(std::int64_t length, std::uint64_t from = 0) {
    collective(0, reduce_scatter, {0}, mean, {{view(scattered, {ranks * length}, from * 4), view(own)}});
    computeFrom(view(own));
  }
  void computeFrom(plan::ViewT shard) { launch(0, "relu", {std::move(shard)}, {view(w)}); }

  std::int64_t ranks;
  std::uint32_t v, w, twice, own, scattered;
};

void expectProved(const ProofPlan &plan) {
  EXPECT_EQ(computesRightNumbers(plan.plan), true);
  EXPECT_EQ(proofOf(plan), "");
}
void expectNotProved(const ProofPlan &plan) {
  EXPECT_EQ(computesRightNumbers(plan.plan), false);
  EXPECT_NE(proofOf(plan), "");
}

TEST(ChunkProof, OtherElementsOfTheBufferAreNoChunks) {
  // The first chunk, after all elements.
  Scattered first(3, {3, 2});
  first.put({3, 2}, 0, 0);
  first.put({2}, 0, 6);
  first.scatter(2, 6);
  expectNotProved(first);

  // The same, after all elements in another type.
  Scattered half(3, {3, 2});
  half.putHalf(6, 0, 6);
  half.put({2}, 0, 6);
  half.scatter(2, 6);
  expectNotProved(half);

  // The last chunk is in another type, at the position that it would have.
  Scattered lastHalf(2, {3});
  lastHalf.putHalf(1, 2, 10);
  lastHalf.put({2}, 0, 8);
  lastHalf.scatter(2, 8);
  expectNotProved(lastHalf);

  // The last chunk is of 2 v.
  Scattered ofOther(2, {3});
  ofOther.put({2}, 0, 0);
  ofOther.copy(0, ofOther.view(ofOther.twice, {1}, 8), ofOther.view(ofOther.scattered, {1}, 8));
  ofOther.scatter(2);
  expectNotProved(ofOther);

  Scattered good(2, {3});
  good.put({2}, 0, 8);
  good.put({1}, 2, 10);
  good.scatter(2, 8);
  expectProved(good);
}

TEST(ChunkProof, TheLastChunkHasTheDistancesOfTheOthers) {
  Scattered everySecond(2, {8});
  everySecond.put({4}, 0, 0);
  everySecond.put({2}, 4, 4, {2});
  everySecond.scatter(4);
  expectNotProved(everySecond);
}

TEST(ChunkProof, ChunksOfOverlappingWindows) {
  // A window of four elements every two, of which ranks keep the first two.
  const auto make = [](std::uint32_t ranks, std::int64_t extent) {
    Scattered p(ranks, {extent});
    const std::uint32_t own = p.buffer("window", {4});
    p.put({4}, 0, 0);
    p.put({extent - 2}, 2, 4);
    p.collective(0, reduce_scatter, {0}, mean, {{p.view(p.scattered, {p.ranks * 4}), p.view(own)}});
    p.computeFrom(p.view(own, {2}));
    return p;
  };
  expectProved(make(2, 4));
  // The third chunk is missing.
  expectNotProved(make(3, 5));

  // Elements i + 2 j are no shard.
  Scattered overlapping(2, {5});
  overlapping.put({3, 2}, 0, 0, {1, 2});
  overlapping.scatter(3);
  expectNotProved(overlapping);
  Scattered twoWindows(2, {5});
  twoWindows.put({2, 2}, 0, 0, {1, 1});
  twoWindows.put({1, 2}, 3, 4, {1, 1});
  twoWindows.collective(
      0, reduce_scatter, {0}, mean,
      {{twoWindows.view(twoWindows.scattered, {8}), twoWindows.view(twoWindows.scattered, {4}, 128)}});
  twoWindows.computeFrom(twoWindows.view(twoWindows.scattered, {3}, 128));
  expectNotProved(twoWindows);
}

TEST(ChunkProof, ChunksOfATurnedTensor) {
  Scattered turned(2, {2, 5}, {5, 2}, "model.transpose", {list("permutation", {1, 0})});
  turned.put({5, 2}, 0, 0, {1, 5});
  turned.scatter(6);
  expectProved(turned);

  Scattered turnedInside(2, {5, 2, 2}, {5, 2, 2}, "model.transpose", {list("permutation", {0, 2, 1})});
  turnedInside.put({5, 2, 2}, 0, 0, {4, 1, 2});
  turnedInside.scatter(12);
  expectProved(turnedInside);
}

/// Two of four rows, whose columns are divided.
TEST(ChunkProof, ChunksOfOtherRowsThanTheFirst) {
  const auto make = [](std::uint64_t firstRow) {
    Scattered p(2, {4, 3}, {2, 3}, "model.slice", {list("start", {2, 0}), list("limit", {4, 3})}, 1);
    p.put({2, 2}, firstRow * 3, 0, {3, 1});
    p.put({2, 1}, firstRow * 3 + 2, 4, {3, 1}, {2, 1});
    p.scatter(4);
    return p;
  };
  expectProved(make(2));
  expectNotProved(make(1));
}

/// The columns have padding along one axis, and the rows along the other one. The matrices are the first two of all, or
/// the next two.
TEST(ChunkProof, ChunksOfChunksWithPadding) {
  for (const std::int64_t before : {0, 2}) {
    ProofPlan p({{"tensor", 2}, {"shard", 2}});
    const Shape whole{before + 2, 3, 3}, local{before + 2, 3, 2};
    const std::uint32_t v = p.buffer("v", local), relu = p.buffer("relu", local),
                        scattered = p.buffer("scattered", {16}), own = p.buffer("own", {8}),
                        rows = p.buffer("rows", {2, 3, 2}), gathered = p.buffer("gathered", {24}),
                        all = p.buffer("all", {2, 3, 3});
    p.unit("u");
    plan::ParameterT &parameter = p.parameter("v", whole, {0}, v);
    parameter.dim = 2;
    parameter.chunk = 2;
    p.end({p.op("model.slice", {p.op("model.relu", {p.op("model.read", {}, whole, {}, "v")}, whole)}, {2, 3, 3},
                {list("start", {before, 0, 0}), list("limit", whole)})});
    plan::EntryT &entry = p.step();
    p.launch(0, "relu", {p.view(v)}, {p.view(relu)});
    const auto first = [&](std::uint32_t chunks) { return p.view(chunks, {2, 2, 2}); };
    const auto last = [&](std::uint32_t chunks) { return p.view(chunks, {2, 1, 2}, 32, {4, 2, 1}); };
    const auto firstRows = [&](std::uint32_t tensor, std::int64_t matrix) {
      return p.view(tensor, {2, 2, 2}, std::uint64_t(matrix) * 24, {6, 2, 1});
    };
    const auto lastRows = [&](std::uint32_t tensor, std::int64_t matrix) {
      return p.view(tensor, {2, 1, 2}, std::uint64_t(matrix) * 24 + 16, {6, 2, 1});
    };
    p.copy(0, firstRows(relu, before), first(scattered));
    p.copy(0, lastRows(relu, before), last(scattered));
    p.collective(0, reduce_scatter, {1}, mean, {{p.view(scattered), p.view(own)}});
    p.collective(0, all_gather, {1}, plan::ReduceOp::none, {{p.view(own), p.view(scattered)}});
    p.copy(0, first(scattered), firstRows(rows, 0));
    p.copy(0, last(scattered), lastRows(rows, 0));
    p.collective(0, all_gather, {0}, plan::ReduceOp::none, {{p.view(rows), p.view(gathered)}});
    p.copy(0, p.view(gathered, {6, 2}), p.view(all, {6, 2}, 0, {3, 1}));
    p.copy(0, p.view(gathered, {6, 1}, 48, {2, 1}), p.view(all, {6, 1}, 8, {3, 1}));
    p.port(entry.outputs, "y", p.view(all));
    expectProved(p);
  }
}

/// The slices of an input for two micro-batches, of which ranks add chunks.
TEST(ChunkProof, ChunksOfTheSliceOfAMicrobatch) {
  ProofPlan p({{"shard", 2}});
  const std::uint32_t x = p.buffer("x", {7}, f32, host), own = p.buffer("own", {2}), sum = p.buffer("sum", {2}),
                      all = p.buffer("all", {4});
  p.end({p.op("model.step_mean", {p.input("x", {3})}, {3})});
  plan::EntryT &entry = p.step(2);
  const auto slice = [&](std::int64_t elements) {
    plan::ViewT view = p.view(x, {elements});
    view.repetition_stride = 12;
    return view;
  };
  p.port(entry.inputs, "x", slice(3)).per_repetition = true;
  p.collective(0, reduce_scatter, {0}, mean, {{slice(4), p.view(own)}});
  for (const bool isFirst : {true, false}) {
    p.compute("accumulate", {p.view(own)}, {p.view(sum)}, {}, {}, {integer("first", isFirst)});
    entry.sections[0]->instructions.back()->when = isFirst ? plan::When::first : plan::When::not_first;
  }
  p.section();
  PlanBuilder::attribute(p.launch(0, "scale", {p.view(sum)}, {p.view(sum)}), "factor", 0.5);
  p.collective(0, all_gather, {0}, plan::ReduceOp::none, {{p.view(sum), p.view(all)}});
  p.port(entry.outputs, "y", p.view(all, {3}));
  expectProved(p);
}

/// The largest of the ranks' numbers in place of their sum, of chunks of an input of five elements.
TEST(ChunkProof, TheLargestOfChunksIsNoSum) {
  // All elements, or those from the second one: chunks of a part.
  for (const std::int64_t first : {0, 1}) {
    ProofPlan p({{"shard", 2}});
    const std::uint32_t x = p.buffer("x", {5}), chunks = p.buffer("chunks", {6}), own = p.buffer("own", {3});
    p.end({p.op("model.step_mean", {p.input("x", {5})}, {5})});
    plan::EntryT &entry = p.step();
    p.port(entry.inputs, "x", p.view(x));
    const std::int64_t count = first == 0 ? 5 : 3, length = (count + 1) / 2;
    p.copy(0, p.view(x, {count}, std::uint64_t(first) * 4), p.view(chunks, {count}));
    p.collective(0, reduce_scatter, {0}, plan::ReduceOp::max, {{p.view(chunks, {2 * length}), p.view(own, {length})}});
    p.port(entry.outputs, "y", p.view(x));
    expectText(proofOf(p), "P7", "takes the largest of the ranks' numbers");
  }
}

/// Rank r slices element r of its two, twice along one axis: together ranks have two of four elements.
TEST(ChunkProof, SlicesAlongOneAxisAreNotAllElements) {
  const auto make = [](std::uint32_t axis) {
    ProofPlan p({{"tensor", 2}, {"expert", 2}});
    const std::uint32_t w = p.buffer("w", {4}), chunk = p.buffer("chunk", {2}), one = p.buffer("one", {1}),
                        two = p.buffer("two", {2}), all = p.buffer("all", {4});
    p.unit("u");
    p.parameter("w", {4}, {}, w);
    p.end({p.op("model.read", {}, {4}, {}, "w")});
    plan::EntryT &entry = p.step();
    p.compute("slice", {p.view(w)}, {p.padded(p.view(chunk), 0, {0}, 2, 4)}, {}, {}, {integer("dim", 0)});
    p.compute("slice", {p.view(chunk)}, {p.padded(p.view(one), 0, {axis}, 1, 2)}, {}, {}, {integer("dim", 0)});
    p.collective(0, all_gather, {axis}, plan::ReduceOp::none, {{p.view(one), p.view(two)}});
    p.collective(0, all_gather, {0}, plan::ReduceOp::none, {{p.view(two), p.view(all)}});
    p.port(entry.outputs, "y", p.view(all));
    return p;
  };
  expectProved(make(1));
  const ProofPlan twice = make(0);
  expectNotProved(twice);
  expectText(proofOf(twice), "P9", "a second chunk along 'tensor' of value 1");
}

/// Of three segments of eight elements, ranks along `tensor` have four each. Ranks along `expert` slice their half of
/// these twelve, which is no digits of the tensor, and those along `shard` a half of that in another order: no digits
/// of the half either.
TEST(ChunkProof, APartIsDividedOnce) {
  ProofPlan p({{"tensor", 2}, {"expert", 2}, {"shard", 2}});
  const std::uint32_t w = p.buffer("w", {12}), half = p.buffer("half", {6}), turned = p.buffer("turned", {6}),
                      own = p.buffer("own", {3}), all = p.buffer("all", {12});
  p.unit("u");
  auto &split = p.parameter("w", {24}, {}, w).split;
  split = std::make_unique<plan::TensorSplitT>();
  split->axes = {0};
  split->segments = 3;
  split->extent = 12;
  // The first twelve elements, in place of those of each rank.
  p.end(
      {p.op("model.slice", {p.op("model.read", {}, {24}, {}, "w")}, {12}, {list("start", {0}), list("limit", {12})})});
  plan::EntryT &entry = p.step();
  p.compute("slice", {p.view(w)}, {p.padded(p.view(half), 0, {1}, 6, 12)}, {}, {}, {integer("dim", 0)});
  p.copy(0, p.view(half, {3, 2}, 0, {1, 3}), p.view(turned, {3, 2}));
  p.compute("slice", {p.view(turned)}, {p.padded(p.view(own), 0, {2}, 3, 6)}, {}, {}, {integer("dim", 0)});
  p.collective(0, all_gather, {2}, plan::ReduceOp::none, {{p.view(own), p.view(turned)}});
  p.copy(0, p.view(turned, {3, 2}), p.view(half, {3, 2}, 0, {1, 3}));
  p.collective(0, all_gather, {1}, plan::ReduceOp::none, {{p.view(half), p.view(all)}});
  p.port(entry.outputs, "y", p.view(all));
  expectText(proofOf(p), "?: ", "that is not of digits");
}

/// Ranks have elements of their own, here three of four from the second one on: a collective that treats them as equal
/// on all ranks is wrong, also if they are a part of the root with padding.
TEST(ChunkProof, ElementsOfRanksAreNotReduced) {
  const auto make = [](plan::CollectiveKind kind) {
    ProofPlan p({{"tensor", 2}, {"expert", 2}});
    const std::uint32_t v = p.buffer("v", {4}), relu = p.buffer("relu", {4}), chunks = p.buffer("chunks", {4}),
                        own = p.buffer("own", {2}), result = p.buffer("result", {4}), all = p.buffer("all", {8});
    p.unit("u");
    p.parameter("v", {8}, {0}, v);
    p.end({p.op("model.relu", {p.op("model.read", {}, {8}, {}, "v")}, {8})});
    plan::EntryT &entry = p.step();
    p.launch(0, "relu", {p.view(v)}, {p.view(relu)});
    p.copy(0, p.view(relu, {3}, 4), p.view(chunks, {3}));
    const auto scatter = [&](std::uint32_t axis) {
      p.collective(0, reduce_scatter, {axis}, mean, {{p.view(chunks), p.view(own)}});
      p.collective(0, all_gather, {axis}, plan::ReduceOp::none, {{p.view(own), p.view(chunks)}});
    };
    // Ranks along `expert` have equal elements.
    scatter(kind == reduce_scatter ? 0 : 1);
    if (kind == all_reduce || kind == broadcast)
      p.collective(0, kind, {0}, kind == broadcast ? plan::ReduceOp::none : mean, {{p.view(chunks), p.view(chunks)}});
    p.copy(0, p.view(relu, {1}), p.view(result, {1}));
    p.copy(0, p.view(chunks, {3}), p.view(result, {3}, 4));
    p.collective(0, all_gather, {0}, plan::ReduceOp::none, {{p.view(result), p.view(all)}});
    p.port(entry.outputs, "y", p.view(all));
    return proofOf(p);
  };
  EXPECT_EQ(make(all_gather), "");
  expectText(make(reduce_scatter), "P9", "reduces different shards of value 2");
  expectText(make(all_reduce), "P9", "reduces different shards of value 2");
  expectText(make(broadcast), "P7", "by that of one rank");
}

/// Shards of rows become shards of columns, by the chunks of columns that each rank has.
TEST(ChunkProof, ExchangesShards) {
  const auto make = [](std::uint32_t axis, bool hasColumns) {
    ProofPlan p({{"tensor", 2}, {"expert", 2}});
    const std::uint32_t v = p.buffer("v", {2, 6}), relu = p.buffer("relu", {2, 6}),
                        chunks = p.buffer("chunks", {2, 2, 3}), own = p.buffer("own", {4, 3}),
                        columns = p.buffer("columns", {2, 4, 3}), all = p.buffer("all", {4, 6});
    p.unit("u");
    p.parameter("v", {4, 6}, {0}, v);
    p.end({p.op("model.relu", {p.op("model.read", {}, {4, 6}, {}, "v")}, {4, 6})});
    plan::EntryT &entry = p.step();
    p.launch(0, "relu", {p.view(v)}, {p.view(relu)});
    p.copy(0, p.view(relu, {2, 2, 3}, 0, hasColumns ? Shape{3, 6, 1} : Shape{6, 3, 1}), p.view(chunks));
    p.collective(0, all_to_all, {axis}, plan::ReduceOp::none, {{p.view(chunks), p.view(own)}});
    p.collective(0, all_gather, {0}, plan::ReduceOp::none, {{p.view(own), p.view(columns)}});
    p.copy(0, p.view(columns, {4, 2, 3}, 0, {3, 12, 1}), p.view(all, {4, 2, 3}));
    p.port(entry.outputs, "y", p.view(all));
    return proofOf(p);
  };
  EXPECT_EQ(make(0, true), "");
  expectText(make(0, false), "P9", "value 2");
  expectText(make(1, true), "P8", "segment 0, exchanges value 2");
}

/// Ranks slice their chunks of five elements of a parameter, the first of which is at `start`, and gather them again.
TEST(ChunkProof, SlicesOfAWindow) {
  for (const std::int64_t start : {0, 1, 5}) {
    ProofPlan p({{"tensor", 2}});
    const std::uint32_t w = p.buffer("w", {10}), chunk = p.buffer("chunk", {3}), all = p.buffer("all", {6});
    p.unit("u");
    p.parameter("w", {10}, {}, w);
    p.end({p.op("model.slice", {p.op("model.read", {}, {10}, {}, "w")}, {5},
                {list("start", {start}), list("limit", {start + 5})})});
    plan::EntryT &entry = p.step();
    p.compute("slice", {p.view(w, {5}, std::uint64_t(start) * 4)}, {p.padded(p.view(chunk), 0, {0}, 3, 5)}, {}, {},
              {integer("dim", 0)});
    p.collective(0, all_gather, {0}, plan::ReduceOp::none, {{p.view(chunk), p.view(all)}});
    p.port(entry.outputs, "y", p.view(all, {5}));
    expectProved(p);
  }
}

} // namespace
} // namespace sluice::test
