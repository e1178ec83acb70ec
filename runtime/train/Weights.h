//===- Weights.h - parameters out of and into safetensors -----------------------===//
//
// A file has the full tensors under their checkpoint names; the ranks have zero-padded shards.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_WEIGHTS_H
#define SLUICE_RUNTIME_TRAIN_WEIGHTS_H

#include "runtime/train/Ranks.h"

#include <string>

namespace sluice {

/// Writes every parameter's shard on every rank from a checkpoint (Checkpoint.h), reading only the ranges of the
/// shards; padding becomes zero. A missing or extra tensor, a different shape or dtype is StatusCode::refused, before
/// anything is written. F64, F32, BF16 and F16 become the parameter's type. An additional prefix of all names (a
/// checkpoint of the outer module) is removed, a missing one (of the inner module) is added; a tensor under a
/// parameter's second name must have the same values; buffers of older checkpoints are ignored.
Status loadWeights(Ranks &ranks, const std::string &path);

/// Writes model.safetensors, or shards with an index, and config.json (the plan's model configuration, with the dtype
/// that is written) into a folder.
Status saveWeights(const Ranks &ranks, const std::string &folder);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_WEIGHTS_H
