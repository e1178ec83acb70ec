//===- TokenizerErrorTest.cpp - damaged and unsupported files of tokenizers ------------------===//
#include "runtime/base/File.h"
#include "runtime/base/Json.h"
#include "runtime/text/SentencePiece.h"
#include "runtime/text/TokenizerJson.h"
#include "test/unit/text/TokenizerFolder.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::text;
using nlohmann::json;

namespace {

/// A small tokenizer, as a text that a test completes.
json small() {
  return json::parse(R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})");
}

std::string tokenizerErrorOf(const json &tokenizer, const TokenizerSettings &settings = {}) {
  const auto result = readTokenizerJson(tokenizer.dump(), "t.json", settings);
  if (result.isOk())
    return "";
  EXPECT_EQ(result.status().code(), StatusCode::input);
  return result.status().message();
}

/// The error for a small tokenizer with this member.
std::string errorWith(const char *name, const char *value) {
  json tokenizer = small();
  tokenizer[json::json_pointer(name)] = json::parse(value);
  return tokenizerErrorOf(tokenizer);
}

TEST(TokenizerErrors, MembersOfTheWrongType) {
  EXPECT_EQ(tokenizerErrorOf(small()), "");
  EXPECT_EQ(tokenizerErrorOf(json::array()), "'t.json': tokenizer: expected an object but got array");
  EXPECT_EQ(tokenizerErrorOf(json::object()), "'t.json': tokenizer: 'model' is missing, expected an object");
  EXPECT_EQ(errorWith("/model/vocab", "3"), "'t.json': tokenizer.model: 'vocab', expected an object but got integer");
  EXPECT_EQ(errorWith("/model/byte_fallback", "\"x\""),
            "'t.json': tokenizer.model: 'byte_fallback', expected true or false but got string");
  EXPECT_EQ(errorWith("/normalizer", R"({"type": "Prepend"})"),
            "'t.json': tokenizer.normalizer: 'prepend' is missing, expected a string");
  EXPECT_EQ(errorWith("/decoder", R"({"type": "Strip", "content": " ", "start": "x"})"),
            "'t.json': tokenizer.decoder: 'start', expected an integer but got string");
  EXPECT_EQ(errorWith("/decoder", R"({"type": "Strip", "content": ""})"),
            "'t.json': tokenizer.decoder: 'content' is empty, expected a character");
}

TEST(TokenizerErrors, UnknownTypesAreNamed) {
  EXPECT_EQ(errorWith("/normalizer", R"({"type": "Sequence", "normalizers": [{"type": "Precompiled"}]})"),
            "'t.json': tokenizer.normalizer.normalizers[0]: normalizer 'Precompiled' is not supported");
  EXPECT_EQ(errorWith("/pre_tokenizer", R"({"type": "UnicodeScripts"})"),
            "'t.json': tokenizer.pre_tokenizer: pre-tokenizer 'UnicodeScripts' is not supported");
  EXPECT_EQ(errorWith("/pre_tokenizer", R"({"type": "Punctuation", "behavior": "Both"})"),
            "'t.json': tokenizer.pre_tokenizer: split behavior 'Both' is not supported");
  EXPECT_EQ(errorWith("/pre_tokenizer", R"({"type": "Metaspace", "prepend_scheme": "last"})"),
            "'t.json': tokenizer.pre_tokenizer: prepend scheme 'last' is not supported");
  EXPECT_EQ(errorWith("/model/type", "\"WordLevel\""), "'t.json': tokenizer.model: model 'WordLevel' is not supported");
  EXPECT_EQ(errorWith("/post_processor", R"({"type": "Pair"})"),
            "'t.json': tokenizer.post_processor: post-processor 'Pair' is not supported");
  EXPECT_EQ(errorWith("/decoder", R"({"type": "CTC"})"), "'t.json': tokenizer.decoder: decoder 'CTC' is not supported");
  const auto result = readTokenizerJson(R"({"model": {"type": "WordLevel"}})", "t.json", {});
  EXPECT_EQ(result.status().notes(), std::vector<std::string>{"supported: BPE, WordPiece, Unigram"});
}

TEST(TokenizerErrors, BytePairEncoding) {
  EXPECT_EQ(errorWith("/model/vocab/c", "-1"),
            "'t.json': tokenizer.model: id of token 'c', expected an integer from 0 to 16777215");
  EXPECT_EQ(errorWith("/model/merges/0", "\"ab\""), "'t.json': tokenizer.model: merges[0], expected two tokens");
  EXPECT_EQ(errorWith("/model/merges/0", "\"a b c\""), "'t.json': tokenizer.model: merges[0], expected two tokens");
  EXPECT_EQ(errorWith("/model/merges/0", R"(["a", "c"])"),
            "'t.json': tokenizer.model: merges[0], token 'c' is not in the vocabulary");
  EXPECT_EQ(errorWith("/model/dropout", "0.1"),
            "'t.json': tokenizer.model: 'dropout' is not supported, because ids would be random");
  EXPECT_EQ(errorWith("/model/dropout", "0.0"), "");
  EXPECT_EQ(errorWith("/model/unk_token", "\"?\""),
            "'t.json': tokenizer.model: unknown token '?' is not in the vocabulary");
}

TEST(TokenizerErrors, OtherModels) {
  EXPECT_EQ(errorWith("/model", R"({"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "?"})"),
            "'t.json': tokenizer.model: unknown token '?' is not in the vocabulary");
  EXPECT_EQ(errorWith("/model", R"({"type": "Unigram", "vocab": [["a", "b"]]})"),
            "'t.json': tokenizer.model: vocab[0], expected a token and its score");
  EXPECT_EQ(errorWith("/model", R"({"type": "Unigram", "vocab": [["a", -1]], "unk_id": 7})"),
            "'t.json': tokenizer.model: 'unk_id', expected less than 1 but got 7");
  const auto unigram = readTokenizerJson(R"({"model": {"type": "Unigram", "vocab": [["a", -1]]}})", "t.json", {});
  ASSERT_TRUE(unigram.isOk());
  std::vector<std::int32_t> ids;
  EXPECT_EQ((*unigram)->encode("aab", false, ids).message(), "the tokenizer has no token for 'b' and no unknown token");
}

// Tests that the vocabulary has every id of a text, so that it can be compared with a model's.
TEST(TokenizerErrors, SpecialTokensAreInTheVocabulary) {
  const auto sizeWith = [](const char *post) {
    json tokenizer = small();
    tokenizer["post_processor"] = json::parse(post);
    const auto result = readTokenizerJson(tokenizer.dump(), "t.json", {});
    return result.isOk() ? (*result)->vocabularySize() : 0;
  };
  EXPECT_EQ(sizeWith(R"({"type": "BertProcessing", "sep": ["s", 7], "cls": ["c", 2]})"), 8u);
  EXPECT_EQ(sizeWith(R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "s"}}],
                         "special_tokens": {"s": {"ids": [2147483647]}}})"),
            2147483648u);
  EXPECT_EQ(sizeWith(R"({"type": "ByteLevel"})"), 3u);
}

TEST(TokenizerErrors, SpecialTokens) {
  EXPECT_EQ(errorWith("/added_tokens", R"([{"content": "<s>"}])"),
            "'t.json': tokenizer.added_tokens[0]: 'id', expected a token id");
  EXPECT_EQ(errorWith("/post_processor", R"({"type": "BertProcessing", "sep": ["a"], "cls": ["a", 0]})"),
            "'t.json': tokenizer.post_processor: 'sep', expected a token and its id");
  EXPECT_EQ(errorWith("/post_processor", R"({"type": "BertProcessing", "sep": ["a", 2147483648], "cls": ["a", 0]})"),
            "'t.json': tokenizer.post_processor: 'sep', expected a token and its id");
  const std::string around = R"({"type": "TemplateProcessing", "special_tokens": {"a": {"ids": [-1]}}, "single": )";
  EXPECT_EQ(errorWith("/post_processor", (around + R"([{"SpecialToken": {"id": "a"}}]})").c_str()),
            "'t.json': tokenizer.post_processor.special_tokens.a: 'ids', expected token ids");
  EXPECT_EQ(
      errorWith("/post_processor", (around + R"([{"Sequence": {"id": "A"}}, {"Sequence": {"id": "A"}}]})").c_str()),
      "'t.json': tokenizer.post_processor.single[1]: the text is in the template twice");
  TokenizerSettings settings;
  settings.namedTokens = {{"</s>"}};
  settings.namedTokens[0].field = "eos_token";
  EXPECT_EQ(tokenizerErrorOf(small(), settings),
            "'t.json': eos_token '</s>' of the tokenizer's settings is not in the vocabulary");
}

TEST(TokenizerErrors, TextThatIsNotUtf8) {
  const auto tokenizer = readTokenizerJson(small().dump(), "t.json", {});
  ASSERT_TRUE(tokenizer.isOk());
  std::vector<std::int32_t> ids;
  EXPECT_EQ((*tokenizer)->encode("ab\xFF", false, ids).message(), "byte 2 of the text is not UTF-8");
}

TEST_F(TokenizerFolder, FilesThatAreMissingOrUnknown) {
  EXPECT_EQ(error(), "'" + path + "' has no tokenizer");
  EXPECT_EQ(error("/tokenizer.json"), "cannot read '" + path + "/tokenizer.json': No such file or directory");
  std::filesystem::create_directory(path + "/a.json");
  EXPECT_EQ(readFile(path).status().message(),
            "cannot read '" + path + "', expected a regular file but got a directory");
  EXPECT_EQ(error("/vocab.txt"),
            "tokenizer '" + path + "/vocab.txt', expected a .json or .model file, or a folder with one");
  write("tokenizer.model", "no model");
  EXPECT_TRUE(error().starts_with("'" + path + "/tokenizer.model' is not a model of sentencepiece: ")) << error();
  write("tokenizer.json", "version https://git-lfs.github.com/spec/v1");
  EXPECT_EQ(error(), "'" + path + "/tokenizer.json' is not JSON");
}

TEST_F(TokenizerFolder, Settings) {
  write("tokenizer.json", small().dump());
  EXPECT_EQ(error(), "");
  write("tokenizer_config.json", "{");
  EXPECT_EQ(error(), "'" + path + "/tokenizer_config.json' is not JSON");
  write("tokenizer_config.json", R"({"bos_token": 3})");
  EXPECT_EQ(error(), "'" + path + "/tokenizer_config.json': 'bos_token', expected a token");
  write("tokenizer_config.json", R"({"chat_template": [{"name": "default"}]})");
  EXPECT_EQ(error(), "'" + path +
                         "/tokenizer_config.json': 'chat_template', expected a text, or objects with "
                         "'name' and 'template'");
  write(
      "tokenizer_config.json",
      R"({"bos_token": {"content": "a"}, "chat_template": [{"name": "x", "template": "1"}, {"name": "default", "template": "2"}]})");
  write("special_tokens_map.json", R"({"bos_token": "ab", "eos_token": "b"})");
  auto tokenizer = openTokenizer(path);
  ASSERT_TRUE(tokenizer.isOk()) << tokenizer.status().message();
  // As in transformers: special_tokens_map.json takes precedence.
  EXPECT_EQ((*tokenizer)->bos, 2);
  EXPECT_EQ((*tokenizer)->eos, 1);
  EXPECT_EQ((*tokenizer)->settings.chatTemplate, "2");
  EXPECT_EQ((*tokenizer)->vocabularySize(), 3u);
  const std::string digest = (*tokenizer)->digest;
  write("chat_template.jinja", "3");
  tokenizer = openTokenizer(path + "/tokenizer.json");
  ASSERT_TRUE(tokenizer.isOk());
  EXPECT_EQ((*tokenizer)->settings.chatTemplate, "3");
  EXPECT_NE((*tokenizer)->digest, digest);
  EXPECT_EQ((*tokenizer)->files.size(), 4u);
}

// The ids of each case are those of transformers 5.23.
TEST_F(TokenizerFolder, AddedTokensOfEveryFile) {
  const json tokenizer = json::parse(R"({"model": {"type": "BPE", "merges": [], "vocab": {
      "a": 0, "b": 1, "<": 2, ">": 3, "e": 4, "n": 5, "d": 6, "u": 7, "<end>": 8, "<user>": 9}}})");
  const std::string decoder = R"("added_tokens_decoder": {"8": {"content": "<end>", "special": true}})";
  const std::vector<std::int32_t> end = {2, 4, 5, 6, 3};
  struct Case {
    std::string config, map, added, text;
    std::vector<std::int32_t> ids;
    std::string decoded;
  };
  const auto spelled = [&](std::vector<std::int32_t> ids) {
    ids.insert(ids.begin() + 1, end.begin(), end.end());
    return ids;
  };
  const std::vector<Case> cases = {
      {"{}", "", "", "a<end>b", spelled({0, 1}), "a<end>b"},
      {"{" + decoder + "}", "", "", "a<end>b", {0, 8, 1}, "ab"},
      {R"({"eos_token": "<end>"})", "", "", "a<end>b", {0, 8, 1}, "ab"},
      {R"({"image_token": "<end>"})", "", "", "a<end>b", {0, 8, 1}, "ab"},
      {R"({"additional_special_tokens": ["<end>"]})", "", "", "a<end>b", {0, 8, 1}, "ab"},
      {R"({"extra_special_tokens": {"x": "<end>"}})", "", "", "a<end>b", {0, 8, 1}, "ab"},
      {"{}", R"({"additional_special_tokens": ["<end>"]})", "", "a<end>b", {0, 8, 1}, "ab"},
      {"", R"({"eos_token": {"content": "<end>", "lstrip": true}})", "", "a <end>b", {0, 8, 1}, "ab"},
      {R"({"eos_token": "<end>"})", R"({"eos_token": "<user>"})", "", "a<end><user>", spelled({0, 9}), "a<end>"},
      {"{" + decoder + "}", R"({"eos_token": "<user>"})", "", "a<end>b", {0, 8, 1}, "ab"},
      {"{}", "", R"({"un": 10, "<end>": 8})", "aun<end>b", {0, 10, 8, 1}, "aun<end>b"},
      {"{" + decoder + "}", "", R"({"un": 10})", "u<end>", {7, 8}, "u"},
      {R"({"pad_token": "<pad>", "mask_token": "<x>"})", "", "", "a<pad>b<x>", {0, 10, 1, 11}, "ab"},
      {R"({"split_special_tokens": true, )" + decoder + "}", "", "", "a<end>b", spelled({0, 1}), "a<end>b"},
      {R"({"split_special_tokens": true, "added_tokens_decoder": {"8": {"content": "<end>", "special": false}}})",
       "",
       "",
       "a<end>b",
       {0, 8, 1},
       "a<end>b"},
      {R"({"pad_token": "", "additional_special_tokens": []})", "", "", "a", {0}, "a"},
  };
  for (const Case &item : cases) {
    SetUp();
    json withDecoder = tokenizer;
    withDecoder["decoder"] = json::parse(R"({"type": "Fuse"})");
    write("tokenizer.json", withDecoder.dump());
    for (const auto &[name, text] :
         {std::pair("tokenizer_config.json", &item.config), std::pair("special_tokens_map.json", &item.map),
          std::pair("added_tokens.json", &item.added)})
      if (!text->empty())
        write(name, *text);
    const auto opened = openTokenizer(path);
    ASSERT_TRUE(opened.isOk()) << item.config << ": " << opened.status().message();
    std::vector<std::int32_t> ids;
    ASSERT_TRUE((*opened)->encode(item.text, false, ids).isOk());
    EXPECT_EQ(ids, item.ids) << item.config << item.map << item.added;
    EXPECT_EQ((*opened)->decode(ids, true), item.decoded) << item.config;
  }
}

TEST_F(TokenizerFolder, AddedTokensThatContradict) {
  json tokenizer = small();
  tokenizer["pre_tokenizer"] = json::parse(R"({"type": "ByteLevel", "add_prefix_space": false})");
  tokenizer["normalizer"] = json::parse(R"({"type": "BertNormalizer", "lowercase": false})");
  write("tokenizer.json", tokenizer.dump());
  const auto errorOf = [&](const std::string &config) {
    write("tokenizer_config.json", config);
    std::string text = error();
    return text.substr(std::min(text.find(": ") + 2, text.size()));
  };
  EXPECT_EQ(errorOf(R"({"added_tokens_decoder": {"7": {"content": "ab"}}})"),
            "id of the token 'ab' in 'added_tokens_decoder', expected 2 but got 7");
  EXPECT_EQ(errorOf(R"({"added_tokens_decoder": {"7": {"content": "new"}}})"),
            "id of the token 'new' in 'added_tokens_decoder', expected 3 but got 7");
  EXPECT_EQ(openTokenizer(path).status().notes(),
            std::vector<std::string>{"correct the id: added tokens follow the vocabulary without gaps"});
  EXPECT_EQ(errorOf(R"({"added_tokens_decoder": {"x": {"content": "new"}}})"),
            "id of the token 'new', expected a token id");
  EXPECT_EQ(errorOf(R"({"added_tokens_decoder": {"3": 4}})"), "'added_tokens_decoder', expected a token");
  EXPECT_EQ(errorOf(R"({"added_tokens_decoder": []})"), "'added_tokens_decoder', expected an object but got array");
  EXPECT_EQ(errorOf(R"({"add_prefix_space": true})"),
            "tokenizer.pre_tokenizer: 'add_prefix_space' is false, but true in tokenizer_config.json");
  EXPECT_EQ(errorOf(R"({"do_lower_case": true})"),
            "tokenizer.normalizer: 'lowercase' is false, but true in tokenizer_config.json");
  EXPECT_EQ(errorOf(R"({"sp_model_kwargs": {"enable_sampling": true}})"),
            "'sp_model_kwargs' is not supported, because ids would be random");
  EXPECT_EQ(errorOf(R"({"add_prefix_space": false, "do_lower_case": false, "sp_model_kwargs": {}})"), "");
}

/// Every tokenizer.json of the references, cut or with one byte changed, is an error or another tokenizer.
TEST(TokenizerErrors, DamagedFiles) {
  std::uint64_t state = 1;
  const auto draw = [&](std::size_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state >> 33) % bound;
  };
  for (const char *name : {"gpt2", "qwen2", "mistral", "bert", "unigram", "other-stages"}) {
    const Result<std::string> file =
        readFile(std::string(SLUICE_SOURCE_DIR "/test/reference/tokenizers/") + name + "/tokenizer.json");
    ASSERT_TRUE(file.isOk());
    for (int i = 0; i < 60; ++i)
      EXPECT_FALSE(readTokenizerJson(file->substr(0, draw(file->size() - 2)), "t.json", {}).isOk());
    int accepted = 0;
    for (int i = 0; i < 200; ++i) {
      std::string text = *file;
      // Structure is at both ends; the vocabulary is in the middle.
      const std::size_t at = draw(std::min<std::size_t>(text.size(), 1500));
      text[i % 2 ? at : text.size() - 1 - at] = "0[]{},:\"-ntf"[draw(12)];
      const auto tokenizer = readTokenizerJson(text, "t.json", {});
      accepted += tokenizer.isOk();
      std::vector<std::int32_t> ids;
      if (tokenizer.isOk() && (*tokenizer)->encode("The gate <s> \U0001F600 12", true, ids).isOk())
        (void)(*tokenizer)->decode(ids, false);
    }
    EXPECT_LT(accepted, 200) << name;
  }
}

// Tests that normalizers that make a text much longer end with an error instead of exhausting the memory.
TEST(TokenizerErrors, TextThatGrows) {
  json tokenizer = small();
  const json replace = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1000, 'a')}};
  tokenizer["normalizer"] = {{"type", "Sequence"}, {"normalizers", json::array({replace, replace, replace, replace})}};
  const auto read = readTokenizerJson(tokenizer.dump(), "t.json", {});
  ASSERT_TRUE(read.isOk()) << read.status().message();
  std::vector<std::int32_t> ids;
  EXPECT_TRUE((*read)->encode("", true, ids).isOk());
  const Status status = (*read)->encode("aaab", true, ids);
  EXPECT_EQ(status.code(), StatusCode::input);
  EXPECT_EQ(status.message().find("replacement in a text of "), 0u) << status.message();
}

/// Replaces every member of a tokenizer by a member of every type.
void replaceEach(json &part, const json &whole, int &count) {
  for (auto &member : part) {
    const json kept = member;
    for (const char *value : {"null", "-7", "1e300", "\"x\"", "[]", "[[]]", "{}", "true"}) {
      member = json::parse(value);
      const auto tokenizer = readTokenizerJson(whole.dump(), "t.json", {});
      std::vector<std::int32_t> ids;
      if (tokenizer.isOk() && (*tokenizer)->encode("a <s> 1", true, ids).isOk())
        (void)(*tokenizer)->decode(ids, false);
      ++count;
    }
    member = kept;
    if (member.is_structured())
      replaceEach(member, whole, count);
  }
}

TEST(TokenizerErrors, MembersOfEveryType) {
  json tokenizer = json::parse(R"({
    "added_tokens": [{"id": 5, "content": "<s>", "special": true, "lstrip": true}],
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "BertNormalizer"}, {"type": "Strip"},
                   {"type": "Replace", "pattern": {"Regex": "a+"}, "content": "b"}]},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Metaspace", "prepend_scheme": "first"},
                      {"type": "ByteLevel"}, {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed"}]},
    "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "s"}}, {"Sequence": {}}],
                       "special_tokens": {"s": {"ids": [5]}}},
    "decoder": {"type": "Sequence", "decoders": [{"type": "Strip", "content": " ", "start": 1}, {"type": "WordPiece"},
                {"type": "Metaspace"}, {"type": "ByteFallback"}]},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]], "unk_token": "a"}})");
  int count = 0;
  replaceEach(tokenizer, tokenizer, count);
  EXPECT_GT(count, 400);
}

} // namespace
