//===- ZipTest.cpp - archives of stored files -----------------------------------------------===//
#include "runtime/base/Zip.h"
#include "test/unit/ZipBuilder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace sluice {
namespace {

using namespace test;

class ZipTest : public testing::Test {
protected:
  std::string folder = (std::filesystem::temp_directory_path() / "sluice-zip-XXXXXX").string();
  void SetUp() override { ASSERT_NE(mkdtemp(folder.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  Result<ZipFile> open(const std::string &bytes) {
    std::ofstream(folder + "/a.zip", std::ios::binary) << bytes;
    return ZipFile::open(folder + "/a.zip");
  }
  /// The message without the path.
  std::string problemOf(const std::string &bytes) {
    const Result<ZipFile> archive = open(bytes);
    return archive.isOk() ? "none" : archive.status().message().substr(folder.size() + std::string("/a.zip: ").size());
  }
};

TEST_F(ZipTest, ReadsEntries) {
  for (const bool is64 : {false, true})
    for (const std::string comment : {"", "a comment"}) {
      const Result<ZipFile> archive = open(
          archiveOf({{"m/a", "first"}, {"m/empty", ""}, {"m/b", "second"}, {"m/digits", "123456789"}}, is64, comment));
      ASSERT_TRUE(archive.isOk()) << archive.status().message();
      ASSERT_EQ(archive->entries().size(), 4u);
      EXPECT_EQ(*archive->read("m/a", 100), "first");
      EXPECT_EQ(*archive->read("m/b", 6), "second");
      EXPECT_EQ(*archive->read("m/empty", 0), "");
      // The check value of the checksum, of "123456789".
      EXPECT_EQ(archive->find("m/digits")->crc, 0xcbf43926);
      EXPECT_EQ(archive->find("m/c"), nullptr);
      std::string two(2, '\0');
      EXPECT_TRUE(archive->readAt(*archive->find("m/b"), 4, std::as_writable_bytes(std::span(two))).isOk());
      EXPECT_EQ(two, "nd");
      EXPECT_FALSE(archive->readAt(*archive->find("m/b"), 5, std::as_writable_bytes(std::span(two))).isOk());
      EXPECT_EQ(archive->read("m/b", 5).status().message(), folder + "/a.zip: 'm/b' has 6 bytes, expected at most 5");
      EXPECT_EQ(archive->read("m/c", 5).status().message(), folder + "/a.zip: archive without 'm/c'");
    }
  EXPECT_TRUE(open(archiveOf({})).isOk());
}

TEST_F(ZipTest, RefusesWhatItDoesNotRead) {
  EXPECT_EQ(problemOf(archiveOf({{"a", "x", 1}})), "'a' is encrypted, which is not supported");
  EXPECT_EQ(problemOf(archiveOf({{"a", "x", 0, 8}})), "'a' is compressed, expected a stored entry");
  EXPECT_EQ(problemOf("PK, but no archive"), "not a zip archive");
  EXPECT_EQ(problemOf(""), "not a zip archive");
  std::string several = archiveOf({{"a", "x"}});
  several[several.size() - 18] = 1;
  EXPECT_EQ(problemOf(several), "archive of several files, which is not supported");
}

TEST_F(ZipTest, RefusesDamage) {
  const std::string begin = "archive that is damaged: ";
  EXPECT_EQ(problemOf(archiveOf({{"a", "x"}, {"a", "y"}})), begin + "it has 'a' twice");
  EXPECT_EQ(problemOf(archiveOf({{"a", "x", 0, 0, 2}})), begin + "'a' is stored, but has two sizes");
  EXPECT_EQ(problemOf(archiveOf({{"a", "x", 0, 0, 1000, 1000}})), begin + "'a' is not before the directory");
  EXPECT_EQ(problemOf(archiveOf({{"a", "x", 0, 0, {}, {}, 5000}})), begin + "'a' is not before the directory");
  EXPECT_EQ(problemOf(archiveOf({{"a", "x"}, {"b", "y", 0, 0, {}, {}, 1}})),
            begin + "'b' is not where the directory says");
  EXPECT_EQ(problemOf(archiveOf({{"a", "x", 0, 0, {}, {}, {}, "b"}})), begin + "'a' is not where the directory says");
  // 'b' is in the contents of 'a'.
  const std::string inner = archiveOf({{"b", "y"}});
  EXPECT_EQ(problemOf(archiveOf({{"a", inner}, {"b", "y", 0, 0, {}, {}, 31}})),
            begin + "two entries share the byte 62");
}

TEST_F(ZipTest, ComparesChecksums) {
  const std::string whole = archiveOf({{"m/a", "first"}});
  std::string changed = whole;
  changed[whole.find("first")] = 'F';
  const Result<ZipFile> archive = open(changed);
  ASSERT_TRUE(archive.isOk());
  EXPECT_EQ(archive->read("m/a", 100).status().message(),
            folder + "/a.zip: archive that is damaged: the checksum of 'm/a' is wrong");
}

TEST_F(ZipTest, AcceptsNoBeginningOfAnArchive) {
  for (const bool is64 : {false, true}) {
    const std::string whole = archiveOf({{"m/a", "first"}, {"m/b", "second"}}, is64);
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_FALSE(open(whole.substr(0, size)).isOk()) << size;
  }
}

// Any byte of the records may be anything: the archive is refused, or its entries are within the file.
TEST_F(ZipTest, KeepsRangesWithinTheFile) {
  for (const bool is64 : {false, true}) {
    const std::string whole = archiveOf({{"m/a", "first"}, {"m/b", "second"}}, is64);
    for (std::size_t at = 0; at < whole.size(); ++at)
      for (const char value : {'\0', '\1', '\x7f', '\xff'}) {
        std::string changed = whole;
        changed[at] = value;
        const Result<ZipFile> archive = open(changed);
        if (!archive.isOk())
          continue;
        for (const auto &[name, entry] : archive->entries()) {
          EXPECT_LE(entry.offset, whole.size());
          EXPECT_LE(entry.size, whole.size() - entry.offset);
          (void)archive->read(name, UINT64_MAX);
        }
      }
  }
}

} // namespace
} // namespace sluice
