//===- TokenizerJson.h - tokenizers of Hugging Face's tokenizer.json -----------------------===//
#ifndef SLUICE_RUNTIME_TEXT_TOKENIZERJSON_H
#define SLUICE_RUNTIME_TEXT_TOKENIZERJSON_H

#include "runtime/text/Tokenizer.h"

namespace sluice::text {

/// `json`: the text of the file; `path` is for errors. Settings of truncation and padding are ignored, as transformers
/// does unless a call requests them.
Result<std::unique_ptr<Tokenizer>> readTokenizerJson(std::string_view json, const std::string &path,
                                                     const TokenizerSettings &settings);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_TOKENIZERJSON_H
