//===- AuthorReductions.cpp - reductions over ranks that the model asks for -----------------===//

#include "passes/sharding/AuthorReductions.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/tensor/Collectives.h"

using namespace mlir;
using namespace sluice;

/// The first reader in the block, if it stands in the op's phase; else the op behind it.
static Operation *placeOfWait(Operation *op) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers())
    if (Operation *at = op->getBlock()->findAncestorOpInBlock(*user); at && (!first || at->isBeforeInBlock(first)))
      first = at;
  return first && model::phaseOf(first) == model::phaseOf(op) ? first : op->getNextNode();
}

void sluice::lowerAllReduces(Block &block, const Placement &placement) {
  for (auto op : llvm::make_early_inc_range(block.getOps<model::AllReduceOp>())) {
    OpBuilder builder(op);
    auto start = spmd::AllReduceStartOp::create(
        builder, op.getLoc(), spmd::TokenType::get(op.getContext()), op.getOperand(), placement.dataAxes(),
        op.getReduction() == LossReduction::mean ? ReductionKind::mean : ReductionKind::sum, APFloat(1.0),
        StringAttr());
    builder.setInsertionPoint(placeOfWait(op));
    auto wait = spmd::WaitOp::create(builder, op.getLoc(), op.getType(), start.getToken());
    tensor::copyTags(op, start);
    tensor::copyTags(op, wait);
    if (Attribute ids = op->getAttr(model::idsName))
      wait->setAttr(model::idsName, ids);
    if (Attribute positions = op->getAttr(spmd::localShardingsName))
      start->setAttr(spmd::localShardingsName, positions);
    if (op.getUnshard())
      start->setAttr(spmd::unshardName, *op.getUnshard());
    op.replaceAllUsesWith(wait.getValues()[0]);
    op.erase();
  }
}
