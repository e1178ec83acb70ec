//===- ChatData.cpp - conversations as tokens and targets ---------------------------------===//
#include "runtime/train/ChatData.h"
#include "runtime/base/File.h"
#include "runtime/train/Documents.h"
#include "runtime/train/Safetensors.h"

#include <algorithm>
#include <fmt/format.h>

namespace sluice {

/// The ids of a conversation, and for each whether the assistant has written it.
struct MarkedIds {
  std::vector<std::int32_t> ids;
  std::vector<bool> isAnswer;
};

static Result<MarkedIds> markAnswers(const text::JinjaOutput &chat, Tokenizer &tokenizer) {
  MarkedIds marked;
  // The template writes special tokens itself.
  SLUICE_RETURN_IF_ERROR(tokenizer.encode(chat.text, /*special=*/false, marked.ids));
  marked.isAnswer.resize(marked.ids.size());
  // Number of tokens before a byte of the text.
  const auto tokensBefore = [&](std::size_t byte) -> Result<std::size_t> {
    std::vector<std::int32_t> before;
    SLUICE_RETURN_IF_ERROR(tokenizer.encode(std::string_view(chat.text).substr(0, byte), /*special=*/false, before));
    if (before.size() > marked.ids.size() || !std::equal(before.begin(), before.end(), marked.ids.begin()))
      return inputError("an answer begins or ends within a token")
          .withNote("let the chat template write a special token or a line break before and after answers");
    return before.size();
  };
  for (const text::Range &range : chat.generated) {
    SLUICE_ASSIGN_OR_RETURN(const std::size_t begin, tokensBefore(range.begin));
    SLUICE_ASSIGN_OR_RETURN(const std::size_t end, tokensBefore(range.end));
    for (std::size_t i = begin; i < end; ++i)
      marked.isAnswer[i] = true;
  }
  return marked;
}

static void addConversation(const MarkedIds &marked, std::uint64_t length, ChatDocuments &chat) {
  const std::size_t size = marked.ids.size(), count = length != 0 ? std::min<std::size_t>(length, size) : size;
  std::vector<std::int32_t> targets(count, ignoredTarget);
  for (std::size_t i = 0; i < count && i + 1 < size; ++i)
    if (marked.isAnswer[i + 1])
      targets[i] = marked.ids[i + 1];
  if (std::ranges::all_of(targets, [](std::int32_t target) { return target == ignoredTarget; })) {
    ++chat.dropped;
    return;
  }
  chat.tokens.insert(chat.tokens.end(), marked.ids.begin(), marked.ids.begin() + static_cast<std::ptrdiff_t>(count));
  chat.targets.insert(chat.targets.end(), targets.begin(), targets.end());
  chat.ends.push_back(static_cast<std::int64_t>(chat.tokens.size()));
}

Result<ChatDocuments> readChat(const std::string &path, DataFormat format, Tokenizer &tokenizer, std::uint64_t length,
                               const ConversationOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(const ChatTemplate chat, ChatTemplate::open(tokenizer));
  SLUICE_ASSIGN_OR_RETURN(const std::string text, readFile(path));
  ChatDocuments documents;
  const std::function<bool(std::string_view)> isRead = [&](std::string_view name) { return chat.mentions(name); };
  const auto readRow = [&](std::string_view json) -> Status {
    SLUICE_ASSIGN_OR_RETURN(const Conversation conversation,
                            readConversation(json, format, options.ignoredFields, isRead));
    SLUICE_ASSIGN_OR_RETURN(const text::JinjaOutput output, chat.renderWithAnswers(conversation));
    SLUICE_ASSIGN_OR_RETURN(const MarkedIds marked, markAnswers(output, tokenizer));
    addConversation(marked, length, documents);
    return Status::ok();
  };
  const auto named = [&](const Status &status, const std::string &place) {
    Status result = inputError(fmt::format("'{}'{}: {}", path, place, status.message()));
    for (const std::string &note : status.notes())
      result.addNote(note);
    return result;
  };
  Status read = forEachConversation(text, [&](const std::string &place, std::string_view json) -> Status {
    Status status = readRow(json);
    if (status.isOk())
      return status;
    Status result = named(status, ", " + place);
    if (!options.skipsInvalid)
      return std::move(result).withNote("--skip-invalid leaves out such conversations");
    documents.invalid.push_back(result.message());
    return Status::ok();
  });
  if (!read.isOk())
    return read.message().starts_with("'") ? read : named(read, "");
  if (documents.ends.empty())
    return inputError(length != 0
                          ? fmt::format("'{}' has no conversation with an answer in its first {} tokens", path, length)
                          : fmt::format("'{}' has no conversation with an answer", path));
  return documents;
}

std::string chatTimes(const Tokenizer &tokenizer) {
  const Result<ChatTemplate> chat = ChatTemplate::open(tokenizer);
  return chat.isOk() ? chat->times() : "";
}

std::vector<std::int32_t> paddedRows(const ChatDocuments &chat, std::span<const std::int32_t> values,
                                     std::uint64_t length, std::int32_t filler) {
  std::vector<std::int32_t> rows(chat.ends.size() * length, filler);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < chat.ends.size(); ++i) {
    const auto end = static_cast<std::size_t>(chat.ends[i]);
    std::ranges::copy(values.subspan(begin, end - begin), rows.begin() + static_cast<std::ptrdiff_t>(i * length));
    begin = end;
  }
  return rows;
}

/// `values` outlive the tensor.
template <typename T>
static SafetensorsTensor tensorOf(const char *name, const char *dtype, std::vector<std::int64_t> shape,
                                  const std::vector<T> &values) {
  return {name, dtype, std::move(shape),
          [&values](const SafetensorsTensor::Sink &sink) { return sink(std::as_bytes(std::span(values))); }};
}

Status writeChatRows(const std::string &path, const ChatDocuments &chat, std::uint64_t length, std::int32_t filler) {
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(chat.ends.size()),
                                           static_cast<std::int64_t>(length)};
  const std::vector<std::int32_t> tokens = paddedRows(chat, chat.tokens, length, filler),
                                  targets = paddedRows(chat, chat.targets, length, ignoredTarget);
  return writeSafetensors(path, {tensorOf("tokens", "I32", shape, tokens), tensorOf("targets", "I32", shape, targets)});
}

Status writeChatDocuments(const std::string &path, const ChatDocuments &chat) {
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(chat.tokens.size())};
  return writeSafetensors(path, {tensorOf("tokens", "I32", shape, chat.tokens),
                                 tensorOf("targets", "I32", shape, chat.targets),
                                 tensorOf("ends", "I64", {static_cast<std::int64_t>(chat.ends.size())}, chat.ends)});
}

} // namespace sluice
