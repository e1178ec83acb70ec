//===- Updates.h - the updates of an entry point ----------------------------------------===//
//
// The ops that compute a new parameter or state in the last section of an entry point, their unit, and the sharding.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SCHEDULE_UPDATES_H
#define SLUICE_PASSES_SCHEDULE_UPDATES_H

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Mesh.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Spmd.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace sluice {

/// The unit of the updated value, and the axes along which ranks have different parts of it.
struct Update {
  llvm::StringRef unit;
  mlir::ArrayAttr axes;
};
using Updates = llvm::MapVector<mlir::Operation *, Update>;

/// The axes that a parameter is sharded and split over, from its local type.
inline mlir::ArrayAttr axesOf(mlir::Type part, mlir::Operation *parameter) {
  llvm::SmallVector<mlir::Attribute> axes;
  if (auto sharded = spmd::shardedDimOf(part))
    axes.append(sharded->axes.begin(), sharded->axes.end());
  if (auto sharded = spmd::shardedDim(parameter ? parameter->getAttrOfType<spmd::ShardingAttr>(spmd::shardingName)
                                                : spmd::ShardingAttr()))
    axes.append(sharded->axes.begin(), sharded->axes.end());
  return mlir::ArrayAttr::get(part.getContext(), axes);
}

/// The updates of the entry point's last section, in the order of the entry point's results; empty without
/// sections.
inline Updates updatesOf(mlir::func::FuncOp function) {
  Updates updates;
  auto sections = llvm::to_vector(function.getOps<spmd::SectionOp>());
  if (sections.empty())
    return updates;
  auto module = function->getParentOfType<mlir::ModuleOp>();
  llvm::DenseMap<mlir::StringAttr, llvm::StringRef> unitOfParameter;
  for (auto unit : module.getOps<spmd::UnitOp>())
    for (auto parameter : unit.getParameters().getAsRange<mlir::FlatSymbolRefAttr>())
      unitOfParameter[parameter.getAttr()] = unit.getName();
  mlir::SymbolTable symbols(module);
  mlir::Block &block = sections.back().getBody().front();
  for (mlir::OpOperand &result : function.getBody().front().getTerminator()->getOpOperands()) {
    auto donated = function.getResultAttrOfType<mlir::IntegerAttr>(result.getOperandNumber(), spmd::donatesName);
    auto updated = mlir::dyn_cast<mlir::OpResult>(result.get());
    if (!donated || !updated || updated.getOwner() != sections.back())
      continue;
    auto parameter = function.getArgAttrOfType<mlir::FlatSymbolRefAttr>(donated.getInt(), spmd::parameterName);
    mlir::Operation *producer = block.getTerminator()->getOperand(updated.getResultNumber()).getDefiningOp();
    if (parameter && producer && producer->getBlock() == &block)
      updates[producer] = {unitOfParameter.lookup(parameter.getAttr()),
                           axesOf(updated.getType(), symbols.lookup(parameter.getAttr()))};
  }
  return updates;
}

} // namespace sluice

#endif // SLUICE_PASSES_SCHEDULE_UPDATES_H
