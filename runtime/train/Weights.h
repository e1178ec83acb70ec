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

/// Writes every parameter's shard on every rank from a safetensors file, or from model.safetensors in a folder; padding
/// becomes zero. A missing or extra tensor, another shape or dtype is StatusCode::refused, before anything is written.
/// A prefix that all names share (a checkpoint of the module around the model) is dropped; a tensor under a parameter's
/// second name must hold the same bytes; buffers that older checkpoints carry are passed over.
Status loadWeights(Ranks &ranks, const std::string &path);

/// Writes model.safetensors and config.json (the plan's model configuration) into a folder.
Status saveWeights(const Ranks &ranks, const std::string &folder);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_WEIGHTS_H
