//===- Mesh.h - axes of the mesh and groups along them ------------------------------===//
#ifndef SLUICE_DIALECT_SPMD_MESH_H
#define SLUICE_DIALECT_SPMD_MESH_H

#include "dialect/spmd/Sharding.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace sluice::spmd {

/// The mesh of the module that holds `op`; null without one.
MeshOp meshOf(mlir::Operation *op);

/// Ranks along an axis; nothing if the mesh has no such axis.
std::optional<std::int64_t> axisSize(MeshOp mesh, llvm::StringRef axis);
/// The role of an axis of the op's module. Without a mesh it is the one that the name implies; nothing for an unknown
/// name.
std::optional<AxisRole> roleOf(mlir::Operation *op, llvm::StringRef axis);
/// Verifies that the op's mesh, if it has one, has the axis.
llvm::LogicalResult verifyAxis(mlir::Operation *op, mlir::StringAttr axis);
/// Verifies that no element of the list occurs twice. `kind` is the kind of the elements.
llvm::LogicalResult verifyDistinct(mlir::Operation *op, llvm::StringRef kind, mlir::ArrayAttr list);
/// Ranks of a group along axes, all of them axes of the mesh.
std::int64_t groupSize(MeshOp mesh, mlir::ArrayAttr axes);

} // namespace sluice::spmd

#endif // SLUICE_DIALECT_SPMD_MESH_H
