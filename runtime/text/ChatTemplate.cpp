//===- ChatTemplate.cpp - conversations as text ---------------------------------------------===//
#include "runtime/text/ChatTemplate.h"
#include "runtime/text/JinjaFunctions.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <span>

namespace sluice {

static bool hasGeneration(const text::JinjaNodes &nodes) {
  return std::ranges::any_of(nodes, [](const auto &node) {
    return node->kind == text::JinjaNode::Kind::generation || std::ranges::any_of(node->bodies, hasGeneration);
  });
}

Result<ChatTemplate::Template> ChatTemplate::parse(const std::string &text) {
  SLUICE_ASSIGN_OR_RETURN(text::JinjaNodes nodes, text::parseJinja(text));
  const bool marksAnswers = hasGeneration(nodes);
  return Template{text, std::make_shared<const text::JinjaNodes>(std::move(nodes)), marksAnswers};
}

Result<ChatTemplate> ChatTemplate::open(const Tokenizer &tokenizer) {
  const TokenizerSettings &settings = tokenizer.settings;
  if (settings.chatTemplate.empty())
    return inputError(fmt::format("tokenizer '{}' has no chat template", tokenizer.files[0]))
        .withNote("put the model's chat_template.jinja or tokenizer_config.json in the folder of the tokenizer");
  ChatTemplate chat;
  chat.now = settings.now;
  SLUICE_ASSIGN_OR_RETURN(chat.plain, parse(settings.chatTemplate));
  chat.withTools = chat.plain;
  if (!settings.toolTemplate.empty()) {
    SLUICE_ASSIGN_OR_RETURN(chat.withTools, parse(settings.toolTemplate));
  }
  // As in transformers: tokens that the tokenizer does not have are undefined.
  chat.variables = Json::object();
  for (const AddedToken &token : settings.namedTokens)
    if (token.field.ends_with("_token"))
      chat.variables[token.field] = token.content;
  if (settings.bosToken)
    chat.variables["bos_token"] = *settings.bosToken;
  if (settings.eosToken)
    chat.variables["eos_token"] = *settings.eosToken;
  chat.variables["tools"] = nullptr;
  chat.variables["documents"] = nullptr;
  return chat;
}

/// The results of a template's calls of strftime_now(), by which its output depends on `now`. If a format is no
/// literal, the time to the second. Empty if the template does not call it.
static std::string timesOf(const text::JinjaNodes &nodes, std::int64_t now) {
  using Kind = text::JinjaNode::Kind;
  std::string times;
  for (const auto &node : nodes) {
    if (!node)
      continue;
    if (node->kind == Kind::call && node->parts[0]->kind == Kind::name && node->parts[0]->text == "strftime_now") {
      const bool isLiteral = node->parts.size() == 2 && node->parts[1]->value.is_string();
      const std::string format = isLiteral ? node->parts[1]->value.get<std::string>() : "%Y-%m-%d %H:%M:%S %z";
      const Result<std::string> time = text::formatTime(format, now);
      times += (time.isOk() ? *time : format) + "\n";
    }
    times += timesOf(node->parts, now);
    for (const text::JinjaNodes &body : node->bodies)
      times += timesOf(body, now);
  }
  return times;
}

std::string ChatTemplate::times() const { return timesOf(*plain.nodes, now) + timesOf(*withTools.nodes, now); }

bool ChatTemplate::mentions(std::string_view name) const {
  const auto isPart = [](const std::string &text, std::size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
  };
  for (const std::string *text : {&plain.text, &withTools.text})
    for (std::size_t at = text->find(name); at != std::string::npos; at = text->find(name, at + 1))
      if (!isPart(*text, at - 1) && !isPart(*text, at + name.size()))
        return true;
  return false;
}

const ChatTemplate::Template &ChatTemplate::templateOf(const Conversation &conversation) const {
  return conversation.variables.contains("tools") ? withTools : plain;
}

Result<text::JinjaOutput> ChatTemplate::render(const Conversation &conversation, std::size_t count,
                                               bool generates) const {
  Json all = variables;
  all["messages"] = Json::array();
  for (std::size_t i = 0; i < count; ++i)
    all["messages"].push_back(conversation.messages[i]);
  all["add_generation_prompt"] = generates;
  for (auto item = conversation.variables.begin(); item != conversation.variables.end(); ++item)
    all[item.key()] = *item;
  return text::renderJinja(*templateOf(conversation).nodes, all, now);
}

Result<text::JinjaOutput> ChatTemplate::render(const Conversation &conversation, bool generates) const {
  return render(conversation, conversation.messages.size(), generates);
}

static bool isAnswer(const Json &message) {
  return message.is_object() && message.contains("role") && message["role"] == "assistant";
}

/// Parts of a message are those that are not in the text of the messages before it.
Status ChatTemplate::removeIgnored(const Conversation &conversation, text::JinjaOutput &output) const {
  std::vector<text::Range> kept;
  std::size_t done = 0;
  for (std::size_t i = 0; i < conversation.messages.size(); ++i) {
    if (!isAnswer(conversation.messages[i]))
      continue;
    SLUICE_ASSIGN_OR_RETURN(const text::JinjaOutput answered, render(conversation, i + 1, false));
    const std::size_t count = answered.generated.size();
    const auto textOf = [](const text::JinjaOutput &from) {
      return [&from](const text::Range &range) { return from.text.substr(range.begin, range.end - range.begin); };
    };
    if (count < done || count > output.generated.size() ||
        !std::ranges::equal(answered.generated, std::span(output.generated).first(count), {}, textOf(answered),
                            textOf(output)))
      return inputError(fmt::format("the chat template marks other answers in the first {} messages than in a longer "
                                    "conversation, so that those without weight cannot be found",
                                    i + 1));
    if (!conversation.isIgnored[i])
      kept.insert(kept.end(), output.generated.begin() + static_cast<std::ptrdiff_t>(done),
                  output.generated.begin() + static_cast<std::ptrdiff_t>(count));
    done = count;
  }
  output.generated = std::move(kept);
  return Status::ok();
}

Result<text::JinjaOutput> ChatTemplate::renderWithAnswers(const Conversation &conversation) const {
  SLUICE_ASSIGN_OR_RETURN(text::JinjaOutput output, render(conversation, false));
  if (templateOf(conversation).marksAnswers) {
    if (std::ranges::find(conversation.isIgnored, true) != conversation.isIgnored.end())
      SLUICE_RETURN_IF_ERROR(removeIgnored(conversation, output));
    return output;
  }
  for (std::size_t i = 0; i < conversation.messages.size(); ++i) {
    if (!isAnswer(conversation.messages[i]) || (!conversation.isIgnored.empty() && conversation.isIgnored[i]))
      continue;
    Result<text::JinjaOutput> prompt = render(conversation, i, true);
    if (!prompt.isOk() && i == 0)
      return inputError("the conversation begins with an answer, before which the chat template has no text: " +
                        prompt.status().message())
          .withNote("begin with a message of the user, or mark the answers in the template by {% generation %} and "
                    "{% endgeneration %}");
    SLUICE_RETURN_IF_ERROR(prompt.status());
    SLUICE_ASSIGN_OR_RETURN(const text::JinjaOutput answered, render(conversation, i + 1, false));
    if (!output.text.starts_with(prompt->text) || !output.text.starts_with(answered.text) ||
        answered.text.size() < prompt->text.size())
      return inputError(fmt::format("the chat template renders the first {} messages differently in a longer "
                                    "conversation, so that answers cannot be found in the text",
                                    i + 1))
          .withNote("mark the answers in the template by {% generation %} and {% endgeneration %}");
    output.generated.push_back({prompt->text.size(), answered.text.size()});
  }
  return output;
}

} // namespace sluice
