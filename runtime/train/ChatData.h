//===- ChatData.h - conversations as rows of tokens and targets ---------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_CHATDATA_H
#define SLUICE_RUNTIME_TRAIN_CHATDATA_H

#include "runtime/train/Conversations.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// Rows of `length` tokens and of as many targets, one row after another.
struct ChatRows {
  std::vector<std::int32_t> tokens, targets;
  /// Rows, and conversations without an answer in their first `length` tokens, which have no row.
  std::size_t count = 0, dropped = 0;
  /// Conversations that cannot be used: their places and the causes.
  std::vector<std::string> invalid;
};

/// A row for each conversation of a file (Conversations.h). The text is that of the tokenizer's chat template. The
/// target of a position is the next token if the assistant has written it and the answer is not ignored, else -100. A
/// longer conversation is cut off; a shorter one is filled up with EOS, or 0, and the target -100. A conversation that
/// cannot be used is an error that names its line, unless `options` state otherwise.
Result<ChatRows> readChat(const std::string &path, DataFormat format, Tokenizer &tokenizer, std::uint64_t length,
                          const ConversationOptions &options = {});

/// The times that the rows of a tokenizer's chat template depend on (ChatTemplate::times()).
std::string chatTimes(const Tokenizer &tokenizer);

/// Writes the rows as `tokens` and `targets` of a safetensors file.
Status writeChatRows(const std::string &path, const ChatRows &rows, std::uint64_t length);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_CHATDATA_H
