//===- MeasureTest.cpp - a core's share of the caches -----------------------------------------===//
#include "tools/calibrate/Measure.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sluice {
namespace {

class CacheShareTest : public testing::Test {
protected:
  std::string folder = (std::filesystem::temp_directory_path() / "sluice-cache-XXXXXX").string();
  void SetUp() override { ASSERT_NE(mkdtemp(folder.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// A cache as Linux describes it: its size in KiB and the set of cores that share it.
  void addCache(int index, const std::string &size, const std::string &cores) {
    const std::filesystem::path cache = folder + "/index" + std::to_string(index);
    std::filesystem::create_directory(cache);
    std::ofstream(cache / "size") << size << "\n";
    if (!cores.empty())
      std::ofstream(cache / "shared_cpu_map") << cores << "\n";
  }
};

TEST_F(CacheShareTest, IsTheLargestOfAllCaches) {
  addCache(0, "32K", "00000000,00000001");
  addCache(1, "2048K", "00000000,00000003");
  EXPECT_EQ(cacheShare(folder), std::size_t(1) << 20);
  addCache(2, "32768K", "00000001,0000000f");
  EXPECT_EQ(cacheShare(folder), std::size_t(32768) * 1024 / 5);
  // A last level that is smaller for each core than the one before.
  addCache(3, "1024K", "000000ff");
  EXPECT_EQ(cacheShare(folder), std::size_t(32768) * 1024 / 5);
}

TEST_F(CacheShareTest, AVirtualMachineHasTheCacheOfItsHost) {
  addCache(0, "307200K", "3");
  EXPECT_EQ(cacheShare(folder), std::size_t(16) << 20);
}

TEST_F(CacheShareTest, ACacheWithoutASetOfCoresIsOfOneCore) {
  addCache(0, "512K", "");
  EXPECT_EQ(cacheShare(folder), std::size_t(512) << 10);
}

TEST_F(CacheShareTest, SystemsThatStateNoCaches) {
  EXPECT_EQ(cacheShare(folder), std::size_t(8) << 20);
  EXPECT_EQ(cacheShare(folder + "/none"), std::size_t(8) << 20);
  addCache(0, "unknown", "1");
  EXPECT_EQ(cacheShare(folder), std::size_t(8) << 20);
}

} // namespace
} // namespace sluice
