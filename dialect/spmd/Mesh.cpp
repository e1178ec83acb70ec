//===- Mesh.cpp - axes, groups, shards -------------------------------------------------===//

#include "dialect/spmd/Mesh.h"

#include <algorithm>

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

std::int64_t chunkOf(std::int64_t total, std::int64_t ranks) { return (total + ranks - 1) / ranks; }

std::int64_t validExtent(std::int64_t total, std::int64_t chunk, std::int64_t coordinate) {
  return std::clamp<std::int64_t>(total - coordinate * chunk, 0, chunk);
}

ValidAttr validOf(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor ? llvm::dyn_cast_or_null<ValidAttr>(tensor.getEncoding()) : ValidAttr();
}

mlir::RankedTensorType shardType(mlir::RankedTensorType whole, std::int64_t dim, mlir::ArrayAttr axes,
                                 std::int64_t ranks) {
  if (ranks == 1)
    return whole;
  llvm::SmallVector<std::int64_t> shape(whole.getShape());
  std::int64_t total = shape[dim];
  shape[dim] = chunkOf(total, ranks);
  auto names = llvm::map_to_vector(axes, [](mlir::Attribute axis) { return llvm::cast<mlir::StringAttr>(axis); });
  return mlir::RankedTensorType::get(shape, whole.getElementType(),
                                     ValidAttr::get(whole.getContext(), dim, total, names));
}

mlir::RankedTensorType wholeType(mlir::RankedTensorType shard) {
  ValidAttr valid = validOf(shard);
  if (!valid)
    return shard;
  llvm::SmallVector<std::int64_t> shape(shard.getShape());
  shape[valid.getDim()] = valid.getTotal();
  return mlir::RankedTensorType::get(shape, shard.getElementType());
}

mlir::RankedTensorType withElementType(mlir::RankedTensorType type, mlir::Type element) {
  return mlir::RankedTensorType::get(type.getShape(), element, type.getEncoding());
}

} // namespace sluice::spmd
