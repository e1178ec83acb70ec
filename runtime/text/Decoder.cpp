//===- Decoder.cpp - the decoders of tokenizer.json: from tokens to text -------------------===//
#include "runtime/text/Decoder.h"
#include "runtime/text/ByteLevel.h"
#include "runtime/text/Pattern.h"
#include "runtime/text/Unicode.h"

#include <charconv>
#include <fmt/format.h>
#include <memory>

namespace sluice::text {

static std::string concatenate(const std::vector<std::string> &tokens) {
  std::string text;
  for (const std::string &token : tokens)
    text += token;
  return text;
}

static void decodeByteLevel(std::vector<std::string> &tokens) {
  std::string bytes;
  // Added tokens may have other characters, which are kept.
  for (const std::string &token : tokens)
    bytes += fromByteCharacters(token).value_or(token);
  tokens = {replaceInvalid(bytes)};
}

/// The byte of "<0xE4>".
static std::optional<char> byteOf(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>')
    return std::nullopt;
  std::uint8_t value = 0;
  const char *end = token.data() + 5;
  const auto [rest, error] = std::from_chars(token.data() + 3, end, value, 16);
  return error == std::errc() && rest == end ? std::optional(static_cast<char>(value)) : std::nullopt;
}

static void decodeBytes(std::vector<std::string> &tokens) {
  std::vector<std::string> result;
  std::string bytes;
  const auto flush = [&] {
    if (!findInvalid(bytes))
      result.push_back(bytes);
    else
      result.insert(result.end(), bytes.size(), "\uFFFD");
    bytes.clear();
  };
  for (std::string &token : tokens) {
    if (const std::optional<char> byte = byteOf(token)) {
      bytes += *byte;
      continue;
    }
    flush();
    result.push_back(std::move(token));
  }
  flush();
  tokens = std::move(result);
}

static Result<Decoder> readMetaspaceDecoder(Fields &fields) {
  const std::string mark = fields.text("replacement", "\u2581");
  const std::string scheme = fields.text("prepend_scheme", fields.flag("add_prefix_space", true) ? "always" : "never");
  SLUICE_RETURN_IF_ERROR(fields.status());
  return Decoder(
      [marks = std::make_shared<Pattern>(mark), strips = scheme != "never"](std::vector<std::string> &tokens) {
        // Literal patterns match without errors.
        for (std::size_t i = 0; i < tokens.size(); ++i)
          tokens[i] = *marks->replace(tokens[i], i == 0 && strips ? "" : " ");
      });
}

static Result<Decoder> readStripDecoder(Fields &fields) {
  const std::string content = fields.text("content");
  const std::int64_t left = fields.integer("start", 0), right = fields.integer("stop", 0);
  if (content.empty())
    fields.refuse("'content' is empty, expected a character");
  SLUICE_RETURN_IF_ERROR(fields.status());
  return Decoder([content, left, right](std::vector<std::string> &tokens) {
    for (std::string &token : tokens) {
      for (std::int64_t i = 0; i < left && token.starts_with(content); ++i)
        token.erase(0, content.size());
      for (std::int64_t i = 0; i < right && token.ends_with(content); ++i)
        token.resize(token.size() - content.size());
    }
  });
}

static Result<Decoder> readReplaceDecoder(Fields &fields) {
  const std::string content = fields.text("content");
  SLUICE_ASSIGN_OR_RETURN(Pattern pattern, Pattern::read(fields));
  return Decoder([pattern = std::make_shared<Pattern>(std::move(pattern)), content](std::vector<std::string> &tokens) {
    for (std::string &token : tokens)
      if (Result<std::string> replaced = pattern->replace(token, content); replaced.isOk())
        token = std::move(*replaced);
  });
}

/// Removes the blanks that splitting at punctuation has added.
static void cleanUp(std::string &text) {
  static const std::pair<Pattern, std::string_view> rules[] = {
      {Pattern(" ."), "."},   {Pattern(" ?"), "?"},     {Pattern(" !"), "!"},    {Pattern(" ,"), ","},
      {Pattern(" ' "), "'"},  {Pattern(" n't"), "n't"}, {Pattern(" 'm"), "'m"},  {Pattern(" do not"), " don't"},
      {Pattern(" 's"), "'s"}, {Pattern(" 've"), "'ve"}, {Pattern(" 're"), "'re"}};
  for (const auto &[pattern, replacement] : rules)
    text = *pattern.replace(text, replacement);
}

static Result<Decoder> readWordPieceDecoder(Fields &fields) {
  const std::string prefix = fields.text("prefix", "##");
  const bool cleans = fields.flag("cleanup", true);
  SLUICE_RETURN_IF_ERROR(fields.status());
  return Decoder([prefix, cleans](std::vector<std::string> &tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0 && tokens[i].starts_with(prefix))
        tokens[i].erase(0, prefix.size());
      else if (i > 0)
        tokens[i].insert(0, " ");
      if (cleans)
        cleanUp(tokens[i]);
    }
  });
}

static Result<Decoder> readSequenceDecoder(Fields &fields) {
  const nlohmann::json &list = fields.array("decoders");
  SLUICE_RETURN_IF_ERROR(fields.status());
  std::vector<Decoder> parts;
  for (const nlohmann::json &item : list) {
    SLUICE_ASSIGN_OR_RETURN(Decoder part,
                            readDecoder(item, fmt::format("{}[{}]", fields.placeOf("decoders"), parts.size())));
    parts.push_back(std::move(part));
  }
  return Decoder([parts](std::vector<std::string> &tokens) {
    for (const Decoder &part : parts)
      part(tokens);
  });
}

Result<Decoder> readDecoder(const nlohmann::json &json, const std::string &where) {
  Fields fields(json, where);
  const std::string type = fields.type();
  SLUICE_RETURN_IF_ERROR(fields.status());
  if (type == "Sequence")
    return readSequenceDecoder(fields);
  if (type == "ByteLevel")
    return Decoder(decodeByteLevel);
  if (type == "ByteFallback")
    return Decoder(decodeBytes);
  if (type == "Metaspace")
    return readMetaspaceDecoder(fields);
  if (type == "Strip")
    return readStripDecoder(fields);
  if (type == "Replace")
    return readReplaceDecoder(fields);
  if (type == "WordPiece")
    return readWordPieceDecoder(fields);
  if (type == "Fuse")
    return Decoder([](std::vector<std::string> &tokens) { tokens = {concatenate(tokens)}; });
  return unsupportedType(where, "decoder", type,
                         "Sequence, ByteLevel, ByteFallback, Metaspace, Strip, Replace, WordPiece, Fuse");
}

} // namespace sluice::text
