//===- Convert.h - checkpoints into other checkpoints and into weights ---------------===//
//
// No ranks and no plan are needed. Tensors pass through a block of memory, so that memory does not depend on the size
// of a checkpoint or of a shard.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CHECKPOINT_CONVERT_H
#define SLUICE_RUNTIME_CHECKPOINT_CONVERT_H

#include "runtime/checkpoint/Reader.h"

namespace sluice {

/// Writes the checkpoint as that of `shards` ranks, each with a chunk of the first dim of every tensor, to a new
/// folder.
Status convertCheckpoint(const CheckpointReader &reader, const std::string &path, std::uint64_t shards);

/// Writes the parameters and variables, without optimizer state, as `sluice-train --save` does: model.safetensors, or
/// shards of at most `shardBytes` with an index, and config.json. `dtype` is f32, bf16, f16 or f64; empty: as in the
/// checkpoint.
Status exportCheckpoint(const CheckpointReader &reader, const std::string &folder, const std::string &dtype,
                        std::uint64_t shardBytes);

} // namespace sluice

#endif // SLUICE_RUNTIME_CHECKPOINT_CONVERT_H
