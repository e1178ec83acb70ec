//===- Save.h - writes a checkpoint ----------------------------------------------------===//
//
// The process of each rank writes the shards of its rank. Every file is written, then synchronized to the disk, in a
// folder with the suffix ".partial". After all processes are done the root writes state.json and then the index,
// synchronizes the folder, renames it, and synchronizes the folder of the checkpoints. So a folder without the suffix
// is complete, whenever a process ends.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CHECKPOINT_SAVE_H
#define SLUICE_RUNTIME_CHECKPOINT_SAVE_H

#include "runtime/checkpoint/Index.h"
#include "runtime/checkpoint/TrainingState.h"

namespace sluice {

/// Writes the checkpoint of idle ranks in `folder`, in which a checkpoint of the same step is replaced. All processes
/// return the same status. After a failure nothing new is in the folder, or only a partial checkpoint that could not be
/// removed.
Status saveCheckpoint(const Ranks &ranks, const std::string &folder, const TrainingState &state);

/// Makes a checkpoint of a folder with all shards: writes the state, the model's configuration unless it is empty, and
/// the index, and renames the folder.
Status completeCheckpoint(const std::string &partial, const std::string &path, CheckpointIndex index,
                          const std::string &state, const std::string &config);

/// The first failure over all processes, on each of them.
Status commonStatus(const Ranks &ranks, Status own);

} // namespace sluice

#endif // SLUICE_RUNTIME_CHECKPOINT_SAVE_H
