//===- AddedTokens.cpp - tokens that are found in a text before it is split ----------------===//
#include "runtime/text/AddedTokens.h"
#include "runtime/text/Unicode.h"

#include <algorithm>
#include <fmt/format.h>

namespace sluice::text {

AddedToken readAddedToken(Fields &item, bool isSpecialByDefault) {
  AddedToken token;
  token.content = item.text("content");
  token.singleWord = item.flag("single_word", false);
  token.stripsLeft = item.flag("lstrip", false);
  token.stripsRight = item.flag("rstrip", false);
  token.isSpecial = item.flag("special", isSpecialByDefault);
  token.isNormalized = item.flag("normalized", !token.isSpecial);
  return token;
}

Result<std::vector<AddedToken>> AddedTokens::read(Fields &fields) {
  std::vector<AddedToken> tokens;
  if (!fields.find("added_tokens"))
    return tokens;
  for (std::size_t i = 0; const nlohmann::json &json : fields.array("added_tokens")) {
    Fields item(json, fmt::format("{}[{}]", fields.placeOf("added_tokens"), i++));
    const std::int64_t id = item.integer("id", -1);
    AddedToken &token = tokens.emplace_back(readAddedToken(item, /*isSpecialByDefault=*/false));
    if (id < 0 || id > INT32_MAX)
      item.refuse("'id', expected a token id");
    token.id = static_cast<TokenId>(id);
    SLUICE_RETURN_IF_ERROR(item.status());
  }
  SLUICE_RETURN_IF_ERROR(fields.status());
  return tokens;
}

/// The tokens of all files, each content once, except that the main file may have several ids of one content.
static std::vector<AddedToken> mergeTokens(std::vector<AddedToken> tokens, const TokenizerSettings &settings) {
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    places[tokens[i].content] = i;
  const auto add = [&](const AddedToken &token, bool replaces) {
    const auto [place, isNew] = places.try_emplace(token.content, tokens.size());
    if (isNew) {
      tokens.push_back(token);
      return;
    }
    AddedToken &other = tokens[place->second];
    const std::optional<TokenId> id = token.id ? token.id : other.id;
    other = replaces ? token : other;
    other.id = id;
    other.isSpecial |= token.isSpecial;
  };
  for (const AddedToken &token : settings.addedTokens)
    add(token, true);
  for (const AddedToken &token : settings.namedTokens)
    add(token, false);
  return tokens;
}

Result<AddedTokens> AddedTokens::make(std::vector<AddedToken> tokens, const TokenizerSettings &settings,
                                      const Ids &vocabulary, const Normalizer &normalizer, const std::string &path) {
  AddedTokens added;
  TokenId next = vocabulary.next;
  std::unordered_map<std::string, TokenId> ofMainFile;
  for (const AddedToken &token : tokens) {
    ofMainFile[token.content] = *token.id;
    next = std::max(next, *token.id == INT32_MAX ? *token.id : *token.id + 1);
  }
  for (AddedToken &token : mergeTokens(std::move(tokens), settings)) {
    // Such a token is found nowhere.
    if (token.content.empty())
      continue;
    std::optional<TokenId> known = vocabulary.find(token.content);
    if (const auto found = ofMainFile.find(token.content); found != ofMainFile.end())
      known = token.field.empty() ? *token.id : found->second;
    if (!known && !token.id && (token.field == "bos_token" || token.field == "eos_token"))
      return inputError(fmt::format("'{}': {} '{}' of the tokenizer's settings is not in the vocabulary", path,
                                    token.field, token.content));
    const TokenId id = known.value_or(next);
    if (token.id.value_or(id) != id)
      return inputError(fmt::format("'{}': id of the token '{}' in '{}', expected {} but got {}", path, token.content,
                                    token.field, id, *token.id))
          .withNote(known ? "correct the id: the vocabulary has this token"
                          : "correct the id: added tokens follow the vocabulary without gaps");
    next += !known && next < INT32_MAX;
    token.id = id;
    added.contents[id] = token.content;
    added.ids[token.content] = id;
    if (token.isSpecial)
      added.special.insert(id);
    if (token.isSpecial && settings.splitsSpecialTokens)
      continue;
    if (token.isNormalized && normalizer)
      SLUICE_RETURN_IF_ERROR(normalizer(token.content));
    if (!token.content.empty())
      (token.isNormalized ? added.normalized : added.raw)[token.content[0]].push_back(std::move(token));
  }
  for (Index *index : {&added.raw, &added.normalized})
    for (auto &[first, group] : *index)
      std::stable_sort(group.begin(), group.end(),
                       [](const AddedToken &a, const AddedToken &b) { return a.content.size() > b.content.size(); });
  return added;
}

const AddedToken *AddedTokens::longestAt(const Index &index, std::string_view text) {
  const auto found = index.find(text[0]);
  if (found == index.end())
    return nullptr;
  for (const AddedToken &token : found->second)
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
    const AddedToken *token = longestAt(index, text.substr(at));
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
    segments.push_back({*token->id, text.substr(begin, end - begin)});
    done = std::max(done, end);
  }
  finish(text.size());
  return segments;
}

std::optional<TokenId> AddedTokens::find(std::string_view content) const {
  const auto found = ids.find(content);
  return found == ids.end() ? std::nullopt : std::optional(found->second);
}

const std::string *AddedTokens::content(TokenId id) const {
  const auto found = contents.find(id);
  return found == contents.end() ? nullptr : &found->second;
}

} // namespace sluice::text
