//===- SentencePieceTest.cpp - settings of models of sentencepiece ---------------------------===//
#include "test/unit/text/TokenizerFolder.h"

using namespace sluice;

namespace {

class SentencePiece : public TokenizerFolder {
protected:
  void SetUp() override {
    TokenizerFolder::SetUp();
    std::filesystem::copy_file(SLUICE_SOURCE_DIR "/test/reference/tokenizers/sentencepiece/tokenizer.model",
                               path + "/tokenizer.model");
  }
};

TEST_F(SentencePiece, AddedTokens) {
  const auto encoded = [&](const std::string &text) {
    auto tokenizer = openTokenizer(path);
    EXPECT_TRUE(tokenizer.isOk()) << tokenizer.status().message();
    std::vector<std::int32_t> ids;
    EXPECT_TRUE((*tokenizer)->encode(text, false, ids).isOk());
    return ids;
  };
  // "of" and "the" with their prefixes.
  const std::vector<std::int32_t> of = encoded("of"), the = encoded("the");
  const auto after = [](std::vector<std::int32_t> ids, const std::vector<std::int32_t> &more) {
    ids.insert(ids.end(), more.begin(), more.end());
    return ids;
  };
  EXPECT_EQ(encoded("of</s>the"), after(after(of, {2}), the));
  write("tokenizer_config.json", R"({"add_prefix_space": false})");
  EXPECT_NE(encoded("the"), the);
  EXPECT_EQ(encoded(" the"), the);
  write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer"})");
  EXPECT_EQ(encoded("of</s> the"), after(after(of, {2}), the));
  EXPECT_NE(encoded("of</s>the"), after(after(of, {2}), the));
  write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer", "legacy": true})");
  EXPECT_EQ(encoded("of</s>the"), after(after(of, {2}), the));
  write("tokenizer_config.json", R"({"eos_token": "none"})");
  EXPECT_EQ(error(), "'" + path +
                         "/tokenizer.model': eos_token 'none' of the tokenizer's settings is not in the "
                         "vocabulary");
}

TEST_F(SentencePiece, SpecialTokens) {
  const auto encoded = [&] {
    auto tokenizer = openTokenizer(path);
    EXPECT_TRUE(tokenizer.isOk());
    std::vector<std::int32_t> ids;
    EXPECT_TRUE((*tokenizer)->encode("", true, ids).isOk());
    return ids;
  };
  EXPECT_EQ(encoded(), (std::vector<std::int32_t>{1}));
  write("tokenizer_config.json", R"({"add_bos_token": false, "add_eos_token": true})");
  EXPECT_EQ(encoded(), (std::vector<std::int32_t>{2}));
}

TEST_F(SentencePiece, ClassesThatChangeIds) {
  const std::string start = "'" + path + "/tokenizer.model': ";
  write("tokenizer_config.json", R"({"tokenizer_class": "XLMRobertaTokenizer"})");
  EXPECT_EQ(error(), start + "the tokenizer class 'XLMRobertaTokenizer' gives other ids to the tokens of its model");
  write("tokenizer_config.json",
        R"({"tokenizer_class": "T5Tokenizer", "additional_special_tokens": ["<extra_id_0>"]})");
  EXPECT_EQ(error(), start + "token '<extra_id_0>' of 'additional_special_tokens' has no id in the model");
  write("tokenizer_config.json",
        R"({"tokenizer_class": "T5Tokenizer", "additional_special_tokens": ["<extra_id_0>"],
            "added_tokens_decoder": {"760": {"content": "<extra_id_0>"}}})");
  EXPECT_EQ(error(), "");
}

} // namespace
