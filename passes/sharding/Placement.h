//===- Placement.h - units and shardings of parameters along the data axes --------------===//
#ifndef SLUICE_PASSES_SHARDING_PLACEMENT_H
#define SLUICE_PASSES_SHARDING_PLACEMENT_H

#include "dialect/model/Attributes.h"
#include "dialect/rules/Roles.h"
#include "dialect/spmd/Mesh.h"

namespace sluice {

/// The placement that spmd-assign-units has put on the IR.
class Placement {
public:
  explicit Placement(mlir::ModuleOp module);

  /// In the order of the module.
  llvm::ArrayRef<model::ParameterOp> parameters() const { return list; }
  model::ParameterOp find(llvm::StringRef name) const { return byName.lookup(name); }
  llvm::ArrayRef<spmd::UnitOp> units() const { return unitList; }
  /// The index of a unit in units(), by its name.
  std::size_t indexOf(llvm::StringRef unit) const { return indices.lookup(unit); }
  /// The index of a parameter's unit in units().
  std::size_t unitOf(llvm::StringRef parameter) const { return unitOfParameter.lookup(parameter); }
  /// The sharding of a parameter, and of its gradient and states; it may name axes of one rank. It has one dim for a
  /// parameter that is sharded by elements.
  spmd::ShardingAttr sharding(llvm::StringRef parameter) const;
  /// The type of one rank's shard of a parameter or state; a state whose shape differs from its parameter's is
  /// replicated.
  mlir::RankedTensorType local(llvm::StringRef parameter, mlir::RankedTensorType global) const;
  /// The sharding of the same dim along other axes.
  spmd::ShardingAttr along(spmd::ShardingAttr sharding, mlir::ArrayAttr axes) const;
  spmd::MeshOp mesh() const { return meshOp; }
  /// The axes of a parameter's shards: `["shard"]`, or its sub-axes, and `expert`, except for experts, which are
  /// sharded along `expert` by number.
  mlir::ArrayAttr shardAxes(llvm::StringRef parameter) const;
  /// The ranks along the shard axes of all parameters.
  std::int64_t shardRanks() const { return spmd::groupSize(meshOp, axes(holdsShards)); }
  /// The axes whose ranks work on different rows.
  mlir::ArrayAttr dataAxes() const { return axes(dividesRows); }

private:
  /// Axes of the roles that are wanted, in the order of the mesh; those of one rank if `ofOneRank`.
  mlir::ArrayAttr axes(llvm::function_ref<bool(AxisRole)> isWanted, bool ofOneRank = true) const;

  spmd::MeshOp meshOp;
  llvm::SmallVector<model::ParameterOp> list;
  llvm::StringMap<model::ParameterOp> byName;
  llvm::SmallVector<spmd::UnitOp> unitList;
  llvm::StringMap<std::size_t> indices, unitOfParameter;
};

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_PLACEMENT_H
