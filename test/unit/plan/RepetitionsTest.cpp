//===- RepetitionsTest.cpp - views that move with the repetition -------------------===//
//
// The compute stream writes one slot of a buffer in each of eight repetitions. A different stream reads one slot.
//
//===----------------------------------------------------------------------===//
#include "SmallPlan.h"

namespace sluice::test {
namespace {

constexpr std::uint32_t repeat = 8;
constexpr std::uint64_t slotBytes = 16;

/// The fill of all slots, then the repetitions that write them, then a section.
class WrittenSlots : public SmallPlan {
public:
  const std::uint32_t source = buffer("source", {4}), slots = buffer("slots", {repeat, 4}), out = buffer("out", {4});

  explicit WrittenSlots(plan::When when = plan::When::all) {
    section();
    fill(compute, view(source), 1);
    fill(compute, view(slots), 0);
    record(compute, 0);
    wait(other, 0);
    section(repeat);
    copy(compute, view(source), moving()).when = when;
  }

  plan::ViewT moving(std::uint64_t offset = 0) const {
    plan::ViewT slot = view(slots, {4}, offset);
    slot.repetition_stride = slotBytes;
    return slot;
  }
  plan::ViewT slot(std::uint32_t number) const { return view(slots, {4}, number * slotBytes); }
  void waitForAll() {
    record(compute, 1);
    wait(other, 1);
  }
  /// The next step follows this one.
  void join() {
    record(other, 2);
    wait(compute, 2);
  }
};

TEST(Repetitions, UnorderedReadOfAnySlotIsARace) {
  for (std::uint32_t number = 0; number < repeat; ++number) {
    WrittenSlots plan;
    plan.section();
    plan.copy(other, plan.slot(number), plan.view(plan.out));
    plan.join();
    plan.expectRefused(3, "reads buffer 'slots' without waiting for instruction");
  }
}

TEST(Repetitions, OrderedReadOfAnySlotIsAccepted) {
  for (std::uint32_t number = 0; number < repeat; ++number) {
    WrittenSlots plan;
    plan.section();
    plan.waitForAll();
    plan.copy(other, plan.slot(number), plan.view(plan.out));
    plan.join();
    plan.expectAccepted();
  }
}

TEST(Repetitions, UnorderedWriteOfAnySlotIsARace) {
  for (std::uint32_t number = 0; number < repeat; ++number) {
    WrittenSlots plan;
    plan.section();
    plan.fill(other, plan.slot(number), 2);
    plan.join();
    plan.expectRefused(3, "writes buffer 'slots' without waiting for instruction");
  }
}

// The wait is for the record of repetition 2, and later repetitions write later slots.
TEST(Repetitions, RecordOfAnEarlierRepetitionIsNotEnough) {
  WrittenSlots plan;
  plan::InstructionT &early = plan.record(compute, 1);
  early.when = plan::When::listed;
  early.repetitions = {2};
  plan.section();
  plan.wait(other, 1);
  plan.copy(other, plan.slot(5), plan.view(plan.out));
  plan.join();
  plan.expectRefused(3, "reads buffer 'slots' without waiting for instruction");
}

/// Slots that nothing fills before the repetitions.
class FreshSlots : public WrittenSlots {
public:
  explicit FreshSlots(plan::When when = plan::When::all) : WrittenSlots(when) {
    auto &first = plan.entries[0]->sections[0]->instructions;
    first.erase(first.begin() + 1);
  }
};

TEST(Repetitions, TogetherTheyWriteAllSlots) {
  FreshSlots plan;
  plan.section();
  plan.copy(compute, plan.slot(5), plan.view(plan.out));
  plan.expectAccepted();
}

TEST(Repetitions, WithAPredicateTheyDoNot) {
  for (plan::When when : {plan::When::first, plan::When::not_last, plan::When::last}) {
    FreshSlots plan(when);
    plan.section();
    plan.copy(compute, plan.slot(when == plan::When::not_last ? 7 : 5), plan.view(plan.out));
    plan.expectRefused(2, "reads bytes of buffer 'slots' that no instruction has written");
  }
}

// Repetition r reads slot r + 1, which repetition r + 1 writes.
TEST(Repetitions, ASlotIsReadAfterItsRepetition) {
  FreshSlots plan;
  plan::ViewT next = plan.moving(slotBytes);
  next.repetition_stride = 0;
  plan.copy(compute, std::move(next), plan.view(plan.out));
  plan.expectRefused(2, "reads bytes of buffer 'slots' that no instruction has written");
}

// In repetition 3 both outputs are slot 6.
TEST(Repetitions, OutputsThatMeetLaterAreRefused) {
  SmallPlan plan;
  const std::uint32_t source = plan.buffer("source", {4}), slots = plan.buffer("slots", {16, 4});
  plan.section();
  plan.fill(compute, plan.view(source), 1);
  plan.section(repeat);
  plan::ViewT slow = plan.view(slots, {4}, 3 * slotBytes), fast = plan.view(slots, {4});
  slow.repetition_stride = slotBytes;
  fast.repetition_stride = 2 * slotBytes;
  plan.launch(compute, "swiglu_grad", {plan.view(source), plan.view(source), plan.view(source)}, {slow, fast});
  plan.expectRefused(2, "an output of the same instruction");
}

/// Two outputs of one launch in each repetition, at these slots of the first one.
void writeTwo(SmallPlan &plan, std::uint32_t first, std::uint32_t second) {
  const std::uint32_t source = plan.buffer("source", {4}), slots = plan.buffer("slots", {16, 4});
  plan.section();
  plan.fill(compute, plan.view(source), 1);
  plan.section(repeat);
  plan::ViewT one = plan.view(slots, {4}, first * slotBytes), other = plan.view(slots, {4}, second * slotBytes);
  one.repetition_stride = other.repetition_stride = 2 * slotBytes;
  plan.launch(compute, "swiglu_grad", {plan.view(source), plan.view(source), plan.view(source)}, {one, other});
}

TEST(Repetitions, OutputsThatMoveTogetherAreAccepted) {
  for (std::uint32_t first : {0, 1}) {
    SmallPlan plan;
    writeTwo(plan, first, 1 - first);
    plan.expectAccepted();
  }
}

/// A launch that multiplies a slot by a source in each repetition. The strides are in slots.
SmallPlan multiplySlots(std::uint64_t inputSlot, std::uint64_t inputStride, std::uint64_t outputStride) {
  SmallPlan plan;
  const std::uint32_t slots = plan.buffer("slots", {16, 4}), source = plan.buffer("source", {4});
  plan.section();
  plan.fill(compute, plan.view(slots), 1);
  plan.fill(compute, plan.view(source), 1);
  plan.section(repeat);
  plan::ViewT output = plan.view(slots, {4}), input = plan.view(slots, {4}, inputSlot * slotBytes);
  output.repetition_stride = outputStride * slotBytes;
  input.repetition_stride = inputStride * slotBytes;
  plan.launch(compute, "multiply", {input, plan.view(source)}, {output});
  return plan;
}

// The output is the slot before the input.
TEST(Repetitions, AnInputThatMovesWithTheOutputIsAccepted) { multiplySlots(1, 2, 2).expectAccepted(); }

// Output and input begin at one slot; the output moves faster.
TEST(Repetitions, AnInputThatMovesSlowerIsNotReplaced) {
  multiplySlots(0, 1, 2).expectRefused(2, "an input of the same instruction");
}

TEST(Repetitions, SlicesOfPortsAreNeighbours) {
  for (std::uint64_t stride : {8, 32}) {
    SmallPlan plan;
    const std::uint32_t x = plan.buffer("x", {2 * repeat, 4}, f32, host), in = plan.buffer("in", {4});
    plan.section(repeat);
    plan::ViewT slice = plan.view(x, {4});
    slice.repetition_stride = stride;
    plan.port(plan.plan.entries[0]->inputs, "x", slice).per_repetition = true;
    plan.copy(compute, slice, plan.view(in));
    plan.expectRefused(1, "port 'x' of 'step', expected slices at a distance of 16 bytes but got " +
                              std::to_string(stride));
  }
}

TEST(Repetitions, PortsAreDense) {
  for (bool isStrided : {true, false}) {
    SmallPlan plan;
    const std::uint32_t x = plan.buffer("x", {2, 4}, f32, host);
    plan.section();
    plan::ViewT port = isStrided ? plan.view(x, {2, 2}, 0, {4, 1}) : plan.padded(plan.view(x), 0, {0}, 2, 1);
    plan.port(plan.plan.entries[0]->inputs, "x", std::move(port));
    plan.record(compute, 0);
    plan.expectRefused(1, "port 'x' of 'step', expected a dense view without valid extents");
  }
}

// While the other stream writes x of the next step, the compute stream may still run its last fill of the first
// repetition and all of the second, whose first fill has a lower number.
TEST(Repetitions, ReservedFromTheLowestRunningInstruction) {
  SmallPlan plan;
  const std::uint32_t x = plan.buffer("x", {4}), y = plan.buffer("y", {4}), z = plan.buffer("z", {4});
  plan.section(2);
  plan::InstructionT &wait = plan.wait(other, 0);
  wait.operation.AsWait()->carried = true;
  wait.when = plan::When::first;
  plan.fill(other, plan.view(x), 1).when = plan::When::first;
  plan.fill(compute, plan.view(y), 1);
  plan.record(compute, 0).when = plan::When::first;
  plan.fill(compute, plan.view(z), 1);
  plan.expectAccepted();
  const auto checkReservedFrom = [&](std::uint32_t instruction) {
    plan::BufferT &buffer = *plan.plan.buffers[x];
    buffer.begin = 1;
    buffer.end = 2;
    buffer.reserved_from = instruction;
    serializePlan(plan.plan);
    return checkPlan(plan.plan);
  };
  EXPECT_TRUE(checkReservedFrom(2).isOk()) << checkReservedFrom(2).message();
  EXPECT_NE(checkReservedFrom(3).message().find("but its bytes are reserved only from 3 on"), std::string::npos)
      << checkReservedFrom(3).message();
}

} // namespace
} // namespace sluice::test
