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

/// Writes all parameters, states and variables of the ranks of this process, and zeros into their padding. The model
/// was checked.
Status loadTensors(Ranks &ranks, const CheckpointReader &reader);

} // namespace sluice

#endif // SLUICE_RUNTIME_CHECKPOINT_LOAD_H
