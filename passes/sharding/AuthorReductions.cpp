//===- AuthorReductions.cpp - reductions over ranks that the model contains -----------------===//

#include "passes/sharding/AuthorReductions.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/Utils.h"

using namespace mlir;
using namespace sluice;

/// The op before which to wait for a value: its first reader in the block, if that has the op's phase; else the next
/// op.
static Operation *findWaitPosition(Operation *op) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers())
    if (Operation *at = op->getBlock()->findAncestorOpInBlock(*user); at && (!first || at->isBeforeInBlock(first)))
      first = at;
  return first && model::phaseOf(first) == model::phaseOf(op) ? first : op->getNextNode();
}

void sluice::lowerAllReduces(Block &block, const Placement &placement) {
  for (auto op : llvm::make_early_inc_range(block.getOps<model::AllReduceOp>())) {
    OpBuilder builder(op);
    auto kind = op.getReduction() == LossReduction::mean ? ReductionKind::mean : ReductionKind::sum;
    spmd::WaitOp wait = allReduce(builder, op, op.getOperand(), placement.dataAxes(), kind);
    wait->moveBefore(findWaitPosition(op));
    if (Attribute ids = op->getAttr(model::idsName))
      wait->setAttr(model::idsName, ids);
    if (Attribute positions = op->getAttr(spmd::localShardingsName))
      wait.getStart()->setAttr(spmd::localShardingsName, positions);
    if (op.getUnshard())
      wait.getStart()->setAttr(spmd::unshardName, *op.getUnshard());
    op.replaceAllUsesWith(wait.getValues()[0]);
    op.erase();
  }
}
