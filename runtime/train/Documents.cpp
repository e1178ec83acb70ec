//===- Documents.cpp - data as documents of any length ------------------------------===//
#include "runtime/train/Documents.h"
#include "runtime/train/ChatData.h"
#include "runtime/train/Safetensors.h"
#include "runtime/train/TokenFile.h"

#include <algorithm>
#include <fmt/format.h>

namespace sluice {

namespace {

/// The documents of a token file.
class TokenDocuments final : public DocumentFile {
public:
  /// Divides the file; nullopt: it is one document.
  static Result<std::unique_ptr<DocumentFile>> make(TokenFile file, std::uint64_t vocabulary,
                                                    const std::optional<DocumentDelimiter> &delimiter) {
    auto documents = std::make_unique<TokenDocuments>(std::move(file), vocabulary);
    SLUICE_RETURN_IF_ERROR(documents->divide(delimiter));
    return std::unique_ptr<DocumentFile>(std::move(documents));
  }

  TokenDocuments(TokenFile file, std::uint64_t vocabulary) : file(std::move(file)), vocabulary(vocabulary) {}

  const std::vector<std::uint64_t> &lengths() const override { return counts; }
  std::string_view format() const override { return dataFormatName(file.format); }

  Status read(std::uint64_t document, std::uint64_t first, std::span<std::int32_t> tokens,
              std::span<std::int32_t> targets) override {
    const std::uint64_t left = counts[document] - first;
    // With the target of the last token, if it has one.
    const std::uint64_t count = std::min<std::uint64_t>(tokens.size() + 1, left);
    raw.resize(std::max<std::size_t>(raw.size(), count * file.width));
    row.resize(std::max<std::size_t>(row.size(), count));
    SLUICE_RETURN_IF_ERROR(
        file.read(begins[document] + first, std::span(row).first(static_cast<std::size_t>(count)), vocabulary, raw));
    std::copy_n(row.begin(), tokens.size(), tokens.begin());
    std::copy_n(row.begin() + 1, count - 1, targets.begin());
    if (count == tokens.size())
      targets.back() = ignoredTarget;
    return Status::ok();
  }

private:
  Status divide(const std::optional<DocumentDelimiter> &delimiter) {
    constexpr std::uint64_t atOnce = 1 << 16;
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(std::min(file.count, atOnce)));
    raw.resize(tokens.size() * file.width);
    std::uint64_t begin = 0;
    const auto end = [&](std::uint64_t at) {
      if (at > begin) {
        begins.push_back(begin);
        counts.push_back(at - begin);
      }
      begin = at;
    };
    for (std::uint64_t first = 0; first < file.count; first += atOnce) {
      const std::span part = std::span(tokens).first(static_cast<std::size_t>(std::min(atOnce, file.count - first)));
      SLUICE_RETURN_IF_ERROR(file.read(first, part, vocabulary, raw));
      for (std::size_t i = 0; delimiter && i < part.size(); ++i)
        if (part[i] == delimiter->token)
          end(first + i + (delimiter->begins ? 0 : 1));
    }
    end(file.count);
    return Status::ok();
  }

  TokenFile file;
  std::uint64_t vocabulary;
  /// By document: its first token in the file, and its number of tokens.
  std::vector<std::uint64_t> begins, counts;
  /// Members, so that steps do not allocate.
  std::vector<std::byte> raw;
  std::vector<std::int32_t> row;
};

/// The documents of a file that writeChatDocuments() wrote.
class ChatFile final : public DocumentFile {
public:
  static Result<std::unique_ptr<DocumentFile>> open(const std::string &path, std::uint64_t vocabulary) {
    SLUICE_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(path));
    const SafetensorsEntry *tokens = file.find("tokens"), *targets = file.find("targets"), *ends = file.find("ends");
    const auto isVector = [](const SafetensorsEntry *entry, std::string_view dtype) {
      return entry && entry->dtype == dtype && entry->shape.size() == 1;
    };
    if (!isVector(tokens, "I32") || !isVector(targets, "I32") || !isVector(ends, "I64") ||
        tokens->shape != targets->shape)
      return refusedError(fmt::format("'{}' has no conversations as this version writes them", path))
          .withNote("remove the file: it is written again");
    std::vector<std::int64_t> read(static_cast<std::size_t>(ends->shape[0]));
    SLUICE_RETURN_IF_ERROR(file.read(*ends, 0, std::as_writable_bytes(std::span(read))));
    auto documents = std::make_unique<ChatFile>(std::move(file), vocabulary);
    std::int64_t begin = 0;
    for (const std::int64_t end : read) {
      if (end <= begin || end > tokens->shape[0])
        return refusedError(
                   fmt::format("'{}' has a conversation that ends at {} of {} tokens", path, end, tokens->shape[0]))
            .withNote("remove the file: it is written again");
      documents->begins.push_back(static_cast<std::uint64_t>(begin));
      documents->counts.push_back(static_cast<std::uint64_t>(end - begin));
      begin = end;
    }
    return std::unique_ptr<DocumentFile>(std::move(documents));
  }

  ChatFile(SafetensorsFile file, std::uint64_t vocabulary) : file(std::move(file)), vocabulary(vocabulary) {}

  const std::vector<std::uint64_t> &lengths() const override { return counts; }
  std::string_view format() const override { return dataFormatName(DataFormat::messages); }

  Status read(std::uint64_t document, std::uint64_t first, std::span<std::int32_t> tokens,
              std::span<std::int32_t> targets) override {
    const std::uint64_t at = (begins[document] + first) * sizeof(std::int32_t);
    SLUICE_RETURN_IF_ERROR(file.read(*file.find("tokens"), at, std::as_writable_bytes(tokens)));
    SLUICE_RETURN_IF_ERROR(file.read(*file.find("targets"), at, std::as_writable_bytes(targets)));
    for (const std::int32_t token : tokens)
      if (token < 0 || (vocabulary != 0 && static_cast<std::uint64_t>(token) >= vocabulary))
        return inputError(fmt::format("'{}': conversation {}, expected tokens below {} but got {}", file.path(),
                                      document, vocabulary, token));
    return Status::ok();
  }

private:
  SafetensorsFile file;
  std::uint64_t vocabulary;
  std::vector<std::uint64_t> begins, counts;
};

} // namespace

Result<std::unique_ptr<DocumentFile>> openDocuments(const std::string &path, const DataFiles &files,
                                                    std::uint64_t vocabulary) {
  if (const auto text = files.tokenized.find(path); text != files.tokenized.end()) {
    if (hasSafetensorsName(text->second))
      return ChatFile::open(text->second, vocabulary);
    SLUICE_ASSIGN_OR_RETURN(TokenFile file, TokenFile::open(text->second, DataFormat::automatic, vocabulary));
    return TokenDocuments::make(std::move(file), vocabulary, files.packing->delimiter);
  }
  if (files.format == DataFormat::safetensors || (files.format == DataFormat::automatic && hasSafetensorsName(path)))
    return inputError(fmt::format("'{}' has rows, which --pack cannot divide into documents", path))
        .withNote("a tensor 'documents' with the index of the first token of each token's document makes packed rows; "
                  "leave out --pack then");
  SLUICE_ASSIGN_OR_RETURN(TokenFile file, TokenFile::open(path, files.format, vocabulary));
  // Without a tokenizer each byte of a text is a token.
  const bool isText = file.format == DataFormat::text || file.format == DataFormat::bytes;
  std::optional<DocumentDelimiter> delimiter = files.packing->delimiter;
  if (!delimiter && files.packing->end)
    delimiter = DocumentDelimiter{*files.packing->end, /*begins=*/false};
  if (!delimiter && !isText)
    return inputError(fmt::format("'{}' has token ids, and no token is known that divides documents", path))
        .withNote(
            "--document-end ID or --document-begin ID states it: llm.c's and nanoGPT's files of GPT-2 tokens have "
            "50256, the former at the begin of each document, the latter at its end");
  return TokenDocuments::make(std::move(file), vocabulary, delimiter);
}

} // namespace sluice
