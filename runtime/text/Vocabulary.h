//===- Vocabulary.h - tokens and their ids ------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TEXT_VOCABULARY_H
#define SLUICE_RUNTIME_TEXT_VOCABULARY_H

#include "runtime/text/Fields.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::text {

using TokenId = std::int32_t;

/// For maps with keys of type std::string in which a std::string_view is searched.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

class Vocabulary {
public:
  /// An object of tokens and ids. An id that is no integer, is negative or belongs to two tokens is an error of
  /// `fields`.
  static Vocabulary read(Fields &fields, std::string_view name);

  /// False if the id is negative or above the limit of ids.
  bool add(std::string token, std::int64_t id);
  std::optional<TokenId> find(std::string_view token) const;
  /// nullptr for an id without a token.
  const std::string *token(TokenId id) const;
  /// The largest id plus 1.
  std::size_t size() const { return tokens.size(); }
  /// The ids of the tokens "<0x00>" to "<0xFF>" of a text's bytes; nullopt if one of them has no token.
  std::optional<std::vector<TokenId>> bytesOf(std::string_view text) const;

private:
  std::unordered_map<std::string, TokenId, TextHash, std::equal_to<>> ids;
  /// Points to the keys of `ids`, which do not move; nullptr: no token.
  std::vector<const std::string *> tokens;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_VOCABULARY_H
