//===- Checkpoint.h - the tensors of a checkpoint, in one file or in shards --------------===//
//
// The files of a Hugging Face checkpoint: one safetensors file, or several with `model.safetensors.index.json`, which
// maps tensors to files; or an archive of torch.export. Only headers are read until a range of a tensor is requested.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_CHECKPOINT_H
#define SLUICE_RUNTIME_TRAIN_CHECKPOINT_H

#include "runtime/train/Safetensors.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// A tensor and the file that holds it.
struct CheckpointTensor {
  const TensorFile *file = nullptr;
  const SafetensorsEntry *entry = nullptr;

  const std::string &name() const { return entry->name; }
  std::uint64_t elements() const { return entry->bytes() / elementBytes(entry->dtype); }
  /// Elements [first, first + count) as floats or doubles, by the size of `out`'s element: F64, F32, BF16 and F16 are
  /// converted, rounding to nearest even where bits are lost. `room` is scratch memory.
  template <typename T> Status readAs(std::uint64_t first, std::span<T> out, std::vector<std::byte> &room) const;
};

class Checkpoint {
public:
  /// Opens a safetensors file, an index, an archive of torch.export, or a folder with `model.safetensors` or else
  /// `model.safetensors.index.json`. An index that is damaged, names a missing shard or one outside its folder, puts a
  /// tensor in a shard that does not hold it, or shards that hold a tensor twice, are StatusCode::refused.
  static Result<Checkpoint> open(const std::string &path);

  /// The path of the file or index, for messages.
  const std::string &path() const { return name; }
  /// In order of name.
  const std::vector<CheckpointTensor> &tensors() const { return list; }
  const CheckpointTensor *find(std::string_view name) const;
  /// True for an archive of torch.export.
  bool isArchive() const { return archive; }

private:
  std::string name;
  bool archive = false;
  /// Shards do not move when the checkpoint does.
  std::vector<std::unique_ptr<TensorFile>> files;
  std::vector<CheckpointTensor> list;

  Status addShards(const std::string &folder);
  Status finish();
};

/// One tensor after another into `folder`/model.safetensors, or where they are more than `shardBytes` together into
/// shards with an index, as transformers does: in the order given, a shard ends before the tensor that would make it
/// larger.
Status writeCheckpoint(const std::string &folder, std::vector<SafetensorsTensor> tensors,
                       std::uint64_t shardBytes = 5'000'000'000);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_CHECKPOINT_H
