//===- ChatData.cpp - conversations as rows of tokens and targets -------------------------===//
#include "runtime/train/ChatData.h"
#include "runtime/base/File.h"
#include "runtime/train/Safetensors.h"

#include <algorithm>
#include <fmt/format.h>

namespace sluice {

/// The loss does not count this target.
static constexpr std::int32_t ignored = -100;

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

static void addRow(const MarkedIds &marked, std::uint64_t length, std::int32_t filler, ChatRows &rows) {
  std::vector<std::int32_t> tokens(length, filler), targets(length, ignored);
  for (std::size_t i = 0; i < std::min<std::size_t>(length, marked.ids.size()); ++i) {
    tokens[i] = marked.ids[i];
    if (i + 1 < marked.ids.size() && marked.isAnswer[i + 1])
      targets[i] = marked.ids[i + 1];
  }
  if (std::ranges::all_of(targets, [](std::int32_t target) { return target == ignored; })) {
    ++rows.dropped;
    return;
  }
  ++rows.count;
  rows.tokens.insert(rows.tokens.end(), tokens.begin(), tokens.end());
  rows.targets.insert(rows.targets.end(), targets.begin(), targets.end());
}

Result<ChatRows> readChat(const std::string &path, DataFormat format, Tokenizer &tokenizer, std::uint64_t length,
                          const ConversationOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(const ChatTemplate chat, ChatTemplate::open(tokenizer));
  SLUICE_ASSIGN_OR_RETURN(const std::string text, readFile(path));
  ChatRows rows;
  const std::function<bool(std::string_view)> isRead = [&](std::string_view name) { return chat.mentions(name); };
  const auto readRow = [&](std::string_view json) -> Status {
    SLUICE_ASSIGN_OR_RETURN(const Conversation conversation,
                            readConversation(json, format, options.ignoredFields, isRead));
    SLUICE_ASSIGN_OR_RETURN(const text::JinjaOutput output, chat.renderWithAnswers(conversation));
    SLUICE_ASSIGN_OR_RETURN(const MarkedIds marked, markAnswers(output, tokenizer));
    addRow(marked, length, tokenizer.eos.value_or(0), rows);
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
    rows.invalid.push_back(result.message());
    return Status::ok();
  });
  if (!read.isOk())
    return read.message().starts_with("'") ? read : named(read, "");
  if (rows.count == 0)
    return inputError(fmt::format("'{}' has no conversation with an answer in its first {} tokens", path, length));
  return rows;
}

std::string chatTimes(const Tokenizer &tokenizer) {
  const Result<ChatTemplate> chat = ChatTemplate::open(tokenizer);
  return chat.isOk() ? chat->times() : "";
}

Status writeChatRows(const std::string &path, const ChatRows &rows, std::uint64_t length) {
  const auto tensor = [&](const char *name, const std::vector<std::int32_t> &values) {
    return SafetensorsTensor{
        name,
        "I32",
        {static_cast<std::int64_t>(rows.count), static_cast<std::int64_t>(length)},
        [&values](const SafetensorsTensor::Sink &sink) { return sink(std::as_bytes(std::span(values))); }};
  };
  return writeSafetensors(path, {tensor("tokens", rows.tokens), tensor("targets", rows.targets)});
}

} // namespace sluice
