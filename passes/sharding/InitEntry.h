//===- InitEntry.h - the entry point that computes the initial weights ----------------------===//
#ifndef SLUICE_PASSES_SHARDING_INITENTRY_H
#define SLUICE_PASSES_SHARDING_INITENTRY_H

#include "passes/sharding/Placement.h"

#include <string>

namespace sluice {

/// A parameter or one of its states.
struct PersistentTensor {
  model::ParameterOp parameter;
  /// The name of the state; empty for the parameter itself.
  std::string state;
  /// The global type, and the type of the rank's shard.
  mlir::RankedTensorType type, local;
  /// True for a tensor in host memory.
  bool inHost = false;

  /// The attributes of its argument.
  mlir::DictionaryAttr argumentAttributes() const;
};

/// Adds `@init`, which computes all parameters and states from the seed, in the memory of its arguments.
void addInitEntry(mlir::ModuleOp module, const Placement &placement, llvm::ArrayRef<PersistentTensor> tensors);

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_INITENTRY_H
