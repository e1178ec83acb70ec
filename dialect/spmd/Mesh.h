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
/// Ranks of a group along axes, all of them axes of the mesh.
std::int64_t groupSize(MeshOp mesh, mlir::ArrayAttr axes);

} // namespace sluice::spmd

#endif // SLUICE_DIALECT_SPMD_MESH_H
