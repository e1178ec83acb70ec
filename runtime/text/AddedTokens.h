//===- AddedTokens.h - tokens that are found in a text before it is split ------------------===//
#ifndef SLUICE_RUNTIME_TEXT_ADDEDTOKENS_H
#define SLUICE_RUNTIME_TEXT_ADDEDTOKENS_H

#include "runtime/text/Normalizer.h"
#include "runtime/text/Vocabulary.h"

#include <map>
#include <unordered_set>

namespace sluice::text {

/// Part of a text: an added token, or text between them.
struct Segment {
  std::optional<TokenId> id;
  std::string_view text;
};

class AddedTokens {
public:
  /// The member `added_tokens`. `normalizer` may be empty.
  static Result<AddedTokens> read(Fields &fields, const Normalizer &normalizer);

  /// Splits a text at the tokens that are found before (`normalized` = false) or after normalization. Of tokens that
  /// begin at the same place the longest is found.
  std::vector<Segment> split(std::string_view text, bool normalized) const;

  bool isSpecial(TokenId id) const { return special.contains(id); }
  std::optional<TokenId> find(std::string_view content) const;
  const std::string *content(TokenId id) const;
  /// The largest id plus 1.
  std::size_t size() const { return contents.empty() ? 0 : static_cast<std::size_t>(contents.rbegin()->first) + 1; }

private:
  struct Token {
    std::string content;
    TokenId id = 0;
    bool singleWord = false, stripsLeft = false, stripsRight = false;
  };
  /// By their first byte, longest first.
  using Index = std::map<char, std::vector<Token>>;
  Index raw, normalized;
  std::map<TokenId, std::string> contents;
  std::unordered_set<TokenId> special;

  static const Token *longestAt(const Index &index, std::string_view text);
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_ADDEDTOKENS_H
