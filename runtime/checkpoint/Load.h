//===- Load.h - a checkpoint into the ranks of a plan ------------------------------------===//
//
// The plan may have another mesh, strategy, units, compute precision, placement or device than the one that wrote the
// checkpoint: tensors are found by their names and elements.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CHECKPOINT_LOAD_H
#define SLUICE_RUNTIME_CHECKPOINT_LOAD_H

#include "runtime/checkpoint/Reader.h"
#include "runtime/train/Ranks.h"

namespace sluice {

/// Checks that the checkpoint has the tensors of the plan and no others; StatusCode::refused names the first
/// difference. A variable of a rank that the checkpoint does not have is that of the rank modulo its ranks.
Status checkModel(const CheckpointReader &reader, const plan::PlanT &plan);

/// Writes all parameters, states and variables of the ranks of this process, and zeros into their padding, and verifies
/// the files in the same pass: each rank reads at the same time, and verifies the shards that it would have written.
/// With several processes they verify all files together, or each all of them if `isCopied`. The model was checked. A
/// block of memory for each rank. After a failure the values are undefined: nothing may be computed from them before a
/// later call has succeeded on all processes.
Status loadTensors(Ranks &ranks, const CheckpointReader &reader, bool isCopied);

} // namespace sluice

#endif // SLUICE_RUNTIME_CHECKPOINT_LOAD_H
