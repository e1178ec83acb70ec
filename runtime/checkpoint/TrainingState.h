//===- TrainingState.h - the numbers of a training in a checkpoint -------------------===//
//
// state.json: everything that continues a run and is not a tensor. The order of the data follows from step and seed.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CHECKPOINT_TRAININGSTATE_H
#define SLUICE_RUNTIME_CHECKPOINT_TRAININGSTATE_H

#include "runtime/train/Checkpointer.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct TrainingState {
  TrainProgress progress;
  /// What a run and its continuation have in common.
  std::uint64_t seed = 0;
  bool shuffled = false;
  bool overfit = false;
  std::vector<std::string> entries;
  /// The arguments of --data, for messages; bytes that are not UTF-8 are replaced.
  std::vector<std::string> data;
  /// What these files contained; empty if a run of an earlier version wrote the checkpoint.
  std::vector<std::string> dataContents;
  /// The tokenizer of text data; empty: none.
  std::string tokenizer;
  std::string modelDigest;
  /// Of the run that wrote the checkpoint; a different plan may continue it.
  std::string planDigest;
  std::string planName;
  std::uint64_t world = 1;
  /// Rows of the data in one step, over all ranks; 0 for a model without rows.
  std::uint64_t rowsPerStep = 0;
};

/// The JSON text of state.json; floats as the bits that they are.
std::string formatState(const TrainingState &state);
/// `path` is for the error: a text that is not a complete state of this format is StatusCode::refused.
Result<TrainingState> parseState(const std::string &path, std::string_view text);

} // namespace sluice

#endif // SLUICE_RUNTIME_CHECKPOINT_TRAININGSTATE_H
