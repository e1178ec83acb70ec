//===- Mesh.cpp - axes of the mesh and groups along them ----------------------------===//

#include "dialect/spmd/Mesh.h"

#include "dialect/rules/Roles.h"

#include "llvm/ADT/DenseSet.h"

namespace sluice::spmd {

MeshOp meshOf(mlir::Operation *op) {
  auto module = llvm::dyn_cast<mlir::ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<mlir::ModuleOp>();
  if (!module)
    return nullptr;
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshOp() : *meshes.begin();
}

std::optional<std::int64_t> axisSize(MeshOp mesh, llvm::StringRef axis) {
  for (auto [name, size] : llvm::zip(mesh.getAxes(), mesh.getSizes()))
    if (llvm::cast<mlir::StringAttr>(name).getValue() == axis)
      return size;
  return std::nullopt;
}

std::optional<AxisRole> roleOf(mlir::Operation *op, llvm::StringRef axis) {
  MeshOp mesh = meshOf(op);
  if (!mesh)
    return impliedAxisRole(axis);
  for (auto [name, role] : llvm::zip(mesh.getAxes(), mesh.getRoles().getAsRange<AxisRoleAttr>()))
    if (llvm::cast<mlir::StringAttr>(name).getValue() == axis)
      return role.getValue();
  return std::nullopt;
}

llvm::LogicalResult verifyAxis(mlir::Operation *op, mlir::StringAttr axis) {
  MeshOp mesh = meshOf(op);
  if (!mesh || axisSize(mesh, axis))
    return llvm::success();
  mlir::InFlightDiagnostic error = op->emitOpError() << "axis " << axis << " is not an axis of the mesh";
  error.attachNote(mesh.getLoc()) << "the mesh is here";
  return error;
}

llvm::LogicalResult verifyDistinct(mlir::Operation *op, llvm::StringRef kind, mlir::ArrayAttr list) {
  llvm::SmallDenseSet<mlir::Attribute> seen;
  for (mlir::Attribute element : list)
    if (!seen.insert(element).second)
      return op->emitOpError() << kind << ' ' << element << " occurs twice";
  return llvm::success();
}

std::int64_t groupSize(MeshOp mesh, mlir::ArrayAttr axes) {
  std::int64_t ranks = 1;
  for (mlir::Attribute axis : axes)
    ranks *= axisSize(mesh, llvm::cast<mlir::StringAttr>(axis).getValue()).value_or(1);
  return ranks;
}

} // namespace sluice::spmd
