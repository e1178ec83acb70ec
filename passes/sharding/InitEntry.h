//===- InitEntry.h - the entry point that makes the initial weights --------------------------===//
#ifndef SLUICE_PASSES_SHARDING_INITENTRY_H
#define SLUICE_PASSES_SHARDING_INITENTRY_H

#include "passes/sharding/Placement.h"

#include <string>

namespace sluice {

/// A parameter, or a state beside it, as one rank holds it.
struct Persistent {
  model::ParameterOp parameter;
  /// Empty for the parameter itself.
  std::string state;
  /// The global type, and the type of the rank's shard.
  mlir::RankedTensorType type, local;
  /// True for what is kept in host memory.
  bool inHost = false;

  /// Of an argument that is this.
  mlir::DictionaryAttr argumentAttributes() const;
};

/// Adds `@init`: from the seed to all parameters and states, whose memory it takes as arguments.
void addInitEntry(mlir::ModuleOp module, const Placement &placement, llvm::ArrayRef<Persistent> persistent);

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_INITENTRY_H
