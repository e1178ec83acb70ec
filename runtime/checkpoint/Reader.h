//===- Reader.h - reads and verifies a checkpoint --------------------------------------===//
//
// Opening reads the index and the state; verifying compares the bytes of files with their digests; reading fills in
// elements of a global tensor from the files that have them, whichever ranks wrote them.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CHECKPOINT_READER_H
#define SLUICE_RUNTIME_CHECKPOINT_READER_H

#include "runtime/base/File.h"
#include "runtime/checkpoint/Index.h"
#include "runtime/checkpoint/TrainingState.h"

#include <functional>
#include <map>
#include <string>

namespace sluice {

class CheckpointReader {
public:
  /// Reads the index and the state of the checkpoint in a folder, and checks that the folder has exactly the files of
  /// the index, with their sizes. Anything else is StatusCode::refused.
  static Result<CheckpointReader> open(const std::string &folder);

  const std::string &path() const { return folder; }
  const CheckpointIndex &index() const { return contents; }
  const TrainingState &state() const { return numbers; }
  /// The text of a file of the index that has no tensors; empty if the checkpoint does not have it.
  Result<std::string> text(std::string_view name) const;

  /// Reads a file of the index. A byte that differs from the one written is StatusCode::refused, with the file, and the
  /// tensor and its bytes.
  /// `onBlock`, if given, is called for each block that was read.
  Status verify(const IndexFile &file, const std::function<void()> &onBlock = {}) const;
  /// Verifies all files.
  Status verify() const;

  /// Fills `out` with elements of a tensor of the index from `begin` on, in the tensor's dtype.
  Status read(const std::string &tensor, std::uint64_t begin, std::span<std::byte> out) const;

private:
  CheckpointReader() = default;
  Status readFile(const IndexFile &file, std::uint64_t offset, std::span<std::byte> out) const;

  std::string folder;
  CheckpointIndex contents;
  TrainingState numbers;
  struct Place {
    const IndexFile *file;
    const IndexPart *part;
  };
  /// By tensor.
  std::map<std::string, std::vector<Place>, std::less<>> places;
  /// Some of the files, by name.
  mutable std::map<std::string, InputFile> opened;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CHECKPOINT_READER_H
