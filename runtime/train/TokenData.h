//===- TokenData.h - the tokens of several files as sequences ----------------------===//
//
// The concatenated tokens of several files as sequences: sequence i of length T has the tokens
// [i*T, i*T+T) as input and [i*T+1, i*T+T+1) as targets. open() reports all errors in the files.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_TOKENDATA_H
#define SLUICE_RUNTIME_TRAIN_TOKENDATA_H

#include "runtime/train/TokenFile.h"

#include <string>
#include <vector>

namespace sluice {

struct TokenShape {
  /// Tokens of one row.
  std::uint64_t sequence = 0;
  /// Fewer sequences are an error.
  std::uint64_t rows = 0;
  /// Exclusive upper bound of a token; 0: unbounded.
  std::uint64_t vocabulary = 0;
};

/// Replaces each glob by the paths that it matches, sorted; a glob without a match is not replaced.
std::vector<std::string> expandGlobs(const std::vector<std::string> &sources);

class TokenData {
public:
  /// `sources`: paths and quoted globs.
  static Result<TokenData> open(const std::vector<std::string> &sources, const TokenShape &shape,
                                DataFormat format = DataFormat::automatic);

  /// Number of complete sequences: (tokens - 1) / T rounded down.
  std::uint64_t sequences() const { return sequenceCount; }
  /// The formats of the files, without repetition: "llmc", "llmc, npy".
  std::string formats() const;
  /// Fills both rows, each `sequence` long.
  Status read(std::uint64_t sequence, std::span<std::int32_t> tokens, std::span<std::int32_t> targets);

private:
  struct Source {
    TokenFile file;
    /// Tokens in all files before it.
    std::uint64_t before = 0;
  };
  Status checkVocabulary(const TokenFile &file);

  TokenShape shape;
  std::vector<Source> files;
  std::uint64_t sequenceCount = 0;
  /// Raw bytes of one read, and a row with its last target: members, so that steps do not allocate.
  std::vector<std::byte> raw;
  std::vector<std::int32_t> row;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_TOKENDATA_H
