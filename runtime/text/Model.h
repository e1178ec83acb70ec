//===- Model.h - the models of tokenizer.json: tokens of one piece -----------------------===//
#ifndef SLUICE_RUNTIME_TEXT_MODEL_H
#define SLUICE_RUNTIME_TEXT_MODEL_H

#include "runtime/text/Vocabulary.h"

#include <memory>

namespace sluice::text {

class Model {
public:
  virtual ~Model() = default;
  /// Appends the ids of a piece, which is not empty.
  virtual Status tokenize(std::string_view piece, std::vector<TokenId> &ids) = 0;

  Vocabulary vocabulary;
};

/// Merges pairs of adjacent tokens, in the order of a list.
Result<std::unique_ptr<Model>> readBpe(Fields &fields);
/// The longest known token, then the longest that continues the word.
Result<std::unique_ptr<Model>> readWordPiece(Fields &fields);
/// The sequence of tokens with the largest sum of log probabilities.
Result<std::unique_ptr<Model>> readUnigram(Fields &fields);

/// The model of one of these types. `where` is the position of the object in the file. An unknown type is an error.
Result<std::unique_ptr<Model>> readModel(const nlohmann::json &json, const std::string &where);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_MODEL_H
