//===- ChatTemplate.h - conversations as text -----------------------------------------------===//
#ifndef SLUICE_RUNTIME_TEXT_CHATTEMPLATE_H
#define SLUICE_RUNTIME_TEXT_CHATTEMPLATE_H

#include "runtime/text/Jinja.h"
#include "runtime/text/Tokenizer.h"

namespace sluice {

/// The template of a tokenizer, which renders lists of messages.
class ChatTemplate {
public:
  /// An error for a tokenizer without a template, or with one that cannot be parsed.
  static Result<ChatTemplate> open(const Tokenizer &tokenizer);

  /// `messages`: a list of objects with `role` and `content`. `generates`: with the beginning of an answer.
  Result<text::JinjaOutput> render(const Json &messages, bool generates) const;

  /// A conversation, and the parts of its text that the assistant has written: what the template marks by generation
  /// statements. If it has none, the text between that of the messages before an answer, with the beginning of an
  /// answer, and that of the messages up to the answer; an error if these are not prefixes of the text.
  Result<text::JinjaOutput> renderWithAnswers(const Json &messages) const;

private:
  std::shared_ptr<const text::JinjaNodes> nodes;
  bool marksAnswers = false;
  Json variables;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TEXT_CHATTEMPLATE_H
