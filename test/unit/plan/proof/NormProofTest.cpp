//===- NormProofTest.cpp - sums of powers of shards (P9) ------------------------------===//
//
// Small plans by hand, and the verdict of the proof after a change of one instruction.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/proof/ProofPlan.h"

#include <cmath>
#include <limits>

namespace sluice::test {
namespace {

/// The norm of two parameters, one of them sharded.
class Norm : public ProofPlan {
public:
  std::uint32_t a = buffer("a", {4, 6}), b = buffer("b", {6}), ofA = buffer("ofA", {}), ofB = buffer("ofB", {}),
                total = buffer("sum", {}), norm = buffer("norm", {});
  plan::LaunchT *powersOfA = nullptr, *powersOfB = nullptr, *add = nullptr;
  plan::CollectiveT *reduce = nullptr;

  explicit Norm(void (*before)(Norm &) = nullptr, double p = 2) : ProofPlan({{"tensor", 2}}) {
    unit("u");
    parameter("a", {8, 6}, {0}, a);
    parameter("b", {6}, {}, b);
    const std::uint32_t readA = op("model.read", {}, {8, 6}, {}, "a"), readB = op("model.read", {}, {6}, {}, "b"),
                        powers = op("model.power_sum", {readA, readB}, {}, {number("p", p)});
    end({op("model.norm_root", {powers}, {}, {number("p", p)})});
    plan::EntryT &entry = step();
    powersOfA = &compute("power_sum", {view(a)}, {view(ofA)}, {}, {}, {number("p", p)});
    powersOfB = &compute("power_sum", {view(b)}, {view(ofB)}, {}, {}, {number("p", p)});
    reduce = collective(0, plan::CollectiveKind::all_reduce, {0},
                        std::isfinite(p) ? plan::ReduceOp::sum : plan::ReduceOp::max, {{view(ofA), view(ofA)}})
                 .operation.AsCollective();
    if (before)
      before(*this);
    add = &compute(std::isfinite(p) ? "add" : "maximum", {view(ofA), view(ofB)}, {view(total)});
    compute("norm_root", {view(total)}, {view(norm)}, {}, {}, {number("p", p)});
    PlanBuilder::port(entry.outputs, "norm", view(norm));
  }
};

TEST(NormProof, SumsOfPowersAreAdded) {
  Norm good;
  EXPECT_EQ(proofOf(good), "");
  Norm largest(nullptr, std::numeric_limits<double>::infinity());
  EXPECT_EQ(proofOf(largest), "");

  Norm terms;
  terms.reduce->axes.clear();
  expectText(proofOf(terms), "P9", "expected sums of powers");

  Norm otherPower;
  otherPower.powersOfB->attributes[0]->number = 3;
  expectText(proofOf(otherPower), "P9", "expected sums of powers");

  Norm largestOfSums;
  largestOfSums.plan.kernels[largestOfSums.add->kernel] = "maximum";
  expectText(proofOf(largestOfSums), "P9", "expected sums of powers");

  for (std::uint32_t Norm::*operand : {&Norm::ofA, &Norm::ofB}) {
    for (double p : {2, 0}) {
      Norm notPowers(nullptr, p);
      *notPowers.add->inputs[operand == &Norm::ofA ? 0 : 1] = notPowers.view(notPowers.b, {});
      expectText(proofOf(notPowers), "P9: instruction", "expected sums of powers");
    }
  }

  // The launch names the sum of powers that it should compute.
  Norm named;
  for (const auto &input : named.add->inputs)
    *input = named.view(named.b, {});
  named.add->output_values = {3};
  expectText(proofOf(named), "P9: instruction", "expected sums of powers");

  Norm doubled([](Norm &p) {
    for (std::uint32_t powers : {p.ofA, p.ofB})
      PlanBuilder::attribute(p.launch(0, "scale", {p.view(powers)}, {p.view(powers)}), "factor", 2);
  });
  expectText(proofOf(doubled), "P9", "expected sums of powers");

  Norm sums([](Norm &p) {
    for (std::uint32_t powers : {p.ofA, p.ofB})
      p.compute("accumulate", {p.view(powers)}, {p.view(powers)}, {}, {}, {integer("first", 1)});
  });
  expectText(proofOf(sums), "P9", "expected sums of powers");

  Norm unknown([](Norm &p) { p.launch(0, "exp", {p.view(p.b)}, {p.view(p.ofB)}); });
  expectText(proofOf(unknown), "P9: ", "");

  Norm empty;
  empty.add->inputs[1]->buffer = empty.buffer("empty", {});
  expectText(proofOf(empty), "P9: ", "a term of a sum of powers is not known");

  Norm ofNothing;
  ofNothing.add->output_values = {1000};
  EXPECT_EQ(proofOf(ofNothing), "");
}

/// The norm of a micro-batch of one rank.
TEST(NormProof, OfAValueThatVaries) {
  for (const bool isEarlier : {false, true}) {
    ProofPlan p({{"shard", 2}});
    const std::uint32_t x = p.input("x", {2}), norm = p.op("model.power_sum", {x}, {}, {number("p", 2)});
    p.end({norm});
    plan::EntryT &entry = p.step(4);
    const std::uint32_t in = p.buffer("x", {4, 2}, f32, host), own = p.buffer("own", {2}), out = p.buffer("y", {});
    plan::ViewT slice = p.view(in, {2});
    slice.repetition_stride = 8;
    p.port(entry.inputs, "x", slice).per_repetition = true;
    plan::InstructionT &copy = p.copy(0, slice, p.view(own));
    if (isEarlier)
      copy.when = plan::When::first;
    p.compute("power_sum", {p.view(own)}, {p.view(out)}, {}, {norm}, {number("p", 2)});
    p.port(entry.outputs, "y", p.view(out));
    if (isEarlier)
      expectText(proofOf(p), "P9", "");
    else
      EXPECT_EQ(proofOf(p), "");
  }
}

TEST(NormProof, PowersAreThoseOfTheValueThatIsNamed) {
  Norm named;
  named.powersOfA->input_values = {1};
  EXPECT_EQ(proofOf(named), "");

  Norm other;
  other.powersOfA->input_values = {2};
  expectText(proofOf(other), "P9", "operand 0 holds value 1");

  // Values that do not exist, and one that nothing defines.
  for (const std::uint32_t more : {1, 1000}) {
    Norm none;
    none.powersOfA->input_values = {std::uint32_t(none.program().values.size()) + more};
    none.add->output_values = none.powersOfA->input_values;
    EXPECT_EQ(proofOf(none), "");
  }
  Norm undefined;
  undefined.powersOfA->input_values = {undefined.value({8, 6})};
  EXPECT_EQ(proofOf(undefined), "");
}
/// The last of four ranks has a chunk of padding, which a pad clears if the valid extent of its source leaves out all
/// of it.
TEST(NormProof, APadClearsAllOfThePadding) {
  const auto make = [](Shape shape, std::uint32_t dim, std::int64_t total) {
    ProofPlan p({{"tensor", 4}});
    const std::uint32_t w = p.buffer("w", {1, 2, 2}), cleared = p.buffer("cleared", {1, 2, 2}),
                        powers = p.buffer("powers", {});
    p.unit("u");
    p.parameter("w", {3, 2, 2}, {0}, w);
    p.end({p.op("model.power_sum", {p.op("model.read", {}, {3, 2, 2}, {}, "w")}, {}, {number("p", 2)})});
    plan::EntryT &entry = p.step();
    const std::int64_t chunk = shape[dim];
    p.compute("pad", {p.padded(p.view(w, shape), dim, {0}, chunk, total)}, {p.view(cleared, shape)});
    p.compute("power_sum", {p.view(cleared)}, {p.view(powers)}, {}, {}, {number("p", 2)});
    p.collective(0, plan::CollectiveKind::all_reduce, {0}, plan::ReduceOp::sum, {{p.view(powers), p.view(powers)}});
    p.port(entry.outputs, "powers", p.view(powers));
    return proofOf(p);
  };
  EXPECT_EQ(make({1, 2, 2}, 0, 3), "");
  EXPECT_EQ(make({2, 2}, 1, 6), "");
  // Of the last rank one column.
  EXPECT_NE(make({2, 2}, 1, 7), "");
}

} // namespace
} // namespace sluice::test
