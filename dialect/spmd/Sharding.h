//===- Sharding.h - global and local types of sharded tensors -----------------------===//
//
// The types that `#spmd.sharding` describes; its arithmetic is runtime/base/ShardMath.h. Over one rank a shard is the
// full tensor and its type has no encoding.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_SPMD_SHARDING_H
#define SLUICE_DIALECT_SPMD_SHARDING_H

#include "dialect/spmd/Spmd.h"
#include "runtime/base/ShardMath.h"

#include <optional>

namespace sluice::spmd {

/// A sharded dim of a local type, of one segment: its number, the rows of a chunk, the unpadded extent, the axes.
struct ShardedDim {
  std::int64_t dim = 0, chunk = 0, total = 0;
  llvm::ArrayRef<mlir::StringAttr> axes;

  /// The axes as an attribute of collectives.
  mlir::ArrayAttr axesAttr() const;
};

/// The sharding that a local type has as its encoding; null for a type without.
ShardingAttr shardingOf(mlir::Type type);
/// The first sharded dim of a sharding; nothing for a replicated value or null.
std::optional<ShardedDim> shardedDim(ShardingAttr sharding);
/// The sharded dim of a local type; nothing for a type without encoding.
std::optional<ShardedDim> shardedDimOf(mlir::Type type);

/// The sharding of a tensor of that rank with one sharded dim.
ShardingAttr shardingAlong(std::int64_t rank, const ShardedDim &sharded);

/// The type of one rank's shard, with the sharding as its encoding; the global type itself where nothing is sharded. Of
/// the flattened tensor where the sharding divides that.
mlir::RankedTensorType localType(mlir::RankedTensorType global, ShardingAttr sharding);
/// The type of one rank's shard of a dim along `axes` of `ranks` ranks in all; the type itself over one rank.
mlir::RankedTensorType shardType(mlir::RankedTensorType global, std::int64_t dim, mlir::ArrayAttr axes,
                                 std::int64_t ranks);
/// The type of the tensor that a local type is a shard of; a type without encoding is global.
mlir::RankedTensorType globalType(mlir::RankedTensorType local);
/// All elements in one dim.
mlir::RankedTensorType flattened(mlir::RankedTensorType type);
/// The global type of a local one without encoding; the type itself for null.
mlir::RankedTensorType globalType(mlir::RankedTensorType local, ShardingAttr sharding);
/// Another element type, with the same shape and encoding.
mlir::RankedTensorType withElementType(mlir::RankedTensorType type, mlir::Type element);

} // namespace sluice::spmd

#endif // SLUICE_DIALECT_SPMD_SHARDING_H
