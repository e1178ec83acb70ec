//===- Normalizer.cpp - the normalizers of tokenizer.json -------------------------------------===//
#include "runtime/text/Normalizer.h"
#include "runtime/text/Pattern.h"
#include "runtime/text/Unicode.h"

#include <fmt/format.h>
#include <vector>

namespace sluice::text {

/// A normalizer that appends to the new text for each code point.
template <typename Append> static Normalizer byCodePoint(Append append) {
  return [append](std::string &text) {
    std::string result;
    result.reserve(text.size());
    for (std::size_t at = 0; at < text.size();)
      append(result, nextCodePoint(text, at));
    text = std::move(result);
    return Status::ok();
  };
}

static Normalizer toForm(NormalForm form) {
  return [form](std::string &text) {
    text = normalize(text, form);
    return Status::ok();
  };
}

static Normalizer inTurn(std::vector<Normalizer> parts) {
  return [parts = std::move(parts)](std::string &text) {
    for (const Normalizer &part : parts)
      SLUICE_RETURN_IF_ERROR(part(text));
    return Status::ok();
  };
}

/// The blocks of CJK ideographs that BERT separates by blanks.
static bool isIdeograph(char32_t c) {
  static constexpr struct {
    char32_t first, last;
  } blocks[] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
                {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  for (const auto &block : blocks)
    if (c >= block.first && c <= block.last)
      return true;
  return false;
}

static Result<Normalizer> readBertNormalizer(Fields &fields) {
  const bool cleans = fields.flag("clean_text", true), separates = fields.flag("handle_chinese_chars", true),
             lowers = fields.flag("lowercase", true), strips = fields.flag("strip_accents", lowers);
  SLUICE_RETURN_IF_ERROR(fields.status());
  std::vector<Normalizer> parts;
  if (cleans)
    parts.push_back(byCodePoint([](std::string &out, char32_t c) {
      const bool isBlank = c == '\t' || c == '\n' || c == '\r';
      if (isBlank || (!isOther(c) && isSpace(c)))
        out += ' ';
      else if (c != 0xFFFD && !isOther(c))
        appendCodePoint(out, c);
    }));
  if (separates)
    parts.push_back(
        byCodePoint([](std::string &out, char32_t c) { out += isIdeograph(c) ? " " + utf8(c) + " " : utf8(c); }));
  if (strips) {
    parts.push_back(toForm(NormalForm::nfd));
    parts.push_back(byCodePoint([](std::string &out, char32_t c) {
      if (!isNonspacingMark(c))
        appendCodePoint(out, c);
    }));
  }
  if (lowers)
    parts.push_back(byCodePoint(appendLower));
  return inTurn(std::move(parts));
}

static Result<Normalizer> readStripNormalizer(Fields &fields) {
  const bool left = fields.flag("strip_left", true), right = fields.flag("strip_right", true);
  SLUICE_RETURN_IF_ERROR(fields.status());
  return Normalizer([left, right](std::string &text) {
    std::size_t begin = text.size(), end = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t first = at;
      if (isSpace(nextCodePoint(text, at)))
        continue;
      begin = std::min(begin, first);
      end = at;
    }
    // A text of white space has no first other character.
    if (end == 0)
      text.clear();
    if (right)
      text.resize(end);
    if (left)
      text.erase(0, begin);
    return Status::ok();
  });
}

static Result<Normalizer> readSequenceNormalizer(Fields &fields) {
  const nlohmann::json &list = fields.array("normalizers");
  SLUICE_RETURN_IF_ERROR(fields.status());
  std::vector<Normalizer> parts;
  for (const nlohmann::json &item : list) {
    SLUICE_ASSIGN_OR_RETURN(Normalizer part,
                            readNormalizer(item, fmt::format("{}[{}]", fields.placeOf("normalizers"), parts.size())));
    parts.push_back(std::move(part));
  }
  return inTurn(std::move(parts));
}

static Result<Normalizer> readReplaceNormalizer(Fields &fields) {
  const std::string content = fields.text("content");
  SLUICE_ASSIGN_OR_RETURN(Pattern pattern, Pattern::read(fields));
  return Normalizer([pattern = std::make_shared<Pattern>(std::move(pattern)), content](std::string &text) {
    SLUICE_ASSIGN_OR_RETURN(text, pattern->replace(text, content));
    return Status::ok();
  });
}

Result<Normalizer> readNormalizer(const nlohmann::json &json, const std::string &where) {
  Fields fields(json, where);
  const std::string type = fields.type();
  SLUICE_RETURN_IF_ERROR(fields.status());
  if (type == "Sequence")
    return readSequenceNormalizer(fields);
  if (type == "BertNormalizer")
    return readBertNormalizer(fields);
  if (type == "Strip")
    return readStripNormalizer(fields);
  if (type == "Replace")
    return readReplaceNormalizer(fields);
  if (type == "Prepend") {
    const std::string prefix = fields.text("prepend");
    SLUICE_RETURN_IF_ERROR(fields.status());
    return Normalizer([prefix](std::string &text) {
      if (!text.empty())
        text.insert(0, prefix);
      return Status::ok();
    });
  }
  if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD")
    return toForm(type == "NFC"    ? NormalForm::nfc
                  : type == "NFD"  ? NormalForm::nfd
                  : type == "NFKC" ? NormalForm::nfkc
                                   : NormalForm::nfkd);
  if (type == "Lowercase")
    return byCodePoint(appendLower);
  if (type == "StripAccents")
    return byCodePoint([](std::string &out, char32_t c) {
      if (!isMark(c))
        appendCodePoint(out, c);
    });
  return unsupportedType(where, "normalizer", type,
                         "Sequence, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, BertNormalizer, Prepend, Replace, "
                         "Strip");
}

} // namespace sluice::text
