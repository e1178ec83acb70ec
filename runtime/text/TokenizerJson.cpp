//===- TokenizerJson.cpp - tokenizers of Hugging Face's tokenizer.json ---------------------===//
//
// A text passes the stages in this order: added tokens are found, the text between them is normalized, added tokens are
// found in the normalized text, the rest is split into pieces, and the model gives the ids of each piece.
//
//===----------------------------------------------------------------------------------------===//
#include "runtime/text/TokenizerJson.h"
#include "runtime/base/Json.h"
#include "runtime/text/AddedTokens.h"
#include "runtime/text/Decoder.h"
#include "runtime/text/Model.h"
#include "runtime/text/PostProcessor.h"
#include "runtime/text/PreTokenizer.h"

#include <algorithm>
#include <fmt/format.h>

namespace sluice::text {
namespace {

class JsonTokenizer final : public Tokenizer {
public:
  Status read(Fields &fields);
  Status applySettings(const std::string &path);

  std::string decode(std::span<const std::int32_t> ids, bool skipSpecial) const override;
  std::uint64_t vocabularySize() const override {
    return std::max({model->vocabulary.size(), added.size(), around.size()});
  }

protected:
  Status encodeValid(std::string_view text, bool special, std::vector<std::int32_t> &ids) override;

private:
  /// Empty functions for stages that the file does not have.
  Normalizer normalizer;
  PreTokenizer preTokenizer;
  Decoder decoder;
  std::unique_ptr<Model> model;
  AddedTokens added;
  Surroundings around;

  std::optional<TokenId> find(std::string_view token) const;
  Result<std::optional<TokenId>> findSpecial(const std::optional<std::string> &token, std::string_view name,
                                             const std::string &path) const;
  Status encodePieces(const Piece &text, std::vector<TokenId> &ids);
};

Status JsonTokenizer::read(Fields &fields) {
  const nlohmann::json &ofModel = fields.object("model");
  SLUICE_RETURN_IF_ERROR(fields.status());
  SLUICE_ASSIGN_OR_RETURN(model, readModel(ofModel, fields.placeOf("model")));
  if (const nlohmann::json *json = fields.find("normalizer")) {
    SLUICE_ASSIGN_OR_RETURN(normalizer, readNormalizer(*json, fields.placeOf("normalizer")));
  }
  if (const nlohmann::json *json = fields.find("pre_tokenizer")) {
    SLUICE_ASSIGN_OR_RETURN(preTokenizer, readPreTokenizer(*json, fields.placeOf("pre_tokenizer")));
  }
  if (const nlohmann::json *json = fields.find("post_processor")) {
    SLUICE_ASSIGN_OR_RETURN(around, readPostProcessor(*json, fields.placeOf("post_processor")));
  }
  if (const nlohmann::json *json = fields.find("decoder")) {
    SLUICE_ASSIGN_OR_RETURN(decoder, readDecoder(*json, fields.placeOf("decoder")));
  }
  SLUICE_ASSIGN_OR_RETURN(added, AddedTokens::read(fields, normalizer));
  return fields.status();
}

std::optional<TokenId> JsonTokenizer::find(std::string_view token) const {
  const std::optional<TokenId> id = added.find(token);
  return id ? id : model->vocabulary.find(token);
}

Result<std::optional<TokenId>> JsonTokenizer::findSpecial(const std::optional<std::string> &token,
                                                          std::string_view name, const std::string &path) const {
  if (!token)
    return std::optional<TokenId>();
  const std::optional<TokenId> id = find(*token);
  if (!id)
    return inputError(
        fmt::format("'{}': {} '{}' of the tokenizer's settings is not in the vocabulary", path, name, *token));
  return id;
}

// The file states which tokens are added; add_bos_token and add_eos_token have no effect, as in transformers.
Status JsonTokenizer::applySettings(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(bos, findSpecial(settings.bosToken, "bos_token", path));
  SLUICE_ASSIGN_OR_RETURN(eos, findSpecial(settings.eosToken, "eos_token", path));
  return Status::ok();
}

Status JsonTokenizer::encodePieces(const Piece &text, std::vector<TokenId> &ids) {
  const PieceSink sink = [&](const Piece &piece) { return model->tokenize(piece.text, ids); };
  return preTokenizer ? preTokenizer(text, sink) : sink(text);
}

Status JsonTokenizer::encodeValid(std::string_view text, bool special, std::vector<std::int32_t> &ids) {
  if (special)
    ids.insert(ids.end(), around.before.begin(), around.before.end());
  for (const Segment &segment : added.split(text, /*normalized=*/false)) {
    if (segment.id) {
      ids.push_back(*segment.id);
      continue;
    }
    std::string normalized(segment.text);
    if (normalizer)
      SLUICE_RETURN_IF_ERROR(normalizer(normalized));
    for (const Segment &part : added.split(normalized, /*normalized=*/true)) {
      if (part.id) {
        ids.push_back(*part.id);
        continue;
      }
      const bool isFirst = segment.text.data() == text.data() && part.text.data() == normalized.data();
      SLUICE_RETURN_IF_ERROR(encodePieces({part.text, isFirst}, ids));
    }
  }
  if (special)
    ids.insert(ids.end(), around.after.begin(), around.after.end());
  return Status::ok();
}

std::string JsonTokenizer::decode(std::span<const std::int32_t> ids, bool skipSpecial) const {
  std::vector<std::string> tokens;
  for (const TokenId id : ids) {
    const std::string *token = added.content(id);
    if (!token)
      token = model->vocabulary.token(id);
    if (token && !(skipSpecial && added.isSpecial(id)))
      tokens.push_back(*token);
  }
  if (decoder)
    decoder(tokens);
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    // Without a decoder tokens are words.
    if (i > 0 && !decoder)
      text += ' ';
    text += tokens[i];
  }
  return text;
}

} // namespace

Result<std::unique_ptr<Tokenizer>> readTokenizerJson(std::string_view text, const std::string &path,
                                                     const TokenizerSettings &settings) {
  const auto json = parseJson<nlohmann::json>(text);
  if (json.is_discarded())
    return inputError(fmt::format("'{}' is not JSON", path))
        .withNote("is the file complete? a file of Git LFS is only a pointer until `git lfs pull`");
  auto tokenizer = std::make_unique<JsonTokenizer>();
  Fields fields(json, fmt::format("'{}': tokenizer", path));
  SLUICE_RETURN_IF_ERROR(fields.status());
  SLUICE_RETURN_IF_ERROR(tokenizer->read(fields));
  tokenizer->settings = settings;
  SLUICE_RETURN_IF_ERROR(tokenizer->applySettings(path));
  return std::unique_ptr<Tokenizer>(std::move(tokenizer));
}

} // namespace sluice::text
