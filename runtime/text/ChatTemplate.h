//===- ChatTemplate.h - conversations as text -----------------------------------------------===//
#ifndef SLUICE_RUNTIME_TEXT_CHATTEMPLATE_H
#define SLUICE_RUNTIME_TEXT_CHATTEMPLATE_H

#include "runtime/text/Jinja.h"
#include "runtime/text/Tokenizer.h"

namespace sluice {

struct Conversation {
  /// Objects with `role` and members that the template reads.
  Json messages = Json::array();
  /// Further variables of the template: `tools`, `documents` and others.
  Json variables = Json::object();
  /// By message: the answer is no target.
  std::vector<bool> isIgnored = {};
};

/// The template of a tokenizer, which renders conversations.
class ChatTemplate {
public:
  /// An error for a tokenizer without a template, or with one that cannot be parsed.
  static Result<ChatTemplate> open(const Tokenizer &tokenizer);

  /// True if the template has this name.
  bool mentions(std::string_view name) const;
  /// The results of the templates' calls of strftime_now(), by which their output depends on the time.
  std::string times() const;

  /// `generates`: with the beginning of an answer.
  Result<text::JinjaOutput> render(const Conversation &conversation, bool generates) const;

  /// A conversation, and the parts of its text that the assistant has written and that are not ignored: what the
  /// template marks by generation statements. If it has none, the text between that of the messages before an answer,
  /// with the beginning of an answer, and that of the messages up to the answer; an error if these are not prefixes of
  /// the text.
  Result<text::JinjaOutput> renderWithAnswers(const Conversation &conversation) const;

private:
  struct Template {
    std::string text;
    std::shared_ptr<const text::JinjaNodes> nodes;
    bool marksAnswers = false;
  };
  /// The one for conversations with tools may be different.
  Template plain, withTools;
  Json variables;
  std::int64_t now = 0;

  static Result<Template> parse(const std::string &text);
  const Template &templateOf(const Conversation &conversation) const;
  Result<text::JinjaOutput> render(const Conversation &conversation, std::size_t count, bool generates) const;
  Status removeIgnored(const Conversation &conversation, text::JinjaOutput &output) const;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TEXT_CHATTEMPLATE_H
