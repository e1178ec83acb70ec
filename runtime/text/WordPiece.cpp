//===- WordPiece.cpp - longest match from the left --------------------------------------------===//
#include "runtime/text/Model.h"
#include "runtime/text/Unicode.h"

#include <fmt/format.h>

namespace sluice::text {
namespace {

class WordPiece final : public Model {
public:
  Status read(Fields &fields) {
    vocabulary = Vocabulary::read(fields, "vocab");
    prefix = fields.text("continuing_subword_prefix", "##");
    longest = fields.integer("max_input_chars_per_word", 100);
    const std::string token = fields.text("unk_token", "[UNK]");
    const std::optional<TokenId> id = vocabulary.find(token);
    if (!id)
      fields.refuse(fmt::format("unknown token '{}' is not in the vocabulary", token));
    unknown = id.value_or(0);
    return fields.status();
  }

  Status tokenize(std::string_view piece, std::vector<TokenId> &ids) override {
    const std::size_t before = ids.size();
    bool isKnown = static_cast<std::int64_t>(countCodePoints(piece)) <= longest;
    for (std::size_t begin = 0; isKnown && begin < piece.size();) {
      std::size_t end = piece.size();
      std::optional<TokenId> id;
      for (; end > begin; --end) {
        // Between two characters only.
        if (end < piece.size() && (piece[end] & 0xC0) == 0x80)
          continue;
        const std::string_view part = piece.substr(begin, end - begin);
        if ((id = begin > 0 ? vocabulary.find(prefix + std::string(part)) : vocabulary.find(part)))
          break;
      }
      isKnown = id.has_value();
      if (id)
        ids.push_back(*id);
      begin = end;
    }
    if (!isKnown) {
      ids.resize(before);
      ids.push_back(unknown);
    }
    return Status::ok();
  }

private:
  std::string prefix;
  std::int64_t longest = 0;
  TokenId unknown = 0;
};

} // namespace

Result<std::unique_ptr<Model>> readWordPiece(Fields &fields) {
  auto model = std::make_unique<WordPiece>();
  SLUICE_RETURN_IF_ERROR(model->read(fields));
  return std::unique_ptr<Model>(std::move(model));
}

} // namespace sluice::text
