//===- Unigram.cpp - the most probable sequence of tokens -----------------------------------===//
#include "runtime/text/Model.h"
#include "runtime/text/Split.h"
#include "runtime/text/Unicode.h"

#include <algorithm>
#include <fmt/format.h>

namespace sluice::text {
namespace {

/// The score of an unknown character is that of the least probable token minus this.
constexpr double unknownPenalty = 10;

/// The best sequence of tokens that ends at a byte.
struct Node {
  std::ptrdiff_t begin = -1;
  double score = 0;
  bool isUnknown = false;

  void offer(std::size_t from, double offered, bool unknown) {
    if (begin < 0 || offered > score)
      *this = {static_cast<std::ptrdiff_t>(from), offered, unknown};
  }
};

class Unigram final : public Model {
public:
  Status read(Fields &fields);
  Status tokenize(std::string_view piece, std::vector<TokenId> &ids) override;

private:
  std::vector<double> scores;
  std::optional<TokenId> unknown;
  bool fallsBackToBytes = false;
  /// Bytes of the longest token.
  std::size_t longest = 0;
  double least = 0;

  Status addIds(std::string_view token, std::vector<TokenId> &ids) const;
};

Status Unigram::read(Fields &fields) {
  fallsBackToBytes = fields.flag("byte_fallback", false);
  const std::int64_t unknownId = fields.integer("unk_id", -1);
  const nlohmann::json &list = fields.array("vocab");
  for (const nlohmann::json &item : list) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_string() || !item[1].is_number()) {
      fields.refuse(fmt::format("vocab[{}], expected a token and its score", scores.size()));
      break;
    }
    const std::string &token = *item[0].get_ptr<const std::string *>();
    vocabulary.add(token, static_cast<std::int64_t>(scores.size()));
    scores.push_back(item[1].get<double>());
    longest = std::max(longest, token.size());
  }
  if (unknownId >= static_cast<std::int64_t>(scores.size()))
    fields.refuse(fmt::format("'unk_id', expected less than {} but got {}", scores.size(), unknownId));
  if (unknownId >= 0)
    unknown = static_cast<TokenId>(unknownId);
  least = scores.empty() ? 0 : *std::min_element(scores.begin(), scores.end());
  return fields.status();
}

Status Unigram::addIds(std::string_view token, std::vector<TokenId> &ids) const {
  if (const std::optional<TokenId> id = vocabulary.find(token)) {
    ids.push_back(*id);
    return Status::ok();
  }
  if (fallsBackToBytes)
    if (const auto bytes = vocabulary.bytesOf(token)) {
      ids.insert(ids.end(), bytes->begin(), bytes->end());
      return Status::ok();
    }
  if (!unknown)
    return inputError(fmt::format("the tokenizer has no token for '{}' and no unknown token", token));
  ids.push_back(*unknown);
  return Status::ok();
}

Status Unigram::tokenize(std::string_view piece, std::vector<TokenId> &ids) {
  std::vector<Node> best(piece.size() + 1);
  best[0].begin = 0;
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t character = sequenceBytes(piece[at]);
    bool isKnown = false;
    for (std::size_t bytes = 1; bytes <= std::min(longest, piece.size() - at); ++bytes)
      if (const std::optional<TokenId> id = vocabulary.find(piece.substr(at, bytes))) {
        best[at + bytes].offer(at, best[at].score + scores[static_cast<std::size_t>(*id)], *id == unknown);
        isKnown = isKnown || bytes == character;
      }
    if (!isKnown)
      best[at + character].offer(at, best[at].score + least - unknownPenalty, true);
    at += character;
  }
  std::vector<Range> ranges;
  // Adjacent unknown characters are one token.
  bool afterUnknown = false;
  for (std::size_t end = piece.size(); end > 0;) {
    const Node &node = best[end];
    const auto begin = static_cast<std::size_t>(node.begin);
    const bool fuses = node.isUnknown && unknown.has_value();
    if (fuses && afterUnknown)
      ranges.back().begin = begin;
    else
      ranges.push_back({begin, end});
    afterUnknown = fuses;
    end = begin;
  }
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range)
    SLUICE_RETURN_IF_ERROR(addIds(piece.substr(range->begin, range->end - range->begin), ids));
  return Status::ok();
}

} // namespace

Result<std::unique_ptr<Model>> readUnigram(Fields &fields) {
  auto model = std::make_unique<Unigram>();
  SLUICE_RETURN_IF_ERROR(model->read(fields));
  return std::unique_ptr<Model>(std::move(model));
}

} // namespace sluice::text
