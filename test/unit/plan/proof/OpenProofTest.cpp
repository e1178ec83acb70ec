//===- OpenProofTest.cpp - what an op without a rule leaves open (P9) -----------------------===//
//
// An op without a rule excuses only values that depend on it.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/proof/ProofPlan.h"

namespace sluice::test {
namespace {

/// Two outputs: relu(x), and what an op without a rule computes of `operand`, relu(x) or x. The plan
/// computes the first one with `kernel`, and writes the second one by a kernel without relation to the program.
std::string withUnknownOp(const char *kernel, bool isRead, bool isOutput) {
  ProofPlan p({{"shard", 2}});
  const std::uint32_t x = p.input("x", {4}), y = p.op("model.relu", {x}, {4}),
                      open = p.op("model.accumulate", {isRead ? y : x}, {4}), after = p.op("model.relu", {open}, {4});
  p.end(isOutput ? Ids{y, after} : Ids{y});
  plan::EntryT &entry = p.step();
  const std::uint32_t in = p.buffer("x", {4}, f32, host), out = p.buffer("y", {4}), other = p.buffer("other", {4});
  p.port(entry.inputs, "x", p.view(in));
  p.compute(kernel, {p.view(in)}, {p.view(out)}, {x}, {y});
  p.port(entry.outputs, "y", p.view(out));
  if (isOutput) {
    p.compute("silu", {p.view(in)}, {p.view(other)});
    p.port(entry.outputs, "other", p.view(other));
  }
  return proofOf(p);
}

TEST(OpenProof, OnlyValuesThatDependOnTheOp) {
  for (const bool isRead : {false, true}) {
    EXPECT_EQ(withUnknownOp("relu", isRead, /*isOutput=*/false), "");
    expectText(withUnknownOp("relu", isRead, /*isOutput=*/true), "?: ", "output 'other' of 'train_step'");
    for (const bool isOutput : {false, true})
      expectText(withUnknownOp("silu", isRead, isOutput), "P9", "expected kernel 'relu'");
  }
}

TEST(OpenProof, AnUnknownWriteOfAnotherValue) {
  // Nothing writes the output, and an op without a rule is not read.
  ProofPlan p({{"shard", 2}});
  const std::uint32_t x = p.input("x", {4}), y = p.op("model.relu", {x}, {4});
  p.op("model.accumulate", {x}, {4});
  p.end({y});
  plan::EntryT &entry = p.step();
  p.port(entry.inputs, "x", p.view(p.buffer("x", {4}, f32, host)));
  p.port(entry.outputs, "y", p.view(p.buffer("y", {4})));
  expectText(proofOf(p), "P9", "output 'y' of 'train_step' is not related to the program");
}

TEST(OpenProof, ALaterSectionThatRepeats) {
  for (const std::uint32_t repeat : {1u, 2u}) {
    ProofPlan p({{"shard", 2}});
    const std::uint32_t x = p.input("x", {4});
    p.end({x});
    plan::EntryT &entry = p.step();
    const std::uint32_t in = p.buffer("x", {4}, f32, host), out = p.buffer("y", {4});
    p.port(entry.inputs, "x", p.view(in));
    p.section(repeat);
    p.copy(0, p.view(in), p.view(out));
    p.port(entry.outputs, "y", p.view(out));
    if (repeat == 1)
      EXPECT_EQ(proofOf(p), "");
    else
      expectText(proofOf(p), "P9", "repeats after the micro-batches");
  }
}

/// The norm of a window that has one element more than once.
TEST(OpenProof, ANormOfOverlappingRows) {
  for (const std::int64_t stride : {2, 1}) {
    ProofPlan p({{"shard", 2}});
    p.unit("u");
    const std::uint32_t w = p.buffer("w", {2, 2}), out = p.buffer("y", {});
    p.parameter("w", {2, 2}, {}, w);
    const std::uint32_t norm = p.op("model.power_sum", {p.op("model.read", {}, {2, 2}, {}, "w")}, {}, {number("p", 2)});
    p.end({norm});
    plan::EntryT &entry = p.step();
    p.compute("power_sum", {p.view(w, {2, 2}, 0, {stride, 1})}, {p.view(out)}, {}, {norm}, {number("p", 2)});
    p.port(entry.outputs, "y", p.view(out));
    const std::string found = proofOf(p);
    if (stride == 1)
      expectText(found, "P9", "");
    else
      EXPECT_EQ(found, "");
  }
}

} // namespace
} // namespace sluice::test
