//===- AddedTokens.cpp - tokens that are found in a text before it is split ----------------===//
#include "runtime/text/AddedTokens.h"
#include "runtime/text/Unicode.h"

#include <algorithm>
#include <fmt/format.h>

namespace sluice::text {

Result<AddedTokens> AddedTokens::read(Fields &fields, const Normalizer &normalizer) {
  AddedTokens added;
  if (!fields.find("added_tokens"))
    return added;
  for (std::size_t i = 0; const nlohmann::json &json : fields.array("added_tokens")) {
    Fields item(json, fmt::format("{}[{}]", fields.placeOf("added_tokens"), i++));
    Token token;
    const std::int64_t id = item.integer("id", -1);
    token.content = item.text("content");
    token.singleWord = item.flag("single_word", false);
    token.stripsLeft = item.flag("lstrip", false);
    token.stripsRight = item.flag("rstrip", false);
    const bool isSpecial = item.flag("special", false);
    const bool isNormalized = item.flag("normalized", !isSpecial);
    if (id < 0 || id > INT32_MAX)
      item.refuse("'id', expected a token id");
    SLUICE_RETURN_IF_ERROR(item.status());
    token.id = static_cast<TokenId>(id);
    added.contents[token.id] = token.content;
    if (isSpecial)
      added.special.insert(token.id);
    if (isNormalized && normalizer)
      SLUICE_RETURN_IF_ERROR(normalizer(token.content));
    if (!token.content.empty())
      (isNormalized ? added.normalized : added.raw)[token.content[0]].push_back(std::move(token));
  }
  SLUICE_RETURN_IF_ERROR(fields.status());
  for (Index *index : {&added.raw, &added.normalized})
    for (auto &[first, tokens] : *index)
      std::stable_sort(tokens.begin(), tokens.end(),
                       [](const Token &a, const Token &b) { return a.content.size() > b.content.size(); });
  return added;
}

const AddedTokens::Token *AddedTokens::longestAt(const Index &index, std::string_view text) {
  const auto found = index.find(text[0]);
  if (found == index.end())
    return nullptr;
  for (const Token &token : found->second)
    if (text.starts_with(token.content))
      return &token;
  return nullptr;
}

static bool endsWithWord(std::string_view text) {
  std::size_t at = text.size();
  while (at > 0 && (text[--at] & 0xC0) == 0x80)
    ;
  return !text.empty() && isWord(nextCodePoint(text, at));
}

static bool startsWithWord(std::string_view text) {
  std::size_t at = 0;
  return !text.empty() && isWord(nextCodePoint(text, at));
}

/// Where the white space at the end begins.
static std::size_t spaceAtEnd(std::string_view text) {
  std::size_t begin = text.size();
  for (std::size_t at = begin; at > 0;) {
    while (--at > 0 && (text[at] & 0xC0) == 0x80)
      ;
    std::size_t next = at;
    if (!isSpace(nextCodePoint(text, next)))
      break;
    begin = at;
  }
  return begin;
}

/// Bytes of the white space at the beginning.
static std::size_t spaceAtStart(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size() && isSpace(nextCodePoint(text, at));)
    end = at;
  return end;
}

std::vector<Segment> AddedTokens::split(std::string_view text, bool inNormalized) const {
  const Index &index = inNormalized ? normalized : raw;
  std::vector<Segment> segments;
  std::size_t done = 0;
  const auto finish = [&](std::size_t end) {
    if (done < end)
      segments.push_back({std::nullopt, text.substr(done, end - done)});
  };
  for (std::size_t at = 0; !index.empty() && at < text.size();) {
    const Token *token = longestAt(index, text.substr(at));
    if (!token) {
      ++at;
      continue;
    }
    std::size_t begin = at, end = at + token->content.size();
    at = end;
    if (token->singleWord && (endsWithWord(text.substr(0, begin)) || startsWithWord(text.substr(end))))
      continue;
    if (token->stripsLeft)
      begin = std::max(spaceAtEnd(text.substr(0, begin)), done);
    if (token->stripsRight)
      end += spaceAtStart(text.substr(end));
    finish(begin);
    segments.push_back({token->id, text.substr(begin, end - begin)});
    done = std::max(done, end);
  }
  finish(text.size());
  return segments;
}

std::optional<TokenId> AddedTokens::find(std::string_view content) const {
  for (const auto &[id, text] : contents)
    if (text == content)
      return id;
  return std::nullopt;
}

const std::string *AddedTokens::content(TokenId id) const {
  const auto found = contents.find(id);
  return found == contents.end() ? nullptr : &found->second;
}

} // namespace sluice::text
