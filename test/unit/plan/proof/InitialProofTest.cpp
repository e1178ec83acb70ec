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
  expectText(proofOf(uniform), "P9", "has other numbers than its initializer");

  Initialized range("random_uniform", {number("low", -1), number("high", 3)});
  range.own->initializer->kind = plan::InitializerKind::uniform;
  range.own->initializer->a = -1;
  range.own->initializer->b = 2;
  expectText(proofOf(range), "P9", "has other numbers than its initializer");
  range.own->initializer->b = 3;
  EXPECT_EQ(proofOf(range), "");
  range.own->initializer->a = 0;
  expectText(proofOf(range), "P9", "has other numbers than its initializer");

  Initialized deviation;
  deviation.own->initializer->b = 0.5;
  expectText(proofOf(deviation), "P9", "has other numbers than its initializer");

  Initialized ofTheStep;
  ofTheStep.draw->inputs[0]->buffer = ofTheStep.step;
  expectText(proofOf(ofTheStep), "P9", "random numbers from a number that is not the seed");
}

TEST(InitialProof, AConstantHasOneNumber) {
  Initialized constant("constant", {number("value", 3)});
  constant.own->initializer->kind = plan::InitializerKind::constant;
  constant.own->initializer->a = 3;
  EXPECT_EQ(proofOf(constant), "");
  constant.own->initializer->a = 2;
  expectText(proofOf(constant), "P9", "has other numbers than its initializer");
}

TEST(InitialProof, RandomNumbersAreAtTheElementsOfTheShard) {
  Initialized otherAxis;
  otherAxis.draw->outputs[0]->valid[0]->axes = {0};
  expectText(proofOf(otherAxis), "P9", "has other elements than its initializer");

  // Of a tensor of nine rows.
  Initialized otherRows;
  otherRows.draw->outputs[0]->valid[0]->total = 9;
  expectText(proofOf(otherRows), "P9", "has other numbers than its initializer");

  Initialized ofAll;
  ofAll.draw->outputs[0]->valid.clear();
  expectText(proofOf(ofAll), "P9", "has other numbers than its initializer");

  // More rows on a rank than in the tensor.
  Initialized none;
  none.draw->outputs[0]->valid[0]->total = 3;
  expectText(proofOf(none), "P9", "random numbers of no shard");

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
  expectText(proofOf(segments), "?", "the shards of parameter 'w'");
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
  expectText(proofOf(part), "P9", "has other elements than its initializer");
}

/// Ranks along `replicate` have four rows each, as experts, and those along `shard` two of these.
TEST(InitialProof, RandomNumbersAreThoseOfTheRanksExperts) {
  for (const std::uint32_t axis : {0, 1}) {
    Initialized experts;
    experts.own->split = std::make_unique<plan::TensorSplitT>();
    experts.own->split->axes = {0};
    experts.own->split->extent = 4;
    experts.own->chunk = 2;
    experts.plan.buffers[experts.shard]->shape = {2, 6};
    const std::uint32_t drawn = experts.buffer("drawn", {4, 6});
    *experts.draw->outputs[0] = experts.padded(experts.view(drawn), 0, {axis}, 4, 8);
    experts.compute("slice", {experts.view(drawn)}, {experts.padded(experts.view(experts.shard), 0, {1}, 2, 4)}, {}, {},
                    {integer("dim", 0)});
    if (axis == 0)
      EXPECT_EQ(proofOf(experts), "");
    else
      expectText(proofOf(experts), "P9", "a second chunk along 'shard' of");
  }
}

TEST(InitialProof, AReleasedShardHoldsNothing) {
  Initialized released;
  released.release(0, {released.shard});
  expectText(proofOf(released), "P9", "is not related to its initializer: is not known");
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
      expectText(proofOf(copied), "P9", "has other elements than its initializer");
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
  expectText(make({8, 6}, 8, {48, 54}), "P9", "parameter 'w', row 8 of its initializer does not exist");
  expectText(make({8, 6}, 2, {12, 17}), "P9", "has other numbers than its initializer");
  expectText(make({8, 6}, -1, {12, 18}), "P9", "has other numbers than its initializer");
  expectText(make({48}, 2, {2, 3}), "P9", "parameter 'w', row 2 of its initializer does not exist");
}

TEST(InitialProof, EachBufferIsInitialized) {
  Initialized missing;
  missing.draw->outputs[0]->buffer = missing.buffer("other", {4, 6});
  expectText(proofOf(missing), "P9",
             "'init' leaves in parameter 'w' a tensor that is not related to its initializer: is not known");

  Initialized undeclared;
  undeclared.own->initializer.reset();
  expectText(proofOf(undeclared), "P9", "'init' leaves in parameter 'w' a tensor that has no initializer");
}

TEST(InitialProof, LaunchesThatAreNotIssuedInitializeNothing) {
  // The section does not repeat.
  Initialized never;
  never.plan.entries[0]->sections[0]->instructions[0]->when = plan::When::not_first;
  expectText(proofOf(never), "P9", "is not related to its initializer: is not known");

  Initialized none;
  none.plan.entries.clear();
  expectText(proofOf(none), "P9", "missing entry point 'init', which computes the initial values");

  // A parameter without an initializer gets its values from a file.
  none.own->initializer.reset();
  EXPECT_EQ(proofOf(none), "");
  Initialized ofAFile;
  ofAFile.own->initializer.reset();
  ofAFile.plan.entries[0]->sections[0]->instructions.clear();
  EXPECT_EQ(proofOf(ofAFile), "");
}

/// The last write counts, and each element.
TEST(InitialProof, AConstantIsInEachElement) {
  const auto make = [] {
    Initialized made("constant", {number("value", 3)});
    made.own->initializer->kind = plan::InitializerKind::constant;
    made.own->initializer->a = 3;
    made.own->initializer->b = 0;
    return made;
  };
  for (const bool isLast : {false, true}) {
    Initialized twice = make();
    auto &instructions = twice.plan.entries[0]->sections[0]->instructions;
    PlanBuilder::attribute(twice.launch(0, "constant", {}, {twice.view(twice.shard)}), "value", 4);
    if (!isLast)
      std::swap(instructions[0], instructions[1]);
    EXPECT_EQ(proofOf(twice).substr(0, 2), isLast ? "P9" : "");
  }
  // Copied from a buffer of which a rank wrote some rows, or one that was padded with another number.
  for (const bool isPadded : {false, true}) {
    Initialized copied = make();
    const std::uint32_t drawn = copied.buffer("drawn", {4, 6});
    copied.draw->outputs[0]->buffer = drawn;
    copied.draw->outputs[0]->valid[0]->total = isPadded ? 8 : 5;
    if (isPadded)
      copied.compute("pad", {copied.view(drawn, {3, 6})}, {copied.view(copied.shard)}, {}, {},
                     {list("high", {1, 0}), list("low", {0, 0}), list("step", {1, 1}), number("value", 5)});
    else
      copied.compute("copy", {copied.view(drawn)}, {copied.view(copied.shard)});
    EXPECT_EQ(proofOf(copied).substr(0, 2), "P9") << proofOf(copied);
  }
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
