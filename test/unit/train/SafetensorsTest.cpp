//===- SafetensorsTest.cpp - the errors of a weights file -------------------------===//
#include "runtime/train/Safetensors.h"
#include "test/unit/train/Fixture.h"

using namespace sluice;
using namespace sluice::test;

namespace {

/// A file of this header and so many bytes of data.
std::string file(const std::string &header, std::size_t dataBytes) {
  std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + header + std::string(dataBytes, '\1');
}

std::string tensor(const std::string &name, const std::string &dtype, const std::string &shape,
                   const std::string &offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

class Safetensors : public ::testing::Test {
protected:
  TemporaryFolder folder;

  void refuses(const std::string &bytes, const std::string &text) {
    Result<SafetensorsFile> result = SafetensorsFile::open(folder.write("w.safetensors", bytes));
    ASSERT_FALSE(result.isOk()) << "accepted; wanted: " << text;
    expectError(result.status(), StatusCode::refused, text);
  }
};

TEST_F(Safetensors, ReadsRangesOfTheReference) {
  Result<SafetensorsFile> result =
      SafetensorsFile::open(SLUICE_SOURCE_DIR "/test/reference/gpt2-tiny/init.safetensors");
  ASSERT_TRUE(result.isOk()) << result.status().message();
  EXPECT_EQ(result->entries().size(), 52u);
  const SafetensorsEntry *entry = result->find("wte.weight");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->dtype, "F32");
  EXPECT_EQ(entry->shape, (std::vector<std::int64_t>{256, 64}));
  std::vector<std::byte> complete(entry->bytes()), part(16);
  ASSERT_TRUE(result->read(*entry, 0, complete).isOk());
  ASSERT_TRUE(result->read(*entry, 400, part).isOk());
  EXPECT_EQ(std::memcmp(complete.data() + 400, part.data(), 16), 0);
  EXPECT_FALSE(result->read(*entry, entry->bytes() - 8, part).isOk());
  EXPECT_EQ(result->find("wte"), nullptr);
}

TEST_F(Safetensors, MissingFileAndFolder) {
  expectError(SafetensorsFile::open(folder.path("none")).status(), StatusCode::input, "cannot read");
  expectError(SafetensorsFile::open(folder.path("")).status(), StatusCode::input,
              "expected a regular file but got a directory");
}

TEST_F(Safetensors, CutOff) {
  std::string complete = file("{" + tensor("a", "F32", "[4]", "[0,16]") + "}", 16);
  ASSERT_TRUE(SafetensorsFile::open(folder.write("w", complete)).isOk());
  for (std::size_t size = 0; size < complete.size(); ++size) {
    Result<SafetensorsFile> result = SafetensorsFile::open(folder.write("w", complete.substr(0, size)));
    ASSERT_FALSE(result.isOk()) << size;
    EXPECT_EQ(static_cast<int>(result.status().code()), 4) << size;
  }
  refuses("abc", "is cut off, expected at least 8 bytes");
  refuses(complete.substr(0, complete.size() - 1), "is outside the file, expected it to end by byte 15");
}

TEST_F(Safetensors, HeaderLength) {
  std::string bytes = file("{}", 0);
  std::memset(bytes.data(), 0xff, 8);
  refuses(bytes, "is not a safetensors file: its first 8 bytes are not the length of a header");
  // The first bytes of a file of 16-bit token ids.
  refuses(std::string("\x08\x08\x08\x08\x08\x08\x08\x08\x08\x08", 10), "is not a safetensors file");
  bytes = file("{}", 0);
  bytes[0] = 3;
  refuses(bytes, "is cut off, or is not a safetensors file: its header ends at byte 11, but the file has 10");
}

TEST_F(Safetensors, HeaderIsNoObject) {
  refuses(file("[]", 0), "header is not a JSON object");
  refuses(file("{\"a\":", 0), "header is not a JSON object");
  refuses(file("", 0), "header is not a JSON object");
  refuses(file("{\"\xff\":1}", 0), "header is not a JSON object");
  refuses(file(std::string(100000, '['), 0), "header is not a JSON object");
}

TEST_F(Safetensors, DuplicateKeys) {
  std::string a = tensor("a", "F32", "[1]", "[0,4]");
  refuses(file("{" + a + "," + a + "}", 4), "header has key 'a' twice");
  refuses(file(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4),
          "header has key 'dtype' twice");
}

TEST_F(Safetensors, Fields) {
  refuses(file(R"({"a":3})", 0), "tensor 'a', expected an object");
  refuses(file(R"({"a":{"dtype":"F32","shape":[1]}})", 0), "needs a dtype, a shape and two data_offsets");
  refuses(file("{" + tensor("a", "F32", "[-1]", "[0,4]") + "}", 4), "needs a dtype, a shape and two data_offsets");
  refuses(file("{" + tensor("a", "F32", "[1.5]", "[0,4]") + "}", 4), "needs a dtype, a shape and two data_offsets");
  refuses(file("{" + tensor("a", "F32", "[1]", "[0,4,8]") + "}", 4), "two data_offsets");
  refuses(file("{" + tensor("a", "F33", "[1]", "[0,4]") + "}", 4),
          "expected a dtype such as F32 or BF16 but got 'F33'");
  refuses(file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}})", 4), "but got 'more'");
}

TEST_F(Safetensors, SizesAndOffsets) {
  refuses(file("{" + tensor("a", "F32", "[2]", "[0,4]") + "}", 4), "expected 8 bytes for F32 [2] but got 4");
  refuses(file("{" + tensor("a", "F32", "[1]", "[4,0]") + "}", 4), "expected data_offsets in order but got [4, 0]");
  refuses(file("{" + tensor("a", "F32", "[4611686018427387904,4611686018427387904]", "[0,0]") + "}", 0),
          "expected a size of less than 2^63 bytes");
  std::string a = tensor("a", "F32", "[2]", "[0,8]");
  refuses(file("{" + a + "," + tensor("b", "F32", "[1]", "[4,8]") + "}", 8),
          "tensor 'b' overlaps the one before it, expected it to begin at byte 8 but got 4");
  refuses(file("{" + a + "," + tensor("b", "F32", "[1]", "[12,16]") + "}", 16),
          "tensor 'b' leaves a gap, expected it to begin at byte 8 but got 12");
  refuses(file("{" + a + "}", 7), "is outside the file");
  refuses(file("{" + a + "}", 12), "size of the data, expected 8 bytes but got 12");
}

TEST_F(Safetensors, RoundTrips) {
  auto emit = [](const std::string &bytes) {
    return [bytes](const SafetensorsTensor::Sink &sink) { return sink(std::as_bytes(std::span(bytes))); };
  };
  std::vector<SafetensorsTensor> tensors;
  tensors.push_back({"b", "F32", {1}, emit("wxyz")});
  tensors.push_back({"a", "F32", {2, 1}, emit("abcdefgh")});
  tensors.push_back({"empty", "F32", {0, 3}, emit("")});
  ASSERT_TRUE(writeSafetensors(folder.path("one"), tensors).isOk());
  std::swap(tensors[0], tensors[1]);
  ASSERT_TRUE(writeSafetensors(folder.path("two"), tensors).isOk());
  EXPECT_EQ(contentOf(folder.path("one")), contentOf(folder.path("two")));
  EXPECT_EQ(folder.files(), 2u);

  Result<SafetensorsFile> result = SafetensorsFile::open(folder.path("one"));
  ASSERT_TRUE(result.isOk()) << result.status().message();
  std::string data(8, ' ');
  ASSERT_TRUE(result->read(*result->find("a"), 0, std::as_writable_bytes(std::span(data))).isOk());
  EXPECT_EQ(data, "abcdefgh");
  EXPECT_NE(contentOf(folder.path("one")).find(R"("__metadata__":{"format":"pt"})"), std::string::npos);
}

TEST_F(Safetensors, FailedWriteLeavesNothing) {
  std::vector<SafetensorsTensor> tensors;
  tensors.push_back({"a", "F32", {2}, [](const SafetensorsTensor::Sink &) { return failedError("rank 1 is gone"); }});
  expectError(writeSafetensors(folder.path("w"), tensors), StatusCode::failed, "rank 1 is gone");
  tensors[0].emit = [](const SafetensorsTensor::Sink &sink) { return sink(std::as_bytes(std::span("abc"))); };
  expectError(writeSafetensors(folder.path("w"), tensors), StatusCode::internal,
              "expected 8 bytes of tensors but got 4");
  EXPECT_EQ(folder.files(), 0u);
  tensors[0].emit = [](const SafetensorsTensor::Sink &) { return Status::ok(); };
  expectError(writeSafetensors(folder.path("no/such/folder"), tensors), StatusCode::input, "cannot write");
}

} // namespace
