//===- ChatTemplateTest.cpp - chat templates, compared with transformers ----------------------===//
#include "runtime/text/ChatTemplate.h"
#include "runtime/base/File.h"

#include <ctime>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::text;

namespace {

class NoTokens final : public Tokenizer {
public:
  explicit NoTokens(std::string chatTemplate) {
    settings.bosToken = "<s>";
    settings.eosToken = "</s>";
    settings.chatTemplate = std::move(chatTemplate);
    std::tm noon{};
    noon.tm_year = 124, noon.tm_mon = 6, noon.tm_mday = 6, noon.tm_hour = 12, noon.tm_min = 34, noon.tm_sec = 56;
    noon.tm_isdst = -1;
    settings.now = std::mktime(&noon);
    files = {"t.json"};
  }
  std::string decode(std::span<const std::int32_t>, bool) const override { return ""; }
  std::uint64_t vocabularySize() const override { return 0; }

protected:
  Status encodeValid(std::string_view, bool, std::vector<std::int32_t> &) override { return Status::ok(); }
};

TEST(ChatTemplate, TextsOfTransformers) {
  const Result<std::string> file = readFile(SLUICE_SOURCE_DIR "/test/reference/tokenizers/chat.json");
  ASSERT_TRUE(file.isOk());
  int rendered = 0, refused = 0;
  for (const Json &entry : Json::parse(*file)) {
    const std::string name = entry["name"];
    const Result<ChatTemplate> chat = ChatTemplate::open(NoTokens(entry["template"]));
    ASSERT_TRUE(chat.isOk()) << name << ": " << chat.status().message();
    for (const Json &item : entry["cases"]) {
      const Result<JinjaOutput> output = chat->render({item["messages"]}, item["generates"]);
      if (item.contains("error")) {
        EXPECT_FALSE(output.isOk()) << name << ": " << item["messages"];
        ++refused;
        continue;
      }
      ASSERT_TRUE(output.isOk()) << name << ": " << output.status().message();
      EXPECT_EQ(output->text, item["text"].get<std::string>()) << name;
      Json generated = Json::array();
      for (const Range &range : output->generated)
        generated.push_back({range.begin, range.end});
      EXPECT_EQ(generated, item["generated"]) << name;
      ++rendered;
    }
  }
  EXPECT_GT(rendered, 90);
  EXPECT_GT(refused, 10);
}

/// The answers that are found in a conversation, separated by bars; or the error.
std::string answersOf(const std::string &chatTemplate, const char *messages, const std::vector<bool> &ignored = {}) {
  const Result<ChatTemplate> chat = ChatTemplate::open(NoTokens(chatTemplate));
  if (!chat.isOk())
    return chat.status().message();
  const Result<JinjaOutput> output = chat->renderWithAnswers({Json::parse(messages), Json::object(), ignored});
  if (!output.isOk())
    return output.status().message();
  std::string answers;
  for (const Range &range : output->generated)
    answers += "|" + output->text.substr(range.begin, range.end - range.begin);
  return answers;
}

constexpr const char *turns = R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
                                  {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}])";

TEST(ChatTemplate, AnswersAreMarkedOrFoundByPrefixes) {
  const std::string plain = "{% for m in messages %}<{{ m.role }}>{{ m.content }};{% endfor %}"
                            "{% if add_generation_prompt %}<assistant>{% endif %}";
  EXPECT_EQ(answersOf(plain, turns), "|b;|d;");
  EXPECT_EQ(answersOf(plain, R"([{"role": "user", "content": "a"}])"), "");
  const std::string marked = "{% for m in messages %}{% if m.role == 'assistant' %}<{% generation %}{{ m.content }}"
                             "{% endgeneration %}>{% endif %}{% endfor %}";
  EXPECT_EQ(answersOf(marked, turns), "|b|d");
  // Earlier answers change once there is a later one.
  const std::string changing = "{% for m in messages %}{{ m.content if loop.last else '-' }}{% endfor %}";
  EXPECT_EQ(answersOf(changing, turns), "the chat template renders the first 2 messages differently in a longer "
                                        "conversation, so that answers cannot be found in the text");
}

TEST(ChatTemplate, IgnoredAnswersAreNoTargets) {
  const std::string plain = "{% for m in messages %}<{{ m.role }}>{{ m.content }};{% endfor %}"
                            "{% if add_generation_prompt %}<assistant>{% endif %}";
  const std::string marked = "{% for m in messages %}{% if m.role == 'assistant' %}<{% generation %}{{ m.content }}"
                             "{% endgeneration %}>{% endif %}{% endfor %}";
  EXPECT_EQ(answersOf(plain, turns, {false, true, false, false}), "|d;");
  EXPECT_EQ(answersOf(plain, turns, {false, true, false, true}), "");
  EXPECT_EQ(answersOf(marked, turns, {false, true, false, false}), "|d");
  EXPECT_EQ(answersOf(marked, turns, {false, false, false, true}), "|b");
  EXPECT_EQ(answersOf(marked, turns, {false, false, false, false}), "|b|d");
  // Parts of the last message only.
  const std::string last = "{% for m in messages %}{% if loop.last %}{% generation %}{{ m.content }}{% endgeneration %}"
                           "{% generation %}!{% endgeneration %}{% endif %}{% endfor %}";
  const char *other = "the chat template marks other answers in the first 2 messages than in a longer conversation, so "
                      "that those without weight cannot be found";
  EXPECT_EQ(answersOf(last, turns, {false, false, false, true}), other);
  EXPECT_EQ(answersOf("{% if messages | length < 3 %}{% generation %}a{% endgeneration %}{% endif %}", turns,
                      {false, false, false, true}),
            other);
}

TEST(ChatTemplate, AConversationMayBeginWithAnAnswer) {
  const char *early = R"([{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}])";
  EXPECT_EQ(answersOf("{% for m in messages %}<{{ m.role }}>{{ m.content }};{% endfor %}"
                      "{% if add_generation_prompt %}<assistant>{% endif %}",
                      early),
            "|a;");
  EXPECT_EQ(answersOf("{{ messages[0].content }}{% for m in messages %}{{ m.content }}{% endfor %}", early),
            "the conversation begins with an answer, before which the chat template has no text: chat template: the "
            "value with the member 'content' is undefined");
}

TEST(ChatTemplate, TimesThatItReads) {
  const auto timesOf = [](const std::string &text) {
    const Result<ChatTemplate> chat = ChatTemplate::open(NoTokens(text));
    return chat.isOk() ? chat->times() : chat.status().message();
  };
  EXPECT_EQ(timesOf("{{ a }}{{ strftime_now is defined }}"), "");
  // One for the template without tools, and one for that with them.
  EXPECT_EQ(timesOf("{% if a %}{{ 1 + strftime_now('%d %b %Y') }}{% endif %}"), "06 Jul 2024\n06 Jul 2024\n");
  EXPECT_TRUE(timesOf("{% macro m() %}{{ strftime_now(a) }}{% endmacro %}").starts_with("2024-07-06 12:34:56"));
}

TEST(ChatTemplate, NamesThatItHas) {
  const Result<ChatTemplate> chat = ChatTemplate::open(NoTokens("{{ m.reason }}{{ m['call_id'] }}x"));
  ASSERT_TRUE(chat.isOk());
  EXPECT_TRUE(chat->mentions("reason"));
  EXPECT_TRUE(chat->mentions("call_id"));
  EXPECT_FALSE(chat->mentions("call"));
  EXPECT_FALSE(chat->mentions("id"));
  EXPECT_FALSE(chat->mentions("reasons"));
}

TEST(ChatTemplate, ConversationsWithToolsHaveTheirTemplate) {
  NoTokens tokenizer("plain");
  tokenizer.settings.toolTemplate = "tools";
  const Result<ChatTemplate> chat = ChatTemplate::open(tokenizer);
  ASSERT_TRUE(chat.isOk());
  EXPECT_EQ(chat->render({}, false)->text, "plain");
  EXPECT_EQ(chat->render({Json::array(), {{"tools", Json::array()}}}, false)->text, "tools");
}

std::string chatErrorOf(const std::string &chatTemplate) {
  return answersOf(chatTemplate, R"([{"role": "user", "content": "a"}])");
}

TEST(ChatTemplate, SyntaxErrorsNameTheLine) {
  EXPECT_EQ(chatErrorOf(""), "tokenizer 't.json' has no chat template");
  EXPECT_EQ(chatErrorOf("a\n{# b"), "chat template, line 2: the comment has no end '#}'");
  EXPECT_EQ(chatErrorOf("a\n\n{{ b"), "chat template, line 3: the tag has no end '}}'");
  EXPECT_EQ(chatErrorOf("{% if a ) %}"), "chat template, line 1: expected the end of the tag but got ')'");
  EXPECT_EQ(chatErrorOf("{{ 'a }}"), "chat template, line 1: the string has no end");
  EXPECT_EQ(chatErrorOf("{{ '\\q' }}"), "chat template, line 1: escape '\\q' is not supported");
  EXPECT_EQ(chatErrorOf("{{ a ! b }}"), "chat template, line 1: character '!' is not supported");
  EXPECT_EQ(chatErrorOf("{{ (a }}"), "chat template, line 1: expected ')' but got the end of the tag");
  EXPECT_EQ(chatErrorOf("{{ }}"), "chat template, line 1: expected an expression but got the end of the tag");
  EXPECT_EQ(chatErrorOf("{{ 1.2.3 }}"), "chat template, line 1: expected a number but got '1.2.3'");
  EXPECT_EQ(chatErrorOf("{{ a. }}"), "chat template, line 1: expected a name but got the end of the tag");
  EXPECT_EQ(chatErrorOf("{% for a of b %}"), "chat template, line 1: expected 'in' but got 'of'");
  EXPECT_EQ(chatErrorOf("{% if a %}b"), "chat template, line 1: expected endif but got the end of the template");
  EXPECT_EQ(chatErrorOf("{% call a() %}"), "chat template, line 1: statement 'call' is not supported");
  EXPECT_EQ(chatErrorOf("{% macro a() %}"), "chat template, line 1: expected endmacro but got the end of the template");
  EXPECT_EQ(chatErrorOf("{% macro a(b.c) %}"), "chat template, line 1: expected ')' but got '.'");
}

std::string repeated(const std::string &text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i)
    all += text;
  return all;
}

// Tests that neither the parser nor a function of the tree overflows the stack.
TEST(ChatTemplate, DeepTemplatesAreRefused) {
  const char *deep = "chat template, line 1: the template nests too deeply";
  for (const std::size_t count : {500, 20000}) {
    const auto chain = [&](const std::string &part) { return "{{ a" + repeated(part, count) + " }}"; };
    for (const char *part :
         {"+1",    "-1",        "*1",    "/1",       "//1",          "%1", "~1",  " or 1", " and 1", " == 1",
          " in 1", " not in 1", "|trim", " is none", " is not none", ".b", "[0]", "[0:]",  "()",     " if 1"})
      EXPECT_EQ(chatErrorOf(chain(part)), deep) << part;
    for (const char *part : {"(", "[", "-", "not ", "a(", "a[", "a|d(", "a if a else "})
      EXPECT_EQ(chatErrorOf("{{ " + repeated(part, count) + "a }}"), deep) << part;
    EXPECT_EQ(chatErrorOf("{{ " + repeated("{1:", count) + "a" + repeated("}", count) + " }}"), deep);
    for (const char *part : {"{% if a %}", "{% for a in a %}", "{% set a %}", "{% macro a() %}", "{% generation %}"})
      EXPECT_EQ(chatErrorOf(repeated(part, count)), deep) << part;
  }
  EXPECT_EQ(chatErrorOf("{{ 1" + repeated("+1", 300) + " }}"), "");
  EXPECT_EQ(chatErrorOf("{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}"),
            "chat template: the template nests too deeply");
  EXPECT_EQ(chatErrorOf("{% macro a() %}{{ (1" + repeated("+1", 300) + ") ~ a() }}{% endmacro %}{{ a() }}"),
            "chat template: the template nests too deeply");
  EXPECT_EQ(chatErrorOf("{% macro a(b=a()) %}{% endmacro %}{{ a() }}"), "chat template: the template nests too deeply");
}

// A time that grows with the square of the length would be minutes.
TEST(ChatTemplate, LongTemplatesAreReadInLinearTime) {
  const char *text = "chat template: the template takes too long, or its values are too large";
  EXPECT_EQ(chatErrorOf(repeated("{{ 1 }}\n", 300000)), text);
  EXPECT_EQ(chatErrorOf(repeated("{ ", 2000000)), "");
  EXPECT_EQ(chatErrorOf("{{ ['" + repeated("a', '", 300000) + "'] | length }}"), text);
}

TEST(ChatTemplate, ErrorsOfValues) {
  EXPECT_EQ(chatErrorOf("{{ raise_exception('no ' ~ messages[0].role) }}"), "chat template: no user");
  EXPECT_EQ(chatErrorOf("{{ messages }}"), "chat template: a value of type array cannot be printed");
  EXPECT_EQ(chatErrorOf("{{ 1 + 'a' }}"), "chat template: operator '+' is not supported for number and string");
  EXPECT_EQ(chatErrorOf("{{ 1 // 0 }}"), "chat template: division by zero");
  EXPECT_EQ(chatErrorOf("{{ 1[2:] }}"), "chat template: a value of type number has no slices");
  EXPECT_EQ(chatErrorOf("{{ 'a'[::0] }}"), "chat template: the step of a slice is 0");
  EXPECT_EQ(chatErrorOf("{{ '\u00e4' | upper }}"), "chat template: 'upper' of text that is not ASCII is not supported");
  EXPECT_EQ(chatErrorOf("{{ 'a'.encode() }}"), "chat template: method 'encode' of string is not supported");
  EXPECT_EQ(chatErrorOf("{{ 'a' | shuffle }}"), "chat template: filter 'shuffle' of string is not supported");
  EXPECT_EQ(chatErrorOf("{{ b | trim }}"), "chat template: filter 'trim' of an undefined value is not supported");
  EXPECT_EQ(chatErrorOf("{{ 'a' is blue }}"), "chat template: test 'blue' is not supported");
  EXPECT_EQ(chatErrorOf("{{ b.c }}"), "chat template: the value with the member 'c' is undefined");
  EXPECT_EQ(chatErrorOf("{{ b[0] }}"), "chat template: the value of which an item is read is undefined");
  EXPECT_EQ(chatErrorOf("{{ b() }}"), "chat template: function 'b' is not supported");
  EXPECT_EQ(chatErrorOf("{{ 'a'() }}"), "chat template: only functions and methods can be called");
  EXPECT_EQ(chatErrorOf("{{ range(9999999) }}"), "chat template: range() has too many numbers");
  EXPECT_EQ(chatErrorOf("{{ namespace(1) }}"), "chat template: namespace() of number is not supported");
  EXPECT_EQ(chatErrorOf("{% set a.b = 1 %}"), "chat template: 'a' is not a namespace");
  EXPECT_EQ(chatErrorOf("{% for a in 1 %}{% endfor %}"), "chat template: a value of type number is not a list");
  EXPECT_EQ(chatErrorOf("{{ strftime_now() }}"), "chat template: strftime_now(), expected a text with the format");
  EXPECT_EQ(chatErrorOf("{{ strftime_now('%999999999d') }}"), "chat template: strftime_now(): the text is too long");
  const std::string macro = "{% macro m(a) %}{{ a }}{% endmacro %}";
  EXPECT_EQ(chatErrorOf(macro + "{{ m(1, 2) }}"), "chat template: macro 'm', expected at most 1 arguments but got 2");
  EXPECT_EQ(chatErrorOf(macro + "{{ m(b=2) }}"), "chat template: macro 'm' has no parameter 'b'");
  const char *generation = "chat template: a generation statement within a macro or a set statement is not supported";
  EXPECT_EQ(chatErrorOf("{% macro m() %}{% generation %}{% endgeneration %}{% endmacro %}{{ m() }}"), generation);
  EXPECT_EQ(chatErrorOf("{% set a %}{% generation %}{% endgeneration %}{% endset %}"), generation);
  EXPECT_EQ(chatErrorOf("{% for a, b in [1] %}{% endfor %}"),
            "chat template: a loop over 2 variables, expected lists of 2");
}

// Tests that a template can neither run forever nor exhaust memory or stack.
TEST(ChatTemplate, Limits) {
  const std::string loop = "{% for i in range(99999) %}", end = "{% endfor %}",
                    space = "{% set ns = namespace(a='x') %}";
  const char *tooLong = "chat template: the template takes too long, or its values are too large";
  EXPECT_EQ(chatErrorOf(loop + loop + loop + end + end + end), tooLong);
  EXPECT_EQ(chatErrorOf(space + loop + "{% set ns.a = ns.a ~ ns.a %}" + end), tooLong);
  EXPECT_EQ(chatErrorOf(space + loop + "{% set ns.a = [ns.a, ns.a] %}" + end), tooLong);
  EXPECT_EQ(chatErrorOf(space + loop + "{% set ns.a = [ns.a] %}" + end), "chat template: a value nests too deeply");
  const std::string megabytes =
      "{% set ns = namespace(a='x') %}{% for i in range(20) %}{% set ns.a = ns.a ~ ns.a %}" + end;
  const char *text = "chat template: a text has more than 67108864 bytes";
  EXPECT_EQ(chatErrorOf(megabytes + "{{ ns.a.replace('x', ns.a) }}"), text);
  EXPECT_EQ(chatErrorOf(megabytes + "{{ range(1000) | join(ns.a) }}"), text);
  EXPECT_EQ(chatErrorOf("{{ range(9223372036854775800, 9223372036854775807, 100) | join(',') }}"), "");
}

/// Every template of the references, cut or with one character changed, renders or is an error.
TEST(ChatTemplate, DamagedTemplates) {
  const Result<std::string> file = readFile(SLUICE_SOURCE_DIR "/test/reference/tokenizers/chat.json");
  ASSERT_TRUE(file.isOk());
  std::uint64_t state = 1;
  const auto draw = [&](std::size_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state >> 33) % bound;
  };
  int refused = 0;
  for (const Json &entry : Json::parse(*file))
    for (int i = 0; i < 200; ++i) {
      std::string text = entry["template"];
      if (i % 2)
        text.resize(draw(text.size()));
      else
        text[draw(text.size())] = "{}%#-'\"()[]|.:,=~0a "[draw(20)];
      const Result<ChatTemplate> chat = ChatTemplate::open(NoTokens(text));
      refused += !chat.isOk() || !chat->renderWithAnswers({Json::parse(turns)}).isOk();
    }
  EXPECT_GT(refused, 500);
}

} // namespace
