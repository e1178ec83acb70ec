//===- BroadcastTextTest.cpp - texts from one rank to all, and their limit -----------------===//
#include "runtime/collective/BroadcastText.h"
#include "runtime/collective/local/LocalGroup.h"
#include "runtime/collective/process/StartValues.h"

#include <gtest/gtest.h>

#include <thread>

namespace sluice {
namespace {

/// Runs the function on each of two ranks.
void runRanks(const std::function<void(World &, int)> &function) {
  const std::shared_ptr<World> world = createLocalWorld(2);
  std::thread other([&] { function(*world, 1); });
  function(*world, 0);
  other.join();
}

/// Announces a text of so many bytes, and sends none.
void announce(Communicator &communicator, std::uint64_t bytes, std::string_view what) {
  const SegmentPointers segment{&bytes, &bytes, sizeof bytes};
  (void)communicator.broadcast({&segment, 1}, DType::u8, communicator.rank(), {0, what}, nullptr);
}

TEST(BroadcastTextTest, ReplacesTheText) {
  const std::string lengthy(3'000'000, 'x');
  for (const std::string &sent : {std::string(), std::string("text"), lengthy})
    runRanks([&](World &world, int rank) {
      auto all = world.createForAll(rank, "test");
      ASSERT_TRUE(all.isOk());
      std::string text = rank == 1 ? sent : "replaced";
      ASSERT_TRUE(broadcastText(**all, 1, text, "text").isOk());
      EXPECT_EQ(text, sent);
    });
}

// A rank that announces a text which no memory has room for.
TEST(BroadcastTextTest, RefusesALongText) {
  runRanks([&](World &world, int rank) {
    auto all = world.createForAll(rank, "test");
    ASSERT_TRUE(all.isOk());
    if (rank == 1)
      return announce(**all, UINT64_MAX, "list of files");
    std::string text = "kept";
    const Status status = broadcastText(**all, 1, text, "list of files");
    EXPECT_EQ(status.code(), StatusCode::failed);
    EXPECT_EQ(status.message(), "list of files from member 1, expected at most 1073741824 bytes but got "
                                "18446744073709551615");
    EXPECT_EQ(text, "kept");
  });
}

// Memory is not allocated for a length within the limit before the bytes arrive.
TEST(BroadcastTextTest, AllocatesWhatArrives) {
  runRanks([&](World &world, int rank) {
    auto all = world.createForAll(rank, "test");
    ASSERT_TRUE(all.isOk());
    if (rank == 1) {
      announce(**all, maxBroadcastText, "text");
      return (*all)->abort(failedError("rank 1 has ended"));
    }
    std::string text;
    EXPECT_EQ(broadcastText(**all, 1, text, "text").message(), "rank 1 has ended");
    EXPECT_LE(text.capacity(), 2u << 20);
  });
}

// Settings of rank 0 that are too long.
TEST(BroadcastTextTest, BoundsSettings) {
  runRanks([&](World &world, int rank) {
    if (rank == 0) {
      auto all = world.createForAll(rank, "start");
      ASSERT_TRUE(all.isOk());
      return announce(**all, maxBroadcastText + 1, "settings");
    }
    const StartValue values[] = {{"--seed", "1"}};
    EXPECT_EQ(compareStartValues(world, rank, values).message(),
              "settings from member 0, expected at most 1073741824 bytes but got 1073741825");
  });
}

} // namespace
} // namespace sluice
