//===- JoinReductions.cpp - terms are combined before they are reduced ------------------------===//
//
// Two reductions whose results are then combined become one: of the values combined before it. Their axes are the same,
// or one of the values is reduced over an axis of parts as well.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "passes/sharding/tensor/Collectives.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice {
#define GEN_PASS_DEF_JOINREDUCTIONS
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

struct JoinReductions : sluice::impl::JoinReductionsBase<JoinReductions> {
  void runOnOperation() override;
};

bool isOfParts(StringRef axis) { return axis == tensor::tensorAxis || axis == tensor::expertAxis; }

/// The reduction in place that a value comes from, if nothing else reads either.
spmd::CollectiveOpInterface soleReduction(Value value) {
  auto wait = value.getDefiningOp<spmd::WaitOp>();
  spmd::CollectiveOpInterface start = wait && value.hasOneUse() ? wait.getStart() : spmd::CollectiveOpInterface();
  const bool isSole = start && start.isReduction() && start.isInPlace() && start->getNumOperands() == 1;
  return isSole ? start : spmd::CollectiveOpInterface();
}

/// Reduces the result of `op` as `like` reduces; `gone` are the reductions of its operands.
void reduceAfter(Operation &op, spmd::CollectiveOpInterface like, ArrayRef<Operation *> gone) {
  OpBuilder builder(op.getContext());
  builder.setInsertionPointAfter(&op);
  Value terms = op.getResult(0);
  auto start = spmd::AllReduceStartOp::create(builder, op.getLoc(), spmd::TokenType::get(op.getContext()), terms,
                                              like.getAxes(), like.getReduction(), APFloat(1.0), StringAttr());
  auto wait = spmd::WaitOp::create(builder, op.getLoc(), terms.getType(), start.getToken());
  tensor::copyTags(&op, start);
  tensor::copyTags(&op, wait);
  if (Attribute ids = op.removeAttr(model::idsName))
    wait->setAttr(model::idsName, ids);
  terms.replaceAllUsesExcept(wait.getValues()[0], start);
  for (Operation *old : gone)
    old->erase();
}

void joinOperands(Operation &op) {
  spmd::CollectiveOpInterface over = soleReduction(op.getOperand(0)), other = soleReduction(op.getOperand(1));
  if (!over || !other || over.getReduction() != other.getReduction() ||
      !llvm::all_of(over.getAxes().getAsValueRange<StringAttr>(), isOfParts))
    return;
  Operation *overWait = op.getOperand(0).getDefiningOp(), *otherWait = op.getOperand(1).getDefiningOp();
  Value terms = over->getOperand(0), others = other->getOperand(0);
  spmd::CollectiveOpInterface first = soleReduction(terms);
  if (first && first.getReduction() != over.getReduction())
    first = nullptr;
  if (first && first.getAxes() == other.getAxes()) {
    // Reduced over the axis of parts, then combined, then reduced over the axes of both.
    over->setOperand(0, first->getOperand(0));
    op.setOperand(1, others);
    return reduceAfter(op, first, {otherWait, other, terms.getDefiningOp(), first});
  }
  // Both over the same ranks: at once, or over one axis after another.
  SmallVector<Attribute> axes;
  if (first)
    axes.append(first.getAxes().begin(), first.getAxes().end());
  axes.append(over.getAxes().begin(), over.getAxes().end());
  if (ArrayRef<Attribute>(axes) != other.getAxes().getValue())
    return;
  op.setOperand(0, first ? first->getOperand(0) : terms);
  op.setOperand(1, others);
  SmallVector<Operation *> gone = {overWait, over};
  if (first)
    gone.append({terms.getDefiningOp(), first});
  gone.append({otherWait, other});
  reduceAfter(op, other, gone);
}

} // namespace

void JoinReductions::runOnOperation() {
  getOperation().walk([](spmd::SectionOp section) {
    for (Operation &op : llvm::make_early_inc_range(section.getBody().front()))
      if (isa<model::AddOp, model::MaximumOp>(op))
        joinOperands(op);
  });
}
