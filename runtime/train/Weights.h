//===- Weights.h - parameters out of and into safetensors -----------------------===//
//
// Weights stand in files as whole tensors under their checkpoint names, and on the ranks as zero-padded shards.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_WEIGHTS_H
#define SLUICE_RUNTIME_TRAIN_WEIGHTS_H

#include "runtime/train/Ranks.h"

#include <string>

namespace sluice {

/// Writes every parameter's shard on every rank from a checkpoint (Checkpoint.h), reading the ranges that the shards are
/// made of; padding becomes zero. A missing or extra tensor, another shape or dtype is StatusCode::refused, before anything
/// is written. F64, F32, BF16 and F16 become the parameter's type. A first part of all names (a checkpoint of the module
/// around the model) is dropped, one that is missing (of the module inside) is added; a tensor under a parameter's second
/// name must hold the same values; buffers that older checkpoints carry are passed over.
Status loadWeights(Ranks &ranks, const std::string &path);

/// Writes model.safetensors, or shards with an index, and config.json (the plan's model configuration, with the dtype that
/// is written) into a folder.
Status saveWeights(const Ranks &ranks, const std::string &folder);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_WEIGHTS_H
