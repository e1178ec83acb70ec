//===- ChatDataTest.cpp - conversations as tokens and targets, compared with transformers ------===//
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
  /// The conversations as rows of one length.
  struct ChatRows {
    std::vector<std::int32_t> tokens, targets;
    std::size_t count = 0, dropped = 0;
    std::vector<std::string> invalid;
  };
  /// Of these lines.
  Result<ChatRows> read(const std::string &lines, std::uint64_t length = 64) {
    std::ofstream(path) << lines;
    SLUICE_ASSIGN_OR_RETURN(const ChatDocuments chat, readChat(path, format, *tokenizer, length, options));
    return ChatRows{paddedRows(chat, chat.tokens, length, tokenizer->eos.value_or(0)),
                    paddedRows(chat, chat.targets, length, -100), chat.ends.size(), chat.dropped, chat.invalid};
  }
  std::string errorOf(const std::string &lines) {
    const Result<ChatRows> rows = read(lines);
    return rows.isOk() ? "" : rows.status().message();
  }

  /// The text of the targets, and a bar after each row.
  std::string targetsOf(const std::string &lines) {
    const Result<ChatRows> rows = read(lines);
    EXPECT_TRUE(rows.isOk()) << rows.status().message();
    std::string text;
    for (std::size_t i = 0; rows.isOk() && i < rows->count; ++i) {
      std::vector<std::int32_t> ids;
      for (std::size_t at = 0; at < 64; ++at)
        if (const std::int32_t id = rows->targets[i * 64 + at]; id != -100)
          ids.push_back(id);
      text += tokenizer->decode(ids, false) + "|";
    }
    return text;
  }

  std::unique_ptr<Tokenizer> tokenizer;
  DataFormat format = DataFormat::messages;
  ConversationOptions options;
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

TEST_F(ChatData, DocumentsAreComplete) {
  const std::string other =
      R"({"messages": [{"role": "user", "content": "c d e"}, {"role": "assistant", "content": "f"}]})";
  std::ofstream(path) << question << "\n" << other;
  const Result<ChatDocuments> chat = readChat(path, format, *tokenizer, /*length=*/0);
  ASSERT_TRUE(chat.isOk()) << chat.status().message();
  ASSERT_EQ(chat->ends.size(), 2u);
  EXPECT_EQ(chat->ends[1], std::ssize(chat->tokens));
  EXPECT_EQ(chat->targets.size(), chat->tokens.size());
  std::ofstream(path) << other;
  const Result<ChatDocuments> second = readChat(path, format, *tokenizer, 0);
  ASSERT_TRUE(second.isOk());
  EXPECT_EQ(second->tokens, std::vector(chat->tokens.begin() + chat->ends[0], chat->tokens.end()));
  EXPECT_EQ(second->targets, std::vector(chat->targets.begin() + chat->ends[0], chat->targets.end()));
  std::ofstream(path) << R"({"messages": [{"role": "user", "content": "a"}]})";
  EXPECT_EQ(readChat(path, format, *tokenizer, 0).status().message(),
            "'" + path + "' has no conversation with an answer");
}

TEST_F(ChatData, MembersAreReadAsByTransformers) {
  const Json file = readReference("chat-conversations.json");
  Result<std::unique_ptr<Tokenizer>> other = openTokenizer(reference + "qwen2");
  ASSERT_TRUE(other.isOk());
  (*other)->settings.bosToken = "<s>";
  for (const auto &[name, chatTemplate] : {std::pair<std::string, std::string>("members", file["template"]),
                                           {"qwen2", [] {
                                              for (const Json &entry : readReference("chat.json"))
                                                if (entry["name"] == "qwen2")
                                                  return entry["template"].get<std::string>();
                                              return std::string();
                                            }()}}) {
    (*other)->settings.chatTemplate = chatTemplate;
    const Result<ChatTemplate> chat = ChatTemplate::open(**other);
    ASSERT_TRUE(chat.isOk());
    for (const Json &item : file["cases"]) {
      const Result<Conversation> conversation = readConversation(item["conversation"].dump(), DataFormat::messages, {},
                                                                 [](std::string_view) { return false; });
      ASSERT_TRUE(conversation.isOk()) << conversation.status().message();
      const Result<text::JinjaOutput> output = chat->render(*conversation, false);
      ASSERT_TRUE(output.isOk()) << output.status().message();
      EXPECT_EQ(output->text, item[name].get<std::string>());
    }
  }
}

TEST_F(ChatData, AnswersWithoutWeightAreNoTargets) {
  const auto line = [](const std::string &first, const std::string &second) {
    return R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b")" + first +
           R"(}, {"role": "user", "content": "c"}, {"role": "assistant", "content": "d")" + second + "}]}";
  };
  for (const char *name : {"generation", "chatml"}) {
    use(name);
    const std::string b = name == std::string("chatml") ? "b<|im_end|>\n" : "b<|im_end|>";
    std::string d = b;
    d[0] = 'd';
    EXPECT_EQ(targetsOf(line("", "")), b + d + "|");
    EXPECT_EQ(targetsOf(line(R"(, "weight": 0)", R"(, "weight": 1)")), d + "|");
    EXPECT_EQ(targetsOf(line("", R"(, "weight": 0.0)")), b + "|");
    EXPECT_EQ(targetsOf(line(R"(, "train": false)", R"(, "train": true)")), d + "|");
    EXPECT_EQ(targetsOf(line(R"(, "train": true, "weight": null)", R"(, "train": false)")), b + "|");
  }
  EXPECT_EQ(errorOf(line(R"(, "weight": 0)", R"(, "train": false)")),
            "'" + path + "' has no conversation with an answer in its first 64 tokens");
  EXPECT_EQ(errorOf(line(R"(, "weight": 0.5)", "")),
            "'" + path + "', line 1: 'weight' of a message, expected 0, 1, true or false but got 0.5");
  EXPECT_EQ(errorOf(R"({"messages": [{"role": "user", "content": "a", "train": true}]})"),
            "'" + path +
                "', line 1: 'train' of a message of the role 'user': only answers of the assistant are targets");
}

TEST_F(ChatData, UnknownMembersAreRefused) {
  const std::string row = R"({"source": "x", "messages": [{"role": "user", "content": "a", "lang": "en"},
                              {"role": "assistant", "content": "b"}]})";
  EXPECT_EQ(errorOf(row), "'" + path + "', element 1: member 'source' of a conversation is unknown");
  options.ignoredFields = {"source"};
  EXPECT_EQ(errorOf(row),
            "'" + path + "', element 1: member 'lang' of a message is unknown, and the chat template does not read it");
  options.ignoredFields = {"source", "lang"};
  EXPECT_EQ(errorOf(row), "");
  options.ignoredFields = {"source"};
  tokenizer->settings.chatTemplate += "{# lang #}";
  EXPECT_EQ(errorOf(row), "");
  const auto errorWith = [&](const std::string &member) {
    const std::string text = errorOf("{" + member + R"(, "messages": [{"role": "user", "content": "a"}]})");
    return text.substr(text.find(": ") + 2);
  };
  EXPECT_EQ(errorWith(R"("tools": "[")"), "member 'tools' of a conversation, expected a list of objects");
  EXPECT_EQ(errorWith(R"("documents": ["a"])"), "member 'documents' of a conversation, expected a list of objects");
  EXPECT_EQ(errorWith(R"("chat_template_kwargs": 1)"),
            "member 'chat_template_kwargs' of a conversation, expected an object");
  EXPECT_EQ(errorWith(R"("chat_template_kwargs": {"messages": []})"),
            "member 'messages' of 'chat_template_kwargs' is not supported");
  EXPECT_EQ(errorWith(R"("id": 1, "id": 2)"), "an object has the member 'id' twice");
}

TEST_F(ChatData, LinesListsAndOneObject) {
  const std::string other =
      R"({"messages": [{"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]})";
  const std::string both = "b<|im_end|>|d<|im_end|>|";
  EXPECT_EQ(targetsOf(std::string(question) + "\r\n\n" + other), both);
  EXPECT_EQ(targetsOf("\xEF\xBB\xBF" + std::string(question) + "\n" + other + "\n"), both);
  EXPECT_EQ(targetsOf("\n [\n" + std::string(question) + ",\n" + other + "]\n"), both);
  EXPECT_EQ(targetsOf(Json::parse(question).dump(2)), "b<|im_end|>|");
  EXPECT_EQ(errorOf("[]"), "'" + path + "' has no conversation with an answer in its first 64 tokens");
  EXPECT_EQ(errorOf(" \n"), "'" + path + "' has no conversation with an answer in its first 64 tokens");
  EXPECT_EQ(errorOf("[1, x]"), "'" + path + "': not JSON: byte 4 is not expected there");
  EXPECT_EQ(errorOf("[1]"), "'" + path + "', element 1: expected an object with 'messages', a list");
}

TEST_F(ChatData, ShareGptAndAlpaca) {
  format = DataFormat::sharegpt;
  EXPECT_EQ(targetsOf(R"({"id": "1", "system": "s", "conversations": [{"from": "human", "value": "a"},
                          {"from": "gpt", "value": "b"}, {"from": "observation", "value": "c"},
                          {"from": "assistant", "value": "d", "weight": 0}]})"),
            "b<|im_end|>|");
  EXPECT_EQ(errorOf(question), "'" + path + "', line 1: expected an object with 'conversations', a list");
  EXPECT_EQ(errorOf(R"({"conversations": [{"from": "bing", "value": "a"}]})"),
            "'" + path + "', line 1: 'from', expected human, gpt, system, tool or observation but got 'bing'");
  EXPECT_EQ(errorOf(R"({"conversations": [{"from": "gpt"}]})"),
            "'" + path + "', line 1: expected a message with 'from' and 'value'");
  format = DataFormat::alpaca;
  EXPECT_EQ(targetsOf(R"([{"instruction": "a", "input": "", "output": "b"},
                          {"instruction": "a", "input": "c", "output": "d", "history": [["e", "f"]]}])"),
            "b<|im_end|>|f<|im_end|>d<|im_end|>|");
  const Result<Conversation> row = readConversation(R"({"instruction": "a", "input": "c", "output": "d"})", format, {},
                                                    [](std::string_view) { return false; });
  ASSERT_TRUE(row.isOk());
  EXPECT_EQ(row->messages[0]["content"], "a\nc");
  EXPECT_EQ(errorOf(question), "'" + path + "', line 1: expected an object with 'instruction' and 'output'");
  EXPECT_EQ(errorOf(R"({"instruction": "a", "output": 1})"),
            "'" + path + "', line 1: member 'output' of a conversation, expected a text");
  EXPECT_EQ(errorOf(R"({"instruction": "a", "output": "b", "history": [["e"]]})"),
            "'" + path + "', line 1: member 'history' of a conversation, expected a list of two texts each");
}

TEST_F(ChatData, InvalidConversationsAreLeftOut) {
  const std::string lines = std::string(question) + "\n{\n{\"messages\": 1}\n\"\xff\"\n" + question;
  EXPECT_EQ(errorOf(lines), "'" + path + "', line 2: not JSON: it ends within a value");
  options.skipsInvalid = true;
  const Result<ChatRows> rows = read(lines);
  ASSERT_TRUE(rows.isOk()) << rows.status().message();
  EXPECT_EQ(rows->count, 2u);
  EXPECT_EQ(rows->invalid,
            (std::vector<std::string>{"'" + path + "', line 2: not JSON: it ends within a value",
                                      "'" + path + "', line 3: expected an object with 'messages', a list",
                                      "'" + path + "', line 4: not JSON: byte 1 is not UTF-8"}));
}

TEST_F(ChatData, ErrorsNameTheLine) {
  EXPECT_EQ(errorOf("\n{"), "'" + path + "', line 2: not JSON: it ends within a value");
  EXPECT_EQ(errorOf("{\"a\": \"\xE9\"}"), "'" + path + "', line 1: not JSON: byte 7 is not UTF-8");
  EXPECT_EQ(errorOf("{}\n" + std::string(300, '[') + std::string(300, ']')),
            "'" + path + "', line 1: expected an object with 'messages', a list");
  EXPECT_EQ(errorOf(std::string(300, '[') + std::string(300, ']')),
            "'" + path + "': not JSON: it nests deeper than 200 levels");
  EXPECT_EQ(errorOf(R"({"messages": []})"), "'" + path + "', line 1: expected an object with 'messages', a list");
  EXPECT_EQ(errorOf(R"({"messages": [{"content": "a"}]})"),
            "'" + path + "', line 1: expected a message with 'role' and 'content'");
  tokenizer->settings.chatTemplate = "{{ raise_exception('no') }}";
  EXPECT_EQ(errorOf(question), "'" + path + "', line 1: chat template: no");
  tokenizer->settings.chatTemplate = "{% for m in messages %}th{% generation %}e {% endgeneration %}{% endfor %}";
  EXPECT_EQ(errorOf(question), "'" + path + "', line 1: an answer begins or ends within a token");
}

} // namespace
