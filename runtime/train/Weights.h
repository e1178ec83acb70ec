//===- Weights.h - parameters out of and into safetensors -----------------------===//
//
// A file has the full tensors under their checkpoint names; the ranks have zero-padded shards.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_WEIGHTS_H
#define SLUICE_RUNTIME_TRAIN_WEIGHTS_H

#include "runtime/train/Ranks.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Writes every parameter's shard on every rank from a checkpoint (Checkpoint.h), reading only the ranges of the
/// shards; padding becomes zero. A missing or extra tensor, a different shape or dtype is StatusCode::refused, before
/// anything is written. F64, F32, BF16 and F16 become the parameter's type. An additional prefix of all names (a
/// checkpoint of the outer module) is removed, a missing one (of the inner module) is added; a tensor under a
/// parameter's second name must have the same values; buffers of older checkpoints and of archives are ignored.
/// The result: the dtype of each of the plan's parameters in the checkpoint.
Result<std::vector<DType>> loadWeights(Ranks &ranks, const std::string &path);

struct SaveOptions {
  /// Of the parameters; absent: that of the checkpoint for a parameter that is kept in f32, otherwise the parameter's.
  std::optional<DType> dtype;
  /// As loadWeights() returned them; empty if the parameters are not those of a checkpoint.
  std::vector<DType> loaded;
  /// Limit of the bytes of tensors in one file; a larger tensor is in a file without others.
  std::uint64_t shardBytes = 5'000'000'000;
};

/// Writes model.safetensors, or shards with an index, and config.json (the plan's model configuration, with the dtype
/// that is written) into a folder. A parameter is rounded to nearest even if it is saved in a narrower dtype.
Status saveWeights(const Ranks &ranks, const std::string &folder, const SaveOptions &options = {});

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_WEIGHTS_H
