//===- Mesh.h - axes, groups, shards ---------------------------------------------------===//
//
// The arithmetic of sharding. A dim of `total` rows over `ranks` ranks is cut in chunks of ceil(total / ranks) rows;
// the rank with coordinate c holds rows [c * chunk, (c + 1) * chunk) of it, those behind the end being padding. Over
// one rank a shard is the whole tensor and its type has no encoding.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_SPMD_MESH_H
#define SLUICE_DIALECT_SPMD_MESH_H

#include "dialect/spmd/Spmd.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace sluice::spmd {

/// The mesh of the module that holds `op`; null without one.
MeshOp meshOf(mlir::Operation *op);

/// Ranks along an axis; nothing if the mesh has no such axis.
std::optional<std::int64_t> axisSize(MeshOp mesh, llvm::StringRef axis);
/// Ranks of a group along axes, all of them axes of the mesh.
std::int64_t groupSize(MeshOp mesh, mlir::ArrayAttr axes);

/// Rows of each rank's chunk. `ranks` is positive.
std::int64_t chunkOf(std::int64_t total, std::int64_t ranks);
/// The rows that are not padding in the chunk at a coordinate.
std::int64_t validExtent(std::int64_t total, std::int64_t chunk, std::int64_t coordinate);

/// The encoding of a shard's type; null for a whole tensor.
ValidAttr validOf(mlir::Type type);
/// The type of one rank's shard along `axes` of `ranks` ranks in all.
mlir::RankedTensorType shardType(mlir::RankedTensorType whole, std::int64_t dim, mlir::ArrayAttr axes,
                                 std::int64_t ranks);
/// The type of the whole tensor that a shard is a piece of; the type itself where it is whole.
mlir::RankedTensorType wholeType(mlir::RankedTensorType shard);
/// Another element type, all else the same.
mlir::RankedTensorType withElementType(mlir::RankedTensorType type, mlir::Type element);

} // namespace sluice::spmd

#endif // SLUICE_DIALECT_SPMD_MESH_H
