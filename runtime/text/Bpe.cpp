//===- Bpe.cpp - byte-pair encoding --------------------------------------------------------===//
//
// A piece begins as one token per character, byte or unknown character. The adjacent pair that comes first in the list
// of merges is merged, the leftmost if there are several, until no pair is in the list.
//
//===----------------------------------------------------------------------------------------===//
#include "runtime/text/Model.h"
#include "runtime/text/Unicode.h"

#include <fmt/format.h>
#include <queue>

namespace sluice::text {
namespace {

struct Merge {
  std::uint32_t rank = 0;
  TokenId result = 0;
};

/// A token of the piece, in a list: merging removes the right one of two.
struct Symbol {
  TokenId id = 0;
  std::ptrdiff_t previous = -1, next = -1;
  bool isRemoved = false;
};

/// A pair that may be merged, unless its tokens have changed since.
struct Candidate {
  Merge merge;
  std::size_t left = 0;

  bool operator<(const Candidate &other) const {
    return merge.rank != other.merge.rank ? merge.rank > other.merge.rank : left > other.left;
  }
};

/// Ids of short pieces are kept, because words repeat. The limits bound the memory to some MiB.
constexpr std::size_t longestKept = 32, mostKept = 1 << 16;

class Bpe final : public Model {
public:
  Status read(Fields &fields);
  Status tokenize(std::string_view piece, std::vector<TokenId> &ids) override;

private:
  std::unordered_map<std::uint64_t, Merge> merges;
  std::string wordPrefix, wordSuffix;
  std::optional<TokenId> unknown;
  bool fallsBackToBytes = false, fusesUnknown = false, ignoresMerges = false;
  /// The symbols of one piece: a member, so that a piece does not allocate.
  std::vector<Symbol> symbols;
  std::unordered_map<std::string, std::vector<TokenId>, TextHash, std::equal_to<>> kept;

  static std::uint64_t key(TokenId left, TokenId right) {
    return std::uint64_t(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
  }
  Status readMerge(Fields &fields, const nlohmann::json &item, std::uint32_t rank);
  void addSymbol(TokenId id);
  void addCharacters(std::string_view piece);
  void mergeSymbols();
};

Status Bpe::readMerge(Fields &fields, const nlohmann::json &item, std::uint32_t rank) {
  // "left right", or ["left", "right"].
  std::string left, right;
  if (const std::string *text = item.get_ptr<const std::string *>()) {
    const std::size_t blank = text->find(' ');
    if (blank != std::string::npos) {
      left = text->substr(0, blank);
      right = text->substr(blank + 1);
    }
  } else if (item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string()) {
    left = *item[0].get_ptr<const std::string *>();
    right = *item[1].get_ptr<const std::string *>();
  }
  // In the text form a blank cannot be part of a token.
  if (left.empty() || right.empty() || (item.is_string() && right.find(' ') != std::string::npos))
    return inputError(fmt::format("{}: merges[{}], expected two tokens", fields.where(), rank));
  std::string merged = left + (right.starts_with(wordPrefix) ? right.substr(wordPrefix.size()) : right);
  std::vector<TokenId> ids;
  for (std::string *token : {&left, &right, &merged}) {
    const std::optional<TokenId> id = vocabulary.find(*token);
    if (!id)
      return inputError(
          fmt::format("{}: merges[{}], token '{}' is not in the vocabulary", fields.where(), rank, *token));
    ids.push_back(*id);
  }
  merges.insert_or_assign(key(ids[0], ids[1]), Merge{rank, ids[2]});
  return Status::ok();
}

Status Bpe::read(Fields &fields) {
  vocabulary = Vocabulary::read(fields, "vocab");
  wordPrefix = fields.text("continuing_subword_prefix", "");
  wordSuffix = fields.text("end_of_word_suffix", "");
  fallsBackToBytes = fields.flag("byte_fallback", false);
  fusesUnknown = fields.flag("fuse_unk", false);
  ignoresMerges = fields.flag("ignore_merges", false);
  const std::string unknownToken = fields.text("unk_token", "");
  const nlohmann::json &list = fields.array("merges");
  if (const nlohmann::json *dropout = fields.find("dropout"); dropout && *dropout != 0.0)
    fields.refuse("'dropout' is not supported, because ids would be random");
  if (!unknownToken.empty() && !(unknown = vocabulary.find(unknownToken)))
    fields.refuse(fmt::format("unknown token '{}' is not in the vocabulary", unknownToken));
  SLUICE_RETURN_IF_ERROR(fields.status());
  merges.reserve(list.size());
  for (std::uint32_t rank = 0; const nlohmann::json &item : list)
    SLUICE_RETURN_IF_ERROR(readMerge(fields, item, rank++));
  return Status::ok();
}

void Bpe::addSymbol(TokenId id) {
  const auto index = static_cast<std::ptrdiff_t>(symbols.size());
  if (index > 0)
    symbols.back().next = index;
  symbols.push_back({id, index - 1, -1, false});
}

void Bpe::addCharacters(std::string_view piece) {
  symbols.clear();
  // Unknown characters that are not yet a symbol: one, or several that are fused.
  bool pending = false;
  std::string token;
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t begin = at;
    at += sequenceBytes(piece[at]);
    const std::string_view character = piece.substr(begin, at - begin);
    token.assign(begin > 0 ? wordPrefix : "");
    token += character;
    if (at == piece.size())
      token += wordSuffix;
    if (const std::optional<TokenId> id = vocabulary.find(token)) {
      if (pending)
        addSymbol(*unknown);
      pending = false;
      addSymbol(*id);
      continue;
    }
    if (fallsBackToBytes)
      if (const auto bytes = vocabulary.bytesOf(token)) {
        for (const TokenId id : *bytes)
          addSymbol(id);
        continue;
      }
    // Without an unknown token the character has no token.
    if (!unknown)
      continue;
    if (pending && !fusesUnknown)
      addSymbol(*unknown);
    pending = true;
  }
  if (pending)
    addSymbol(*unknown);
}

void Bpe::mergeSymbols() {
  std::priority_queue<Candidate> queue;
  const auto consider = [&](std::ptrdiff_t left) {
    if (left < 0 || symbols[static_cast<std::size_t>(left)].next < 0)
      return;
    const Symbol &first = symbols[static_cast<std::size_t>(left)];
    const auto found = merges.find(key(first.id, symbols[static_cast<std::size_t>(first.next)].id));
    if (found != merges.end())
      queue.push({found->second, static_cast<std::size_t>(left)});
  };
  for (std::size_t i = 0; i < symbols.size(); ++i)
    consider(static_cast<std::ptrdiff_t>(i));
  while (!queue.empty()) {
    const Candidate candidate = queue.top();
    queue.pop();
    Symbol &left = symbols[candidate.left];
    if (left.isRemoved || left.next < 0)
      continue;
    Symbol &right = symbols[static_cast<std::size_t>(left.next)];
    const auto found = merges.find(key(left.id, right.id));
    if (found == merges.end() || found->second.result != candidate.merge.result)
      continue;
    left.id = candidate.merge.result;
    left.next = right.next;
    right.isRemoved = true;
    if (right.next >= 0)
      symbols[static_cast<std::size_t>(right.next)].previous = static_cast<std::ptrdiff_t>(candidate.left);
    consider(left.previous);
    consider(static_cast<std::ptrdiff_t>(candidate.left));
  }
}

Status Bpe::tokenize(std::string_view piece, std::vector<TokenId> &ids) {
  if (ignoresMerges)
    if (const std::optional<TokenId> id = vocabulary.find(piece)) {
      ids.push_back(*id);
      return Status::ok();
    }
  const bool isShort = piece.size() <= longestKept;
  if (const auto found = isShort ? kept.find(piece) : kept.end(); found != kept.end()) {
    ids.insert(ids.end(), found->second.begin(), found->second.end());
    return Status::ok();
  }
  const auto before = static_cast<std::ptrdiff_t>(ids.size());
  addCharacters(piece);
  mergeSymbols();
  for (const Symbol &symbol : symbols)
    if (!symbol.isRemoved)
      ids.push_back(symbol.id);
  if (isShort && kept.size() < mostKept)
    kept.emplace(piece, std::vector<TokenId>(ids.begin() + before, ids.end()));
  return Status::ok();
}

} // namespace

Result<std::unique_ptr<Model>> readBpe(Fields &fields) {
  auto model = std::make_unique<Bpe>();
  SLUICE_RETURN_IF_ERROR(model->read(fields));
  return std::unique_ptr<Model>(std::move(model));
}

} // namespace sluice::text
