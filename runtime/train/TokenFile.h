//===- TokenFile.h - the token ids of one file -------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_TOKENFILE_H
#define SLUICE_RUNTIME_TRAIN_TOKENFILE_H

#include "runtime/train/DataFormat.h"

namespace sluice {

struct TokenFile {
  InputFile file;
  DataFormat format = DataFormat::bytes;
  /// Bytes before the first token, and bytes of one token.
  std::uint64_t begin = 0;
  std::uint64_t width = 1;
  bool isSigned = false;
  /// Number of tokens.
  std::uint64_t count = 0;

  /// Opens a file of any format but safetensors and checks its header and size. `vocabulary`: exclusive upper bound of
  /// a token; 0: unbounded.
  static Result<TokenFile> open(const std::string &path, DataFormat format, std::uint64_t vocabulary);

  /// Reads the tokens from `first` on. `bytes` is scratch memory of at least `width` bytes per token. A token that is
  /// negative or not less than the vocabulary is an input error.
  Status read(std::uint64_t first, std::span<std::int32_t> out, std::uint64_t vocabulary,
              std::span<std::byte> bytes) const;
};

/// Writes an llm.c token file, with uint16 tokens if all ids fit.
Status writeTokenFile(const std::string &path, std::span<const std::int32_t> ids);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_TOKENFILE_H
