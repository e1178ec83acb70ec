//===- TokenDataTest.cpp - token files, text, random data and their faults ---------===//
#include "runtime/train/TokenData.h"
#include "runtime/train/DataOrder.h"
#include "test/unit/train/Fixture.h"

#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

template <typename T>
std::string tokenFile(std::int32_t magic, std::int32_t version, const std::vector<T> &tokens, std::int32_t count = -1) {
  std::vector<std::int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = count >= 0 ? count : static_cast<std::int32_t>(tokens.size());
  return bytesOf(header) + bytesOf(tokens);
}

class TokenDataTest : public ::testing::Test {
protected:
  TemporaryFolder folder;

  void refuses(const std::vector<std::string> &sources, TokenShape shape, const std::string &text) {
    Result<TokenData> result = TokenData::open(sources, shape);
    ASSERT_FALSE(result.isOk()) << "accepted; wanted: " << text;
    expectError(result.status(), StatusCode::input, text);
  }
  /// Tokens and targets of a sequence, one after another.
  std::vector<std::int32_t> read(TokenData &data, std::uint64_t sequence, std::size_t length) {
    std::vector<std::int32_t> tokens(length), targets(length);
    Status status = data.read(sequence, tokens, targets);
    EXPECT_TRUE(status.isOk()) << status.message();
    tokens.insert(tokens.end(), targets.begin(), targets.end());
    return tokens;
  }
};

using Tokens = std::vector<std::int32_t>;

TEST_F(TokenDataTest, ReadsBothKindsOfTokenFile) {
  std::vector<std::uint16_t> narrow{10, 11, 12, 13, 14, 15, 16};
  std::vector<std::uint32_t> wide{10, 11, 12, 13, 14, 15, 70000};
  Result<TokenData> a = TokenData::open({folder.write("a.bin", tokenFile(20240520, 1, narrow))}, {3, 1, 100});
  ASSERT_TRUE(a.isOk()) << a.status().message();
  EXPECT_EQ(a->sequences(), 2u);
  EXPECT_EQ(read(*a, 0, 3), (Tokens{10, 11, 12, 11, 12, 13}));
  EXPECT_EQ(read(*a, 1, 3), (Tokens{13, 14, 15, 14, 15, 16}));
  Result<TokenData> b = TokenData::open({folder.write("b.bin", tokenFile(20240801, 7, wide))}, {3, 1, 70001});
  ASSERT_TRUE(b.isOk()) << b.status().message();
  EXPECT_EQ(read(*b, 1, 3), (Tokens{13, 14, 15, 14, 15, 70000}));
}

TEST_F(TokenDataTest, TextIsBytesAndFilesAreConcatenated) {
  std::string a = folder.write("1.txt", "abc"), b = folder.write("2.txt", "d"),
              c = folder.write("3.txt", "\xff"
                                        "fghi");
  Result<TokenData> data = TokenData::open({a, b, c}, {4, 2, 256});
  ASSERT_TRUE(data.isOk()) << data.status().message();
  EXPECT_EQ(data->sequences(), 2u);
  EXPECT_EQ(read(*data, 0, 4), (Tokens{'a', 'b', 'c', 'd', 'b', 'c', 'd', 255}));
  EXPECT_EQ(read(*data, 1, 4), (Tokens{255, 'f', 'g', 'h', 'f', 'g', 'h', 'i'}));
  Result<TokenData> globbed = TokenData::open({folder.path("*.txt")}, {4, 2, 256});
  ASSERT_TRUE(globbed.isOk()) << globbed.status().message();
  EXPECT_EQ(read(*globbed, 1, 4), read(*data, 1, 4));
}

TEST_F(TokenDataTest, BadSources) {
  refuses({folder.path("none")}, {4, 1, 256}, "cannot read '" + folder.path("none") + "': No such file");
  refuses({folder.path("")}, {4, 1, 256}, "expected a regular file but got a directory");
  refuses({folder.path("*.none")}, {4, 1, 256}, "cannot read");
  refuses({folder.write("empty", "")}, {4, 1, 256}, "is empty, expected a token file or text");
  refuses({}, {4, 1, 256}, "too short, expected at least 1 x 4 + 1 tokens but got 0");
}

TEST_F(TokenDataTest, BytesNeedAVocabularyOfAtMost256) {
  std::string path = folder.write("text", "123456789");
  EXPECT_TRUE(TokenData::open({path}, {4, 1, 256}).isOk());
  refuses({path}, {4, 1, 257}, "'" + path + "' is text, and its bytes cannot be the tokens of a vocabulary of 257");
  refuses({path}, {4, 1, 0}, "its bytes cannot be the tokens of a model without the size of its vocabulary");
  EXPECT_EQ(
      TokenData::open({path}, {4, 1, 257}).status().notes(),
      std::vector<std::string>{"--tokenizer turns text into tokens; --data-format bytes makes each byte a token"});
  expectError(TokenData::open({path}, {4, 1, 257}, DataFormat::text).status(), StatusCode::input,
              "is text, and its bytes cannot be the tokens of a vocabulary of 257");
  EXPECT_TRUE(TokenData::open({path}, {4, 1, 257}, DataFormat::bytes).isOk());
}

TEST_F(TokenDataTest, TooShort) {
  refuses({folder.write("t", "12345678")}, {4, 2, 256}, "are too short, expected at least 2 x 4 + 1 tokens but got 8");
  EXPECT_TRUE(TokenData::open({folder.write("t", "123456789")}, {4, 2, 256}).isOk());
}

TEST_F(TokenDataTest, HeaderAndSizeDisagree) {
  std::vector<std::uint16_t> tokens(100);
  refuses({folder.write("t", tokenFile(20240520, 1, tokens, 101))}, {4, 1, 256},
          "size of the token file, expected 1226 bytes for the 101 tokens of its header but got 1224");
  refuses({folder.write("t", tokenFile(20240520, 1, tokens, 99))}, {4, 1, 256}, "expected 1222 bytes");
  refuses({folder.write("t", tokenFile(20240520, 2, tokens))}, {4, 1, 256},
          "version of the token file, expected 1 but got 2");
  refuses({folder.write("t", tokenFile(20240520, 1, tokens).substr(0, 500))}, {4, 1, 256},
          "header of the token file, expected 1024 bytes but got 500");
}

TEST_F(TokenDataTest, TokenOutsideTheVocabularyNamesFileAndPosition) {
  std::vector<std::uint16_t> tokens(200'000);
  tokens[150'001] = 256;
  std::string path = folder.write("t", tokenFile(20240520, 1, tokens));
  refuses({path}, {4, 1, 256},
          "'" + path + "': token 150001 of the file is outside the vocabulary, expected 0 to 255 but got 256");
  EXPECT_TRUE(TokenData::open({path}, {4, 1, 257}).isOk());
  refuses({folder.write("text", "abcdefz")}, {2, 1, 'z'}, "token 6 of the file");
  std::vector<std::uint32_t> wide{1, 2, 0x80000000u, 4};
  refuses({folder.write("w", tokenFile(20240801, 7, wide))}, {1, 1, 0}, "token 2 of the file");
}

TEST(DataOrder, SequentialMatchesTheFormula) {
  DataOrder order;
  order.microbatches = 3;
  order.ranks = 4;
  order.rows = 5;
  EXPECT_EQ(order.position(2, 1, 3, 4), ((2u * 3 + 1) * 4 + 3) * 5 + 4);
  EXPECT_EQ(order.sequence(17, 10), 7u);
  EXPECT_EQ(order.sequence(3, 1), 0u);
}

TEST(DataOrder, ShuffledIsAPermutationOfEachEpoch) {
  for (std::uint64_t count : {1u, 2u, 3u, 17u, 64u, 1000u}) {
    DataOrder order;
    order.shuffled = true;
    order.seed = 42;
    std::vector<std::uint64_t> first, second;
    for (std::uint64_t i = 0; i < count; ++i) {
      first.push_back(order.sequence(i, count));
      second.push_back(order.sequence(count + i, count));
    }
    EXPECT_EQ(std::set<std::uint64_t>(first.begin(), first.end()).size(), count);
    EXPECT_EQ(std::set<std::uint64_t>(second.begin(), second.end()).size(), count);
    EXPECT_LT(*std::max_element(first.begin(), first.end()), count);
    if (count < 17)
      continue;
    EXPECT_NE(first, second);
    EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
    DataOrder other = order;
    other.seed = 43;
    EXPECT_NE(other.sequence(0, count) * count + other.sequence(1, count), first[0] * count + first[1]);
  }
}

} // namespace
