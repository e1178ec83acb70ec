//===- Reader.h - reads and verifies a checkpoint --------------------------------------===//
//
// Opening reads the index and the state; verifying compares the bytes of files with their digests, and can pass them on
// in the same pass; reading fills in elements of a global tensor from the files that have them, whichever ranks wrote
// them. Const functions may be called by several threads at once, except read().
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

  /// Receives bytes of a file in order, at most checkpointBlock at once: those of a part from its byte `offset` on, or
  /// others (null). They are elements of the part without remainder.
  using Visitor = std::function<Status(const IndexPart *part, std::uint64_t offset, std::span<const std::byte> bytes)>;
  /// Reads a file of the index and passes its bytes to `visit`, if given, before they are compared. A byte that differs
  /// from the one written is StatusCode::refused, with the file, and the tensor and its bytes.
  Status verify(const IndexFile &file, const Visitor &visit = {}) const;
  /// Verifies all files.
  Status verify() const;

  /// A part of a tensor and the file that has it.
  struct Place {
    const IndexFile *file;
    const IndexPart *part;
  };
  /// Of a tensor of the index; none of one without elements.
  std::span<const Place> places(const std::string &tensor) const;
  Result<InputFile> openFile(const IndexFile &file) const;

  /// Fills `out` with elements of a tensor of the index from `begin` on, in the tensor's dtype.
  Status read(const std::string &tensor, std::uint64_t begin, std::span<std::byte> out) const;

private:
  CheckpointReader() = default;
  Status readRange(const IndexFile &file, std::uint64_t offset, std::span<std::byte> out) const;

  std::string folder;
  CheckpointIndex contents;
  TrainingState numbers;
  /// By tensor.
  std::map<std::string, std::vector<Place>, std::less<>> placesOf;
  /// Some of the files, by name.
  mutable std::map<std::string, InputFile> opened;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CHECKPOINT_READER_H
