//===- FileTest.cpp - files that are written atomically --------------------------------------===//
#include "runtime/base/File.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

/// The ranges of which the system was told to begin to write, which fails.
static std::vector<std::pair<off64_t, off64_t>> begunRanges;

extern "C" int sync_file_range(int, off64_t offset, off64_t count, unsigned flags) {
  EXPECT_EQ(flags, static_cast<unsigned>(SYNC_FILE_RANGE_WRITE));
  begunRanges.emplace_back(offset, count);
  errno = EIO;
  return -1;
}

namespace sluice {
namespace {

class OutputFileTest : public testing::Test {
protected:
  std::string folder = (std::filesystem::temp_directory_path() / "sluice-file-XXXXXX").string();
  void SetUp() override { ASSERT_NE(mkdtemp(folder.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder); }
};

TEST_F(OutputFileTest, AppearsAtCommit) {
  const std::string path = folder + "/a.txt";
  for (const std::string_view text : {"first", "second"}) {
    Result<OutputFile> file = OutputFile::create(path);
    ASSERT_TRUE(file.isOk()) << file.status().message();
    ASSERT_TRUE(file->write(text).isOk());
    EXPECT_EQ(std::filesystem::exists(path), text == "second");
    ASSERT_TRUE(file->commit().isOk());
    std::string found;
    std::ifstream(path) >> found;
    EXPECT_EQ(found, text);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

// The disk begins to write a long file before its end. A failure of the request does not matter.
TEST_F(OutputFileTest, BeginsToWriteLongFiles) {
  const std::string path = folder + "/long";
  Result<OutputFile> file = OutputFile::create(path);
  ASSERT_TRUE(file.isOk());
  const std::string part(3 << 20, 'x');
  for (int i = 0; i < 7; ++i)
    ASSERT_TRUE(file->write(part).isOk());
  ASSERT_TRUE(file->commit().isOk());
  EXPECT_EQ(std::filesystem::file_size(path), 7 * part.size());
  EXPECT_EQ(begunRanges, (std::vector<std::pair<off64_t, off64_t>>{{0, 9 << 20}, {9 << 20, 9 << 20}}));
}

// A device, such as /dev/null for root, would be replaced by a file.
TEST_F(OutputFileTest, ReplacesOnlyRegularFiles) {
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(OutputFile::create(pipe).status().message(),
            "cannot write '" + pipe + "', expected a regular file but got a different kind of file");
  EXPECT_EQ(OutputFile::create(folder).status().message(),
            "cannot write '" + folder + "', expected a regular file but got a directory");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

} // namespace
} // namespace sluice
