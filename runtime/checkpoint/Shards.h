//===- Shards.h - writes the files of one rank ------------------------------------------===//
#ifndef SLUICE_RUNTIME_CHECKPOINT_SHARDS_H
#define SLUICE_RUNTIME_CHECKPOINT_SHARDS_H

#include "runtime/checkpoint/Index.h"
#include "runtime/checkpoint/PlanTensors.h"
#include "runtime/train/Safetensors.h"

#include <functional>

namespace sluice {

/// A box of a tensor to write. `read` fills in contiguous elements of the global tensor.
struct ShardTensor {
  std::string name;
  DType dtype = DType::f32;
  Extents shape;
  Box box;
  using Read = std::function<Status(std::uint64_t begin, std::span<std::byte> out)>;
  Read read;
};

/// Writes the boxes into files of a folder with PyTorch's names, shard-RANK-model-FILE-of-FILES.safetensors: a file has
/// at most one box of a tensor, and their offsets in its metadata as PyTorch's HuggingFaceStorageReader reads them.
/// `shard` counts from 1. Tensors pass through `block`, which has room for an element.
Result<std::vector<IndexFile>> writeShards(const std::string &folder, int shard,
                                           const std::vector<ShardTensor> &tensors, std::span<std::byte> block);

/// The number of the shard in the name of a file; 0 for a file of no shard.
std::uint64_t shardOf(std::string_view file);

} // namespace sluice

#endif // SLUICE_RUNTIME_CHECKPOINT_SHARDS_H
