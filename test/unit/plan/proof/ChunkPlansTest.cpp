//===- ChunkPlansTest.cpp - random plans of chunks with padding, against their numbers (P9) ---===//
//
// Ranks gather the chunks of a parameter w, compute relu(w), and reduce or slice it to their chunks; or they slice it
// and gather it again, or exchange chunks of its columns for their rows. In most plans something is changed: such a
// plan may be proved only if its numbers are right on every rank.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/proof/PlanRun.h"
#include "test/unit/plan/proof/ProofPlan.h"

#include <random>

namespace sluice::test {
namespace {

using enum plan::CollectiveKind;

std::int64_t upTo(std::mt19937 &random, std::int64_t most) { return 1 + std::int64_t(random() % std::uint64_t(most)); }

/// The element counts of a tensor whose dim `extent` ranks divide in chunks.
struct Chunks {
  std::int64_t outer = 1, extent = 1, inner = 1, ranks = 1;
  std::int64_t chunk() const { return (extent + ranks - 1) / ranks; }
  /// Of one rank.
  std::int64_t length() const { return outer * chunk() * inner; }
  std::int64_t complete() const { return extent / chunk(); }
  std::int64_t rest() const { return extent % chunk(); }
};

Chunks chunksOf(const Shape &shape, std::size_t dim, std::int64_t ranks) {
  Chunks chunks{1, shape[dim], 1, ranks};
  for (std::size_t d = 0; d < shape.size(); ++d)
    (d < dim ? chunks.outer : chunks.inner) *= d == dim ? 1 : shape[d];
  return chunks;
}

/// Gathers and divides tensors of the program.
class RandomPlan : public ProofPlan {
public:
  using ProofPlan::ProofPlan;
  /// Changes one instruction. False if the plan would have another form.
  bool spoil(std::mt19937 &random) {
    auto &instructions = plan.entries[0]->sections[0]->instructions;
    const std::size_t at = random() % instructions.size();
    plan::InstructionT &instruction = *instructions[at];
    if (random() % 10 == 0) {
      instructions.erase(instructions.begin() + std::ptrdiff_t(at));
      return true;
    }
    plan::CollectiveT *own = instruction.operation.AsCollective();
    if (own && random() % 2 == 0) {
      if (own->kind == reduce_scatter && random() % 2 == 0)
        own->op = random() % 2 == 0 ? plan::ReduceOp::sum : plan::ReduceOp::max;
      else
        own->axes = random() % 2 == 0 ? std::vector<std::uint32_t>{0} : std::vector<std::uint32_t>{1, 0};
      return true;
    }
    std::vector<plan::ViewT *> views;
    forEachView(instruction, [&](const plan::ViewT &view, bool) { views.push_back(const_cast<plan::ViewT *>(&view)); });
    plan::ViewT &view = *views[random() % views.size()];
    if (view.shape.empty())
      return false;
    const std::size_t d = random() % view.shape.size();
    const auto moved = [&](std::int64_t &number) { number += random() % 2 == 0 ? 1 : -1; };
    switch (random() % 4) {
    case 0: {
      std::int64_t elements = std::int64_t(view.offset / 4);
      elements += upTo(random, 4) * (random() % 2 == 0 ? 1 : -1);
      if (elements < 0)
        return false;
      view.offset = std::uint64_t(elements) * 4;
      return true;
    }
    case 1: {
      const std::int64_t change = random() % 2 == 0 ? 1 : -1;
      // A copy has one shape.
      for (plan::ViewT *changed : instruction.operation.AsCopy() ? views : std::vector<plan::ViewT *>{&view}) {
        if (changed->shape.size() <= d || (changed->shape[d] += change) < 1)
          return false;
        for (const auto &valid : changed->valid)
          valid->chunk = changed->shape[valid->dim];
      }
      return true;
    }
    case 2:
      if (own || view.strides.empty())
        return false;
      moved(view.strides[d]);
      return view.strides[d] >= 0;
    default:
      if (view.valid.empty())
        return false;
      if (random() % 2 == 0)
        moved(view.valid[0]->total);
      else
        view.valid[0]->axes = {std::uint32_t(random() % 2)};
      return view.valid[0]->total > 0;
    }
  }

protected:
  /// Between the chunks of all ranks, one after the other, and the dense tensor: those without padding at once.
  void copyChunks(const Chunks &chunks, std::uint32_t parts, std::uint32_t dense, bool isGather) {
    const auto [outer, extent, inner, ranks] = chunks;
    const std::int64_t chunk = chunks.chunk(), complete = chunks.complete(), rest = chunks.rest();
    const auto add = [&](plan::ViewT part, plan::ViewT own) {
      if (isGather)
        copy(0, std::move(part), std::move(own));
      else
        copy(0, std::move(own), std::move(part));
    };
    add(view(parts, {complete, outer, chunk, inner}, 0, {chunks.length(), chunk * inner, inner, 1}),
        view(dense, {complete, outer, chunk, inner}, 0, {chunk * inner, extent * inner, inner, 1}));
    if (rest > 0)
      add(view(parts, {outer, rest, inner}, std::uint64_t(complete * chunks.length()) * 4, {chunk * inner, inner, 1}),
          view(dense, {outer, rest, inner}, std::uint64_t(complete * chunk * inner) * 4, {extent * inner, inner, 1}));
  }
};

/// relu(w), of which each rank writes its chunk to w.
class ChunkPlan : public RandomPlan {
public:
  explicit ChunkPlan(std::mt19937 &random)
      : RandomPlan({{"tensor", std::uint32_t(upTo(random, 2))}, {"shard", std::uint32_t(1 + upTo(random, 2))}}) {
    const std::vector<std::vector<std::uint32_t>> choices{{1}, {1}, {0, 1}, {1, 0}};
    const std::vector<std::uint32_t> axes = choices[random() % choices.size()];
    const Shape shape{upTo(random, 4), upTo(random, 5), upTo(random, 3)};
    const std::size_t dim = random() % 3;
    chunks = chunksOf(shape, dim, std::int64_t(groupSize(plan, axes)));
    Shape local = shape;
    local[dim] = chunks.chunk();
    const std::uint32_t w = buffer("w", local), gathered = buffer("gathered", {chunks.ranks * chunks.length()}),
                        dense = buffer("dense", shape), relu = buffer("relu", shape),
                        scattered = buffer("scattered", {chunks.ranks * chunks.length()}), own = buffer("own", local);
    unit("u");
    plan::ParameterT &parameter = ProofPlan::parameter("w", shape, axes, w);
    parameter.dim = std::int32_t(dim);
    parameter.chunk = chunks.chunk();
    const std::uint32_t result = op("model.relu", {op("model.read", {}, shape, {}, "w")}, shape);
    define("model.write", {result}, {}, {}, "w");
    end({result});
    plan::EntryT &entry = step();
    collective(0, all_gather, axes, plan::ReduceOp::none, {{view(w), view(gathered)}});
    if (dim == 0 && random() % 2 == 0) {
      launch(0, "relu", {view(gathered, shape)}, {view(relu)});
    } else {
      copyChunks(chunks, gathered, dense, true);
      launch(0, "relu", {view(dense)}, {view(relu)});
    }
    switch (random() % 3) {
    case 0: {
      plan::ViewT destination = padded(view(w), std::uint32_t(dim), axes, chunks.chunk(), shape[dim]);
      compute("slice", {view(relu)}, {destination}, {}, {}, {integer("dim", std::int64_t(dim))});
      break;
    }
    case 1:
      if (random() % 2 == 0)
        PlanBuilder::attribute(launch(0, "constant", {}, {view(scattered)}), "value", 0);
      copyChunks(chunks, scattered, relu, false);
      collective(0, reduce_scatter, axes, plan::ReduceOp::mean, {{view(scattered), view(w)}});
      break;
    default:
      copyChunks(chunks, scattered, relu, false);
      collective(0, reduce_scatter, axes, plan::ReduceOp::mean, {{view(scattered), view(own)}});
      launch(0, "pad", {padded(view(own), std::uint32_t(dim), axes, chunks.chunk(), shape[dim])}, {view(w)});
    }
    port(entry.outputs, "y", view(relu));
  }
  Chunks chunks;
};

/// A view of w, of which ranks slice their chunks along one axis or two, and gather them again.
class SlicePlan : public RandomPlan {
public:
  explicit SlicePlan(std::mt19937 &random)
      : RandomPlan({{"tensor", 2}, {"shard", std::uint32_t(1 + upTo(random, 2))}}) {
    const Shape shape{upTo(random, 3), upTo(random, 4), upTo(random, 3)};
    Shape permutation{0, 1, 2};
    std::shuffle(permutation.begin(), permutation.end(), random);
    Shape turned, strides;
    for (std::int64_t dim : permutation) {
      turned.push_back(shape[std::size_t(dim)]);
      strides.push_back(dim == 0 ? shape[1] * shape[2] : dim == 1 ? shape[2] : 1);
    }
    Shape all = turned;
    if (const std::size_t merged = random() % 3; merged < 2) {
      all[merged] *= all[merged + 1];
      all.erase(all.begin() + std::ptrdiff_t(merged) + 1);
    }
    const std::uint32_t w = buffer("w", shape), dense = buffer("dense", turned), result = buffer("result", all);
    unit("u");
    parameter("w", shape, {}, w);
    const std::uint32_t value =
        op("model.transpose", {op("model.read", {}, shape, {}, "w")}, turned, {list("permutation", permutation)});
    end({op("model.reshape", {value}, all)});
    plan::EntryT &entry = step();
    copy(0, view(w, turned, 0, strides), view(dense));
    divide(random, dense, all, result, random() % 2, random() % 3 != 0);
    port(entry.outputs, "y", view(result));
  }

private:
  void divide(std::mt19937 &random, std::uint32_t from, const Shape &shape, std::uint32_t to, std::uint32_t axis,
              bool isDividedAgain) {
    const std::size_t dim = random() % shape.size();
    const Chunks chunks = chunksOf(shape, dim, plan.mesh[axis]->size);
    Shape local = shape;
    local[dim] = chunks.chunk();
    const std::uint32_t chunk = buffer("chunk", local), gathered = buffer("gathered", {chunks.ranks * chunks.length()});
    compute("slice", {view(from, shape)}, {padded(view(chunk), std::uint32_t(dim), {axis}, local[dim], shape[dim])}, {},
            {}, {integer("dim", std::int64_t(dim))});
    if (isDividedAgain)
      divide(random, chunk, local, chunk, 1 - axis, false);
    collective(0, all_gather, {axis}, plan::ReduceOp::none, {{view(chunk), view(gathered)}});
    copyChunks(chunks, gathered, to, true);
  }
};

/// relu(w), which ranks have by rows, exchange to have it by columns, and gather.
class ExchangePlan : public RandomPlan {
public:
  explicit ExchangePlan(std::mt19937 &random)
      : RandomPlan({{"tensor", std::uint32_t(upTo(random, 2))}, {"shard", std::uint32_t(1 + upTo(random, 2))}}) {
    const std::vector<std::vector<std::uint32_t>> choices{{1}, {0, 1}, {1, 0}};
    const std::vector<std::uint32_t> axes = choices[random() % choices.size()];
    const auto ranks = std::int64_t(groupSize(plan, axes));
    const std::int64_t rows = upTo(random, 2), columns = upTo(random, 3), inner = upTo(random, 2);
    const std::int64_t allRows = ranks * rows, row = ranks * columns * inner;
    const Shape shape{allRows, ranks * columns, inner}, local{rows, ranks * columns, inner};
    const std::uint32_t w = buffer("w", local), relu = buffer("relu", local),
                        chunks = buffer("chunks", {ranks, rows, columns, inner}),
                        own = buffer("own", {allRows, columns, inner}),
                        gathered = buffer("gathered", {ranks, allRows, columns, inner}),
                        result = buffer("result", shape);
    unit("u");
    plan::ParameterT &parameter = ProofPlan::parameter("w", shape, axes, w);
    parameter.dim = 0;
    parameter.chunk = rows;
    end({op("model.relu", {op("model.read", {}, shape, {}, "w")}, shape)});
    plan::EntryT &entry = step();
    launch(0, "relu", {view(w)}, {view(relu)});
    copy(0, view(relu, {ranks, rows, columns, inner}, 0, {columns * inner, row, inner, 1}), view(chunks));
    collective(0, all_to_all, axes, plan::ReduceOp::none, {{view(chunks), view(own)}});
    collective(0, all_gather, axes, plan::ReduceOp::none, {{view(own), view(gathered)}});
    copy(0, view(gathered, {allRows, ranks, columns, inner}, 0, {columns * inner, allRows * columns * inner, inner, 1}),
         view(result, {allRows, ranks, columns, inner}));
    port(entry.outputs, "y", view(result));
  }
};

TEST(ExchangePlans, OfAllShapesAreProved) {
  std::mt19937 random(54);
  for (int round = 0; round < 500; ++round) {
    ExchangePlan plan(random);
    ASSERT_EQ(computesRightNumbers(plan.plan), true) << round;
    ASSERT_EQ(proofOf(plan), "") << round;
  }
}

TEST(ChunkPlans, OfAllShapesAreProved) {
  std::mt19937 random(51);
  int padded = 0;
  for (int round = 0; round < 3000; ++round) {
    ChunkPlan plan(random);
    ASSERT_EQ(computesRightNumbers(plan.plan), true) << round;
    // Where one rank has the only element of the dim, the ranks' padding has no unique position.
    if (plan.chunks.extent == 1)
      continue;
    ASSERT_EQ(proofOf(plan), "") << round << ": " << testing::PrintToString(plan.plan.parameters[0]->shape) << " dim "
                                 << plan.plan.parameters[0]->dim << " over " << plan.chunks.ranks;
    padded += plan.chunks.rest() > 0;
  }
  EXPECT_GT(padded, 400);
}

/// Of changed plans; those that are not proved may have right numbers.
template <typename Plan> void expectOnlyRightOnesProved(unsigned seed) {
  std::mt19937 random(seed);
  int proved = 0, wrong = 0;
  for (int round = 0; round < 20000; ++round) {
    Plan plan(random);
    if (round % 4 != 0 && !plan.spoil(random))
      continue;
    const bool isProved = proofOf(plan).empty();
    if (!isProved && round % 20 != 1)
      continue;
    const std::optional<bool> isRight = computesRightNumbers(plan.plan);
    if (!isRight)
      continue;
    ASSERT_TRUE(*isRight || !isProved) << round;
    proved += isProved;
    wrong += !*isRight;
  }
  EXPECT_GT(proved, 1000);
  EXPECT_GT(wrong, 100);
}

TEST(ChunkPlans, AreProvedOnlyIfTheirNumbersAreRight) { expectOnlyRightOnesProved<ChunkPlan>(52); }
TEST(SlicePlans, AreProvedOnlyIfTheirNumbersAreRight) { expectOnlyRightOnesProved<SlicePlan>(53); }
TEST(ExchangePlans, AreProvedOnlyIfTheirNumbersAreRight) { expectOnlyRightOnesProved<ExchangePlan>(55); }

} // namespace
} // namespace sluice::test
