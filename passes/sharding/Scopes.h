//===- Scopes.h - where units are used in a section ---------------------------------------===//
//
// A unit's scope in one direction and pass runs from the first to the last op of its blocks, and of what else reads its
// parameters (views of them included) or makes its gradients; passes that overlap are one scope. The root's forward
// scope runs from the start of the section to the last op of the phase `forward`, one for each pass; its backward scope
// from the first op of the phase `backward` to the end of the section.
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
  /// The section's ops but for reads of parameters; scopes and events count positions in it.
  llvm::SmallVector<mlir::Operation *> ops;
  std::vector<UnitScope> scopes;
  /// For each unit, whether it is the root, whether its parameters are read (`gathers`) and whether it has gradients.
  /// Every scope reshards.
  std::vector<UnitBehaviour> units;
  /// The op that stands at a position; the terminator behind the last.
  mlir::Operation *at(std::int64_t position, mlir::Block &block) const;
};

SectionScopes findScopes(spmd::SectionOp section, const Placement &placement);

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_SCOPES_H
