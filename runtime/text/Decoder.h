//===- Decoder.h - the decoders of tokenizer.json: from tokens to text ---------------------===//
#ifndef SLUICE_RUNTIME_TEXT_DECODER_H
#define SLUICE_RUNTIME_TEXT_DECODER_H

#include "runtime/base/Status.h"

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace sluice::text {

/// Changes a list of tokens; the decoded text is the concatenation of the final list.
using Decoder = std::function<void(std::vector<std::string> &)>;

/// `where` is the position of the object in the file. An unknown type is an error.
Result<Decoder> readDecoder(const nlohmann::json &json, const std::string &where);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_DECODER_H
