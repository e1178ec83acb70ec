//===- ChatData.h - conversations as tokens and targets -----------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_CHATDATA_H
#define SLUICE_RUNTIME_TRAIN_CHATDATA_H

#include "runtime/train/Conversations.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// Conversations as tokens and targets, one conversation after another.
struct ChatDocuments {
  std::vector<std::int32_t> tokens, targets;
  /// By conversation: the index after its last token.
  std::vector<std::int64_t> ends;
  /// Conversations without an answer in their first tokens, which are left out.
  std::size_t dropped = 0;
  /// Conversations that cannot be used: their places and the causes.
  std::vector<std::string> invalid;
};

/// The conversations of a file (Conversations.h). The text is that of the tokenizer's chat template. The target of a
/// position is the next token if the assistant has written it and the answer is not ignored, else ignoredTarget. A
/// conversation is cut off after `length` tokens; 0: it is complete. A conversation that cannot be used is an error
/// that names its line, unless `options` state otherwise.
Result<ChatDocuments> readChat(const std::string &path, DataFormat format, Tokenizer &tokenizer, std::uint64_t length,
                               const ConversationOptions &options = {});

/// The times that the rows of a tokenizer's chat template depend on (ChatTemplate::times()).
std::string chatTimes(const Tokenizer &tokenizer);

/// `values`, those of all conversations, as rows of `length`, one for each conversation, which ends with `filler`.
std::vector<std::int32_t> paddedRows(const ChatDocuments &chat, std::span<const std::int32_t> values,
                                     std::uint64_t length, std::int32_t filler);
/// Writes a row of `length` tokens for each conversation as `tokens` and `targets` of a safetensors file. `filler` is
/// the token after its end.
Status writeChatRows(const std::string &path, const ChatDocuments &chat, std::uint64_t length, std::int32_t filler);
/// Writes `tokens`, `targets` and `ends` of the conversations, for packing (Documents.h).
Status writeChatDocuments(const std::string &path, const ChatDocuments &chat);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_CHATDATA_H
