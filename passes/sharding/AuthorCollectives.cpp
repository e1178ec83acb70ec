//===- AuthorCollectives.cpp - collectives that the model's author writes --------------===//

#include "passes/sharding/AuthorCollectives.h"

#include "dialect/spmd/Names.h"
#include "passes/sharding/Utils.h"

using namespace mlir;
using namespace sluice;

namespace {

/// The op before which to wait for a value: its first reader in the block, if that has the op's phase; else the next
/// op.
Operation *findWaitPosition(Operation *op) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers())
    if (Operation *at = op->getBlock()->findAncestorOpInBlock(*user); at && (!first || at->isBeforeInBlock(first)))
      first = at;
  return first && model::phaseOf(first) == model::phaseOf(op) ? first : op->getNextNode();
}

/// `spmd.unshard` names the blocks that are gathered meanwhile.
void lower(model::AllReduceOp op, const Placement &placement) {
  OpBuilder builder(op);
  auto kind = op.getReduction() == LossReduction::mean ? ReductionKind::mean : ReductionKind::sum;
  spmd::WaitOp wait = allReduce(builder, op, op.getOperand(), placement.dataAxes(), kind);
  wait->moveBefore(findWaitPosition(op));
  model::copyAttribute(op, model::idsName, wait);
  model::copyAttribute(op, spmd::localShardingsName, wait.getStart());
  if (op.getUnshard())
    wait.getStart()->setAttr(spmd::unshardName, *op.getUnshard());
  op.replaceAllUsesWith(wait.getValues()[0]);
  op.erase();
}

/// The data axes of more than one rank: chunks are along exactly the axes of their collective.
ArrayAttr severalRanks(const Placement &placement) {
  auto axes = llvm::filter_to_vector(placement.dataAxes(), [&](Attribute axis) {
    return spmd::axisSize(placement.mesh(), cast<StringAttr>(axis).getValue()) != 1;
  });
  return ArrayAttr::get(placement.mesh().getContext(), axes);
}

model::ReshapeOp view(OpBuilder &builder, Operation *like, Type type, Value value) {
  auto reshape = model::ReshapeOp::create(builder, like->getLoc(), type, value);
  copyTags(like, reshape);
  return reshape;
}

/// Creates the wait for a start, and replaces the op by its value, as a view of the op's type.
void replaceBy(Operation *op, spmd::CollectiveOpInterface start) {
  OpBuilder builder(findWaitPosition(op));
  auto wait = spmd::WaitOp::create(builder, op->getLoc(), start);
  copyTags(op, start);
  copyTags(op, wait);
  Value value = wait.getValues()[0];
  if (value.getType() != op->getResult(0).getType())
    value = view(builder, op, op->getResult(0).getType(), value).getResult();
  model::copyAttribute(op, model::idsName, value.getDefiningOp());
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

void lower(model::AllGatherOp op, ArrayAttr axes, std::int64_t ranks) {
  OpBuilder builder(op);
  Type shard = spmd::shardType(op.getResult().getType(), 0, axes, ranks);
  Value operand = view(builder, op, shard, op.getOperand()).getResult();
  replaceBy(op, spmd::AllGatherStartOp::create(builder, op.getLoc(), operand, axes, StringAttr()));
}

void lower(model::ReduceScatterOp op, ArrayAttr axes, std::int64_t ranks) {
  OpBuilder builder(op);
  Type shard = spmd::shardType(op.getOperand().getType(), 0, axes, ranks);
  replaceBy(op, spmd::ReduceScatterStartOp::create(builder, op.getLoc(), op.getOperand(), axes, ReductionKind::sum,
                                                   APFloat(1.0), builder.getTypeArrayAttr({shard}), StringAttr()));
}

template <typename Op> void lowerRows(Block &block, const Placement &placement) {
  ArrayAttr axes = severalRanks(placement);
  std::int64_t ranks = spmd::groupSize(placement.mesh(), axes);
  for (auto op : llvm::make_early_inc_range(block.getOps<Op>())) {
    if (ranks > 1) {
      lower(op, axes, ranks);
      continue;
    }
    op.replaceAllUsesWith(op.getOperand());
    op.erase();
  }
}

} // namespace

LogicalResult sluice::verifyAuthorCollectives(func::FuncOp entry, const Placement &placement) {
  std::int64_t ranks = spmd::groupSize(placement.mesh(), placement.dataAxes());
  WalkResult result = entry.walk([&](Operation *op) -> WalkResult {
    const bool gathers = isa<model::AllGatherOp>(op);
    if (!gathers && !isa<model::ReduceScatterOp>(op))
      return WalkResult::advance();
    auto rowsOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getDimSize(0); };
    std::int64_t from = rowsOf(op->getOperand(0)), to = rowsOf(op->getResult(0));
    std::int64_t part = gathers ? from : to, ofType = (gathers ? to : from) / part;
    if (ofType == ranks)
      return WalkResult::advance();
    InFlightDiagnostic error = op->emitOpError() << "data-parallel ranks of the type, expected " << ranks
                                                 << " (mesh.replicate times mesh.shard) but got " << ofType;
    error.attachNote() << "give the " << (gathers ? "result " : "operand ") << ranks * part << " rows, " << part
                       << " of each rank, or compile for " << ofType << " data-parallel ranks";
    return error;
  });
  return failure(result.wasInterrupted());
}

void sluice::lowerAuthorCollectives(Block &block, const Placement &placement) {
  for (auto op : llvm::make_early_inc_range(block.getOps<model::AllReduceOp>()))
    lower(op, placement);
  lowerRows<model::AllGatherOp>(block, placement);
  lowerRows<model::ReduceScatterOp>(block, placement);
}
