//===- Units.h - the units of an op ------------------------------------------------------===//
#ifndef SLUICE_DIALECT_SPMD_UNITS_H
#define SLUICE_DIALECT_SPMD_UNITS_H

#include "dialect/spmd/Spmd.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace sluice::spmd {

/// The blocks of a module's units: the block with the unit's name, or those that it lists; the root has none.
class UnitBlocks {
public:
  explicit UnitBlocks(mlir::ModuleOp module);

  /// The names of the units, in the order of the module.
  llvm::ArrayRef<std::string> getNames() const { return names; }
  /// Indices of the units that have a block around the path, innermost first.
  llvm::SmallVector<unsigned> around(llvm::StringRef path) const;
  /// The innermost of them; the root for none.
  llvm::StringRef innermost(llvm::StringRef path) const;
  /// The name of the root unit, whether the module has one or not.
  llvm::StringRef getRoot() const { return root; }
  bool hasRoot() const { return isRootFound; }
  bool isRoot(llvm::StringRef unit) const { return unit == root; }

private:
  /// By the path of a block.
  llvm::StringMap<llvm::SmallVector<unsigned, 1>> unitsOf;
  std::vector<std::string> names;
  std::string root;
  bool isRootFound = false;
};

} // namespace sluice::spmd

#endif // SLUICE_DIALECT_SPMD_UNITS_H
