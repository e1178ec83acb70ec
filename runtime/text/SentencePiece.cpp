//===- SentencePiece.cpp - tokenizers of sentencepiece's models ----------------------------===//
#include "runtime/text/SentencePiece.h"
#include "runtime/text/AddedTokens.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <sentencepiece_processor.h>

namespace sluice::text {
namespace {

class SentencePieceTokenizer final : public Tokenizer {
public:
  Status read(std::string_view model, const std::string &path) {
    SLUICE_RETURN_IF_ERROR(load(processor, model, path));
    SLUICE_RETURN_IF_ERROR(checkIds(path));
    if (!settings.bosToken && processor.bos_id() >= 0)
      settings.bosToken = processor.IdToPiece(processor.bos_id());
    if (!settings.eosToken && processor.eos_id() >= 0)
      settings.eosToken = processor.IdToPiece(processor.eos_id());
    const AddedTokens::Ids ids = {[this](std::string_view token) { return find(token); }, processor.GetPieceSize()};
    SLUICE_ASSIGN_OR_RETURN(added, AddedTokens::make(piecesOfModel(), settings, ids, Normalizer(), path));
    bos = settings.bosToken ? added.find(*settings.bosToken) : std::nullopt;
    eos = settings.eosToken ? added.find(*settings.eosToken) : std::nullopt;
    // Appended fields replace those of the model: this is `normalizer_spec { add_dummy_prefix: false }`.
    return load(withoutPrefix, std::string(model) + std::string("\x1a\x02\x18\x00", 4), path);
  }

  std::string decode(std::span<const std::int32_t> ids, bool skipSpecial) const override {
    std::string text;
    std::vector<int> run;
    for (const std::int32_t id : ids) {
      const std::string *token = added.content(id);
      if (!token) {
        if (id >= 0 && id < processor.GetPieceSize())
          run.push_back(id);
        continue;
      }
      if (skipSpecial && added.isSpecial(id))
        continue;
      decodeRun(run, text);
      text += *token;
    }
    decodeRun(run, text);
    return text;
  }

  std::uint64_t vocabularySize() const override {
    return std::max(static_cast<std::size_t>(processor.GetPieceSize()), added.size());
  }

protected:
  Status encodeValid(std::string_view text, bool special, std::vector<std::int32_t> &ids) override {
    if (special && bos && settings.addBos.value_or(true))
      ids.push_back(*bos);
    for (const Segment &segment : added.split(text, /*normalized=*/false)) {
      if (segment.id) {
        ids.push_back(*segment.id);
        continue;
      }
      const bool isFirst = segment.text.data() == text.data();
      const bool isPrefixed = settings.addPrefixSpace.value_or(true) && (isFirst || settings.prefixesEachText);
      std::vector<int> found;
      const auto encoded = (isPrefixed ? processor : withoutPrefix)
                               .Encode(absl::string_view(segment.text.data(), segment.text.size()), &found);
      if (!encoded.ok())
        return internalError(fmt::format("sentencepiece cannot encode a text: {}", encoded.error_message()));
      ids.insert(ids.end(), found.begin(), found.end());
    }
    if (special && eos && settings.addEos.value_or(false))
      ids.push_back(*eos);
    return Status::ok();
  }

private:
  sentencepiece::SentencePieceProcessor processor, withoutPrefix;
  AddedTokens added;

  static Status load(sentencepiece::SentencePieceProcessor &into, std::string_view model, const std::string &path) {
    const auto loaded = into.LoadFromSerializedProto(absl::string_view(model.data(), model.size()));
    return loaded.ok()
               ? Status::ok()
               : inputError(fmt::format("'{}' is not a model of sentencepiece: {}", path, loaded.error_message()));
  }

  /// Classes of transformers that give tokens other ids than the model has.
  Status checkIds(const std::string &path) const {
    static constexpr std::array<std::string_view, 10> renumbering = {
        "XLMRoberta",    "Camembert", "MBart",       "Nllb",  "XGLM",
        "XLMProphetNet", "LayoutXLM", "SeamlessM4T", "MLuke", "Pegasus"};
    const char *note = "use the tokenizer.json of the model, which save_pretrained() of transformers writes";
    if (std::ranges::any_of(renumbering, [&](std::string_view name) { return settings.className.starts_with(name); }))
      return inputError(fmt::format("'{}': the tokenizer class '{}' gives other ids to the tokens of its model", path,
                                    settings.className))
          .withNote(note);
    // T5 counts these from the end.
    for (const AddedToken &token : settings.namedTokens)
      if (token.content.starts_with("<extra_id_") && settings.addedTokens.empty() && !find(token.content))
        return inputError(
                   fmt::format("'{}': token '{}' of '{}' has no id in the model", path, token.content, token.field))
            .withNote(note);
    return Status::ok();
  }

  std::optional<TokenId> find(std::string_view token) const {
    const int id = processor.PieceToId(absl::string_view(token.data(), token.size()));
    return processor.IsUnknown(id) && processor.IdToPiece(id) != token ? std::nullopt : std::optional<TokenId>(id);
  }

  /// The tokens that the library does not find in a text: those of control, and the unknown one.
  std::vector<AddedToken> piecesOfModel() const {
    std::vector<AddedToken> tokens;
    for (int id = 0; id < processor.GetPieceSize(); ++id)
      if (processor.IsControl(id) || processor.IsUnknown(id))
        tokens.push_back({processor.IdToPiece(id), id});
    return tokens;
  }

  /// Appends the text of pieces. The library removes a space at the beginning of a text, but this may be within one:
  /// then the first piece is decoded twice, and its first text is left out.
  void decodeRun(std::vector<int> &run, std::string &text) const {
    std::string part, before;
    if (!run.empty() && !text.empty() && processor.IdToPiece(run[0]).starts_with("\u2581")) {
      (void)processor.Decode(std::vector<int>{run[0]}, &before);
      run.insert(run.begin(), run[0]);
    }
    (void)processor.Decode(run, &part);
    text += part.substr(before.size());
    run.clear();
  }
};

} // namespace

Result<std::unique_ptr<Tokenizer>> readSentencePiece(std::string_view model, const std::string &path,
                                                     const TokenizerSettings &settings) {
  auto tokenizer = std::make_unique<SentencePieceTokenizer>();
  tokenizer->settings = settings;
  SLUICE_RETURN_IF_ERROR(tokenizer->read(model, path));
  return std::unique_ptr<Tokenizer>(std::move(tokenizer));
}

} // namespace sluice::text
