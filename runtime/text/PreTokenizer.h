//===- PreTokenizer.h - the pre-tokenizers of tokenizer.json ---------------------------------===//
#ifndef SLUICE_RUNTIME_TEXT_PRETOKENIZER_H
#define SLUICE_RUNTIME_TEXT_PRETOKENIZER_H

#include "runtime/base/Status.h"

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace sluice::text {

/// Part of a normalized text.
struct Piece {
  std::string_view text;
  /// It begins where the text that is tokenized begins.
  bool isFirst = false;
};

/// Receives the parts of a piece, from left to right; none of them is empty.
using PieceSink = std::function<Status(const Piece &)>;
using PreTokenizer = std::function<Status(const Piece &, const PieceSink &)>;

/// `where` is the position of the object in the file. An unknown type is an error.
Result<PreTokenizer> readPreTokenizer(const nlohmann::json &json, const std::string &where);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_PRETOKENIZER_H
