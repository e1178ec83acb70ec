//===- StreamDecoder.h - the text of ids that arrive one at a time ---------------------===//
#ifndef SLUICE_RUNTIME_TEXT_STREAMDECODER_H
#define SLUICE_RUNTIME_TEXT_STREAMDECODER_H

#include "runtime/text/Tokenizer.h"

namespace sluice {

/// Returns text as soon as it is complete: while the last character may be incomplete, its tokens are held. The
/// concatenated texts are the decoded text of all ids.
class StreamDecoder {
public:
  explicit StreamDecoder(const Tokenizer &tokenizer) : tokenizer(tokenizer) {}

  /// The text that this id completes.
  std::string add(std::int32_t id);
  /// The text of the tokens that are still held.
  std::string finish();

private:
  std::string take();

  const Tokenizer &tokenizer;
  /// The last tokens. The first `known` of them were returned and have the text `prefix`; decoding may depend on the
  /// tokens before a token, for example by removing a leading space.
  std::vector<std::int32_t> ids;
  std::size_t known = 0;
  std::string prefix;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TEXT_STREAMDECODER_H
