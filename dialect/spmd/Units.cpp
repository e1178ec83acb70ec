//===- Units.cpp - the units of an op ----------------------------------------------------===//

#include "dialect/spmd/Units.h"

#include "dialect/spmd/Names.h"

namespace sluice::spmd {

UnitBlocks::UnitBlocks(mlir::ModuleOp module) : root(rootUnit) {
  for (auto unit : module.getOps<UnitOp>()) {
    auto index = static_cast<unsigned>(names.size());
    names.push_back(unit.getName().str());
    if (unit.getRoot()) {
      root = names.back();
      isRootFound = true;
    }
    if (auto listed = unit.getBlocks())
      for (auto block : listed->getAsRange<mlir::StringAttr>())
        unitsOf[block.getValue()].push_back(index);
    else if (!unit.getRoot())
      unitsOf[unit.getName()].push_back(index);
  }
}

llvm::SmallVector<unsigned> UnitBlocks::around(llvm::StringRef path) const {
  llvm::SmallVector<unsigned> units;
  for (std::size_t size = path.size();; size = path.rfind('/', size)) {
    if (size == llvm::StringRef::npos)
      return units;
    if (auto found = unitsOf.find(path.take_front(size)); found != unitsOf.end())
      for (unsigned unit : found->second)
        if (!llvm::is_contained(units, unit))
          units.push_back(unit);
  }
}

llvm::StringRef UnitBlocks::innermost(llvm::StringRef path) const {
  llvm::SmallVector<unsigned> units = around(path);
  return units.empty() ? getRoot() : llvm::StringRef(names[units.front()]);
}

} // namespace sluice::spmd
