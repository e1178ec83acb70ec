//===- TermsProofTest.cpp - terms of products, and sums over the ranks of a micro-batch (P9) ---===//
//
// Small plans by hand, and the verdict of the proof after a change of one instruction.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"
#include "test/unit/plan/proof/ProofPlan.h"

#include <limits>

namespace sluice::test {
namespace {

using enum plan::CollectiveKind;

/// A parameter of which ranks along an axis have parts of a dim, in `buffer`.
void addPart(ProofPlan &p, const char *name, Shape shape, std::uint32_t dim, std::uint32_t axis, std::uint32_t buffer) {
  plan::ParameterT &own = p.parameter(name, std::move(shape), {}, buffer);
  own.chunk = 0;
  own.split = std::make_unique<plan::TensorSplitT>();
  own.split->dim = dim;
  own.split->axes = {axis};
  own.split->extent = p.plan.buffers[buffer]->shape[dim];
}

/// relu(a b) of parameters a [3, 8] and b [8, 6], whose columns and rows the ranks along `tensor` divide.
class Product : public ProofPlan {
public:
  std::uint32_t a = buffer("a", {3, 4}), b = buffer("b", {4, 6}), c = buffer("c", {3, 6}), d = buffer("d", {3, 6});
  plan::LaunchT *multiply = nullptr, *relu = nullptr;
  plan::InstructionT *reduce = nullptr;

  /// `before` adds instructions before the reduction.
  explicit Product(void (*before)(Product &) = nullptr) : ProofPlan({{"tensor", 2}, {"shard", 2}}) {
    unit("u");
    addPart(*this, "a", {3, 8}, 1, 0, a);
    addPart(*this, "b", {8, 6}, 0, 0, b);
    const std::uint32_t product =
        op("model.matmul", {op("model.read", {}, {3, 8}, {}, "a"), op("model.read", {}, {8, 6}, {}, "b")}, {3, 6});
    end({op("model.relu", {product}, {3, 6})});
    plan::EntryT &entry = step();
    multiply = launch(0, "matmul", {view(a), view(b)}, {view(c)}).operation.AsLaunch();
    if (before)
      before(*this);
    reduce = &collective(0, all_reduce, {0}, plan::ReduceOp::sum, {{view(c), view(c)}});
    relu = launch(0, "relu", {view(c)}, {view(d)}).operation.AsLaunch();
    PlanBuilder::port(entry.outputs, "y", view(d));
  }
  plan::CollectiveT &reduction() { return *reduce->operation.AsCollective(); }
};

TEST(TermsProof, TermsOfAProductAreAdded) {
  Product good;
  EXPECT_EQ(proofOf(good), "");

  Product notReduced;
  notReduced.reduction().axes = {1};
  notReduced.reduction().op = plan::ReduceOp::mean;
  EXPECT_NE(proofOf(notReduced), "");

  Product largest;
  largest.reduction().op = plan::ReduceOp::max;
  expectText(proofOf(largest), "P9", "takes the largest of terms along 'tensor'");

  Product mean;
  mean.reduction().op = plan::ReduceOp::mean;
  EXPECT_NE(proofOf(mean), "");

  // The relu of a term is no term.
  Product early([](Product &p) { p.launch(0, "relu", {p.view(p.c)}, {p.view(p.c)}); });
  expectText(proofOf(early), "P9", "'model.relu' of terms that are not reduced");

  // The output is a term.
  Product output;
  output.plan.entries[0]->outputs[0]->view->buffer = output.c;
  output.reduction().segments[0]->destination->buffer = output.d;
  EXPECT_NE(proofOf(output), "");
}

/// The output of a product, or of its sum over ranks with other rows, without the reduction along `tensor`.
TEST(TermsProof, OutputsAreNoTerms) {
  for (const bool isSum : {false, true}) {
    ProofPlan p({{"tensor", 2}, {"shard", 2}});
    p.unit("u");
    const std::uint32_t x = p.buffer("x", {3, 8}, f32, host), columns = p.buffer("columns", {3, 4}),
                        w = p.buffer("w", {4, 6}), y = p.buffer("y", {3, 6}), sum = p.buffer("sum", {3, 6});
    addPart(p, "w", {8, 6}, 0, 0, w);
    const std::uint32_t product =
        p.op("model.matmul", {p.input("x", {3, 8}), p.op("model.read", {}, {8, 6}, {}, "w")}, {3, 6});
    p.end({isSum ? p.op("model.all_reduce", {product}, {3, 6}, {text("reduction", "sum")}) : product});
    plan::EntryT &entry = p.step();
    p.port(entry.inputs, "x", p.view(x));
    p.compute("slice", {p.view(x)}, {PlanBuilder::padded(p.view(columns), 1, {0}, 4, 8)}, {}, {}, {integer("dim", 1)});
    p.launch(0, "matmul", {p.view(columns), p.view(w)}, {p.view(y)});
    if (isSum)
      p.collective(0, all_reduce, {1}, plan::ReduceOp::sum, {{p.view(y), p.view(sum)}});
    p.port(entry.outputs, "y", p.view(isSum ? sum : y));
    if (isSum)
      expectText(proofOf(p), "P7", "is a term, not reduced along 'tensor', of value 3");
    else
      expectText(proofOf(p), "P9", "holds terms along 'tensor' of value 3");
  }
}

/// A product adds its terms to a value that each rank has.
TEST(TermsProof, TermsAreNotAddedToAValue) {
  ProofPlan p({{"tensor", 2}, {"shard", 2}});
  p.unit("u");
  const std::uint32_t a = p.buffer("a", {3, 4}), b = p.buffer("b", {4, 6}), x = p.buffer("x", {3, 6}, f32, host),
                      sum = p.buffer("sum", {3, 6});
  addPart(p, "a", {3, 8}, 1, 0, a);
  addPart(p, "b", {8, 6}, 0, 0, b);
  const std::uint32_t first = p.op("model.exp", {p.input("x", {3, 6})}, {3, 6}),
                      left = p.op("model.read", {}, {3, 8}, {}, "a"), right = p.op("model.read", {}, {8, 6}, {}, "b"),
                      product = p.op("model.matmul", {left, right}, {3, 6}),
                      total = p.op("model.add", {first, product}, {3, 6});
  p.end({total});
  plan::EntryT &entry = p.step();
  p.port(entry.inputs, "x", p.view(x));
  p.launch(0, "exp", {p.view(x)}, {p.view(sum)});
  p.compute("matmul", {p.view(a), p.view(b), p.view(sum)}, {p.view(sum)}, {left, right, first}, {total},
            {integer("residual", 1)});
  p.port(entry.outputs, "total", p.view(sum));
  EXPECT_NE(proofOf(p), "");
}

/// The sum of two results, of which ranks have terms; one reduction completes both.
class SumOfTerms : public ProofPlan {
public:
  /// Of w [4, 6] each rank along an axis has some of the columns, which `kernels` reduce.
  SumOfTerms(const char *first, const char *second, std::uint32_t firstAxis, std::uint32_t secondAxis,
             std::vector<std::uint32_t> axes, plan::ReduceOp reduction)
      : ProofPlan({{"tensor", 2}, {"expert", 2}}) {
    unit("u");
    const std::uint32_t a = buffer("a", {4, 3}), b = buffer("b", {4, 3}), ofA = buffer("ofA", {4}),
                        ofB = buffer("ofB", {4}), sum = buffer("sum", {4});
    addPart(*this, "a", {4, 6}, 1, firstAxis, a);
    addPart(*this, "b", {4, 6}, 1, secondAxis, b);
    const auto reduced = [&](const char *kernel, const char *name) {
      return op(std::string("model.") + kernel, {op("model.read", {}, {4, 6}, {}, name)}, {4}, {list("dims", {1})});
    };
    const std::uint32_t ids[]{reduced(first, "a"), reduced(second, "b")};
    end({op("model.add", {ids[0], ids[1]}, {4})});
    plan::EntryT &entry = step();
    compute(first, {view(a)}, {view(ofA)}, {}, {}, {list("dims", {1})});
    compute(second, {view(b)}, {view(ofB)}, {}, {}, {list("dims", {1})});
    launch(0, "add", {view(ofA), view(ofB)}, {view(sum)});
    collective(0, all_reduce, std::move(axes), reduction, {{view(sum), view(sum)}});
    PlanBuilder::port(entry.outputs, "y", view(sum));
  }
};

TEST(TermsProof, TermsAreAddedIfTheyAreAlike) {
  constexpr auto sum = plan::ReduceOp::sum, max = plan::ReduceOp::max;
  EXPECT_EQ(proofOf(SumOfTerms("reduce_sum", "reduce_sum", 0, 0, {0}, sum)), "");
  // A term of one is equal on the ranks that have terms of the other.
  EXPECT_NE(proofOf(SumOfTerms("reduce_sum", "reduce_sum", 0, 1, {0, 1}, sum)), "");
  // The largest of sums, and sums of the largest.
  for (const plan::ReduceOp reduction : {sum, max})
    for (const auto &[first, second] : {std::pair("reduce_sum", "reduce_max"), std::pair("reduce_max", "reduce_sum"),
                                        std::pair("reduce_max", "reduce_max")})
      EXPECT_NE(proofOf(SumOfTerms(first, second, 0, 0, {0}, reduction)), "") << first << " " << second;
}

/// relu(w) does not change between micro-batches, and is no sum over them.
TEST(TermsProof, ASumOverMicrobatchesIsNotTheValue) {
  ProofPlan p({{"shard", 2}});
  p.unit("u");
  const std::uint32_t w = p.buffer("w", {4}), y = p.buffer("y", {4}), sum = p.buffer("sum", {4});
  p.parameter("w", {4}, {}, w);
  p.end({p.op("model.relu", {p.op("model.read", {}, {4}, {}, "w")}, {4})});
  plan::EntryT &entry = p.step(3);
  p.launch(0, "relu", {p.view(w)}, {p.view(y)});
  for (const bool isFirst : {true, false}) {
    p.compute("accumulate", {p.view(y)}, {p.view(sum)}, {}, {}, {integer("first", isFirst)});
    p.plan.entries[0]->sections[0]->instructions.back()->when = isFirst ? plan::When::first : plan::When::not_first;
  }
  p.port(entry.outputs, "y", p.view(sum));
  expectText(proofOf(p), "P7", "holds the sum over micro-batches 0 to 2 of value 2");
}

TEST(TermsProof, OperandsAreDividedTogether) {
  Product rows;
  rows.plan.parameters[0]->split->dim = 0;
  rows.plan.parameters[0]->shape = {6, 4};
  EXPECT_NE(proofOf(rows), "");

  // Each rank has all columns of a, and a part of the rows of b.
  Product columns;
  columns.plan.parameters[0]->split.reset();
  columns.plan.parameters[0]->shape = {3, 4};
  EXPECT_NE(proofOf(columns), "");

  Product exchanged;
  exchanged.plan.parameters[1]->split->axes = {1};
  EXPECT_NE(proofOf(exchanged), "");
}

/// relu of the sum of x over the ranks, in each of three micro-batches.
class SumOfRanks : public ProofPlan {
public:
  std::uint32_t x = buffer("x", {3, 4}, f32, host), sum = buffer("sum", {4}), total = buffer("total", {4}),
                y = buffer("y", {4});
  plan::InstructionT *first = nullptr, *next = nullptr, *reduce = nullptr;

  /// The sum is over micro-batches too.
  explicit SumOfRanks(bool isTotal) : ProofPlan({{"shard", 2}}) {
    end({op("model.relu", {op("model.all_reduce", {input("x", {4})}, {4}, {text("reduction", "sum")})}, {4})});
    plan::EntryT &entry = step(3);
    plan::ViewT slice = view(x, {4});
    slice.repetition_stride = 16;
    PlanBuilder::port(entry.inputs, "x", slice).per_repetition = true;
    if (isTotal)
      for (const bool isFirst : {true, false}) {
        plan::InstructionT &added = launch(0, "accumulate", {slice}, {view(total)});
        added.operation.AsLaunch()->attributes.push_back(std::make_unique<plan::AttributeT>(integer("first", isFirst)));
        added.when = isFirst ? plan::When::first : plan::When::not_first;
      }
    else
      copy(0, slice, view(total));
    reduce = &collective(0, all_reduce, {0}, plan::ReduceOp::sum, {{view(total), view(sum)}});
    launch(0, "relu", {view(sum)}, {view(y)});
    PlanBuilder::port(entry.outputs, "y", view(y));
  }
};

TEST(TermsProof, ASumOverRanksIsOfOneMicrobatch) {
  SumOfRanks good(false);
  EXPECT_EQ(proofOf(good), "");

  SumOfRanks total(true);
  expectText(proofOf(total), "P7", "has more than micro-batch 1");

  SumOfRanks missing(false);
  missing.reduce->operation.AsCollective()->axes = {};
  EXPECT_NE(proofOf(missing), "");

  SumOfRanks late(false);
  late.reduce->when = plan::When::first;
  expectText(proofOf(late), "P7", "misses micro-batch 1");
}

TEST(TermsProof, CoefficientsMayDifferByRounding) {
  using check::proof::areClose;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(areClose(1.0 / 3, 1 - 2.0 / 3));
  EXPECT_TRUE(areClose(1, 1 + 1e-13));
  EXPECT_TRUE(areClose(0, 0));
  EXPECT_TRUE(areClose(infinity, infinity));
  EXPECT_FALSE(areClose(1, 1 + 1e-9));
  EXPECT_FALSE(areClose(0, 1e-300));
  // The last one that is close.
  EXPECT_TRUE(areClose(1e12, 1e12 - 1));
}

/// The mean of x + y over two micro-batches and two ranks, as the sum of two sums.
class SumOfMeans : public ProofPlan {
public:
  std::uint32_t x = buffer("x", {2, 2, 2}, f32, host), y = buffer("y", {2, 2, 2}, f32, host),
                ofX = buffer("ofX", {2, 2}), ofY = buffer("ofY", {2, 2}), sum = buffer("sum", {2, 2}),
                other = buffer("other", {2, 2});
  std::vector<plan::InstructionT *> accumulations;
  plan::LaunchT *add = nullptr;
  plan::CollectiveT *reduce = nullptr;

  /// `before` adds instructions before the addition.
  explicit SumOfMeans(void (*before)(SumOfMeans &) = nullptr) : ProofPlan({{"shard", 2}}) {
    const std::uint32_t inputX = input("x", {2, 2}), inputY = input("y", {2, 2});
    end({op("model.add", {op("model.step_mean", {inputX}, {2, 2}), op("model.step_mean", {inputY}, {2, 2})}, {2, 2})});
    plan::EntryT &entry = step(2);
    for (const auto &[name, from, into] : {std::tuple("x", x, ofX), std::tuple("y", y, ofY)}) {
      plan::ViewT slice = view(from, {2, 2});
      slice.repetition_stride = 16;
      PlanBuilder::port(entry.inputs, name, slice).per_repetition = true;
      for (const bool isFirst : {true, false}) {
        plan::InstructionT &added = launch(0, "accumulate", {slice}, {view(into)});
        added.operation.AsLaunch()->attributes.push_back(std::make_unique<plan::AttributeT>(integer("first", isFirst)));
        added.when = isFirst ? plan::When::first : plan::When::not_first;
        accumulations.push_back(&added);
      }
    }
    section();
    if (before)
      before(*this);
    add = launch(0, "add", {view(ofX), view(ofY)}, {view(sum)}).operation.AsLaunch();
    PlanBuilder::attribute(launch(0, "scale", {view(sum)}, {view(sum)}), "factor", 0.5);
    reduce = collective(0, all_reduce, {0}, plan::ReduceOp::mean, {{view(sum), view(sum)}}).operation.AsCollective();
    PlanBuilder::port(entry.outputs, "loss", view(sum));
  }
};

TEST(TermsProof, SumsOfEqualMicrobatchesAreAdded) {
  SumOfMeans good;
  EXPECT_EQ(proofOf(good), "");

  SumOfMeans exchanged;
  std::swap(exchanged.add->inputs[0], exchanged.add->inputs[1]);
  EXPECT_EQ(proofOf(exchanged), "");

  SumOfMeans twice;
  twice.add->inputs[1]->buffer = twice.ofX;
  EXPECT_NE(proofOf(twice), "");

  SumOfMeans fewer;
  fewer.accumulations[3]->when = plan::When::listed;
  EXPECT_NE(proofOf(fewer), "");

  SumOfMeans turned;
  turned.add->inputs[1]->strides = {1, 2};
  EXPECT_NE(proofOf(turned), "");

  SumOfMeans doubled([](SumOfMeans &p) {
    PlanBuilder::attribute(p.launch(0, "scale", {p.view(p.ofY)}, {p.view(p.ofY)}), "factor", 2);
  });
  EXPECT_NE(proofOf(doubled), "");

  for (const std::size_t operand : {0, 1}) {
    SumOfMeans named;
    named.add->output_values = {5};
    EXPECT_EQ(proofOf(named), "");

    SumOfMeans unknown;
    unknown.add->inputs[operand]->buffer = unknown.other;
    expectText(proofOf(unknown), "P9", "(launch add on stream 'compute') of 'train_step' is not related");
  }
  SumOfMeans ofNoOp([](SumOfMeans &p) { p.launch(0, "exp", {p.view(p.ofX)}, {p.view(p.ofX)}); });
  expectText(proofOf(ofNoOp), "P9", "(launch exp on stream 'compute') of 'train_step' is not related");
}

/// An addition with a wrong operand is refused where it is. One whose result has fewer elements holds nothing.
TEST(TermsProof, AnAdditionIsThatOfTheProgram) {
  const auto make = [](bool isTwice, bool isShort) {
    ProofPlan p({{"tensor", 2}});
    p.unit("u");
    const std::uint32_t a = p.buffer("a", {4}), b = p.buffer("b", {4}), result = p.buffer("sum", {4}),
                        all = p.buffer("all", {8});
    p.parameter("a", {8}, {0}, a);
    p.parameter("b", {8}, {0}, b);
    const Ids operands{p.op("model.read", {}, {8}, {}, "a"), p.op("model.read", {}, {8}, {}, "b")};
    const std::uint32_t sum = p.op("model.add", operands, {8});
    p.end({sum});
    plan::EntryT &entry = p.step();
    p.compute("add", {p.view(a), p.view(isTwice || isShort ? a : b)},
              {isShort ? p.padded(p.view(result, {1}), 0, {0}, 1, 1) : p.view(result)}, operands,
              isShort ? Ids() : Ids{sum});
    p.collective(0, plan::CollectiveKind::all_gather, {0}, plan::ReduceOp::none, {{p.view(result), p.view(all)}});
    p.port(entry.outputs, "y", p.view(all));
    return proofOf(p);
  };
  EXPECT_EQ(make(false, false), "");
  expectText(make(true, false), "P9", "computes value 3 (model.add): operand 1 holds value 1");
  expectText(make(false, true), "P9: ", "output 'y' of 'train_step' is not related to the program");
}

/// An op of a file may have an operand or a result that is no value.
TEST(TermsProof, AnOpWithoutAValueHasNoForm) {
  const auto make = [](bool hasOperand, bool hasResult) {
    ProofPlan p({{"tensor", 2}});
    const std::uint32_t a = p.input("a", {2, 3}), b = p.input("b", {3, 4}), bias = p.input("bias", {4}),
                        result = p.value({2, 4});
    p.define("model.matmul", {hasOperand ? a : 0, b, bias}, {hasResult ? result : 0});
    p.end({result});
    p.step();
    return proofOf(p);
  };
  for (const auto &[hasOperand, hasResult] : {std::pair(true, true), std::pair(false, true), std::pair(true, false)})
    expectText(make(hasOperand, hasResult), "P9", "'train_step' has 0 outputs, expected 1");

  // The form has the shape of the operand.
  ProofPlan p({{"tensor", 2}});
  const Ids results{p.value({}), p.value({4})};
  p.define("model.cross_entropy", {0, p.input("targets", {4}, plan::DType::i64)}, results);
  p.end({results[0]});
  p.step();
  expectText(proofOf(p), "P9", "'train_step' has 0 outputs, expected 1");
}

/// The gradient of x has another shape than x.
TEST(TermsProof, AFormHasTheShapesOfTheResults) {
  ProofPlan p({{"tensor", 2}});
  const Ids operands{p.input("dy", {}), p.input("x", {4, 6}), p.input("weight", {5, 6}),
                     p.input("targets", {4}, plan::DType::i64), p.input("lse", {4})},
      results{p.value({6, 4}), p.value({5, 6})};
  p.define("model.linear_cross_entropy_grad", operands, results);
  p.end();
  const check::proof::Numbering numbering(p.plan);
  EXPECT_EQ(check::proof::shapeOf(numbering.value(results[0]).at), (Shape{6, 4}));
  EXPECT_EQ(check::proof::shapeOf(numbering.value(results[1]).at), (Shape{5, 6}));
}

TEST(TermsProof, ALaunchMayNameTheFirstOp) {
  ProofPlan p({{"tensor", 2}});
  const std::uint32_t in = p.buffer("x", {2}, f32, host), out = p.buffer("y", {2}), x = p.input("x", {2}),
                      y = p.op("model.relu", {x}, {2});
  p.end({y});
  plan::EntryT &entry = p.step();
  p.port(entry.inputs, "x", p.view(in));
  p.compute("relu", {p.view(in)}, {p.view(out)}, {x}, {y});
  p.port(entry.outputs, "y", p.view(out));
  EXPECT_EQ(proofOf(p), "");
}

} // namespace
} // namespace sluice::test
