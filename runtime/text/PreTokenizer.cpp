//===- PreTokenizer.cpp - the pre-tokenizers of tokenizer.json -------------------------------===//
#include "runtime/text/PreTokenizer.h"
#include "runtime/text/ByteLevel.h"
#include "runtime/text/Pattern.h"
#include "runtime/text/Unicode.h"

#include <fmt/format.h>
#include <memory>

namespace sluice::text {

static Status give(const Piece &piece, const std::vector<Range> &ranges, const PieceSink &sink) {
  for (const Range &range : ranges)
    SLUICE_RETURN_IF_ERROR(
        sink({piece.text.substr(range.begin, range.end - range.begin), piece.isFirst && range.begin == 0}));
  return Status::ok();
}

/// Splits at each code point for which `is` is true.
template <typename Is> static PreTokenizer splitAtEach(Is is, SplitBehavior behavior) {
  return [is, behavior](const Piece &piece, const PieceSink &sink) {
    std::vector<Range> matches;
    for (std::size_t at = 0; at < piece.text.size();) {
      const std::size_t begin = at;
      if (is(nextCodePoint(piece.text, at)))
        matches.push_back({begin, at});
    }
    return give(piece, splitAt(piece.text.size(), matches, behavior, false), sink);
  };
}

static PreTokenizer splitByPattern(std::shared_ptr<const Pattern> pattern, SplitBehavior behavior, bool invert) {
  return [pattern = std::move(pattern), behavior, invert](const Piece &piece, const PieceSink &sink) {
    std::vector<Range> matches;
    SLUICE_RETURN_IF_ERROR(pattern->match(piece.text, matches));
    return give(piece, splitAt(piece.text.size(), matches, behavior, invert), sink);
  };
}

/// Words, and runs of other characters that are not white space.
static Status splitWords(const Piece &piece, const PieceSink &sink) {
  enum class Kind { space, word, other } kind = Kind::space;
  std::vector<Range> ranges;
  for (std::size_t at = 0; at < piece.text.size();) {
    const std::size_t begin = at;
    const char32_t c = nextCodePoint(piece.text, at);
    const Kind next = isWord(c) ? Kind::word : isSpace(c) ? Kind::space : Kind::other;
    if (next != Kind::space && next == kind)
      ranges.back().end = at;
    else if (next != Kind::space)
      ranges.push_back({begin, at});
    kind = next;
  }
  return give(piece, ranges, sink);
}

static PreTokenizer inTurn(PreTokenizer first, PreTokenizer second) {
  return [first = std::move(first), second = std::move(second)](const Piece &piece, const PieceSink &sink) {
    return first(piece, [&](const Piece &part) { return second(part, sink); });
  };
}

static Result<SplitBehavior> readBehavior(Fields &fields, std::string_view byDefault) {
  const std::string name = fields.text("behavior", byDefault);
  SLUICE_RETURN_IF_ERROR(fields.status());
  static constexpr std::pair<std::string_view, SplitBehavior> names[] = {
      {"Removed", SplitBehavior::removed},
      {"Isolated", SplitBehavior::isolated},
      {"MergedWithPrevious", SplitBehavior::mergedWithPrevious},
      {"MergedWithNext", SplitBehavior::mergedWithNext},
      {"Contiguous", SplitBehavior::contiguous}};
  for (const auto &[known, behavior] : names)
    if (name == known)
      return behavior;
  return unsupportedType(fields.where(), "split behavior", name,
                         "Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous");
}

static Result<PreTokenizer> readByteLevelSplitter(Fields &fields) {
  const bool addsSpace = fields.flag("add_prefix_space", true), splits = fields.flag("use_regex", true);
  SLUICE_RETURN_IF_ERROR(fields.status());
  SLUICE_ASSIGN_OR_RETURN(Regex regex, Regex::compile(gpt2Pattern, fields.where()));
  return PreTokenizer([addsSpace, splits, regex = std::make_shared<Regex>(std::move(regex))](const Piece &piece,
                                                                                             const PieceSink &sink) {
    std::string spaced;
    Piece whole = piece;
    if (addsSpace && !piece.text.starts_with(' '))
      whole.text = spaced = " " + std::string(piece.text);
    const PieceSink toBytes = [&](const Piece &part) { return sink({toByteCharacters(part.text), part.isFirst}); };
    if (!splits)
      return toBytes(whole);
    std::vector<Range> matches;
    SLUICE_RETURN_IF_ERROR(regex->match(whole.text, matches));
    return give(whole, splitAt(whole.text.size(), matches, SplitBehavior::isolated, false), toBytes);
  });
}

static Result<PreTokenizer> readMetaspaceSplitter(Fields &fields) {
  const std::string mark = fields.text("replacement", "\u2581");
  // Older files have a flag instead of the scheme.
  const std::string scheme = fields.text("prepend_scheme", fields.flag("add_prefix_space", true) ? "always" : "never");
  const bool splits = fields.flag("split", true);
  SLUICE_RETURN_IF_ERROR(fields.status());
  if (scheme != "always" && scheme != "never" && scheme != "first")
    return unsupportedType(fields.where(), "prepend scheme", scheme, "always, never, first");
  return PreTokenizer([mark, scheme, splits, space = std::make_shared<Pattern>(" "),
                       marks = std::make_shared<Pattern>(mark)](const Piece &piece, const PieceSink &sink) {
    SLUICE_ASSIGN_OR_RETURN(std::string text, space->replace(piece.text, mark));
    if (!text.starts_with(mark) && (scheme == "always" || (scheme == "first" && piece.isFirst)))
      text.insert(0, mark);
    const Piece whole{text, piece.isFirst};
    if (!splits)
      return sink(whole);
    std::vector<Range> matches;
    SLUICE_RETURN_IF_ERROR(marks->match(text, matches));
    return give(whole, splitAt(text.size(), matches, SplitBehavior::mergedWithNext, false), sink);
  });
}

static Result<PreTokenizer> readSplitSplitter(Fields &fields) {
  SLUICE_ASSIGN_OR_RETURN(Pattern pattern, Pattern::read(fields));
  SLUICE_ASSIGN_OR_RETURN(const SplitBehavior behavior, readBehavior(fields, "Isolated"));
  const bool invert = fields.flag("invert", false);
  SLUICE_RETURN_IF_ERROR(fields.status());
  return splitByPattern(std::make_shared<Pattern>(std::move(pattern)), behavior, invert);
}

static Result<PreTokenizer> readSequenceSplitter(Fields &fields) {
  const nlohmann::json &list = fields.array("pretokenizers");
  SLUICE_RETURN_IF_ERROR(fields.status());
  PreTokenizer all = [](const Piece &piece, const PieceSink &sink) { return sink(piece); };
  for (std::size_t i = 0; const nlohmann::json &item : list) {
    SLUICE_ASSIGN_OR_RETURN(PreTokenizer part,
                            readPreTokenizer(item, fmt::format("{}[{}]", fields.placeOf("pretokenizers"), i++)));
    all = i == 1 ? std::move(part) : inTurn(std::move(all), std::move(part));
  }
  return all;
}

Result<PreTokenizer> readPreTokenizer(const nlohmann::json &json, const std::string &where) {
  Fields fields(json, where);
  const std::string type = fields.type();
  SLUICE_RETURN_IF_ERROR(fields.status());
  if (type == "Sequence")
    return readSequenceSplitter(fields);
  if (type == "ByteLevel")
    return readByteLevelSplitter(fields);
  if (type == "Metaspace")
    return readMetaspaceSplitter(fields);
  if (type == "Split")
    return readSplitSplitter(fields);
  if (type == "Digits") {
    const bool individual = fields.flag("individual_digits", false);
    SLUICE_RETURN_IF_ERROR(fields.status());
    return splitAtEach(isNumeric, individual ? SplitBehavior::isolated : SplitBehavior::contiguous);
  }
  if (type == "Punctuation") {
    SLUICE_ASSIGN_OR_RETURN(const SplitBehavior behavior, readBehavior(fields, "Isolated"));
    return splitAtEach(isPunctuation, behavior);
  }
  if (type == "Whitespace")
    return PreTokenizer(splitWords);
  if (type == "WhitespaceSplit")
    return splitAtEach(isSpace, SplitBehavior::removed);
  if (type == "BertPreTokenizer")
    return inTurn(splitAtEach(isSpace, SplitBehavior::removed), splitAtEach(isPunctuation, SplitBehavior::isolated));
  return unsupportedType(where, "pre-tokenizer", type,
                         "Sequence, ByteLevel, Metaspace, Split, Digits, Punctuation, Whitespace, WhitespaceSplit, "
                         "BertPreTokenizer");
}

} // namespace sluice::text
