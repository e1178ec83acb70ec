//===- OpenTokenizer.cpp - a build without the libraries of tokenizers ------------------------===//
#include "runtime/text/Tokenizer.h"

namespace sluice {

Status Tokenizer::encode(std::string_view text, bool special, std::vector<std::int32_t> &ids) {
  return encodeValid(text, special, ids);
}

Result<std::unique_ptr<Tokenizer>> openTokenizer(const std::string &path) {
  return inputError("'" + path + "' cannot be read, because this build of Sluice has no tokenizers")
      .withNote("install libsentencepiece-dev, libpcre2-dev and libicu-dev and build again, or use a token file");
}

} // namespace sluice
