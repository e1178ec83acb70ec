//===- SentencePiece.cpp - tokenizers of sentencepiece's models ----------------------------===//
#include "runtime/text/SentencePiece.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

namespace sluice::text {
namespace {

class SentencePieceTokenizer final : public Tokenizer {
public:
  Status read(std::string_view model, const std::string &path) {
    const auto loaded = processor.LoadFromSerializedProto(absl::string_view(model.data(), model.size()));
    if (!loaded.ok())
      return inputError(fmt::format("'{}' is not a model of sentencepiece: {}", path, loaded.error_message()));
    bos = idOf(settings.bosToken, processor.bos_id());
    eos = idOf(settings.eosToken, processor.eos_id());
    return Status::ok();
  }

  std::string decode(std::span<const std::int32_t> ids, bool skipSpecial) const override {
    std::vector<int> known;
    for (const std::int32_t id : ids)
      if (id >= 0 && id < processor.GetPieceSize())
        known.push_back(id);
    std::string text;
    (void)processor.Decode(known, &text);
    return text;
  }

  std::uint64_t vocabularySize() const override { return static_cast<std::uint64_t>(processor.GetPieceSize()); }

protected:
  Status encodeValid(std::string_view text, bool special, std::vector<std::int32_t> &ids) override {
    std::vector<int> found;
    const auto encoded = processor.Encode(absl::string_view(text.data(), text.size()), &found);
    if (!encoded.ok())
      return internalError(fmt::format("sentencepiece cannot encode a text: {}", encoded.error_message()));
    if (special && bos && settings.addBos.value_or(true))
      ids.push_back(*bos);
    ids.insert(ids.end(), found.begin(), found.end());
    if (special && eos && settings.addEos.value_or(false))
      ids.push_back(*eos);
    return Status::ok();
  }

private:
  sentencepiece::SentencePieceProcessor processor;

  std::optional<std::int32_t> idOf(const std::optional<std::string> &token, int ofModel) const {
    if (!token)
      return ofModel < 0 ? std::nullopt : std::optional<std::int32_t>(ofModel);
    const int id = processor.PieceToId(*token);
    return processor.IsUnknown(id) ? std::nullopt : std::optional<std::int32_t>(id);
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
