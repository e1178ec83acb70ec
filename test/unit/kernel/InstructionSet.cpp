//===- InstructionSet.cpp - a process uses one instruction set     ------------------===//
//
// Refusals change nothing, so they share a process with the other tests. The tests of the state after a choice are
// test/unit/executor/RefusalTest.cpp and test/tools/train-isa.test.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace sluice;
using namespace sluice::test;

namespace {

/// Before any test prepares a kernel.
[[maybe_unused]] const std::string &keptAtStart = testedIsa();

/// True if SLUICE_TEST_ISA selects the instruction set.
bool isKept() { return std::getenv("SLUICE_TEST_ISA") != nullptr; }

TEST(InstructionSet, NotAvailableOnTheMachine) {
  const Status status = useInstructionSet("neon");
  EXPECT_EQ(status.code(), StatusCode::refused);
  EXPECT_EQ(status.message(),
            isKept()
                ? "instruction set, expected " + testedIsa() + " (already used by this process) but got neon"
                : "instruction set, expected one that this machine has, " + testedIsa() + " at most, but got neon");
}

// Tests that the matrix library, which accepts no limit after it has created a kernel, does not use a larger one.
TEST(InstructionSet, LibraryUsedBefore) {
  Tensor a(DType::f32, {2, 2}), b(DType::f32, {2, 2}), c(DType::f32, {2, 2});
  mustRun({"matmul"}, {&a, &b}, {&c});
  EXPECT_EQ(useInstructionSet("sse4").message(),
            "instruction set, expected " + testedIsa() +
                (isKept() ? " (already used by this process) but got sse4"
                          : ", with which this process has used the matrix library, but got sse4"));
}

} // namespace
