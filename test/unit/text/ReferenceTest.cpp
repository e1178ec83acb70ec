//===- ReferenceTest.cpp - ids and texts of transformers for small tokenizers ---------------===//
//
// test/reference/tokenizer_cases.py writes the tokenizers and the expected ids and texts.
//
//===-----------------------------------------------------------------------------------------===//
#include "runtime/base/File.h"
#include "runtime/base/Json.h"
#include "runtime/text/StreamDecoder.h"
#include "runtime/text/Tokenizer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace sluice;

namespace {

std::string folderOf(const std::string &name) { return SLUICE_SOURCE_DIR "/test/reference/tokenizers/" + name; }

nlohmann::json readJson(const std::string &path) {
  const Result<std::string> text = readFile(path);
  EXPECT_TRUE(text.isOk()) << text.status().message();
  return nlohmann::json::parse(*text);
}

class Reference : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    Result<std::unique_ptr<Tokenizer>> opened = openTokenizer(folderOf(GetParam()));
    ASSERT_TRUE(opened.isOk()) << opened.status().message();
    tokenizer = std::move(*opened);
    corpus = readJson(folderOf("corpus.json"));
    expected = readJson(folderOf(GetParam()) + "/expected.json");
    ASSERT_EQ(corpus.size(), expected.size());
    ASSERT_GT(corpus.size(), 200u);
  }

  std::vector<std::int32_t> encode(const std::string &text, bool special) {
    std::vector<std::int32_t> ids;
    const Status status = tokenizer->encode(text, special, ids);
    EXPECT_TRUE(status.isOk()) << status.message();
    return ids;
  }

  std::unique_ptr<Tokenizer> tokenizer;
  nlohmann::json corpus, expected;
};

TEST_P(Reference, Ids) {
  for (std::size_t i = 0; i < corpus.size(); ++i) {
    const std::string text = corpus[i];
    EXPECT_EQ(encode(text, false), expected[i]["ids"].get<std::vector<std::int32_t>>()) << i << ": " << text;
    EXPECT_EQ(encode(text, true), expected[i]["special"].get<std::vector<std::int32_t>>()) << i << ": " << text;
  }
}

TEST_P(Reference, DecodedTexts) {
  for (std::size_t i = 0; i < corpus.size(); ++i) {
    const auto ids = expected[i]["special"].get<std::vector<std::int32_t>>();
    const auto textOf = [&](const char *name) {
      const nlohmann::json &text = expected[i][name];
      return text.is_null() ? corpus[i].get<std::string>() : text.get<std::string>();
    };
    EXPECT_EQ(tokenizer->decode(ids, false), textOf("decoded")) << i;
    EXPECT_EQ(tokenizer->decode(ids, true), textOf("skipped")) << i;
  }
}

TEST_P(Reference, StreamsAreTheDecodedTexts) {
  for (std::size_t i = 0; i < corpus.size(); ++i) {
    const auto ids = expected[i]["special"].get<std::vector<std::int32_t>>();
    StreamDecoder stream(*tokenizer);
    std::string text;
    for (const std::int32_t id : ids) {
      const std::string added = stream.add(id);
      EXPECT_FALSE(added.ends_with("\uFFFD")) << i;
      text += added;
    }
    text += stream.finish();
    EXPECT_EQ(text, tokenizer->decode(ids, false)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, Reference,
                         testing::Values("gpt2", "llama3", "qwen2", "mistral", "llama2", "bert", "unigram",
                                         "other-stages", "sentencepiece", "sentencepiece-llama"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

} // namespace
