//===- OpenTokenizer.cpp - a tokenizer from its files -----------------------------------------===//
#include "runtime/base/File.h"
#include "runtime/base/Sha256.h"
#include "runtime/text/SentencePiece.h"
#include "runtime/text/Settings.h"
#include "runtime/text/TokenizerJson.h"
#include "runtime/text/Unicode.h"

#include <filesystem>
#include <fmt/format.h>

namespace sluice {

Status Tokenizer::encode(std::string_view text, bool special, std::vector<std::int32_t> &ids) {
  if (const std::optional<std::size_t> invalid = text::findInvalid(text))
    return inputError(fmt::format("byte {} of the text is not UTF-8", *invalid))
        .withNote("convert the text with iconv, or use a token file");
  return encodeValid(text, special, ids);
}

static std::string digestOf(const std::vector<std::string> &contents) {
  std::string digests;
  for (const std::string &text : contents)
    digests += toHex(sha256({{reinterpret_cast<const std::uint8_t *>(text.data()), text.size()}}));
  return toHex(sha256({{reinterpret_cast<const std::uint8_t *>(digests.data()), digests.size()}}));
}

Result<std::unique_ptr<Tokenizer>> openTokenizer(const std::string &path) {
  std::error_code error;
  const bool isFolder = std::filesystem::is_directory(path, error);
  const std::string main = isFolder ? findTokenizer(path) : path;
  if (main.empty())
    return inputError(fmt::format("'{}' has no tokenizer", path))
        .withNote("expected a file tokenizer.json or tokenizer.model");
  if (!main.ends_with(".json") && !main.ends_with(".model"))
    return inputError(fmt::format("tokenizer '{}', expected a .json or .model file, or a folder with one", path));
  const std::filesystem::path parent = std::filesystem::path(main).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  SLUICE_ASSIGN_OR_RETURN(std::string text, readFile(main));
  std::vector<std::string> files = {main}, contents = {text};
  SLUICE_ASSIGN_OR_RETURN(const TokenizerSettings settings, text::readSettings(folder, files, contents));
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, main.ends_with(".json")
                                                                    ? text::readTokenizerJson(text, main, settings)
                                                                    : text::readSentencePiece(text, main, settings));
  tokenizer->files = std::move(files);
  tokenizer->digest = digestOf(contents);
  return tokenizer;
}

} // namespace sluice
