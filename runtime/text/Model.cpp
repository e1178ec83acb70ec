//===- Model.cpp - the type of the model of tokenizer.json -------------------------------===//
#include "runtime/text/Model.h"

namespace sluice::text {

Result<std::unique_ptr<Model>> readModel(const nlohmann::json &json, const std::string &where) {
  Fields fields(json, where);
  // Files of older versions have no type for BPE.
  const std::string type = fields.text("type", fields.find("merges") ? "BPE" : "none");
  SLUICE_RETURN_IF_ERROR(fields.status());
  if (type == "BPE")
    return readBpe(fields);
  if (type == "WordPiece")
    return readWordPiece(fields);
  if (type == "Unigram")
    return readUnigram(fields);
  return unsupportedType(where, "model", type, "BPE, WordPiece, Unigram");
}

} // namespace sluice::text
