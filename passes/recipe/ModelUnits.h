//===- ModelUnits.h - the units of a module ---------------------------------------------===//
//
// The units that `sharding.units` defines, and the unit of each parameter and op. They depend on the forward only:
// backward ops are in the blocks of the ops that they derive from.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_RECIPE_MODELUNITS_H
#define SLUICE_PASSES_RECIPE_MODELUNITS_H

#include "dialect/model/Model.h"
#include "passes/recipe/Recipe.h"
#include "passes/solver/UnitPlan.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace sluice {

class ModelUnits {
public:
  ModelUnits(mlir::ModuleOp module, const Recipe::Sharding &sharding);

  /// Without states, which are in no unit; in the order of the module, as `plan().unitOf`.
  llvm::ArrayRef<model::ParameterOp> parameters() const { return list; }
  const UnitPlan &plan() const { return unitPlan; }
  llvm::StringRef root() const { return unitPlan.units.front(); }
  bool isUsed(llvm::StringRef parameter) const { return uses.count(parameter) != 0; }
  /// The unit of a parameter; `root` for a state.
  llvm::StringRef ofParameter(llvm::StringRef parameter) const;
  /// The unit of the innermost block around the op that has one. An op in no such block is in the unit without blocks
  /// whose parameters it reads.
  llvm::StringRef ofOp(mlir::Operation *op) const;

private:
  struct Uses {
    std::vector<std::string> blocks;
    std::size_t first = ~std::size_t(0);
  };

  void findUses(mlir::ModuleOp module);
  void addBlocks(llvm::StringRef path, std::size_t position);
  UnitParameter describe(model::ParameterOp parameter) const;

  std::vector<model::ParameterOp> list;
  UnitPlan unitPlan;
  /// Of all entries in the order of their first op, whose positions are in `firstOps`.
  std::vector<std::string> blocks;
  std::vector<std::size_t> firstOps;
  llvm::StringSet<> knownBlocks;
  /// By parameter.
  llvm::StringMap<Uses> uses;
  llvm::StringMap<std::size_t> unitOfParameter, unitOfBlock;
};

} // namespace sluice

#endif // SLUICE_PASSES_RECIPE_MODELUNITS_H
