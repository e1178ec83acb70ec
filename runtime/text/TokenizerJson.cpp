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
  Status applySettings(Fields &fields, const std::string &path);

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
  return fields.status();
}

/// A flag of the settings and the same one of a stage must be equal: versions of transformers differ in which they use.
static Status compareFlag(const Fields &fields, std::string_view stage, std::string_view type, const std::string &name,
                          std::optional<bool> flag) {
  const nlohmann::json *json = fields.find(stage);
  if (!flag || !json || !json->is_object() || json->value("type", nlohmann::json()) != type)
    return Status::ok();
  const auto member = json->find(name);
  if (member == json->end() || !member->is_boolean() || *member == *flag)
    return Status::ok();
  return inputError(
             fmt::format("{}: '{}' is {}, but {} in tokenizer_config.json", fields.placeOf(stage), name, !*flag, *flag))
      .withNote("set both to the value that the model was trained with");
}

// The file states which tokens surround a text; add_bos_token and add_eos_token have no effect, as in transformers.
Status JsonTokenizer::applySettings(Fields &fields, const std::string &path) {
  SLUICE_RETURN_IF_ERROR(
      compareFlag(fields, "pre_tokenizer", "ByteLevel", "add_prefix_space", settings.addPrefixSpace));
  for (const auto &[name, flag] : settings.normalizerFlags)
    SLUICE_RETURN_IF_ERROR(compareFlag(fields, "normalizer", "BertNormalizer", name, flag));
  SLUICE_ASSIGN_OR_RETURN(std::vector<AddedToken> tokens, AddedTokens::read(fields));
  const AddedTokens::Ids ids = {[this](std::string_view token) { return model->vocabulary.find(token); },
                                static_cast<TokenId>(model->vocabulary.size())};
  SLUICE_ASSIGN_OR_RETURN(added, AddedTokens::make(std::move(tokens), settings, ids, normalizer, path));
  if (settings.bosToken)
    bos = added.find(*settings.bosToken);
  if (settings.eosToken)
    eos = added.find(*settings.eosToken);
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
  SLUICE_RETURN_IF_ERROR(tokenizer->applySettings(fields, path));
  return std::unique_ptr<Tokenizer>(std::move(tokenizer));
}

} // namespace sluice::text
