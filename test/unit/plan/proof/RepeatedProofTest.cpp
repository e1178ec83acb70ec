//===- RepeatedProofTest.cpp - repetitions that are followed together (P9) -----------------===//
#include "test/unit/plan/proof/ProofPlan.h"

namespace sluice::test {
namespace {

/// `own` has the micro-batch of a repetition, and `old` the one before it. Repetitions are followed one by one only up
/// to a limit: the parameter does not change, and the other buffers change in the same way.
TEST(StepProof, AnEarlierMicroBatchIsNotTheLast) {
  const auto make = [](bool isOld, std::uint32_t repeat) {
    ProofPlan p({{"shard", 2}});
    p.unit("u");
    const std::uint32_t x = p.buffer("x", {repeat, 2}, f32, host), own = p.buffer("own", {2}),
                        old = p.buffer("old", {2});
    p.parameter("w", {4}, {0}, p.buffer("w", {2}));
    p.op("model.read", {}, {4}, {}, "w");
    p.end({p.input("x", {2})});
    plan::EntryT &entry = p.step(repeat);
    plan::ViewT slice = p.view(x, {2});
    slice.repetition_stride = 8;
    p.port(entry.inputs, "x", slice).per_repetition = true;
    if (isOld)
      p.copy(0, p.view(own), p.view(old));
    p.copy(0, slice, p.view(own));
    p.port(entry.outputs, "y", p.view(isOld ? old : own));
    return proofOf(p);
  };
  EXPECT_EQ(make(false, 8), "");
  EXPECT_EQ(make(false, 5000), "");
  expectText(make(true, 8), "P9", "holds micro-batch 6 of");
}

/// A sum of each micro-batch and the one before it, copied in the last repetition before the sum changes.
TEST(StepProof, ASumOfTwoMicroBatchesIsNotThatOfTheLast) {
  ProofPlan p({{"shard", 2}});
  const std::uint32_t x = p.buffer("x", {8, 2}, f32, host), own = p.buffer("own", {2}), sum = p.buffer("sum", {2}),
                      copied = p.buffer("copied", {2});
  p.end({p.input("x", {2})});
  plan::EntryT &entry = p.step(8);
  plan::ViewT slice = p.view(x, {2});
  slice.repetition_stride = 8;
  p.port(entry.inputs, "x", slice).per_repetition = true;
  p.copy(0, p.view(sum), p.view(copied)).when = plan::When::last;
  p.compute("accumulate", {p.view(own)}, {p.view(sum)}, {}, {}, {integer("first", 1)});
  p.compute("accumulate", {slice}, {p.view(sum)}, {}, {}, {integer("first", 0)});
  p.copy(0, slice, p.view(own));
  p.port(entry.outputs, "y", p.view(copied));
  expectText(proofOf(p), "P", "the sum over micro-batches 5 to 6 of");
}

/// An instruction that lists all repetitions: each may differ from the one before it.
TEST(StepProof, RepetitionsWithOtherInstructionsAreFew) {
  const auto make = [](std::uint32_t repeat) {
    ProofPlan p({{"shard", 2}});
    const std::uint32_t x = p.buffer("x", {repeat, 2}, f32, host), y = p.buffer("y", {2});
    p.end({p.input("x", {2})});
    plan::EntryT &entry = p.step(repeat);
    plan::ViewT slice = p.view(x, {2});
    slice.repetition_stride = 8;
    p.port(entry.inputs, "x", slice).per_repetition = true;
    plan::InstructionT &copy = p.copy(0, slice, p.view(y));
    copy.when = plan::When::listed;
    for (std::uint32_t r = 0; r < repeat; ++r)
      copy.repetitions.push_back(r);
    p.port(entry.outputs, "y", p.view(y));
    return proofOf(p);
  };
  EXPECT_EQ(make(1), "");
  EXPECT_EQ(make(4096), "");
  expectText(make(4097), "P9", "more than 4096 repetitions of '' with different instructions");
}

} // namespace
} // namespace sluice::test
