//===- Compare.h - the differences between two checkpoints ---------------------------===//
#ifndef SLUICE_RUNTIME_CHECKPOINT_COMPARE_H
#define SLUICE_RUNTIME_CHECKPOINT_COMPARE_H

#include "runtime/checkpoint/Reader.h"

#include <string>
#include <vector>

namespace sluice {

struct CheckpointDifference {
  /// A tensor, or a key of state.json.
  std::string name;
  std::string text;
};

/// In order of name: the keys of the states, then the tensors with different types or bits. Shards do not matter.
Result<std::vector<CheckpointDifference>> compareCheckpoints(const CheckpointReader &a, const CheckpointReader &b);

} // namespace sluice

#endif // SLUICE_RUNTIME_CHECKPOINT_COMPARE_H
