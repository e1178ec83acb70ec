//===- JoinReductions.cpp - values are combined before they are reduced -----------------------===//
//
// Two reductions whose results are then combined become one, of the values combined before it. Their axes are the same,
// or one of the values is also reduced over a model-parallel axis.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/rules/Roles.h"
#include "dialect/spmd/Mesh.h"
#include "passes/sharding/Utils.h"

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

/// The in-place reduction whose only result is the value and whose only reader is the value's.
spmd::CollectiveOpInterface soleReduction(Value value) {
  auto wait = value.getDefiningOp<spmd::WaitOp>();
  spmd::CollectiveOpInterface start = wait && value.hasOneUse() ? wait.getStart() : spmd::CollectiveOpInterface();
  const bool isSole = start && start.isReduction() && start.isInPlace() && start->getNumOperands() == 1;
  return isSole ? start : spmd::CollectiveOpInterface();
}

/// Reduces the result of `op` as `like` does, and erases the reductions of its operands.
void reduceAfter(Operation &op, spmd::CollectiveOpInterface like, ArrayRef<Operation *> erased) {
  OpBuilder builder(op.getContext());
  builder.setInsertionPointAfter(&op);
  Value terms = op.getResult(0);
  spmd::WaitOp wait = allReduce(builder, &op, terms, like.getAxes(), like.getReduction());
  if (Attribute ids = op.removeAttr(model::idsName))
    wait->setAttr(model::idsName, ids);
  terms.replaceAllUsesExcept(wait.getValues()[0], wait.getStart());
  for (Operation *each : erased)
    each->erase();
}

void joinOperands(Operation &op) {
  spmd::CollectiveOpInterface over = soleReduction(op.getOperand(0)), other = soleReduction(op.getOperand(1));
  if (!over || !other || over.getReduction() != other.getReduction() ||
      !llvm::all_of(over.getAxes().getAsValueRange<StringAttr>(), [&](StringRef axis) {
        const std::optional<AxisRole> role = spmd::roleOf(over, axis);
        return role && dividesOps(*role);
      }))
    return;
  Operation *overWait = op.getOperand(0).getDefiningOp(), *otherWait = op.getOperand(1).getDefiningOp();
  Value terms = over->getOperand(0), others = other->getOperand(0);
  spmd::CollectiveOpInterface first = soleReduction(terms);
  if (first && first.getReduction() != over.getReduction())
    first = nullptr;
  if (first && first.getAxes() == other.getAxes()) {
    // Reduced over the model-parallel axis, combined, then reduced over the axes of both.
    over->setOperand(0, first->getOperand(0));
    op.setOperand(1, others);
    return reduceAfter(op, first, {otherWait, other, terms.getDefiningOp(), first});
  }
  // Both over the same ranks: by one reduction, or by one for each axis.
  SmallVector<Attribute> axes;
  if (first)
    axes.append(first.getAxes().begin(), first.getAxes().end());
  axes.append(over.getAxes().begin(), over.getAxes().end());
  if (ArrayRef<Attribute>(axes) != other.getAxes().getValue())
    return;
  op.setOperand(0, first ? first->getOperand(0) : terms);
  op.setOperand(1, others);
  SmallVector<Operation *> erased = {overWait, over};
  if (first)
    erased.append({terms.getDefiningOp(), first});
  erased.append({otherWait, other});
  reduceAfter(op, other, erased);
}

} // namespace

void JoinReductions::runOnOperation() {
  getOperation().walk([](spmd::SectionOp section) {
    for (Operation &op : llvm::make_early_inc_range(section.getBody().front()))
      if (isa<model::AddOp, model::MaximumOp>(op))
        joinOperands(op);
  });
}
