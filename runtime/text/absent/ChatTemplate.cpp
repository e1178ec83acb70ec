//===- ChatTemplate.cpp - a build without the libraries of tokenizers -------------------------===//
//
// Chat templates belong to a tokenizer, which this build cannot open.
//
//===-------------------------------------------------------------------------------------------===//
#include "runtime/text/ChatTemplate.h"

namespace sluice {

Result<ChatTemplate> ChatTemplate::open(const Tokenizer &tokenizer) {
  return internalError("chat template of a tokenizer in a build without tokenizers");
}

std::string ChatTemplate::times() const { return ""; }

bool ChatTemplate::mentions(std::string_view name) const { return false; }

Result<text::JinjaOutput> ChatTemplate::renderWithAnswers(const Conversation &conversation) const {
  return internalError("chat template in a build without tokenizers");
}

} // namespace sluice
