//===- Tokenizer.h - text to token ids and back --------------------------------------===//
//
// The tokenizer of a model, read from the files that transformers writes: tokenizer.json, or a model of sentencepiece,
// with tokenizer_config.json and special_tokens_map.json. A tokenizer is used by one thread at a time.
//
//===----------------------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TEXT_TOKENIZER_H
#define SLUICE_RUNTIME_TEXT_TOKENIZER_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A token that is found in a text before it is split.
struct AddedToken {
  std::string content;
  /// Absent: the id of the content in the vocabulary, or the first id after it.
  std::optional<std::int32_t> id = {};
  bool singleWord = false, stripsLeft = false, stripsRight = false;
  bool isSpecial = true;
  /// Whether it is searched after normalization.
  bool isNormalized = false;
  /// The member that names it, for errors.
  std::string field = {};
};

/// Settings of a tokenizer in addition to its algorithm: those of tokenizer_config.json, special_tokens_map.json,
/// added_tokens.json and chat_template.jinja.
struct TokenizerSettings {
  std::optional<std::string> bosToken, eosToken;
  /// For models of sentencepiece: whether special tokens include these two.
  std::optional<bool> addBos, addEos;
  /// Tokens with their ids, which replace tokens of the same content.
  std::vector<AddedToken> addedTokens;
  /// Tokens with a role, such as eos_token: special, and added if no file has them.
  std::vector<AddedToken> namedTokens;
  /// Special tokens are not found in a text.
  bool splitsSpecialTokens = false;
  /// Whether a text begins with a space, and for models of sentencepiece whether each text after an added token does.
  std::optional<bool> addPrefixSpace;
  bool prefixesEachText = true;
  /// The class in transformers; empty: unknown.
  std::string className;
  /// Options of BERT's normalizer, by the names of its members in tokenizer.json.
  std::vector<std::pair<std::string, bool>> normalizerFlags;
  /// Jinja text; empty: none. The second is for conversations with tools, if it is different.
  std::string chatTemplate, toolTemplate;
  /// The time of the templates' strftime_now(), in seconds since 1970.
  std::int64_t now = 0;
};

class Tokenizer {
public:
  virtual ~Tokenizer() = default;

  /// Appends the ids of a UTF-8 text. `special`: with the tokens that the tokenizer adds to a text, for example BOS.
  /// Added tokens within the text become their ids in either case. Text that is not UTF-8 is an error.
  Status encode(std::string_view text, bool special, std::vector<std::int32_t> &ids);
  /// The text of ids. Bytes that are not UTF-8 become U+FFFD; ids outside the vocabulary give no text. `skipSpecial`:
  /// without special tokens.
  virtual std::string decode(std::span<const std::int32_t> ids, bool skipSpecial) const = 0;
  /// The largest id plus 1.
  virtual std::uint64_t vocabularySize() const = 0;

  /// SHA-256 of the files, as hexadecimal text.
  std::string digest;
  /// Paths of the files that were read, beginning with the main one.
  std::vector<std::string> files;
  std::optional<std::int32_t> bos, eos;
  TokenizerSettings settings;

protected:
  virtual Status encodeValid(std::string_view text, bool special, std::vector<std::int32_t> &ids) = 0;
};

/// Opens a tokenizer.json, a model of sentencepiece (.model), or a folder with one of them, of which tokenizer.json
/// takes precedence. The settings are those in the same folder. A missing, damaged or unsupported file is an input
/// error.
Result<std::unique_ptr<Tokenizer>> openTokenizer(const std::string &path);

/// The path of the tokenizer in a folder, or in the folder of a file; empty if it has no tokenizer.
std::string findTokenizer(const std::string &path);

} // namespace sluice

#endif // SLUICE_RUNTIME_TEXT_TOKENIZER_H
