//===- DataFormatTest.cpp - the formats of token files, declared and detected -----===//
#include "runtime/train/TokenData.h"
#include "test/unit/train/Fixture.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Tokens = std::vector<std::int32_t>;

/// An .npy file as numpy writes it, with a header padded to a multiple of 64 bytes.
template <typename T>
std::string npyFile(const std::string &type, const std::vector<T> &values, int version = 1, std::string shape = "") {
  if (shape.empty())
    shape = "(" + std::to_string(values.size()) + ",)";
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  const std::size_t before = version == 1 ? 10 : 12;
  header.append(63 - (before + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  const std::uint64_t length = header.size();
  bytes.append(reinterpret_cast<const char *>(&length), before - 8);
  return bytes + header + bytesOf(values);
}

class DataFormatTest : public ::testing::Test {
protected:
  TemporaryFolder folder;

  /// All tokens of a file with an odd number of tokens, two in a row.
  Tokens read(const std::string &path, DataFormat format, std::uint64_t vocabulary = 70000) {
    Result<TokenData> data = TokenData::open({path}, {2, 1, vocabulary}, format);
    EXPECT_TRUE(data.isOk()) << data.status().message();
    Tokens all;
    for (std::uint64_t i = 0; data.isOk() && i < data->sequences(); ++i) {
      Tokens tokens(2), targets(2);
      EXPECT_TRUE(data->read(i, tokens, targets).isOk());
      if (i == 0)
        all.push_back(tokens[0]);
      all.insert(all.end(), targets.begin(), targets.end());
    }
    return all;
  }
  std::string formatOf(const std::string &path, std::uint64_t vocabulary) {
    Result<TokenData> data = TokenData::open({path}, {2, 1, vocabulary});
    EXPECT_TRUE(data.isOk()) << data.status().message();
    return data.isOk() ? data->formats() : "";
  }
  void refuses(const std::string &path, DataFormat format, const std::string &text, std::uint64_t vocabulary = 70000) {
    Result<TokenData> data = TokenData::open({path}, {2, 1, vocabulary}, format);
    ASSERT_FALSE(data.isOk()) << "accepted; expected: " << text;
    expectError(data.status(), StatusCode::input, text);
  }
};

TEST(DataFormat, NamesAreThoseOfTheOption) {
  for (const std::string &name : dataFormatNames())
    EXPECT_EQ(dataFormatName(*dataFormatOf(name)), name);
  EXPECT_EQ(dataFormatOf("u16"), DataFormat::u16);
  EXPECT_EQ(dataFormatOf("safetensors"), DataFormat::safetensors);
  EXPECT_EQ(dataFormatOf("text"), DataFormat::text);
  EXPECT_EQ(dataFormatOf("csv"), std::nullopt);
}

TEST_F(DataFormatTest, IdsWithoutAHeader) {
  const std::vector<std::uint16_t> narrow{1, 2, 3, 4, 50256};
  const std::vector<std::uint32_t> wide{1, 2, 3, 4, 69999};
  EXPECT_EQ(read(folder.write("a", bytesOf(narrow)), DataFormat::u16), (Tokens{1, 2, 3, 4, 50256}));
  EXPECT_EQ(read(folder.write("b", bytesOf(wide)), DataFormat::u32), (Tokens{1, 2, 3, 4, 69999}));
  refuses(folder.write("c", "abc"), DataFormat::u16,
          "size of a file of u16 token ids, expected a multiple of 2 bytes but got 3");
  refuses(folder.write("c", "abcdef"), DataFormat::u32, "expected a multiple of 4 bytes but got 6");
  refuses(folder.path("a"), DataFormat::u16, "token 4 of the file is outside the vocabulary, expected 0 to 50255",
          50256);
}

TEST_F(DataFormatTest, ContainersAreNoBytes) {
  using namespace std::string_literals;
  const std::string rest = "\0\1\2\3"s;
  const std::pair<std::string, const char *> containers[] = {
      {"PK\3\4", "a zip archive (.zip, .npz, .pt)"},
      {"PK\5\6", "an empty zip archive"},
      {"\x1f\x8b", "compressed by gzip"},
      {"\x28\xb5\x2f\xfd", "compressed by zstd"},
      {"\xfd"
       "7zXZ",
       "compressed by xz"},
      {"BZh", "compressed by bzip2"},
      {"\x04\x22\x4d\x18", "compressed by lz4"},
      {"7z\xbc\xaf", "a 7z archive"},
      {"PAR1", "a Parquet file"},
      {"ARROW1", "an Arrow file"},
      {"\xff\xff\xff\xff", "a stream of Arrow, or token ids without a header"},
      {"ORC", "an ORC file"},
      {"Obj\1", "an Avro file"},
      {"\x89HDF", "an HDF5 file"},
      {"SQLite format 3", "an SQLite file"},
      {"MMIDIDX", "an index of Megatron, whose tokens are in the .bin file"},
      {"GGUF", "a GGUF file"},
      {"%PDF-", "a PDF document"},
      {"\x80\4\x95", "a pickle of Python"},
      {"\xff\xfe", "text in UTF-16"},
      {std::string(257, 'a') + "ustar", "a tar archive"}};
  for (const auto &[magic, name] : containers)
    for (const std::uint64_t vocabulary : {0, 256, 70000})
      for (const char *path : {"a.bin", "a.txt"})
        refuses(folder.write(path, magic + rest), DataFormat::automatic,
                std::string("is ") + name + ", whose bytes are not tokens", vocabulary);
  EXPECT_EQ(read(folder.write("b", "PAR1\1"), DataFormat::bytes), (Tokens{'P', 'A', 'R', '1', 1}));
  EXPECT_EQ(formatOf(folder.write("c", "ORC: a text"), 256), "text");
}

TEST_F(DataFormatTest, ConversationsNeedATokenizer) {
  for (const char *name : {"a.jsonl", "a.json", "a.NDJSON", "a.txt"})
    refuses(folder.write(name, R"({"messages": []})"), DataFormat::automatic,
            "has conversations or other JSON, which is not read without a tokenizer", 256);
  refuses(folder.write("b", "{}"), DataFormat::sharegpt, "which is not read without a tokenizer", 256);
  EXPECT_EQ(read(folder.path("a.json"), DataFormat::bytes)[0], '{');
  EXPECT_EQ(formatOf(folder.write("c.txt", "{}   "), 256), "text");
}

TEST_F(DataFormatTest, TextThatIsNotUtf8) {
  refuses(folder.write("a", "caf\xe9 noir"), DataFormat::automatic,
          "'" + folder.path("a") + "' is text that is not UTF-8: byte 3 is not");
  EXPECT_EQ(formatOf(folder.path("a"), 256), "bytes");
}

TEST_F(DataFormatTest, ArraysOfNumpy) {
  const Tokens expected{1, 2, 3, 4, 500};
  for (int version : {1, 2, 3}) {
    EXPECT_EQ(read(folder.write("a", npyFile<std::uint16_t>("<u2", {1, 2, 3, 4, 500}, version)), DataFormat::automatic),
              expected);
    EXPECT_EQ(read(folder.write("a", npyFile<std::uint32_t>("<u4", {1, 2, 3, 4, 500}, version)), DataFormat::npy),
              expected);
  }
  EXPECT_EQ(read(folder.write("a", npyFile<std::int32_t>("<i4", {1, 2, 3, 4, 500})), DataFormat::npy), expected);
  EXPECT_EQ(read(folder.write("a", npyFile<std::int64_t>("<i8", {1, 2, 3, 4, 500})), DataFormat::npy), expected);
  refuses(folder.write("a", npyFile<std::int32_t>("<i4", {1, 2, -100, 4, 5})), DataFormat::npy,
          "token 2 of the file is outside the vocabulary, expected 0 to 69999 but got -100");
  refuses(folder.write("a", npyFile<std::int64_t>("<i8", {1, 2, std::int64_t(1) << 32, 4, 5})), DataFormat::npy,
          "token 2 of the file is outside the vocabulary, expected 0 to 69999 but got 4294967296");
}

TEST_F(DataFormatTest, ArraysThatAreNoTokens) {
  const auto refusesArray = [&](const std::string &bytes, const std::string &text) {
    refuses(folder.write("a", bytes), DataFormat::npy, text);
  };
  refusesArray("abcdefghijklmnop", "a' is not a .npy file");
  refusesArray("ab", "a' is not a .npy file");
  refuses(folder.write("a.npy", "abcdefghijklmnop"), DataFormat::automatic, "a.npy' is not a .npy file");
  const std::vector<std::uint16_t> values{1, 2, 3, 4, 5, 6};
  const std::string good = npyFile("<u2", values);
  refusesArray(npyFile("<u2", values, 4), "version of the .npy file, expected 1, 2 or 3 but got 4");
  refusesArray(good.substr(0, 100), "header of the .npy file, expected at most 90 bytes but got 118");
  refusesArray(npyFile("<u2", values, 1, "6"), "header of the .npy file has no 'descr' and 'shape'");
  refusesArray(npyFile("<u2", values, 1, "((6)"), "header of the .npy file has no 'descr' and 'shape'");
  for (const char *type : {"<f4", ">u2", "|u1", "<u8", "<u22"})
    refusesArray(npyFile(type, values), "type of the array, expected '<u2', '<u4', '<i4' or '<i8' but got \"");
  refusesArray(npyFile("<u2', '<u4", values), "header of the .npy file has no");
  refusesArray(npyFile("<u2", values, 1, "(2, 3)"), "shape of the array, expected one dim but got [2,3]");
  refusesArray(npyFile("<u2", values, 1, "()"), "shape of the array, expected one dim but got []");
  refusesArray(npyFile("<u2", values, 1, "(-6,)"), "shape of the array, expected one dim but got [-6]");
  refusesArray(npyFile("<u2", values, 1, "(7,)"),
               "the array has 7 elements of 2 bytes, but the file has 12 bytes after its header");
  refusesArray(npyFile("<u4", values, 1, "(9223372036854775809,)"), "the array has 9223372036854775809 elements");
  refusesArray(good + "x", "the array has 6 elements of 2 bytes, but the file has 13 bytes after its header");
}

TEST_F(DataFormatTest, TokenFileThatIsNone) {
  refuses(folder.write("a", "abcdefgh"), DataFormat::llmc,
          "a' is not a token file of llm.c: its first 4 bytes are neither 20240520 nor 20240801");
  refuses(folder.write("a", "abc"), DataFormat::llmc, "a' is not a token file of llm.c");
}

// Bytes are tokens of a small vocabulary only, unless the format is declared.
TEST_F(DataFormatTest, Detected) {
  EXPECT_EQ(formatOf(folder.write("a.bin", "plain\ttext, \xc3\xa9\n"), 256), "text");
  EXPECT_EQ(formatOf(folder.write("a.txt", std::string("a\0b\0c\0", 6)), 256), "text");
  EXPECT_EQ(formatOf(folder.write("a.bin", std::string("\1\2\0\3\xff", 5)), 256), "bytes");
  EXPECT_EQ(formatOf(folder.write("a.bin", "\xc3\xc3\xc3"), 256), "bytes");
  EXPECT_EQ(formatOf(folder.write("a.bin", npyFile<std::uint16_t>("<u2", {1, 2, 3})), 256), "npy");
  const std::string ids = folder.write("train.bin", bytesOf(std::vector<std::uint16_t>{1000, 2000, 30, 40000}));
  for (std::uint64_t vocabulary : {std::uint64_t(0), std::uint64_t(257), std::uint64_t(50257)}) {
    Result<TokenData> data = TokenData::open({ids}, {2, 1, vocabulary});
    ASSERT_FALSE(data.isOk());
    expectError(data.status(), StatusCode::input,
                "train.bin' is neither a token file with a header nor a safetensors file, and its bytes cannot be the "
                "tokens of ");
    EXPECT_EQ(data.status().notes(),
              std::vector<std::string>{"--data-format u16 reads 16-bit token ids without a header (nanoGPT's "
                                       "train.bin), --data-format u32 32-bit ones"});
  }
  EXPECT_EQ(read(folder.write("raw", "abc"), DataFormat::bytes), (Tokens{'a', 'b', 'c'}));
}

// Ids below 256 of 16 bits are also bytes of a small vocabulary.
TEST_F(DataFormatTest, Ambiguous) {
  const std::string ids = folder.write("train.bin", bytesOf(std::vector<std::uint16_t>{18, 47, 56, 57, 58}));
  Result<TokenData> data = TokenData::open({ids}, {2, 1, 65});
  ASSERT_FALSE(data.isOk());
  expectError(data.status(), StatusCode::input,
              "train.bin' may have token ids without a header or one token per byte: every second byte is 0");
  EXPECT_EQ(data.status().notes(), std::vector<std::string>{"pass --data-format u16, u32 or bytes"});
  EXPECT_EQ(read(ids, DataFormat::u16, 65), (Tokens{18, 47, 56, 57, 58}));
  EXPECT_EQ(read(ids, DataFormat::bytes, 65).size(), 9u);
}

TEST_F(DataFormatTest, FormatsOfSeveralFiles) {
  const std::string text = folder.write("a", "abcd"), array = folder.write("b", npyFile<std::uint16_t>("<u2", {1, 2}));
  Result<TokenData> data = TokenData::open({text, array, text}, {2, 1, 256});
  ASSERT_TRUE(data.isOk()) << data.status().message();
  EXPECT_EQ(data->formats(), "text, npy");
}

} // namespace
