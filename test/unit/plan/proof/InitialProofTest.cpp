//===- InitialProofTest.cpp - initial values of shards (P9, P14) ---------------------------===//
//
// Small entry points by hand that initialize a parameter.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/proof/ProofPlan.h"

namespace sluice::test {
namespace {

/// A parameter w [8, 6] of normal numbers, whose rows ranks along `shard` divide, and its entry point.
class Initialized : public ProofPlan {
public:
  std::uint32_t seed = buffer("seed", {}, plan::DType::i64, host), step = buffer("step", {}, plan::DType::i64, host),
                shard = buffer("w", {4, 6});
  plan::ParameterT *own = nullptr;
  plan::LaunchT *draw = nullptr;

  explicit Initialized(const std::string &kernel = "random_normal", std::vector<plan::AttributeT> attributes = {})
      : ProofPlan({{"replicate", 2}, {"shard", 2}}) {
    unit("u");
    own = &parameter("w", {8, 6}, {1}, shard);
    own->key = 7;
    own->initializer = std::make_unique<plan::InitializerT>();
    own->initializer->kind = plan::InitializerKind::normal;
    own->initializer->b = 0.02;
    op("model.read", {}, {8, 6}, {}, "w");
    end();
    stream("compute");
    plan::EntryT &init = entry("init");
    section();
    PlanBuilder::port(init.inputs, "seed", view(seed));
    PlanBuilder::port(init.inputs, "step", view(step));
    attributes.push_back(integer("key", 7));
    if (kernel == "random_normal")
      attributes.push_back(number("stddev", 0.02));
    draw = &compute(kernel, {view(seed)}, {padded(view(shard), 0, {1}, 4, 8)}, {}, {}, std::move(attributes));
  }
};

TEST(InitialProof, RandomNumbersAreThoseOfTheInitializer) {
  Initialized good;
  EXPECT_EQ(proofOf(good), "");

  Initialized uniform("random_uniform");
  expectText(proofOf(uniform), "P9", "expected kernel 'random_normal' but got 'random_uniform'");

  Initialized range("random_uniform", {number("low", -1), number("high", 3)});
  range.own->initializer->kind = plan::InitializerKind::uniform;
  range.own->initializer->a = -1;
  range.own->initializer->b = 2;
  expectText(proofOf(range), "P9", "with other numbers than its initializer has");
  range.own->initializer->b = 3;
  EXPECT_EQ(proofOf(range), "");
  range.own->initializer->a = 0;
  expectText(proofOf(range), "P9", "with other numbers than its initializer has");

  Initialized deviation;
  deviation.own->initializer->b = 0.5;
  expectText(proofOf(deviation), "P9", "with other numbers than its initializer has");

  Initialized ofTheStep;
  ofTheStep.draw->inputs[0]->buffer = ofTheStep.step;
  expectText(proofOf(ofTheStep), "P14", "from a number that is not the seed");
}

TEST(InitialProof, AConstantHasOneNumber) {
  Initialized constant("constant", {number("value", 3)});
  constant.own->initializer->kind = plan::InitializerKind::constant;
  constant.own->initializer->a = 3;
  EXPECT_EQ(proofOf(constant), "");
  constant.own->initializer->a = 2;
  expectText(proofOf(constant), "P9", "with other numbers than its initializer has");
}

TEST(InitialProof, RandomNumbersAreAtTheElementsOfTheShard) {
  Initialized otherAxis;
  otherAxis.draw->outputs[0]->valid[0]->axes = {0};
  expectText(proofOf(otherAxis), "P14", "at other elements than those of its shard");

  // Of a tensor of nine rows.
  Initialized otherRows;
  otherRows.draw->outputs[0]->valid[0]->total = 9;
  expectText(proofOf(otherRows), "P14", "at other elements than those of its shard");

  Initialized ofAll;
  ofAll.draw->outputs[0]->valid.clear();
  expectText(proofOf(ofAll), "P14", "at other elements than those of its shard");

  // More rows on a rank than in the tensor.
  Initialized none;
  none.draw->outputs[0]->valid[0]->total = 3;
  expectText(proofOf(none), "?", "the elements of the random initial values of parameter 'w'");

  // Two of the four rows of a rank.
  Initialized half;
  *half.draw->outputs[0] = half.padded(half.view(half.shard, {2, 6}), 0, {1}, 2, 8);
  EXPECT_NE(proofOf(half), "");

  // Three segments of eight rows are no part.
  Initialized segments;
  segments.own->split = std::make_unique<plan::TensorSplitT>();
  segments.own->split->axes = {0};
  segments.own->split->segments = 3;
  segments.own->split->extent = 3;
  expectText(proofOf(segments), "?", "the elements of the random initial values of parameter 'w'");
}

/// Rows of Q, K and V, four each, of which ranks along `replicate` have two each. Those along `shard` have three of
/// these six rows, which are rows 0 to 2 or 3 to 5 of no rank's tensor of twelve rows.
TEST(InitialProof, RowsOfAPartAreNotThoseOfTheParameter) {
  Initialized part;
  part.own->shape = {12, 6};
  part.own->split = std::make_unique<plan::TensorSplitT>();
  part.own->split->axes = {0};
  part.own->split->segments = 3;
  part.own->split->extent = 6;
  part.own->chunk = 3;
  part.plan.buffers[part.shard]->shape = {3, 6};
  *part.draw->outputs[0] = part.padded(part.view(part.shard), 0, {1}, 3, 12);
  expectText(proofOf(part), "?", "the elements of the random initial values of parameter 'w'");
}

TEST(InitialProof, AReleasedShardHoldsNothing) {
  Initialized released;
  released.release(0, {released.shard});
  expectText(proofOf(released), "?", "the elements of the random initial values of parameter 'w'");
}

/// Drawn in a buffer, and copied from there in another order.
TEST(InitialProof, RandomNumbersAreInTheirOrder) {
  for (const bool isTurned : {false, true}) {
    Initialized copied;
    const std::uint32_t drawn = copied.buffer("drawn", {4, 6});
    copied.draw->outputs[0]->buffer = drawn;
    copied.compute("copy", {copied.view(drawn, {4, 6}, 0, isTurned ? Shape{1, 4} : Shape{6, 1})},
                   {copied.view(copied.shard)});
    if (isTurned)
      expectText(proofOf(copied), "P14", "at other elements than those of its shard");
    else
      EXPECT_EQ(proofOf(copied), "");
  }
}

TEST(InitialProof, ARowOfZerosIsThatOfTheInitializer) {
  const auto make = [](Shape shape, std::int64_t row, Shape zeros) {
    Initialized made("random_normal", {list("zeros", std::move(zeros))});
    made.own->initializer->zero_row = row;
    made.own->shape = std::move(shape);
    return proofOf(made);
  };
  EXPECT_EQ(make({8, 6}, 2, {12, 18}), "");
  EXPECT_EQ(make({8, 6}, 7, {42, 48}), "");
  expectText(make({8, 6}, 8, {48, 54}), "P9", "expected zeros in row 8 and nowhere else");
  expectText(make({8, 6}, 2, {12, 17}), "P9", "expected zeros in row 2 and nowhere else");
  expectText(make({48}, 2, {2, 3}), "P9", "expected zeros in row 2 and nowhere else");
}

TEST(InitialProof, EachBufferIsInitialized) {
  Initialized missing;
  missing.draw->outputs[0]->buffer = missing.buffer("other", {4, 6});
  expectText(proofOf(missing), "P9", "'init' does not initialize parameter 'w'");

  Initialized undeclared;
  undeclared.own->initializer.reset();
  expectText(proofOf(undeclared), "P9", "which declares no initializer");
}

/// The random numbers of a shard are those at its position, which the valid extent of the result states.
TEST(InitialProof, DropoutOfAShardHasItsPosition) {
  const auto make = [](bool isStated) {
    ProofPlan p({{"tensor", 2}});
    p.unit("u");
    const std::uint32_t w = p.buffer("w", {4, 6}), y = p.buffer("y", {4, 6});
    p.parameter("w", {8, 6}, {0}, w);
    Ids operands{p.op("model.read", {}, {8, 6}, {}, "w")};
    std::vector<plan::ViewT> inputs{p.view(w)};
    plan::EntryT &entry = p.step();
    for (const char *name : {"seed", "step", "microbatch"}) {
      operands.push_back(p.input(name, {}, plan::DType::i64));
      inputs.push_back(p.view(p.buffer(name, {}, plan::DType::i64, host)));
      p.port(entry.inputs, name, inputs.back());
    }
    const std::vector<plan::AttributeT> attributes{number("rate", 0.3), integer("key", 11)};
    const std::uint32_t result = p.op("model.dropout", operands, {8, 6}, attributes);
    p.end({result});
    p.compute("dropout", std::move(inputs), {isStated ? p.padded(p.view(y), 0, {0}, 4, 8) : p.view(y)}, operands,
              {result}, attributes);
    p.port(entry.outputs, "y", p.view(y));
    return proofOf(p);
  };
  expectText(make(true), "P9", "output 'y' of 'train_step' is a shard of value");
  expectText(make(false), "P9", "the result has no valid extent, which gives the position of its shard");
}

} // namespace
} // namespace sluice::test
