//===- Scopes.h - the scopes of units in a section ----------------------------------------===//
//
// A unit's scope in one direction and invocation runs from the first to the last op of its blocks and of the ops that
// read its parameters (or views of them) or compute its gradients; scopes of invocations that overlap are one. The
// root's forward scope runs from the start of the section to the last op of the phase `forward`, one for each
// invocation; its backward scope from the first op of the phase `backward` to the end of the section.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SHARDING_SCOPES_H
#define SLUICE_PASSES_SHARDING_SCOPES_H

#include "passes/sharding/Placement.h"
#include "passes/solver/PrefetchOrder.h"

namespace sluice {

/// True for ops of the backward phase; the loss counts as forward.
bool isBackward(mlir::Operation *op);

struct SectionScopes {
  /// The section's ops except for reads of parameters; the positions of scopes and events are indices in it.
  llvm::SmallVector<mlir::Operation *> ops;
  std::vector<UnitScope> scopes;
  /// For each unit, whether it is the root, its parameters are read (`gathers`) and it has gradients. Every scope
  /// reshards.
  std::vector<UnitBehaviour> units;
  /// The op at a position; the terminator after the last.
  mlir::Operation *at(std::int64_t position, mlir::Block &block) const;
};

SectionScopes findScopes(spmd::SectionOp section, const Placement &placement);

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_SCOPES_H
