//===- Placement.h - parameters as the sharding passes see them -------------------------===//
#ifndef SLUICE_PASSES_SHARDING_PLACEMENT_H
#define SLUICE_PASSES_SHARDING_PLACEMENT_H

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Mesh.h"

#include "llvm/ADT/MapVector.h"

#include <optional>

namespace sluice {

/// Where parameters live, by what spmd-assign-units put on the IR.
class Placement {
public:
  explicit Placement(mlir::ModuleOp module);

  /// In the order of the module.
  llvm::ArrayRef<model::ParameterOp> parameters() const { return list; }
  model::ParameterOp find(llvm::StringRef name) const { return byName.lookup(name); }
  llvm::ArrayRef<spmd::UnitOp> units() const { return unitList; }
  /// The number of a parameter's unit in units().
  std::size_t unitOf(llvm::StringRef parameter) const { return unitOfParameter.lookup(parameter); }
  /// The dim that the parameter is split on; its rank where it is split by elements; none for one that is whole on
  /// every rank.
  std::optional<std::int64_t> dim(llvm::StringRef parameter) const;
  /// True where the parameter is cut by elements: its shard is one of the tensor with all dims in one.
  bool isFlat(llvm::StringRef parameter) const;
  /// What the parameter's shards are chunks of, and along which dim: the tensor itself, or that with all dims in one.
  mlir::RankedTensorType cutType(llvm::StringRef parameter, mlir::RankedTensorType whole) const;
  std::int64_t cutDim(llvm::StringRef parameter) const { return isFlat(parameter) ? 0 : dim(parameter).value_or(0); }
  /// The type that one rank holds of a tensor laid out as the parameter.
  mlir::RankedTensorType local(llvm::StringRef parameter, mlir::RankedTensorType whole) const;
  /// The sharding along the data axes of a tensor laid out as the parameter, which has the parameter's shape: axes of
  /// one rank are named as others are. One dim for a parameter that is sharded by elements.
  spmd::ShardingAttr sharding(llvm::StringRef parameter) const;
  /// The sharding of the same dim along other axes.
  spmd::ShardingAttr along(spmd::ShardingAttr sharding, mlir::ArrayAttr axes) const;
  spmd::MeshOp mesh() const { return meshOp; }
  /// What a parameter is sharded over: `["shard"]` (or its parts), and `expert` as well, but for experts, whose parts
  /// are different ones along that.
  mlir::ArrayAttr shardAxes(llvm::StringRef parameter) const;
  /// What the unit's parameters are sharded over: experts are in units of their own.
  mlir::ArrayAttr shardAxes(spmd::UnitOp unit) const;
  /// Ranks of data along the shard axes, whatever is sharded over others as well.
  std::int64_t shardRanks() const { return spmd::groupSize(meshOp, axes(false, true)); }
  /// `["replicate"]`, and those of all data.
  mlir::ArrayAttr replicateAxes() const { return axes(true, false); }
  mlir::ArrayAttr dataAxes() const { return axes(true, true); }

private:
  mlir::ArrayAttr axes(bool replicate, bool shard, bool expert = false) const;

  spmd::MeshOp meshOp;
  llvm::SmallVector<model::ParameterOp> list;
  llvm::StringMap<model::ParameterOp> byName;
  llvm::SmallVector<spmd::UnitOp> unitList;
  llvm::StringMap<std::size_t> unitOfParameter;
};

} // namespace sluice

#endif // SLUICE_PASSES_SHARDING_PLACEMENT_H
