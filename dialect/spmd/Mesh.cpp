//===- Mesh.cpp - axes of the mesh and groups along them ----------------------------===//

#include "dialect/spmd/Mesh.h"

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

std::int64_t groupSize(MeshOp mesh, mlir::ArrayAttr axes) {
  std::int64_t ranks = 1;
  for (mlir::Attribute axis : axes)
    ranks *= axisSize(mesh, llvm::cast<mlir::StringAttr>(axis).getValue()).value_or(1);
  return ranks;
}

} // namespace sluice::spmd
