//===- PostProcessor.h - the special tokens that tokenizer.json adds to a text -----------===//
#ifndef SLUICE_RUNTIME_TEXT_POSTPROCESSOR_H
#define SLUICE_RUNTIME_TEXT_POSTPROCESSOR_H

#include "runtime/text/Vocabulary.h"

namespace sluice::text {

/// Ids before and after those of a text.
struct Surroundings {
  std::vector<TokenId> before, after;
  /// The largest id plus 1.
  std::uint64_t size() const;
};

/// `where` is the position of the object in the file. An unknown type is an error.
Result<Surroundings> readPostProcessor(const nlohmann::json &json, const std::string &where);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_POSTPROCESSOR_H
