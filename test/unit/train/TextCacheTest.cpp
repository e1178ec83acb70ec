//===- TextCacheTest.cpp - text data as token files, prompts and generated text -------------===//
#include "runtime/train/TextCache.h"
#include "runtime/train/ContentDigest.h"
#include "runtime/train/Generate.h"
#include "runtime/train/ModelFiles.h"
#include "runtime/train/TokenData.h"
#include "test/unit/train/Fixture.h"

using namespace sluice;
using namespace sluice::test;

namespace {

/// A token per byte with BOS, EOS and id 3 for the letter "x".
class ByteTokenizer : public Tokenizer {
public:
  ByteTokenizer() {
    eos = 2;
    digest = "bytes";
    files = {"bytes.json"};
  }
  std::string decode(std::span<const std::int32_t> ids, bool skipSpecial) const override {
    std::string text;
    for (const std::int32_t id : ids)
      text += id == 3 ? "\uFFFD" : std::string(1, static_cast<char>(id));
    return text;
  }
  std::uint64_t vocabularySize() const override { return 128; }

protected:
  Status encodeValid(std::string_view text, bool special, std::vector<std::int32_t> &ids) override {
    if (special)
      ids.push_back(1);
    for (const char c : text)
      ids.push_back(c == 'x' ? 3 : c);
    return Status::ok();
  }
};

class TextCache : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "/text-" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  std::string write(const std::string &name, const std::string &text) const {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
    return folder + "/" + name;
  }
  std::vector<std::string> tokenize(const std::vector<std::string> &sources) {
    ByteTokenizer tokenizer;
    std::vector<std::string> paths = expandGlobs(sources);
    auto files =
        tokenizeTexts(paths, DataFiles(), tokenizer, 8, folder + "/cache", [&](const std::string &) { ++notes; });
    EXPECT_TRUE(files.isOk()) << files.status().message();
    for (std::string &path : paths)
      if (files->contains(path))
        path = files->at(path);
    return paths;
  }
  static std::vector<std::int32_t> tokensOf(const std::string &path, std::uint64_t count) {
    auto data = TokenData::open({path}, {count - 1, 1, 0});
    EXPECT_TRUE(data.isOk()) << data.status().message();
    std::vector<std::int32_t> tokens(count - 1), targets(count - 1);
    EXPECT_TRUE(data->read(0, tokens, targets).isOk());
    tokens.push_back(targets.back());
    return tokens;
  }

  std::string folder;
  int notes = 0;
};

TEST_F(TextCache, ADocumentHasSpecialTokensAndEos) {
  const std::string text = write("a.txt", "bcd");
  const std::vector<std::string> paths = tokenize({text});
  ASSERT_EQ(paths.size(), 1u);
  EXPECT_EQ(tokensOf(paths[0], 5), (std::vector<std::int32_t>{1, 'b', 'c', 'd', 2}));
  EXPECT_EQ(tokenize({text}), paths);
  EXPECT_EQ(notes, 1);
  // EOS is not added twice, and a changed text is tokenized again.
  write("a.txt", "bc\2");
  std::filesystem::last_write_time(text, std::filesystem::last_write_time(text) + std::chrono::seconds(1));
  const std::vector<std::string> changed = tokenize({text});
  EXPECT_NE(changed, paths);
  EXPECT_EQ(tokensOf(changed[0], 4), (std::vector<std::int32_t>{1, 'b', 'c', 2}));
}

// Tests that ids that were changed, or written by an earlier version, are written again.
TEST_F(TextCache, ChangedIdsAreWrittenAgain) {
  const std::string text = write("a.txt", "bcd");
  const std::string cached = tokenize({text})[0];
  std::fstream(cached, std::ios::in | std::ios::out | std::ios::binary).seekp(1026).put('z');
  EXPECT_EQ(tokenize({text})[0], cached);
  EXPECT_EQ(notes, 2);
  EXPECT_EQ(tokensOf(cached, 5), (std::vector<std::int32_t>{1, 'b', 'c', 'd', 2}));
  std::filesystem::resize_file(cached, 1028);
  tokenize({text});
  EXPECT_EQ(notes, 3);
  std::filesystem::remove(cached + ".digest");
  tokenize({text});
  EXPECT_EQ(notes, 4);
  tokenize({text});
  EXPECT_EQ(notes, 4);
}

// Tests that each byte of a large file counts.
TEST_F(TextCache, AChangedByteOfManyIsFound) {
  const std::string text = write("a.txt", std::string(34 << 20, 'b'));
  const std::string cached = tokenize({text})[0];
  const std::uint64_t bytes = std::filesystem::file_size(cached);
  ASSERT_GT(bytes, std::uint64_t(64) << 20);
  // Of its 1,089 blocks of 64 KiB contentDigest() reads 1,024, without block 16.
  std::fstream(cached, std::ios::in | std::ios::out | std::ios::binary).seekp(16 * 65536 + 100).put('z');
  const Result<std::string> sampled = contentDigest({cached});
  tokenize({text});
  EXPECT_EQ(notes, 2);
  EXPECT_EQ(*contentDigest({cached}), *sampled) << "the changed byte was in a sample";
  tokenize({text});
  EXPECT_EQ(notes, 2);
}

TEST_F(TextCache, OtherSourcesAreKept) {
  const std::string ids = folder + "/ids.bin", wide = folder + "/wide.bin";
  ASSERT_TRUE(writeTokenFile(ids, std::vector<std::int32_t>{5, 65535}).isOk());
  ASSERT_TRUE(writeTokenFile(wide, std::vector<std::int32_t>{5, 65536}).isOk());
  EXPECT_EQ(std::filesystem::file_size(ids), 1024u + 4);
  EXPECT_EQ(tokensOf(ids, 2), (std::vector<std::int32_t>{5, 65535}));
  EXPECT_EQ(std::filesystem::file_size(wide), 1024u + 8);
  EXPECT_EQ(tokensOf(wide, 2), (std::vector<std::int32_t>{5, 65536}));
  const std::vector<std::string> kept = {
      "random:1", ids, wide, folder + "/missing.txt", write("rows.safetensors", "x"), write("rows.npy", "x")};
  EXPECT_EQ(tokenize(kept), kept);
  EXPECT_EQ(notes, 0);
  write("1.txt", "a");
  write("2.txt", "b");
  const std::vector<std::string> paths = tokenize({folder + "/?.txt", ids});
  ASSERT_EQ(paths.size(), 3u);
  EXPECT_EQ(tokensOf(paths[1], 3), (std::vector<std::int32_t>{1, 'b', 2}));
  EXPECT_EQ(paths[2], ids);
}

TEST_F(TextCache, ADeclaredFormatDecides) {
  const std::string text = write("a.txt", "bcd"), other = write("a.dat", std::string("\0\0\0\0", 4));
  EXPECT_EQ(textFormat(text, DataFormat::automatic), DataFormat::text);
  EXPECT_EQ(textFormat(text, DataFormat::bytes), std::nullopt);
  EXPECT_EQ(textFormat(other, DataFormat::automatic), std::nullopt);
  EXPECT_EQ(textFormat(other, DataFormat::text), DataFormat::text);
  EXPECT_EQ(textFormat(text, DataFormat::alpaca), DataFormat::alpaca);
  EXPECT_EQ(textFormat(folder, DataFormat::text), std::nullopt);
}

TEST_F(TextCache, ConversationsAreFoundByNameOrContent) {
  const std::string row = R"({"tools": [{"messages": 1}], "messages": []})";
  for (const char *name : {"a.json", "a.JSONL", "a.ndjson", "a.txt", "a"})
    for (const std::string &text : {row, "\n[" + row + "]", "\xEF\xBB\xBF" + row + "\n" + row})
      EXPECT_EQ(textFormat(write(name, text), DataFormat::automatic), DataFormat::messages) << name << text;
  for (const char *text : {"{}", R"({"x": {"messages": []}})", R"([[{"messages": []}]])", "{ messages", "a {"})
    EXPECT_EQ(textFormat(write("a.txt", text), DataFormat::automatic), DataFormat::text) << text;
  EXPECT_EQ(textFormat(write("a.txt", R"({"conversations": [)"), DataFormat::automatic), DataFormat::messages);
  EXPECT_EQ(textFormat(write("a.txt", R"([{"instruction": "a", "output": )"), DataFormat::automatic),
            DataFormat::messages);
  EXPECT_EQ(textFormat(write("a.json", "{}"), DataFormat::automatic), DataFormat::messages);
  EXPECT_EQ(textFormat(write("a.json", "{}"), DataFormat::text), DataFormat::text);
}

TEST_F(TextCache, LeftOutConversationsAreNamedInEachRun) {
  ByteTokenizer tokenizer;
  tokenizer.settings.chatTemplate =
      "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}";
  std::string lines = R"({"messages": [{"role": "user", "content": "ab"}]})"
                      "\n{\n"
                      R"({"messages": [{"role": "user", "content": "a"}]})";
  for (int i = 0; i < 11; ++i)
    lines += "\n[";
  const std::string path = write("a.jsonl", lines);
  DataFiles files;
  std::vector<std::string> lists[2];
  for (auto &list : lists)
    for (const bool skips : {false, true}) {
      files.conversations.skipsInvalid = skips;
      const auto result = tokenizeTexts({path}, files, tokenizer, 8, folder + "/cache",
                                        [&](const std::string &line) { list.push_back(line); });
      if (!skips && result.status().message().ends_with("this build of Sluice has no tokenizers"))
        GTEST_SKIP() << "this build has no tokenizers";
      EXPECT_EQ(result.isOk(), skips) << result.status().message();
    }
  ASSERT_EQ(lists[0].size(), 14u);
  EXPECT_TRUE(lists[0][0].starts_with("'" + path + "' has 1 conversations, which are kept as rows of 8 tokens in '"));
  EXPECT_EQ(lists[0][1],
            "'" + path + "' has 1 conversations without an answer in their first 8 tokens, which are left out");
  EXPECT_EQ(lists[0][2], "'" + path + "' has 12 invalid conversations of 14, which are left out");
  EXPECT_EQ(lists[0][3], "left out: '" + path + "', line 2: not JSON: it ends within a value");
  EXPECT_EQ(lists[0][13], "left out: 2 more");
  // The rows are in the cache.
  lists[0].erase(lists[0].begin());
  EXPECT_EQ(lists[1], lists[0]);
}

TEST_F(TextCache, FilesOfATokenizerAreCopied) {
  write("tokenizer.json", "1");
  write("merges.txt", "2");
  const std::string other = write("other.json", "3");
  const std::string copies = folder + "/copies";
  std::filesystem::create_directory(copies);
  EXPECT_EQ(findTokenizerFiles(other), (std::vector<std::string>{folder + "/tokenizer.json", folder + "/merges.txt"}));
  EXPECT_EQ(findBeside(folder, "generation_config.json"), "");
  ASSERT_TRUE(copyFiles(findTokenizerFiles(folder), copies).isOk());
  ASSERT_TRUE(copyFiles(findTokenizerFiles(copies), copies).isOk());
  std::string text;
  std::ifstream(copies + "/merges.txt") >> text;
  EXPECT_EQ(text, "2");
}

/// The next token is always the last one plus 1, of 128.
FakeRanks counter(std::int64_t vocabulary) {
  PlanBuilder builder({{"shard", 1}});
  plan::EntryT &entry = builder.entry("logits");
  entry.inputs.push_back(builder.port("tokens", plan::DType::i32, {1, 4}, 0, vocabulary));
  entry.outputs.push_back(builder.port("logits", plan::DType::f32, {1, 4, vocabulary}));
  FakeRanks ranks(std::move(builder.plan));
  ranks.onRun = [vocabulary](FakeRanks &self, std::string_view) {
    const std::vector<std::int32_t> tokens = self.values<std::int32_t>(0, 0);
    std::vector<float> logits(4 * static_cast<std::size_t>(vocabulary));
    for (std::size_t i = 0; i < 4; ++i)
      logits[i * static_cast<std::size_t>(vocabulary) + static_cast<std::size_t>((tokens[i] + 1) % vocabulary)] = 10;
    return self.write(0, 1, 0, std::as_bytes(std::span(logits)));
  };
  return ranks;
}

TEST(GenerateText, IncompleteCharactersAreHeldAndAStopTokenEndsTheText) {
  FakeRanks ranks = counter(128);
  ByteTokenizer tokenizer;
  GenerateOptions options;
  options.tokenizer = &tokenizer;
  options.temperature = 0;
  options.stopTokens = {2};
  options.prompt = "a";
  options.count = 3;
  std::vector<std::string> texts;
  const auto sink = [&](std::string_view text) { texts.emplace_back(text); };
  ASSERT_TRUE(generate(ranks, options, sink).isOk());
  EXPECT_EQ(texts, (std::vector<std::string>{"b", "c", "d", ""}));
  // Of the prompt "x" the token is 3; 4 follows. 127 is followed by 0, 1 and EOS.
  options.prompt = "\x7f";
  options.count = 10;
  texts.clear();
  ASSERT_TRUE(generate(ranks, options, sink).isOk());
  EXPECT_EQ(texts, (std::vector<std::string>{std::string(1, '\0'), "\1", ""}));
  // Token 3 has no complete text until the next token.
  options.stopTokens.clear();
  options.count = 5;
  texts.clear();
  ASSERT_TRUE(generate(ranks, options, sink).isOk());
  EXPECT_EQ(texts, (std::vector<std::string>{std::string(1, '\0'), "\1", "\2", "", "\uFFFD\4", ""}));
}

TEST(GenerateText, ErrorsComeBeforeTheFirstToken) {
  GenerateOptions options;
  ByteTokenizer tokenizer;
  options.tokenizer = &tokenizer;
  FakeRanks small = counter(127);
  EXPECT_EQ(checkGenerate(small.plan(), options).message(),
            "tokens of the tokenizer 'bytes.json', expected at most 127, the model's vocabulary, but got 128");
}

/// A tokenizer that drops all text.
class EmptyTokenizer final : public ByteTokenizer {
protected:
  Status encodeValid(std::string_view, bool, std::vector<std::int32_t> &) override { return Status::ok(); }
};

TEST(GenerateText, APromptWithoutTokensIsAnError) {
  EmptyTokenizer tokenizer;
  GenerateOptions options;
  options.tokenizer = &tokenizer;
  FakeRanks ranks = counter(128);
  EXPECT_EQ(checkGenerate(ranks.plan(), options).message(), "the prompt has no tokens");
}

} // namespace
