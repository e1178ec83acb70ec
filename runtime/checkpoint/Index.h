//===- Index.h - the files of a checkpoint, their tensors and digests ----------------===//
//
// model.safetensors.index.json, with Hugging Face's `weight_map` (for a tensor in several files: the first of them),
// and for each file its size, its digest and the boxes of tensors in it with theirs. The index has a digest of itself:
// no byte of a checkpoint can change unnoticed.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CHECKPOINT_INDEX_H
#define SLUICE_RUNTIME_CHECKPOINT_INDEX_H

#include "runtime/base/File.h"
#include "runtime/checkpoint/Box.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A box of a tensor in a file.
struct IndexPart {
  std::string tensor;
  Box box;
  /// Bytes of the file, half-open.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string digest;
};

struct IndexFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string digest;
  /// In order of their bytes; none for state.json.
  std::vector<IndexPart> parts;
};

struct IndexTensor {
  /// As in safetensors: "F32".
  std::string dtype;
  Extents shape;
};

struct CheckpointIndex {
  std::map<std::string, IndexTensor> tensors;
  /// In order of name.
  std::vector<IndexFile> files;
  /// Of the index file; set by parseIndex() and formatIndex().
  std::string digest;
};

inline constexpr std::string_view checkpointIndexName = "model.safetensors.index.json", modelConfigName = "config.json";

/// The text of the index; sets its digest.
std::string formatIndex(CheckpointIndex &index);
/// The error of a checkpoint that a later version wrote: it is no damage.
Status otherVersionError(const std::string &path, std::uint64_t version);
/// `path` is for errors. A text that differs from its digest, names a file outside its folder, or whose parts do not
/// have every element of each tensor exactly once, is damaged.
Result<CheckpointIndex> parseIndex(const std::string &path, std::string_view text);

/// The files of one rank as text, from process to process.
std::string formatFiles(const std::vector<IndexFile> &files);
Result<std::vector<IndexFile>> parseFiles(const std::string &where, std::string_view text);

} // namespace sluice

#endif // SLUICE_RUNTIME_CHECKPOINT_INDEX_H
