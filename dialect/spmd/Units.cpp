//===- Units.cpp - which units an op belongs to ------------------------------------------===//

#include "dialect/spmd/Units.h"

#include "dialect/spmd/Names.h"

#include <algorithm>

namespace sluice::spmd {

UnitBlocks::UnitBlocks(mlir::ModuleOp module) {
  for (auto unit : module.getOps<UnitOp>()) {
    auto index = static_cast<unsigned>(names.size());
    names.push_back(unit.getSymName().str());
    if (auto listed = unit.getBlocks())
      for (auto block : listed->getAsRange<mlir::StringAttr>())
        blocks.push_back({block.getValue().str(), index});
    else if (unit.getSymName() != rootUnit)
      blocks.push_back({unit.getSymName().str(), index});
  }
  // Inner blocks have longer paths than those around them.
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const Block &a, const Block &b) { return a.path.size() > b.path.size(); });
}

llvm::SmallVector<unsigned> UnitBlocks::around(llvm::StringRef path) const {
  llvm::SmallVector<unsigned> units;
  for (const Block &block : blocks)
    if (path.starts_with(block.path) && (path.size() == block.path.size() || path[block.path.size()] == '/') &&
        !llvm::is_contained(units, block.unit))
      units.push_back(block.unit);
  return units;
}

llvm::StringRef UnitBlocks::innermost(llvm::StringRef path) const {
  llvm::SmallVector<unsigned> units = around(path);
  return units.empty() ? llvm::StringRef(rootUnit) : llvm::StringRef(names[units.front()]);
}

} // namespace sluice::spmd
