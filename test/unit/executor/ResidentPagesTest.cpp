//===- ResidentPagesTest.cpp - tests of the measurement of resident pages ----------------===//
#include "runtime/executor/ResidentPages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sluice {
namespace {

constexpr std::size_t page = 4096;

/// An arena of four pages, with a buffer of the first two at the first of two instructions.
class ResidentPages : public testing::Test {
protected:
  ResidentPages() {
    plan::EntryT &entry = *plan.entries.emplace_back(std::make_unique<plan::EntryT>());
    plan::ArenaT &arena = *plan.arenas.emplace_back(std::make_unique<plan::ArenaT>());
    arena.bytes = 4 * page;
    plan::BufferT &buffer = *plan.buffers.emplace_back(std::make_unique<plan::BufferT>());
    buffer.entry = 0;
    buffer.bytes = 2 * page;
    buffer.end = 1;
    entry.name = "step";
    memory = static_cast<std::byte *>(
        mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, 0));
  }
  ~ResidentPages() override { munmap(memory, 4 * page); }

  Status after(std::uint32_t instruction) {
    RankMemory ofRank;
    ofRank.arenas[0] = {memory, 4 * page};
    return pageObserver(report)(plan, 0, std::move(ofRank))->afterInstruction({0, instruction, {0, 2}});
  }

  plan::PlanT plan;
  std::byte *memory = nullptr;
  std::shared_ptr<PageReport> report = std::make_shared<PageReport>();
};

TEST_F(ResidentPages, AreCountedAndReturned) {
  memory[0] = std::byte{1};
  ASSERT_TRUE(after(0).isOk());
  EXPECT_EQ(report->of(plan::Space::device).resident, page);
  EXPECT_EQ(report->of(plan::Space::device).live, 2 * page);
  EXPECT_EQ(memory[0], std::byte{0});
}

TEST_F(ResidentPages, WithoutLiveBytesAreAnError) {
  memory[3 * page] = std::byte{1};
  EXPECT_EQ(after(0).message(), "page at offset 12288 of the device arena is resident after instruction 0 of 'step', "
                                "but none of its bytes is live there");
}

TEST_F(ResidentPages, CannotBeReadOfUnmappedMemory) {
  munmap(memory, 4 * page);
  EXPECT_EQ(after(0).message(), "cannot read which pages are resident: Cannot allocate memory");
}

TEST_F(ResidentPages, CannotBeReturnedIfTheyAreLocked) {
  // A sanitizer replaces mlock() by a function that locks nothing.
  ASSERT_EQ(syscall(SYS_mlock, memory, page), 0);
  EXPECT_EQ(after(0).message(), "cannot return pages to the operating system: Invalid argument");
}

} // namespace
} // namespace sluice
