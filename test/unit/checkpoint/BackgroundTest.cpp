//===- BackgroundTest.cpp - checkpoints that are written while the ranks run --------------===//
#include "test/unit/checkpoint/Faults.h"
#include "test/unit/checkpoint/RunFixture.h"

#include <atomic>
#include <cerrno>
#include <dlfcn.h>
#include <new>
#include <pthread.h>

/// No thread can be started.
static bool refusesThreads = false;

extern "C" int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                              void *argument) {
  if (refusesThreads)
    return EAGAIN;
  static const auto next = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return next(thread, attributes, function, argument);
}

using namespace sluice;
using namespace sluice::test;

namespace {

class Background : public Run {};

/// Ranks whose writes wait in their first exchange until they are released; they count reports of work.
struct HeldRanks final : FakeRanks {
  explicit HeldRanks(plan::PlanT plan) : FakeRanks(std::move(plan)) { fill(*this, 1); }
  /// Of the release by noteWork(); 0: never.
  int releasingWork = 0;
  mutable std::atomic<int> work = 0;
  mutable std::atomic<bool> isReleased = true;
  struct Held final : Exchange {
    const HeldRanks &ranks;
    explicit Held(const HeldRanks &ranks) : ranks(ranks) {}
    int size() const override { return ranks.size(); }
    Result<bool> agree(bool value) const override {
      ranks.isReleased.wait(false);
      return value;
    }
  } held{*this};
  const Exchange &background() const override { return held; }
  void release() const {
    isReleased = true;
    isReleased.notify_all();
  }
  /// Of another rank.
  Status failure;
  Status noteWork() const override {
    if (++work == releasingWork)
      release();
    return failure;
  }
};

// Tests that the ranks run while a checkpoint is written, that it has the state that they had before, and that the run
// waits when the next one is due, and says so.
TEST_F(Background, WritesWhileTheRanksRun) {
  HeldRanks held(modelPlan(Layout::rows).plan);
  RunCheckpoints run(options, train);
  ASSERT_TRUE(run.open(held).isOk());
  held.isReleased = false;
  ASSERT_TRUE(run.save(held, progress(1), false).isOk());
  fill(held, 2);
  EXPECT_EQ(steps(), Steps{});
  EXPECT_TRUE(notes.empty());
  held.work = 0;
  held.releasingWork = 3;
  ASSERT_TRUE(run.save(held, progress(2), false).isOk());
  EXPECT_GE(held.work, 3) << "a process that waits for its disk is not stuck";
  EXPECT_EQ(notes, std::vector<std::string>{"waiting until the checkpoint of step 1 is written"});
  ASSERT_TRUE(run.finish(held).isOk());
  EXPECT_EQ(steps(), (Steps{1, 2}));
  for (int step : {1, 2}) {
    options.folder = "";
    options.resume = stepPath(folder.path("run"), static_cast<std::uint64_t>(step));
    ranks = FakeRanks(modelPlan(Layout::rows).plan);
    EXPECT_EQ(*resume(), static_cast<std::uint64_t>(step));
    EXPECT_TRUE(isSame(ranks, filledRanks(Layout::rows, step)));
  }
}

// Tests that a run reports a rank that has ended before a slow disk has written the checkpoint.
TEST_F(Background, EndsBeforeItsDisk) {
  HeldRanks held(modelPlan(Layout::rows).plan);
  RunCheckpoints run(options, train);
  ASSERT_TRUE(run.open(held).isOk());
  held.isReleased = false;
  ASSERT_TRUE(run.save(held, progress(1), false).isOk());
  held.failure = failedError("rank 1 has died");
  expectError(run.save(held, progress(2), false), StatusCode::failed, "rank 1 has died");
  expectError(run.save(held, progress(2), true), StatusCode::failed, "rank 1 has died");
  expectError(run.finish(held), StatusCode::failed, "rank 1 has died");
  EXPECT_EQ(steps(), Steps{});
  held.release();
}

// Tests that without a second thread the run writes the checkpoint itself, at the latest when the next one is due or it
// ends.
TEST_F(Background, WritesWithoutAThread) {
  RunCheckpoints run(options, train);
  ASSERT_TRUE(run.open(ranks).isOk());
  refusesThreads = true;
  ASSERT_TRUE(run.save(ranks, progress(1), false).isOk());
  EXPECT_EQ(steps(), Steps{}) << "a thread was started";
  fill(ranks, 2);
  ASSERT_TRUE(run.save(ranks, progress(2), false).isOk());
  EXPECT_EQ(steps(), Steps{1});
  EXPECT_TRUE(run.finish(ranks).isOk());
  {
    const ArmedFault armed({FaultKind::error, ENOSPC, 0, true, "write"});
    expectError(run.save(ranks, progress(3), true), StatusCode::input, "No space left on device");
  }
  refusesThreads = false;
  EXPECT_EQ(steps(), (Steps{1, 2}));
  ASSERT_EQ(notes, std::vector<std::string>{});
  options.folder = "";
  options.resume = stepPath(folder.path("run"), 1);
  EXPECT_EQ(*resume(), 1u);
  EXPECT_TRUE(isSame(ranks, filledRanks(Layout::rows, 1))) << "the copy is that of its step";
}

// Tests that the end of a run without a final checkpoint waits for the latest, and reports a failure of it.
TEST_F(Background, FinishesTheLatestWrite) {
  RunCheckpoints run(options, train);
  ASSERT_TRUE(run.open(ranks).isOk());
  ASSERT_TRUE(run.save(ranks, progress(1), false).isOk());
  ASSERT_TRUE(run.finish(ranks).isOk());
  EXPECT_EQ(steps(), Steps{1});
  {
    const ArmedFault armed({FaultKind::error, EIO, 0, true, "write"});
    ASSERT_TRUE(run.save(ranks, progress(2), false).isOk());
    EXPECT_TRUE(run.finish(ranks).isOk());
  }
  ASSERT_FALSE(notes.empty());
  EXPECT_NE(notes.back().find("the checkpoint of step 2 could not be written: "), std::string::npos);
  EXPECT_EQ(steps(), Steps{1});
}

// Tests that a write stops when its run ends by an error, and that its checkpoint stays partial.
TEST_F(Background, EndsWithoutACompleteWrite) {
  save({progress(1)});
  expectError(saveCheckpoint(ranks, options.folder, stateOf(ranks, 2), /*cancelled=*/true), StatusCode::failed,
              "the run ended before its checkpoint was written");
  EXPECT_EQ(steps(), Steps{1});
  EXPECT_EQ(*resume(), 1u);
}

/// Ranks whose writes have no memory after a number of exchanges; one rank of a process each, or all in one.
struct RanksWithoutMemory final : FakeRanks {
  explicit RanksWithoutMemory(bool isShared) : FakeRanks(modelPlan(Layout::rows).plan), isShared(isShared) {
    fill(*this, 2);
  }
  const bool isShared;
  mutable int exchangesLeft = 0;
  struct Limited final : Exchange {
    const RanksWithoutMemory &ranks;
    explicit Limited(const RanksWithoutMemory &ranks) : ranks(ranks) {}
    int size() const override { return ranks.size(); }
    Result<bool> agree(bool value) const override {
      if (ranks.exchangesLeft-- == 0)
        throw std::bad_alloc();
      return value;
    }
  } limited{*this};
  const Exchange &background() const override { return limited; }
  bool holds(int rank) const override { return isShared || rank == 0; }
};

// Tests that a write without memory, at any exchange, fails as on a full disk: a note, or the error of the final one,
// and the earlier checkpoint is kept. The next write works.
TEST_F(Background, FailsWithoutMemory) {
  save({progress(1)});
  RanksWithoutMemory poor(/*isShared=*/true);
  const std::string reason = "there is not enough memory to write the checkpoint";
  int failures = 0, complete = 0;
  for (bool isFinal : {false, true})
    for (int exchanges = 0;; ++exchanges) {
      Status saved;
      {
        RunCheckpoints run(options, train);
        ASSERT_TRUE(run.open(poor).isOk());
        poor.exchangesLeft = exchanges;
        notes.clear();
        saved = run.save(poor, progress(2), isFinal);
        if (!isFinal) {
          ASSERT_TRUE(saved.isOk() && run.finish(poor).isOk());
        }
      }
      if (poor.exchangesLeft >= 0) {
        EXPECT_TRUE(saved.isOk() && notes.empty());
        EXPECT_EQ(steps(), (Steps{1, 2}));
        ASSERT_TRUE(removeCheckpoint(stepPath(options.folder, 2)).isOk());
        break;
      }
      ++failures;
      if (isFinal)
        expectError(saved, StatusCode::failed, reason);
      else
        EXPECT_EQ(notes, std::vector<std::string>{"the checkpoint of step 2 could not be written: " + reason});
      // The last exchange is after the rename that completes the checkpoint.
      ASSERT_GE(steps().size(), 1u);
      EXPECT_EQ(steps().front(), 1u);
      EXPECT_EQ(*resume(), steps().back());
      if (steps().size() == 2) {
        ++complete;
        ASSERT_TRUE(removeCheckpoint(stepPath(options.folder, 2)).isOk());
      }
    }
  EXPECT_LE(complete, 2);
  EXPECT_GE(failures, 4);
}

// Tests that a write without memory ends a process whose part others wait for.
TEST_F(Background, ThrowsWithoutMemoryIfOthersWait) {
  RanksWithoutMemory poor(/*isShared=*/false);
  RunCheckpoints run(options, train);
  ASSERT_TRUE(run.open(poor).isOk());
  EXPECT_THROW((void)run.save(poor, progress(2), true), std::bad_alloc);
  EXPECT_EQ(steps(), Steps{});
}

// Tests that a process reports that it works for each block that it reads.
TEST_F(Background, NotesWork) {
  HeldRanks counter(modelPlan(Layout::rows).plan);
  {
    RunCheckpoints run(options, train);
    ASSERT_TRUE(run.open(counter).isOk());
    ASSERT_TRUE(run.save(counter, progress(1), true).isOk());
  }
  counter.work = 0;
  RunCheckpoints next(options, train);
  ASSERT_TRUE(*next.open(counter));
  ASSERT_TRUE(next.load(counter).isOk());
  // The parts and the headers of four shards, state.json, and what ranks read of the others' shards.
  EXPECT_GE(counter.work, 40);
}

} // namespace
