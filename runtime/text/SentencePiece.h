//===- SentencePiece.h - tokenizers of sentencepiece's models ------------------------------===//
#ifndef SLUICE_RUNTIME_TEXT_SENTENCEPIECE_H
#define SLUICE_RUNTIME_TEXT_SENTENCEPIECE_H

#include "runtime/text/Tokenizer.h"

namespace sluice::text {

/// `model`: the bytes of the file; `path` is for errors. Special tokens are BOS, if the model has one, unless the
/// settings state otherwise. Tokens of control and the unknown token of the model are added tokens.
Result<std::unique_ptr<Tokenizer>> readSentencePiece(std::string_view model, const std::string &path,
                                                     const TokenizerSettings &settings);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_SENTENCEPIECE_H
