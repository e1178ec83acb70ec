//===- ContentDigestTest.cpp - recognises the content of large files ----------------===//
#include "runtime/train/ContentDigest.h"
#include "test/unit/train/Fixture.h"

using namespace sluice;
using namespace sluice::test;

namespace {

// Tests that the digest depends on content, size and order, and not on paths.
TEST(ContentDigestTest, OfSmallFiles) {
  TemporaryFolder folder;
  const std::string a = folder.write("a", "some text"), same = folder.write("same", "some text");
  const std::string b = folder.write("b", "sone text");
  EXPECT_EQ(*contentDigest({a}), *contentDigest({same}));
  EXPECT_NE(*contentDigest({a}), *contentDigest({b}));
  EXPECT_NE(*contentDigest({a, b}), *contentDigest({b, a}));
  EXPECT_NE(*contentDigest({"random:1"}), *contentDigest({"random:2"}));
  EXPECT_EQ(contentDigest({a})->substr(16), ", 9 bytes");
  expectError(contentDigest({folder.path("none")}).status(), StatusCode::input, "cannot read");
}

// Tests a file that is sampled: its first and its last block count, and its size.
TEST(ContentDigestTest, OfALargeFile) {
  TemporaryFolder folder;
  const std::uint64_t size = (65 << 20) + 1;
  const auto digestWith = [&](std::uint64_t size, std::uint64_t changed) {
    const std::string path = folder.write("sparse", "");
    std::filesystem::resize_file(path, size);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(changed));
    file.put('x');
    file.close();
    return *contentDigest({path});
  };
  const std::string first = digestWith(size, 0);
  EXPECT_EQ(first, digestWith(size, 0));
  EXPECT_NE(first, digestWith(size, size - 1));
  EXPECT_NE(first, digestWith(size + 1, 0));
}

TEST(ContentDigestTest, OfAFolder) {
  TemporaryFolder folder;
  folder.write("model.safetensors", "weights");
  const std::string before = *contentDigest({folder.path("")});
  folder.write("notes.txt", "no part of a checkpoint");
  EXPECT_EQ(*contentDigest({folder.path("")}), before);
  folder.write("config.json", "{}");
  EXPECT_NE(*contentDigest({folder.path("")}), before);
}

} // namespace
