//===- Save.h - writes a checkpoint ----------------------------------------------------===//
//
// A save writes a copy of what persists between steps, so that the ranks may run meanwhile. The process of each rank
// writes the shards of its rank. Every file is written, then synchronized to the disk, in a folder with the suffix
// ".partial". After all processes are done the root writes state.json and then the index,
// synchronizes the folder, renames it, and synchronizes the folder of the checkpoints. So a folder without the suffix
// is complete, whenever a process ends.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CHECKPOINT_SAVE_H
#define SLUICE_RUNTIME_CHECKPOINT_SAVE_H

#include "runtime/checkpoint/Index.h"
#include "runtime/checkpoint/TrainingState.h"
#include "runtime/train/Ranks.h"

#include <atomic>

namespace sluice {

/// Writes the checkpoint of the latest Ranks::copyState() in `folder`, in which a checkpoint of the same step is
/// replaced. Called by one thread of each process, also during runs. All processes return the same status. After a
/// failure nothing new is in the folder, or only a partial checkpoint that could not be removed. A different thread may
/// set `cancelled`: then this process returns before its next block, without the others.
Status saveCheckpoint(const Ranks &ranks, const std::string &folder, const TrainingState &state,
                      const std::atomic<bool> &cancelled);

/// Makes a checkpoint of a folder with all shards: writes the state, the model's configuration unless it is empty, and
/// the index, and renames the folder.
Status completeCheckpoint(const std::string &partial, const std::string &path, CheckpointIndex index,
                          const std::string &state, const std::string &config);

/// The first failure over all processes, on each of them.
Status commonStatus(const Exchange &exchange, Status own);

} // namespace sluice

#endif // SLUICE_RUNTIME_CHECKPOINT_SAVE_H
