//===- ChatTemplate.cpp - conversations as text ---------------------------------------------===//
#include "runtime/text/ChatTemplate.h"

#include <algorithm>
#include <fmt/format.h>

namespace sluice {

static bool hasGeneration(const text::JinjaNodes &nodes) {
  return std::ranges::any_of(nodes, [](const auto &node) {
    return node->kind == text::JinjaNode::Kind::generation || std::ranges::any_of(node->bodies, hasGeneration);
  });
}

Result<ChatTemplate> ChatTemplate::open(const Tokenizer &tokenizer) {
  if (tokenizer.settings.chatTemplate.empty())
    return inputError(fmt::format("tokenizer '{}' has no chat template", tokenizer.files[0]))
        .withNote("put the model's chat_template.jinja or tokenizer_config.json in the folder of the tokenizer");
  ChatTemplate chat;
  SLUICE_ASSIGN_OR_RETURN(text::JinjaNodes nodes, text::parseJinja(tokenizer.settings.chatTemplate));
  chat.marksAnswers = hasGeneration(nodes);
  chat.nodes = std::make_shared<const text::JinjaNodes>(std::move(nodes));
  chat.variables = Json::object();
  // Undefined if the tokenizer does not have them, as in transformers.
  if (tokenizer.settings.bosToken)
    chat.variables["bos_token"] = *tokenizer.settings.bosToken;
  if (tokenizer.settings.eosToken)
    chat.variables["eos_token"] = *tokenizer.settings.eosToken;
  chat.variables["tools"] = nullptr;
  chat.variables["documents"] = nullptr;
  return chat;
}

Result<text::JinjaOutput> ChatTemplate::render(const Json &messages, bool generates) const {
  Json all = variables;
  all["messages"] = messages;
  all["add_generation_prompt"] = generates;
  return text::renderJinja(*nodes, all);
}

Result<text::JinjaOutput> ChatTemplate::renderWithAnswers(const Json &messages) const {
  SLUICE_ASSIGN_OR_RETURN(text::JinjaOutput output, render(messages, false));
  if (marksAnswers)
    return output;
  Json before = Json::array();
  for (const Json &message : messages) {
    const bool isAnswer = message.is_object() && message.contains("role") && message["role"] == "assistant";
    text::Range range;
    if (isAnswer) {
      SLUICE_ASSIGN_OR_RETURN(const text::JinjaOutput prompt, render(before, true));
      range.begin = prompt.text.size();
      if (!output.text.starts_with(prompt.text))
        range.end = SIZE_MAX;
    }
    before.push_back(message);
    if (!isAnswer)
      continue;
    SLUICE_ASSIGN_OR_RETURN(const text::JinjaOutput answered, render(before, false));
    if (range.end == SIZE_MAX || !output.text.starts_with(answered.text) || answered.text.size() < range.begin)
      return inputError(fmt::format("the chat template renders the first {} messages differently in a longer "
                                    "conversation, so that answers cannot be found in the text",
                                    before.size()))
          .withNote("mark the answers in the template by {% generation %} and {% endgeneration %}");
    output.generated.push_back({range.begin, answered.text.size()});
  }
  return output;
}

} // namespace sluice
