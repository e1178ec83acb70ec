//===- RacesTest.cpp - races in emulated kernels are found -----------------------------------===//
#include "test/cuda/RacyKernels.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice::test {
namespace {

/// The error of a launch of two blocks of 64 threads; empty without an error.
std::string errorOf(const std::string &name, unsigned seed) {
  std::vector<int> y(128);
  const RacyArgs args{y.data()};
  Races races;
  races.track(y.data(), y.size() * sizeof(int));
  std::string error;
  for (const HostKernel &kernel : racyKernels())
    if (kernel.name == name) {
      setRaces(&races);
      setOrder(seed);
      emulate(kernel, &args, 2, 64, 64 * 4, error);
      setOrder(0);
      setRaces(nullptr);
    }
  return error;
}

TEST(Races, AreFoundInAnyOrder) {
  if (!Traffic::isAvailable())
    GTEST_SKIP() << "the kernels have no hooks in a build with a sanitizer";
  for (unsigned seed = 0; seed < 8; ++seed) {
    EXPECT_EQ(errorOf("afterBarrier", seed), "");
    EXPECT_EQ(errorOf("inWarp", seed), "");
    for (const char *name : {"withoutBarrier", "overwrites", "sameElement"})
      EXPECT_TRUE(errorOf(name, seed).find("with no barrier between") != std::string::npos)
          << name << " " << seed << ": " << errorOf(name, seed);
  }
}

TEST(Races, NameTheAccesses) {
  if (!Traffic::isAvailable())
    GTEST_SKIP() << "the kernels have no hooks in a build with a sanitizer";
  EXPECT_EQ(errorOf("sameElement", 0), "sameElement: thread 0 of block 1 writes global memory that thread 0 of block 0 "
                                       "wrote, with no barrier between");
  EXPECT_EQ(errorOf("overwrites", 0),
            "overwrites: thread 1 of block 0 reads shared memory that thread 0 of block 0 wrote, "
            "with no barrier between");
  EXPECT_EQ(errorOf("withoutBarrier", 0), "withoutBarrier: thread 0 of block 0 reads shared memory that thread 63 of "
                                          "block 0 wrote, with no barrier between");
}

// Tests a write after reads by several threads, and reads of several blocks.
TEST(Races, WritesAfterReads) {
  int memory[2] = {};
  for (bool inOneBlock : {true, false}) {
    Races races;
    races.track(memory, sizeof memory);
    races.beginLaunch("kernel", 64);
    races.beginBlock(0, nullptr, 0);
    for (int thread : {0, 1, 40})
      races.access(memory, 4, false, thread);
    if (inOneBlock)
      for (int thread = 0; thread < 64; ++thread)
        races.barrier(true, thread);
    else
      races.beginBlock(1, nullptr, 0);
    races.access(memory + 1, 4, true, 5);
    EXPECT_EQ(races.found(), "");
    races.access(memory, 4, true, 5);
    EXPECT_EQ(races.found().empty(), inOneBlock) << races.found();
    // The next launch is after this one.
    Races next;
    next.track(memory, sizeof memory);
    next.beginLaunch("first", 32);
    next.beginBlock(0, nullptr, 0);
    next.access(memory, 4, true, 0);
    next.beginLaunch("second", 32);
    next.beginBlock(3, nullptr, 0);
    next.access(memory, 4, true, 1);
    EXPECT_EQ(next.found(), "");
  }
}

// Tests a warp whose threads read an element that one of them updates after a barrier of the warp.
TEST(Races, UpdatesAfterReadsOfTheWarp) {
  int element = 0;
  for (bool hasBarrier : {true, false}) {
    Races races;
    races.track(&element, sizeof element);
    races.beginLaunch("kernel", 64);
    races.beginBlock(0, nullptr, 0);
    for (int thread = 32; thread < 64; ++thread)
      races.access(&element, 4, false, thread);
    for (int thread = 32; hasBarrier && thread < 64; ++thread)
      races.barrier(false, thread);
    races.access(&element, 4, false, 40);
    races.access(&element, 4, true, 40);
    EXPECT_EQ(races.found().empty(), hasBarrier) << races.found();
    // A thread of the other warp has passed no barrier after it.
    races.access(&element, 4, false, 1);
    EXPECT_FALSE(races.found().empty());
  }
}

} // namespace
} // namespace sluice::test
