//===- ChatDataTest.cpp - conversations as rows, compared with transformers -----------------===//
#include "runtime/train/ChatData.h"
#include "test/unit/train/Fixture.h"

#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string reference = SLUICE_SOURCE_DIR "/test/reference/tokenizers/";

Json readReference(const std::string &name) { return Json::parse(contentOf(reference + name)); }

class ChatData : public testing::Test {
protected:
  void SetUp() override {
    Result<std::unique_ptr<Tokenizer>> opened = openTokenizer(reference + "qwen2");
    if (opened.status().message().ends_with("this build of Sluice has no tokenizers"))
      GTEST_SKIP() << opened.status().message();
    ASSERT_TRUE(opened.isOk()) << opened.status().message();
    tokenizer = std::move(*opened);
    use("generation");
  }
  void use(const std::string &name) {
    for (const Json &entry : readReference("chat.json"))
      if (entry["name"] == name)
        tokenizer->settings.chatTemplate = entry["template"];
  }
  /// Of these lines.
  Result<ChatRows> read(const std::string &lines, std::uint64_t length = 64) {
    std::ofstream(path) << lines;
    return readChat(path, *tokenizer, length);
  }
  std::string errorOf(const std::string &lines) {
    const Result<ChatRows> rows = read(lines);
    return rows.isOk() ? "" : rows.status().message();
  }

  std::unique_ptr<Tokenizer> tokenizer;
  const std::string path =
      testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl";
};

TEST_F(ChatData, IdsAndAnswersOfTransformers) {
  constexpr std::size_t length = 120;
  std::size_t compared = 0;
  for (const Json &item : readReference("chat-rows.json")) {
    Json line = Json::object();
    line["messages"] = item["messages"];
    const Result<ChatRows> rows = read(line.dump() + "\n\n", length);
    const auto ids = item["ids"].get<std::vector<std::int32_t>>();
    const auto answers = item["answers"].get<std::vector<int>>();
    if (std::ranges::count(answers, 1) == 0) {
      EXPECT_EQ(rows.status().message(), "'" + path + "' has no conversation with an answer in its first 120 tokens");
      continue;
    }
    ASSERT_TRUE(rows.isOk()) << rows.status().message();
    ASSERT_EQ(rows->count, 1u);
    std::vector<std::int32_t> tokens = ids, targets(length, -100);
    tokens.resize(length, *tokenizer->eos);
    for (std::size_t i = 0; i < length && i + 1 < ids.size(); ++i)
      if (answers[i + 1])
        targets[i] = ids[i + 1];
    EXPECT_EQ(rows->tokens, tokens) << line;
    EXPECT_EQ(rows->targets, targets) << line;
    ++compared;
  }
  EXPECT_EQ(compared, 4u);
}

constexpr const char *question =
    R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})";

TEST_F(ChatData, AnswersWithoutGenerationStatements) {
  use("chatml");
  const Result<ChatRows> rows = read(std::string(question) + "\n" + question);
  ASSERT_TRUE(rows.isOk()) << rows.status().message();
  EXPECT_EQ(rows->count, 2u);
  std::vector<std::int32_t> answer, targets;
  for (const std::int32_t target : rows->targets)
    if (target != -100)
      targets.push_back(target);
  ASSERT_TRUE(tokenizer->encode("b<|im_end|>\nb<|im_end|>\n", false, answer).isOk());
  EXPECT_EQ(targets, answer);
}

TEST_F(ChatData, ConversationsThatAreCutOffBeforeAnAnswerHaveNoRow) {
  const Result<ChatRows> whole = read(question);
  ASSERT_TRUE(whole.isOk());
  const auto first = std::ranges::find_if(whole->targets, [](std::int32_t target) { return target != -100; });
  const auto before = static_cast<std::uint64_t>(first - whole->targets.begin());
  EXPECT_FALSE(read(question, before).isOk());
  const std::string early = R"({"messages": [{"role": "assistant", "content": "b"}]})";
  const Result<ChatRows> rows = read(early + "\n" + question, before);
  ASSERT_TRUE(rows.isOk());
  EXPECT_EQ(rows->count, 1u);
  EXPECT_EQ(rows->dropped, 1u);
}

TEST_F(ChatData, ErrorsNameTheLine) {
  EXPECT_EQ(errorOf("\n{"), "'" + path + "', line 2: expected an object with 'messages', a list");
  EXPECT_EQ(errorOf(R"({"messages": []})"), "'" + path + "', line 1: expected an object with 'messages', a list");
  EXPECT_EQ(errorOf(R"({"messages": [{"content": "a"}]})"),
            "'" + path + "', line 1: expected a message with 'role' and 'content'");
  tokenizer->settings.chatTemplate = "{{ raise_exception('no') }}";
  EXPECT_EQ(errorOf(question), "'" + path + "', line 1: chat template: no");
  tokenizer->settings.chatTemplate = "{% for m in messages %}th{% generation %}e {% endgeneration %}{% endfor %}";
  EXPECT_EQ(errorOf(question), "'" + path + "', line 1: an answer begins or ends within a token");
}

} // namespace
