//===- LifespanEndsTest.cpp - tests of the bytes whose lifespan ends ----------------------===//
#include "runtime/executor/LifespanEnds.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

/// A section of 4 instructions that runs twice, and one of 2.
class LifespanEnds : public testing::Test {
protected:
  LifespanEnds() {
    plan::EntryT &entry = *plan.entries.emplace_back(std::make_unique<plan::EntryT>());
    for (std::uint32_t count : {4, 2}) {
      plan::SectionT &section = *entry.sections.emplace_back(std::make_unique<plan::SectionT>());
      section.repeat = count / 2;
      for (std::uint32_t i = 0; i < count; ++i)
        section.instructions.push_back(std::make_unique<plan::InstructionT>());
    }
  }

  void add(std::uint64_t offset, std::uint64_t bytes, std::uint32_t begin, std::uint32_t end) {
    plan::BufferT &buffer = *plan.buffers.emplace_back(std::make_unique<plan::BufferT>());
    buffer.entry = 0;
    buffer.offset = offset;
    buffer.bytes = bytes;
    buffer.begin = begin;
    buffer.end = end;
  }

  /// "[begin, end)" of each range that ends at an instruction, with "last" or "others" if not in every repetition.
  std::string ends(std::uint32_t instruction) const {
    std::string text;
    const auto ends = lifespanEnds(plan, 0, plan::Space::device);
    for (const LifespanEnd &end : ends[instruction])
      text += (text.empty() ? "[" : " [") + std::to_string(end.range.begin) + ", " + std::to_string(end.range.end) +
              ")" +
              (end.isInLast && end.isInOthers ? ""
               : end.isInLast                 ? " last"
                                              : " others");
    return text;
  }

  plan::PlanT plan;
};

TEST_F(LifespanEnds, OfBuffersWithinASection) {
  add(0, 64, 0, 2);
  add(64, 64, 1, 4);
  EXPECT_EQ(ends(0), "");
  EXPECT_EQ(ends(1), "[0, 64)");
  EXPECT_EQ(ends(3), "[64, 128)");
}

TEST_F(LifespanEnds, OfBuffersThatAreLiveThroughRepetitions) {
  add(0, 64, 0, 4);
  add(64, 64, 0, 6);
  EXPECT_EQ(ends(3), "[0, 64) last");
  EXPECT_EQ(ends(5), "[64, 128) last");
}

TEST_F(LifespanEnds, OfBuffersThatOnlyTheLastRepetitionKeeps) {
  add(0, 64, 2, 5);
  EXPECT_EQ(ends(3), "[0, 64) others");
  EXPECT_EQ(ends(4), "[0, 64)");
}

TEST_F(LifespanEnds, LeaveOutBytesThatAreReplacedInPlace) {
  add(0, 64, 0, 3);
  add(16, 32, 2, 4);
  EXPECT_EQ(ends(2), "[0, 16) [48, 64)");
  EXPECT_EQ(ends(3), "[16, 48)");
}

TEST_F(LifespanEnds, LeaveOutPorts) {
  add(0, 64, 0, 2);
  plan::PortT &port = *plan.entries[0]->inputs.emplace_back(std::make_unique<plan::PortT>());
  port.view = std::make_unique<plan::ViewT>();
  EXPECT_EQ(ends(1), "");
}

} // namespace
} // namespace sluice
