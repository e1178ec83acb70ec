//===- AddedTokens.h - tokens that are found in a text before it is split ------------------===//
#ifndef SLUICE_RUNTIME_TEXT_ADDEDTOKENS_H
#define SLUICE_RUNTIME_TEXT_ADDEDTOKENS_H

#include "runtime/text/Normalizer.h"
#include "runtime/text/Tokenizer.h"
#include "runtime/text/Vocabulary.h"

#include <functional>
#include <map>
#include <unordered_set>

namespace sluice::text {

/// Part of a text: an added token, or text between them.
struct Segment {
  std::optional<TokenId> id;
  std::string_view text;
};

/// A token and its flags. As in the tokenizers library, a token that is not special is normalized by default.
AddedToken readAddedToken(Fields &item, bool isSpecialByDefault);

/// The tokens of all files of a tokenizer.
class AddedTokens {
public:
  /// The vocabulary of the model, without added tokens.
  struct Ids {
    std::function<std::optional<TokenId>(std::string_view)> find;
    /// The first id after it.
    TokenId next = 0;
  };

  /// The member `added_tokens` of tokenizer.json.
  static Result<std::vector<AddedToken>> read(Fields &fields);
  /// `tokens`: those of the main file `path`. Errors: two ids of one token; an EOS or BOS without an id. `normalizer`
  /// may be empty.
  static Result<AddedTokens> make(std::vector<AddedToken> tokens, const TokenizerSettings &settings, const Ids &ids,
                                  const Normalizer &normalizer, const std::string &path);

  /// Splits a text at the tokens that are found before (`normalized` = false) or after normalization. Of tokens that
  /// begin at the same place the longest is found.
  std::vector<Segment> split(std::string_view text, bool normalized) const;

  bool isSpecial(TokenId id) const { return special.contains(id); }
  std::optional<TokenId> find(std::string_view content) const;
  const std::string *content(TokenId id) const;
  /// The largest id plus 1.
  std::size_t size() const { return contents.empty() ? 0 : static_cast<std::size_t>(contents.rbegin()->first) + 1; }

private:
  /// By their first byte, longest first.
  using Index = std::map<char, std::vector<AddedToken>>;
  Index raw, normalized;
  std::map<TokenId, std::string> contents;
  std::unordered_map<std::string, TokenId, TextHash, std::equal_to<>> ids;
  std::unordered_set<TokenId> special;

  static const AddedToken *longestAt(const Index &index, std::string_view text);
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_ADDEDTOKENS_H
